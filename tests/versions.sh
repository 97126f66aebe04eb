#!/bin/sh
# Bundles of each format that there was, as they were written then: one of another major version is refused
# with what to do, one of this version runs. tests/versions/FORMAT.twb.gz is `tilewright compile` of
#
#     graph tiny(%x: f32[N,5]) -> %y {
#       %w: f32[5] = {1, 2, 3, 4, 5}
#       %a = Mul(%x, %w)
#       %y = Exp(%a)
#     }
#
# for cpu:x86-64-v3. A new format leaves the others as they are and adds its own.
# shellcheck disable=SC2015,SC2016  # pass cannot fail; quotes in sentences
. tests/common
about="versions: "
here=$(sed -n 's/.*BUNDLE_MAJOR = \([0-9]*\).*/\1/p' src/bundle/bundle.h)

for file in tests/versions/*.twb.gz; do
	format=$(basename "$file" .twb.gz) old=$tmp/old.twb
	gunzip -c "$file" >"$old"
	if [ "${format%.*}" = "$here" ]; then
		"$tw" check "$old" >/dev/null 2>"$tmp/err" && pass || lose "check of $format: $(cat "$tmp/err")"
		"$tw" inspect "$old" | grep -q '^cpu:x86-64-v3  *runs' || { skip 1 avx2; continue; }
		"$tw" run -q --self-test "$old" 2>"$tmp/err" && pass || lose "run of $format: $(cat "$tmp/err")"
		continue
	fi
	for verb in run inspect check; do
		"$tw" $verb "$old" >"$tmp/out" 2>"$tmp/err" && lose "$verb took format $format"
		[ "$(cat "$tmp/err")" = "$old: the bundle has format $format and this library reads $here.x: \
compile the model again, or use the library that \`tilewright 0.1.0\` came with" ] && pass ||
			lose "$verb of $format says: $(cat "$tmp/err")"
	done
done

# Choices of format 1 had no line that said so.
echo 'graph g(%x: f32[1]) -> %y { %y = Relu(%x) }' >"$tmp/m.txt"
echo '{"key": "conv 1x64x56x56", "chosen": "winograd", "candidates": ""}' >"$tmp/choices.jsonl"
"$tw" compile -q "$tmp/m.txt" -o "$tmp/m.twb" --choices "$tmp/choices.jsonl" 2>"$tmp/err"
rc=$?
[ $rc = 3 ] && grep -q ':1: these choices have format 1 and this version reads 2: compile without --choices' \
	"$tmp/err" && pass || lose "choices of format 1: exit code $rc: $(cat "$tmp/err")"
finish
