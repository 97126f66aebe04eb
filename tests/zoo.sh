#!/bin/sh
# usage: tests/zoo.sh [-a | MODEL...]
#
# The zoo, model by model, from one bundle with a symbolic batch: batch 1 and 3, the same bits at 1, 2,
# 3, 5 and 16 threads, every emitted object imports nothing, all texts on the way read back, each
# bundle passes its own self-test. With ONNX Runtime at hand, its outputs.
# shellcheck disable=SC2015,SC2059,SC2012  # pass cannot fail; octal bytes; our own file names
. tests/common

ort=
ls build/ort/onnxruntime/capi/libonnxruntime.so* >/dev/null 2>&1 && ort=1
[ -z "$ORT_LIBRARY" ] || ort=1

# Those that take seconds, with -a all but the largest: bert-base and longformer are the graphs of
# bert-tiny and longformer-tiny, and gcn takes a minute.
quick="squeezenet fsrcnn bert-tiny"
# shellcheck disable=SC2046,SC2086  # names without blanks
case $1 in
-a) set -- $("$zoo" list | awk '$1 !~ "^(bert-base|gcn|longformer)$" { print $1 }') ;;
"") set -- $quick ;;
esac
for model; do
	"$zoo" "$model" --symbolic -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	rm -rf "$tmp/kept"
	if ! "$tw" compile -q --verify=texts "$tmp/m.onnx" -o "$tmp/m.twb" --keep "$tmp/kept" 2>"$tmp/err"; then
		lose "compile $model: $(cat "$tmp/err")"
		continue
	fi
	for object in "$tmp"/kept/kernels/*.so; do
		[ -z "$(nm -u -D "$object")" ] && pass || lose "$model: $object imports $(nm -u -D "$object")"
	done
	"$tw" run -q --self-test "$tmp/m.twb" 2>"$tmp/err" && pass || lose "self-test of $model: $(cat "$tmp/err")"
	for batch in 1 3; do
		for threads in 1 2 3 5 16; do
			"$tw" run -q "$tmp/m.twb" --shape batch=$batch --runs 1 --threads $threads \
				--output "$tmp/out$threads" 2>"$tmp/err" ||
				lose "run $model, batch $batch, $threads threads: $(cat "$tmp/err")"
		done
		for threads in 2 3 5 16; do
			diff -r "$tmp/out1" "$tmp/out$threads" >/dev/null && pass ||
				lose "$model, batch $batch: other bits at $threads threads"
		done
		if [ -z "$ort" ]; then skip 1 onnxruntime; continue; fi
		d=$("$tw" bench --json --rounds 1 --shape batch=$batch "$tmp/m.twb" "$tmp/m.onnx/ort" 2>"$tmp/err" |
			awk '/"difference":/ { gsub(/[",]/, ""); d = $2 } END { print d == "" ? "none" : d }')
		awk -v d="$d" 'BEGIN { exit !(d != "none" && d <= 1e-4) }' && pass ||
			lose "$model, batch $batch: outputs differ by $d from ONNX Runtime's; $(cat "$tmp/err")"
	done
done
finish
