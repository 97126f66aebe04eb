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
"$tw" ablate m.twb >out 2>err
[ $? = 2 ] && grep -q 'm.twb: it is a bundle, whose passes are done: expected its model' err && pass || lose "of a bundle: $(cat err)"
finish
