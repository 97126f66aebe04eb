#!/bin/sh
# tilewright ablate: each pass that does something is left out once, alone; what changes then is said.
# Times are looked at only as far as they cannot depend on the machine.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
about="ablate: "
cd "$tmp" || exit 1

# A product that a wrong program changes, a constant that is folded, two nodes that become one group.
cat >m.g <<'TEXT'
graph m(%x: f32[4,6]) -> %y {
  %u: f32[6,2] = {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}
  %c: f32[2] = {1, 2}
  %n = Neg(%c)
  %a = MatMul(%x, %u)  "first"
  %b = Add(%a, %n)  "second"
  %y = Relu(%b)  "last"
}
TEXT
"$tw" ablate -O2 m.g >out 2>err && pass || lose "$(cat err)"
# row PASS PATTERN
row() { grep -q "^$1  *$2" out && pass || lose "$1: $(cat out)"; }
row nothing ' 1 *0.0e+00 *$'
row FoldConstant '1 *2 *0.0e+00 *$'
row FuseOps '[0-9]* *3 *[0-9.e+-]* *$'
! grep -q '^DecomposeOps' out && pass || lose "a pass that does nothing: $(cat out)"

# What it says is what a compilation without that pass is.
"$tw" compile -q -O2 --disable FuseOps m.g -o m.twb && [ "$("$tw" inspect --json m.twb | tr ',' '\n' | grep -c '"index"')" = 3 ] && pass ||
	lose "without FuseOps: $("$tw" inspect m.twb)"

# A pass that changes results is seen: this one makes a product of a sum.
printf '#!/bin/sh\nsed "s/Add(/Mul(/"\n' >wrong && chmod +x wrong
"$tw" ablate -O1 --require exec:./wrong m.g >out 2>err && pass || lose "$(cat err)"
grep '^exec:./wrong' out | grep -qv ' 0.0e+00' && pass || lose "a wrong pass: $(cat out)"

"$tw" ablate -O2 --json --bench --rounds 3 m.g >out 2>err && grep -q '"without":.*"FuseOps"' out &&
	grep -q '"median_ms":.*[0-9]' out && pass || lose "--json --bench: $(cat out err)"
# Each call of a library alone, also of a node that a kernel of ours ends; the others stay.
cat >c.g <<'TEXT'
graph c(%x: f32[1,64,28,28]) -> %y {
  %w: f32[16,64,1,1] = weight 0
  %v: f32[64,16,1,1] = weight 1
  %a = Conv(%x, %w) "first"
  %b = Sigmoid(%a) "gate"
  %c = Conv(%b, %v) "second"
  %y = Tanh(%c) "last"
}
TEXT
if has oneDNN; then
	"$tw" ablate -O2 --calls c.g >out 2>err && pass || lose "$(cat err)"
	row nothing ' 4 *0.0e+00 *$'
	row vendor ' 2 *[0-9.e+-]* *$'
	row 'conv of b' ' 3 *[0-9.e+-]* *$'
	row 'conv of y' ' 3 *[0-9.e+-]* *$'
else
	skip 5 oneDNN
fi
"$tw" ablate -O2 --calls --no-vendor c.g >out 2>err && ! grep -q "conv of" out && pass || lose "no calls: $(cat out err)"

# Each derivation alone: the node stays as it is given then.
cat >d.g <<'TEXT'
graph d(%x: f32[1,64,7,7]) -> %y {
  %ws: i64[4] = {64,32,4,4}
  %w = ConstantOfShape(%ws) {value=f32[1] {0.25}} "w"
  %u = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1]} "up"
  %y = Relu(%u) "last"
}
TEXT
way="split_sum 0 3; position 0 1 2 4; position 0 1 3 6; converge 2"
key=$("$tw" explain d.g --node up | sed -n 's/^asked *//p')
printf '{"choices": 2}\n{"key": "%s", "chosen": "%s", "candidates": ""}\n' "$key" "$way" >choices
"$tw" ablate --no-vendor --derivations --choices choices d.g >out 2>err && pass || lose "$(cat err)"
row nothing ' 2 *0.0e+00 *$'
row "$way of up" ' 1 *[0-9.]*e-0[678] *$'
"$tw" ablate --no-vendor --choices choices d.g >out 2>err && ! grep -q " of up" out && pass || lose "unasked: $(cat out err)"

"$tw" ablate m.twb >out 2>err
[ $? = 2 ] && grep -q 'm.twb: it is a bundle, whose passes are done: expected its model' err && pass || lose "of a bundle: $(cat err)"
finish
