#!/bin/sh
# usage: tests/mixed.sh [-a]     -a: more models
#
# --precision: models computed in f16 and bf16 are within 1e-2 of f32 (of the largest element of an
# output), by our own runs and, of f16, ONNX Runtime's where it is found (ORT_LIBRARY, or build/ort as
# `make bench` leaves it); their weights take half the bytes; doing it twice changes nothing.
# shellcheck disable=SC2015,SC2086  # pass cannot fail; options are words
. tests/common
plain_only models

ort=
ls build/ort/onnxruntime/capi/libonnxruntime.so* >/dev/null 2>&1 && ort=1
[ -z "$ORT_LIBRARY" ] || ort=1

# near WHAT SUBJECT SUBJECT: the outputs of both, as `bench` runs them
near() {
	what=$1
	shift
	d=$("$tw" bench --json --rounds 1 "$@" 2>"$tmp/err" |
		awk '/"difference":/ { gsub(/[",]/, ""); d = $2 } END { print d == "" ? "none" : d }')
	awk -v d="$d" 'BEGIN { exit !(d != "none" && d <= 1e-2) }' && pass ||
		lose "$what: outputs differ by $d; $(cat "$tmp/err")"
	echo "$what: $d apart"
}

in=$tmp/in.onnx out=$tmp/out.onnx
models="bert-tiny gpt"
[ -z "$is_whole" ] || models="resnet18 $models vit"
for model in $models; do
	opset="--opset 22" # from which on convolutions take bf16
	case $model in
	gpt | vit) opset= && "$tw" optimize -q -O0 tests/mixed/$model.txt "$in" ;;
	*) "$zoo" $model -o "$in" ;;
	esac || { lose "$model"; continue; }
	for type in fp16 bf16; do
		about="$model $type: "
		"$tw" optimize -q $opset --precision $type "$in" "$out" &&
			"$tw" optimize -q $opset --precision $type "$out" "$tmp/again.onnx" || lose optimize
		cmp -s "$out" "$tmp/again.onnx" && pass || lose "optimising twice is not optimising once"
		awk -v a="$(wc -c <"$in")" -v b="$(wc -c <"$out")" 'BEGIN { exit !(b < 0.6 * a) }' &&
			pass || lose "$(wc -c <"$in") bytes became $(wc -c <"$out")"
		near "$model $type, as written" "$in@O1" "$out@O1"
		"$tw" compile -q -O2 --tune none --precision $type "$in" -o "$tmp/m.twb" 2>"$tmp/err" ||
			lose "compile: $(cat "$tmp/err")"
		near "$model $type, compiled" "$in@O1" "$tmp/m.twb"
		[ $type = fp16 ] || continue
		[ -n "$ort" ] || { skip 1 onnxruntime; continue; }
		near "$model $type, ONNX Runtime" "$in/ort" "$out/ort"
	done
done
about=

# Inputs and outputs of f16: no cast is left, names stay.
cat >"$tmp/g.txt" <<'TEXT'
graph g(%x: f32[N,8], %s: f32[8]) -> %y {
  %w: f32[8,8] = weight 0
  %p = MatMul(%x, %w)  "product"
  %y = Mul(%p, %s)  "scale"
}
TEXT
"$tw" optimize --check --precision fp16 --io-precision fp16 "$tmp/g.txt" "$out" >"$tmp/log" 2>&1 || lose "$(cat "$tmp/log")"
"$tw" print "$out" | tr -s ' \n' ' ' >"$tmp/text"
grep -q '^graph g(%x: f16\[N,8\], %s: f16\[8\]) -> %y {.* %y: f16\[N,8\] = Mul(' "$tmp/text" &&
	! grep -q Cast "$tmp/text" && pass || lose "--io-precision: $(cat "$tmp/text")"

# refused SENTENCE OPTIONS
refused() {
	sentence=$1
	shift
	! "$tw" optimize -q "$@" "$tmp/g.txt" "$out" 2>"$tmp/err" && grep -qF -- "$sentence" "$tmp/err" && pass ||
		lose "$*: $(cat "$tmp/err")"
}
refused "--keep-fp32: expected --precision" --keep-fp32 product
refused "--keep-fp32: no node is called 'produkt'" --precision fp16 --keep-fp32 produkt
finish
