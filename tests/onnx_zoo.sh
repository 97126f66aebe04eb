#!/bin/sh
# usage: tests/onnx_zoo.sh     the zoo writes the same bytes each time, and says what is wrong
#
# Takes a small model of each kind. $ONNX_LIGHT may name a folder of the light models, whose weights
# are then made too.
cd "$(dirname "$0")/.." || exit 1
. tests/common
[ -x "$zoo" ] || { echo "there is no $zoo"; exit 1; }
check() { # check WHAT COMMAND...: one test
	what=$1
	shift
	if "$@" >"$tmp/out" 2>&1; then
		pass
	else
		lose "zoo: $what"
		cat "$tmp/out"
	fi
}
differ() {
	! cmp -s "$1" "$2"
}
refuses() { # refuses CODE TEXT COMMAND...
	code=$1 text=$2
	shift 2
	"$@" 2>"$tmp/err"
	[ $? = "$code" ] && grep -q "$text" "$tmp/err"
}
for model in squeezenet mobilenetv2 dcgan fsrcnn longformer-tiny bert-tiny; do
	check "$model is made" "$zoo" $model --symbolic -o "$tmp/$model.onnx"
	"$zoo" $model --symbolic -o "$tmp/again.onnx"
	check "$model is the same twice" cmp "$tmp/$model.onnx" "$tmp/again.onnx"
	check "$model has a symbolic batch" grep -q batch "$tmp/$model.onnx"
	check "$model of batch 3 is made" "$zoo" $model --batch 3 -o "$tmp/three.onnx"
	check "$model of batch 3 differs" differ "$tmp/$model.onnx" "$tmp/three.onnx"
done
check "names are PyTorch's" grep -q /features/features.12/expand3x3/Conv "$tmp/squeezenet.onnx"
check "an unknown model" refuses 2 "no model is called nothing" "$zoo" nothing -o "$tmp/x"
check "a batch that is no number" refuses 2 "saw 'three'" "$zoo" dcgan --batch three -o "$tmp/x"
check "a setting is taken" "$zoo" longformer-tiny --set length=50 -o "$tmp/longer.onnx"
check "another length is another model" differ "$tmp/three.onnx" "$tmp/longer.onnx"
check "a setting that the model lacks" refuses 2 "has no such setting" "$zoo" dcgan --set length=2 -o "$tmp/x"
check "a setting that is no number" refuses 2 "saw 'x'" "$zoo" longformer-tiny --set window=x -o "$tmp/x"
check "help is no mistake" "$zoo" --help
check "a missing output" refuses 2 "no output" "$zoo" dcgan
check "a full disk" refuses 6 "cannot write" "$zoo" bert-tiny -o /dev/full
for file in "${ONNX_LIGHT:-none}"/*.onnx; do
	[ -f "$file" ] && check "$file gets weights" "$zoo" reweight "$file" -o "$tmp/weights.onnx"
done
finish
