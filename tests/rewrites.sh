#!/bin/sh
# usage: tests/rewrites.sh        a model is right after each of some numbers of rewrites
#        tests/rewrites.sh -a     after each number
#
# --rewrites N leaves out all rewrites behind the first N: whatever N is, the bundle is proved, and N
# of them stand in its history.
. tests/common
step=47 models="bert-tiny squeezenet"
[ -z "$is_whole" ] || step=1 models="$models bert-tiny+symbolic"

# rewrites BUNDLE: how many its history counts
rewrites() {
	unzip -p "$1" history.jsonl | sed -n 's/.*"rewrites": \[\([^]]*\)\].*/\1/p' | tr -cs 0-9 '\n' |
		sort -n | tail -n 1
}

# each MODEL
each() {
	"$tw" compile -q --tune none --disable DeriveExpressions "$1" -o "$tmp/all.twb" || { lose "$1"; return; }
	all=$(rewrites "$tmp/all.twb")
	[ "${all:-0}" -gt 10 ] || { lose "$1: only '$all' rewrites"; return; }
	for number in $(seq 0 "$step" "$all"); do
		if ! "$tw" compile -q --tune none --disable DeriveExpressions --rewrites "$number" "$1" -o "$tmp/some.twb" \
			2>"$tmp/err" || [ -s "$tmp/err" ]; then
			lose "$1, $number rewrites: $(head -n 2 "$tmp/err")"
		elif made=$(rewrites "$tmp/some.twb"); [ "${made:-0}" != "$number" ]; then
			lose "$1: $number rewrites were asked for, and $made are in the history"
		else
			pass
		fi
	done
}

for name in $models; do
	# shellcheck disable=SC2046  # a name and its option
	"$zoo" $(echo "$name" | sed 's/+/ --/') -o "$tmp/$name.onnx"
	each "$tmp/$name.onnx"
done
for graph in tests/mistakes/*.g; do
	each "$graph"
done
finish
