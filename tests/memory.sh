#!/bin/sh
# usage: tests/memory.sh [-a | MODEL...]    peak memory of compiling, at most 2 x the model + 200 MB
#
# Each process, the compiler's and the C compiler's, gets no more private memory than that (ulimit -d
# counts what is writable and no file's, touched or not), so the answer depends on no timing. What the
# library cannot allocate is done without, which is no failure: the bundle must be the one that is
# made without the limit, too.
# shellcheck disable=SC3045 # ulimit -d: dash and bash have it
. tests/common
want plain # memory is AddressSanitizer's

# An empty cache: what it holds would spare running the C compiler.
export XDG_CACHE_HOME="$tmp/cache"

case $1 in
-a) set -- resnet50 vgg11 ;;
"") set -- mobilenetv2 ;;
esac
for model; do
	"$zoo" "$model" -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	bytes=$(wc -c <"$tmp/m.onnx")
	limit=$(((2 * bytes + 200000000) / 1024))
	for level in 0 3; do
		rm -rf "$tmp/kept" "$tmp/cache"
		"$tw" compile -q -O$level "$tmp/m.onnx" -o "$tmp/free.twb" --keep "$tmp/kept" \
			--config DeriveExpressions.seconds=10 ||
			{ lose "compile $model"; continue; }
		: >>"$tmp/kept/choices.jsonl"
		rm -rf "$tmp/cache"
		if ! (ulimit -d $limit && exec "$tw" compile -q -O$level --choices "$tmp/kept/choices.jsonl" \
			"$tmp/m.onnx" -o "$tmp/tight.twb") 2>"$tmp/err"; then
			lose "$model at -O$level does not compile in $limit KiB: $(cat "$tmp/err")"
		elif ! cmp -s "$tmp/free.twb" "$tmp/tight.twb"; then
			lose "$model at -O$level is compiled otherwise in $limit KiB"
		else
			pass
		fi
	done
done
finish
