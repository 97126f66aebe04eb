#!/bin/sh
# The zoo's weights keep activations near variance one: at batch 1, the deviation of every product
# with a weight (Conv, ConvTranspose, Gemm, MatMul) lies between 0.3 and 3. Between 0.2 and 3 behind
# attention, whose means of values are smaller than those, and in BERT: its LayerNorms are made of
# single operators, behind which models/weights.c expects the variance of what was normalised, up to
# 3, where it is one.
. tests/common
plain_only numbers
about="spread "
model=${BUILD:-build}/test/model
[ -x "$model" ] || { echo "there is no $model"; exit 1; }

# check NAME PRODUCTS LEAST: so many products, each with a deviation from LEAST to 3
check() {
	: >"$tmp/spread"
	"$zoo" "$1" -o "$tmp/m.onnx" && "$model" spread "$tmp/m.onnx" >"$tmp/spread"
	seen=$(awk -v least="$3" '
		{ n++; if (!($1 >= least && $1 <= 3)) print $2 " has deviation " $1 }
		END { print n + 0 " products" }' "$tmp/spread")
	if [ "$seen" = "$2 products" ]; then pass; else lose "$1: $seen"; fi
}

check resnet18 21 0.3
check mobilenetv2 53 0.3
check squeezenet 26 0.3
check dcgan 5 0.3
check infogan 5 0.3
check fsrcnn 8 0.3
check csrnet 6 0.3
check gcn 121 0.3
check longformer-tiny 5 0.2
check bert-tiny 13 0.2

finish
