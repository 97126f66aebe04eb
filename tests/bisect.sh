#!/bin/sh
# usage: tests/bisect.sh    bisect finds the rewrite that a command refuses, and nothing where nothing is wrong
#
# Whether it finds mistakes of the compiler is what tests/mistakes.sh -b tries.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
cd "$tmp" || exit 1

# says CODE TEXT OPTION...
says() {
	code=$1 text=$2
	shift 2
	"$tw" bisect "$@" >out 2>err
	seen=$?
	if [ $seen = "$code" ] && cat out err | grep -qF -- "$text"; then
		pass
	else
		lose "bisect $*: exit code $seen, no '$text': $(cat out err)"
	fi
}

cat >m.txt <<'END2'
graph g(%x: f32[1,8,12,12]) -> %y {
  %w: f32[8,8,3,3] = weight 0
  %v: f32[8,8,3,3] = weight 1
  %a = Conv(%x, %w) {pads=[1,1,1,1]} "first"
  %b = Relu(%a) "relu"
  %c = Conv(%b, %v) {pads=[1,1,1,1]} "second"
  %y = Tanh(%c) "tanh"
}
END2
says 0 "nothing is wrong" m.txt
says 0 "nothing is wrong" m.txt -O1 --no-vendor

# Results are compared: where no rounding is accepted, scales that are folded into weights are to blame.
cat >n.txt <<'END2'
graph g(%x: f32[1,8,12,12]) -> %y {
  %w: f32[8,8,3,3] = weight 0
  %s: f32[8] = weight 1
  %t: f32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
  %c = Conv(%x, %w) "conv"
  %y = BatchNormalization(%c, %s, %t, %s, %t) "norm"
}
END2
says 0 "nothing is wrong" n.txt --no-vendor
says 1 "SimplifyInference: fold into producer: norm -> conv" n.txt --no-vendor --rtol 1e-12 --atol 0 -o small.onnx
grep -q "^wrong  *output y: element" out && pass || lose "no output is wrong: $(cat out)"
grep -q "^nodes of it  *2$" out && [ -s small.onnx ] && pass || lose "not two nodes are left: $(cat out)"
# A command that is not content when a rewrite was made.
has() { echo "! unzip -p \$BUNDLE history.jsonl | grep '\"$1\"' | grep -q '\"$2\".*\"made\"'"; }
says 1 "FuseOps: join: tanh -> second" m.txt --no-vendor --judge "$(has join tanh)"
says 1 "FuseOps: join: relu -> first" m.txt --no-vendor --judge "$(has join relu)"
says 0 "nothing is wrong" m.txt --judge true
says 1 "neither a rewrite nor a choice" m.txt --judge false
"$tw" compile -q m.txt -o m.twb --prove none
says 2 "m.twb: it is a bundle, whose rewrites are made: expected its model" m.twb
says 2 "--against: expected ort|openvino" m.txt --against nobody

finish
