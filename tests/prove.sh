#!/bin/sh
# Proving from the command line: what compile says that it proved, run --prove of bundles as they are and
# with plans that are well-formed and wrong, and denials: choices that were found wrong are not made.
# tests/mistakes.sh tries whether mistakes of the compiler are found.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
spoiled="refused.twb wrong.twb"
about="proving: "
amend=${BUILD:-build}/test/amend
[ -x "$amend" ] || { echo "there is no $amend"; exit 1; }
case $amend in /*) ;; *) amend=$PWD/$amend ;; esac
cd "$tmp" || exit 1

# proves FILE PATTERN [OPTION ...]: what compile says behind "proved: "; the bundle proves, too.
proves() {
	file=$1 pattern=$2
	shift 2
	"$tw" compile "$file" -o proved.twb "$@" >said 2>&1
	sed -n 's/^proved: //p' said | grep -qx "$pattern" && ! grep -q "is wrong" said && pass ||
		lose "$file $*: $(cat said)"
	"$tw" run --prove proved.twb >said 2>&1 && grep -q "^proved  [0-9]* values* at [0-9]* points" said &&
		pass || lose "run --prove of $file: $(cat said)"
}

cat >control.g <<'TEXT'
graph control(%c: bool, %x: f32[4,6], %y: f32[4,6]) -> %i, %p, %f {
  %i = If(%c)  "if" then_branch {
    %t = Add(%x, %y)
    yield %t
  } else_branch {
    %e = Mul(%x, %y)
    yield %e
  }
  %m: i64 = {5}
  %yes: bool = {1}
  %p = Loop(%m, %yes, %x)  "loop" body(%n, %b, %g) {
    %h = Tanh(%g)
    yield %b, %h
  }
  %z: f32[6] = {0, 0, 0, 0, 0, 0}
  %f, %s = Scan(%z, %y) {num_scan_inputs=1}  "scan" body(%d, %r) {
    %v = Add(%d, %r)
    yield %v, %v
  }
}
TEXT
cat >open.g <<'TEXT'
graph open(%x: f32[N,M]) -> %y { %s = Softmax(%x)  "s" %y = Exp(%s)  "e" }
TEXT
# What the data leaves nothing of is not proved; what never has elements needs no proof.
cat >none.g <<'TEXT'
graph none(%x: f32[5,2], %z: f32[0,3]) -> %y, %b, %s {
  %k: bool[5] = {0, 0, 0, 0, 0}
  %n = Compress(%x, %k) {axis=0}
  %y = Exp(%n)
  %b = Exp(%z)
  %s = Tanh(%x)
}
TEXT
# At a height of 1 a size divides by 0: that is no fault of ours, and other sizes are tried.
cat >halves.g <<'TEXT'
graph halves(%x: f32[H,6]) -> %y {
  %h: i64[1] = Shape(%x) {start=0, end=1}
  %two: i64[1] = {2}
  %q: i64[1] = Div(%h, %two)
  %rest: i64[1] = {-1}
  %t: i64[2] = Concat(%q, %rest) {axis=0}
  %r = Reshape(%x, %t)
  %y = Exp(%r)  "e"
}
TEXT
# A wide state for few rows: it is short enough to be interpreted.
cat >wide.g <<'TEXT'
graph wide(%z: f32[4096], %y: f32[3,4096]) -> %f, %s {
  %f, %s = Scan(%z, %y) {num_scan_inputs=1}  "scan" body(%d, %r) {
    %v = Add(%d, %r)
    yield %v, %v
  }
}
TEXT
cat >half.g <<'TEXT'
graph half(%x: f16[7,33], %w: f16[33,9]) -> %y { %y = MatMul(%x, %w)  "product" }
TEXT
cat >narrow.g <<'TEXT'
graph narrow(%x: f32[5,12]) -> %y {
  %s: f32 = {0.02}
  %z: u8 = {120}
  %w: u8[12,8] = weight 0
  %q = QuantizeLinear(%x, %s, %z)                              "quantize"
  %p = QLinearMatMul(%q, %s, %z, %w, %s, %z, %s, %z)           "product"
  %y = DequantizeLinear(%p, %s, %z)                            "back"
}
TEXT
# The pieces have sizes when they are made, what they are joined to has one only later.
cat >late.g <<'TEXT'
graph late(%x: f32[5], %y: f32[7]) -> %o {
  %a = NonZero(%x)                "first"
  %b = Neg(%a)                    "before"
  %d = NonZero(%y)                "second"
  %e = Neg(%d)                    "behind"
  %c = Concat(%b, %e) {axis=1}    "joined"
  %o = Neg(%c)                    "all"
}
TEXT
# Of a value only the batch is asked, before its length is known.
cat >early.g <<'TEXT'
graph early(%x: f32[B,9], %n: i64[1]) -> %y, %z {
  %from: i64[1] = {0}
  %axis: i64[1] = {1}
  %two: i64[1] = {2}
  %m = Add(%n, %two)                     "end"
  %a = Slice(%x, %from, %m, %axis)
  %e = Exp(%a)                           "late"
  %s = Shape(%e)
  %b = Slice(%s, %from, %axis)
  %t = Concat(%b, %two) {axis=0}
  %k = ConstantOfShape(%t)               "early"
  %y = Neg(%k)
  %z = ReduceSum(%e) {keepdims=0}
}
TEXT
# What an initializer that is an input, too, holds unless it is given; a branch captures it.
cat >default.g <<'TEXT'
graph default(%x: f32[3], %w: f32[3] = {1, 2, 4}, %c: bool = {1}) -> %y {
  %y = If(%c)  "if" then_branch {
    %a = Add(%x, %w)
    yield %a
  } else_branch {
    %s = Sub(%x, %w)
    yield %s
  }
}
TEXT
cat >host.g <<'TEXT'
graph host(%x: f32[5]) -> %y { %n = NonZero(%x)  "places" %y = Neg(%n)  "minus" }
TEXT
# As many pieces as a detector has classes, none of a known length; and more than a sum can have.
joined() {
	echo "graph joined($(seq -s ', ' "$1" | sed 's/[0-9][0-9]*/%x&: f32[N&,2]/g')) -> %y {"
	echo "  %y = Concat($(seq -s ', ' "$1" | sed 's/[0-9][0-9]*/%x&/g')) {axis=0}  \"joined\""
	echo "}"
}
joined 91 >joined.g
joined 140 >more.g
proves control.g '[0-9]* values* at [0-9]* points'
proves wide.g '[0-9]* values* at [0-9]* points'
proves joined.g '1 value at [0-9]* points'
"$tw" compile more.g -o more.twb >said 2>&1
[ $? = 4 ] && grep -q 'node "joined" (Concat).*has more than 128 terms' said && pass || lose "140 pieces: $(cat said)"
proves open.g '[0-9]* values* at [0-9]* points'
"$tw" compile halves.g -o halves.twb >said 2>&1
grep -q "^proved: [0-9]* values* at [0-9]* points" said && pass || lose "halves: $(cat said)"
"$tw" run halves.twb --shape H=1 >said 2>&1
[ $? = 2 ] && grep -q "a size beside -1" said && pass || lose "a side of 1: $(cat said)"
proves half.g '[0-9]* values* at [0-9]* points'
proves narrow.g '[0-9]* values* at [0-9]* points.*'
proves early.g '4 values at [0-9]* points'
proves late.g '4 values at [0-9]* points; 2 of host operators, .*' -O0
for level in -O0 -O3; do
	proves default.g '3 values at [0-9]* points' $level
	"$tw" run -q --self-test proved.twb && pass || lose "self-test of defaults"
	[ "$("$tw" inspect proved.twb | grep -c '^[xwc]  *[a-z0-9]*\[[0-9]*\]  *yes$')" = 2 ] && pass ||
		lose "inspect shows no defaults: $("$tw" inspect proved.twb)"
	for given in 'x=10.5,20.5,30.5 11.5,22.5,34.5' 'x=10.5,20.5,30.5 w=5.5,6.5,7.5 16,27,38.0'; do
		# shellcheck disable=SC2046  # several inputs
		"$tw" run -q --prove proved.twb $(echo "$given" | sed 's/\([a-z]=\)/--input \1/g; s/ \([^ ]*\)$/ --expect y=\1/') &&
			pass || lose "default.g $level with $given"
	done
done
proves host.g '1 value at [0-9]* points; 1 of host operators, .*'
proves none.g '[0-9]* values* at [0-9]* points; 1 of host operators, [^;]*; not proved: 1 (it has no elements here: %y)'
proves control.g '[0-9]* values* at [0-9]* points' -O0
# Behind memory of its own, what loops and branches give is claimed where it arrives on the host.
proves control.g '[0-9]* values* at [0-9]* points\(, [0-9]* results* of fallback kernels too\)*' --target test:native
"$tw" compile open.g -o none.twb --prove=none | grep -qx 'proved: not here (--prove=none)' && pass ||
	lose "--prove=none"
"$tw" inspect none.twb | grep -q '^proved  *not here (--prove=none)' && pass || lose "inspect of --prove=none"
"$tw" compile open.g -o none.twb --prove=all >said 2>&1
[ $? = 2 ] && grep -q "expected steps|none|require, saw 'all'" said && pass || lose "--prove=all: $(cat said)"

# Plans that are well-formed and compute something else. The graph in the bundle says what is meant.
cat >plan.g <<'TEXT'
graph plan(%x: f32[6,16], %y: f32[6,16]) -> %d, %p, %t {
  %d = Sub(%x, %y)  "difference"
  %one: i64[1] = {1}
  %four: i64[1] = {4}
  %zero: i64[1] = {0}
  %p = Slice(%d, %one, %four, %zero)  "rows"
  %t = Softmax(%d)  "soft"
}
TEXT
cp plan.g rows.g
"$tw" compile -q plan.g -o plan.twb --keep kept && "$tw" run -q --prove plan.twb || lose "plan.g"
plan=$(cd kept && ls plan/*.json)

# index NAME: of a buffer; dim VALUE: of an extent.
index() { grep -o '{"name": "[^"]*", "type"' "kept/$plan" | grep -n "\"$1\"" | head -n 1 | sed 's/:.*//' | awk '{ print $1 - 1 }'; }
dim() { sed -n 's/.*"dims": \[\("[^]]*\)\],$/\1/p' "kept/$plan" | tr -d ' "' | tr ',' '\n' | grep -nx "$1" | sed 's/:.*//' | awk '{ print $1 - 1 }'; }

# wrong WHAT VALUE SED: run --prove finds that this value is wrong, behind a change of the plan.
wrong() {
	sed "$3" "kept/$plan" >changed
	cmp -s changed "kept/$plan" && lose "$1: the plan has another form: $(cat "kept/$plan")"
	"$amend" plan.twb wrong.twb set "$plan" changed || lose "amend"
	"$tw" run --prove wrong.twb >said 2>&1
	rc=$?
	[ $rc = 1 ] && grep -q "value %$2 of node" said && pass || lose "$1: exit code $rc: $(cat said)"
}
x=$(index x) y=$(index y)
wrong "operands that changed places" d "s/\"args\": \[$x, $y, /\"args\": [$y, $x, /"
wrong "a view that begins elsewhere" p "/\"kind\": \"view\"/s/\"at\": [0-9]*/\"at\": $(dim 6)/"
wrong "a view with other strides" p "/\"kind\": \"view\"/s/\"strides\": \[[0-9]*, \([0-9]*\)\]/\"strides\": [\1, \1]/"

# A host operator that is called with another attribute, and with operands that changed places.
cat >plan.g <<'TEXT'
graph plan(%x: f32[4,4], %z: f32[4,4], %i: i64[24]) -> %h, %u, %s {
  %k: bool[4] = {1, 0, 1, 0}
  %h = Compress(%x, %k) {axis=0}  "rows"
  %u = Unique(%i) {sorted=0}  "first met"
  %s = Sub(%x, %z)
}
TEXT
rm -r kept
"$tw" compile -q plan.g -o plan.twb --keep kept && "$tw" run -q --prove plan.twb || lose "plan.g"
plan=$(cd kept && ls plan/*.json)
wrong "sorted" u 's/"sorted", "ints": \[0\]/"sorted", "ints": [1]/'
# Along another axis the result has another shape, and what reads it would read beyond it.
sed 's/"axis", "ints": \[0\]/"axis", "ints": [1]/' "kept/$plan" >changed
"$amend" plan.twb wrong.twb set "$plan" changed || lose "amend"
"$tw" run wrong.twb >said 2>&1
[ $? = 3 ] && grep -q "dim 1 of the result 'h' is 2, and 4 was computed for it" said && pass ||
	lose "another axis: $(cat said)"
wrong "another operand" h "s/\"args\": \[$(index x), $(index k), /\"args\": [$(index z), $(index k), /"

# A derived program with a wrong index, compiled as if it were right: with the graph of the right one, its
# bundle is refused.
cat >conv.e <<'TEXT'
expr conv(X: f32[16,9], W: f32[8,16,3]) -> Y { Y[f:8, p:7]: f32 = sum(c:16, r:3) X[c, p+r] * W[f, c, r] }
TEXT
"$tw" derive conv.e --constant W --replay 'split_sum 0 1; position 0 0 1 2; converge 0' -o right.g >/dev/null &&
	"$tw" compile -q right.g -o right.twb --keep right && "$tw" run -q --prove right.twb && pass ||
	lose "a derived program"
graph=$(cd right && ls graph/*.txt)
for seed in 's/, i1+i2\]/, i1+2-i2]/' 's/X\[i3, i2\]/X[i3, 8-i2]/'; do
	sed "$seed" right.g >seeded.g
	! cmp -s seeded.g right.g && "$tw" compile -q seeded.g -o seeded.twb && "$tw" run -q --prove seeded.twb &&
		"$amend" seeded.twb refused.twb set "$graph" "right/$graph" || lose "derived, $seed: $(cat right.g)"
	"$tw" run --prove refused.twb >said 2>&1
	rc=$?
	[ $rc = 1 ] && grep -q '^value %v.* of node "derived" (Expression)' said && pass ||
		lose "derived, $seed: exit code $rc: $(cat said)"
done

# pin FILE: choices, in `pinned`, that do not depend on how long anything takes here: a call with all
# that belongs to it, where the sum alone and a kernel behind it may be as fast.
pin() {
	rm -rf measured
	"$tw" compile -q --prove=none --tune none "$1" -o measured.twb --keep measured || lose "compile $1"
	sed 's/"chosen": "apart"/"chosen": "whole"/' measured/choices.jsonl >pinned 2>/dev/null
}

if "$tw" --version | grep -q 'oneDNN [0-9]'; then
	vendor=1
	cat >plan.g <<'TEXT'
graph plan(%x: f32[2,16,9,11], %s: f32[2,16,9,11], %q: f32[24,16]) -> %y, %m {
  %w: f32[16,16,3,3] = weight 0
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %a = Add(%c, %s)                    "add"
  %y = Relu(%a)                       "relu"
  %v: f32[16,16] = weight 1
  %m = MatMul(%q, %v)                 "product"
}
TEXT
	rm -r kept
	pin plan.g
	"$tw" compile -q plan.g -o plan.twb --choices pinned --keep kept && "$tw" run -q --prove plan.twb ||
		lose "plan.g"
	grep '"row": "conv"' "kept/$plan" | sed 's/.*"args": \[[^]]*, \([0-9]*\)\].*/\1/' >conv
	"$tw" run -q --prove --no-vendor plan.twb && pass || lose "fallback kernels"
	result=$(grep -o '{"name": "[^"]*", "type"' "kept/$plan" | sed -n "$(($(cat conv) + 1))s/.*\"name\": \"\([^\"]*\)\".*/\1/p")
	wrong "other pads" "$result" 's/"pads_lo", "ints": \[1, 1\]/"pads_lo", "ints": [0, 1]/'
	wrong "no relu" "$result" 's/"post", "string": "[^"]*"/"post", "string": "abs"/'
	one=$(dim '[0-9]*' | tail -n 1) # behind the last dim
	wrong "a fallback kernel that stops early" m "s/\(\"dims\": \[\"[^]]*\)\],\$/\1, \"1\"],/; \
		/\"row\": \"matmul\"/s/\"extent\": [0-9]*/\"extent\": $((one + 1))/"
	grep -q "value %m .*: by the fallback kernel, [0-9]* of 384 elements were never written" said && pass ||
		lose "a fallback kernel that stops early: $(cat said)"
	wrong "transposed weights" m 's/"row": "matmul", \(.*\), "outputs": 1,/"row": "matmul", \1, "outputs": 1, "attrs": [{"name": "transpose_b", "ints": [1]}],/'
fi

# Two sizes that need each other at each step: what a proof looks at does not double with each.
awk 'BEGIN {
	print "graph sizes(%x: f32[N,M]) -> %y {\n%zero: i64[1] = {0}\n%one: i64[1] = {1}"
	print "%two: i64[1] = {2}\n%seven: i64[1] = {7}\n%v0 = Shape(%x) {end=1}\n%u0 = Shape(%x) {start=1}"
	for (i = 0; i < 80; i++) {
		printf "%%a%d = Add(%%v%d, %%u%d)\n%%v%d = Div(%%a%d, %%two)\n", i, i, i, i + 1, i
		printf "%%b%d = Mul(%%v%d, %%u%d)\n%%e%d = Mod(%%b%d, %%seven)\n", i, i, i, i, i
		printf "%%u%d = Add(%%e%d, %%one)\n", i + 1, i
	}
	print "%k = Max(%v80, %one)\n%l = Min(%k, %seven)\n%y = Slice(%x, %zero, %l, %one)\n}"
}' >sizes.g
for level in 0 1 3; do
	within 60 "$tw" compile -q -O$level --prove require sizes.g -o proved.twb 2>said && pass ||
		lose "sizes that need each other, -O$level: $(cat said)"
done

# What begins a loop is collected by another one: its size is known before the body is entered, by a
# step with a number of the plan around.
# chain STATE NODES: the state of the second loop, and what makes it
chain() {
	cat >chain.g <<TEXT
graph chain(%x: f32[6]) -> %y {
  %half: f32 = {0.5}
  %k3: i64 = {3}
  %k4: i64 = {4}
  %n = Neg(%x)
  %f, %s = Loop(%k4, _, %n)  "first" body(%i, %c, %a) {
    %b = Mul(%a, %half)
    %d = Abs(%b)
    %l = Identity(%c)
    yield %l, %b, %d
  }
  $2
  %g, %y = Loop(%k3, _, $1)  "second" body(%j, %e, %p) {
    %q = Mul(%p, %half)
    %o = Sub(%q, %half)
    %r = Abs(%o)
    yield %e, %o, %r
  }
}
TEXT
	for level in 0 2; do
		proves chain.g "[0-9]* values at [0-9]* points" --prove require -O$level
	done
}
chain %s
chain %m '%m = Neg(%s)'
chain %m '%m = Identity(%s)'
chain %m '%h, %t = Loop(%k3, _, %s)  "between" body(%u, %v, %w) { %z = Exp(%w) %l2 = Identity(%v) yield %l2, %z, %z }
  %m = ReduceMean(%t)'

# A loop that does not end with inputs that nobody gave: after some turns that is what is said. The
# bundle is written. A run says the same where it makes inputs up; there is no limit to given ones.
# endless NAME, its text on standard input
endless() {
	cat >"$1.g"
	within 60 "$tw" compile -q "$1.g" -o endless.twb 2>said && [ -s endless.twb ] &&
		grep -q 'the bundle is not proved, .*node "loop": no end was seen at these inputs in [0-9]* turns' said &&
		pass || lose "$1: $(cat said)"
	for how in "--runs 1" --prove; do # run by itself, too
		# shellcheck disable=SC2086  # words
		within 60 "$tw" run -q $how endless.twb >said 2>&1
		[ $? = 6 ] && grep -q 'no end was seen at these inputs' said && pass || lose "$1, run $how: $(cat said)"
	done
	rm -f endless.twb
}
endless turns <<'TEXT'
graph turns(%x: f32[N,4]) -> %y {
  %yes: bool = {1}
  %y = Loop(_, %yes, %x)  "loop" body(%i, %c, %v) { yield %c, %v }
}
TEXT
"$tw" compile -q --prove require turns.g -o endless.twb 2>said
code=$?
[ $code = 4 ] && [ ! -e endless.twb ] && grep -q -- "--prove=require: .* no end was seen" said && pass ||
	lose "required: $code, $(cat said)"
"$tw" compile -q --prove none --verify each turns.g -o endless.twb && pass || lose "not proved, but verified"
endless doubled <<'TEXT'
graph doubled(%x: f32[N,1024], %m: i64) -> %y {
  %y = Loop(%m, _, %x)  "around" body(%j, %d, %u) {
    %w = Loop(_, %d, %u)  "loop" body(%i, %c, %v) {
      %t = Concat(%v, %v) {axis=0}
      yield %c, %t
    }
    yield %d, %w
  }
}
TEXT
endless collected <<'TEXT'
graph collected(%x: f32[256,256]) -> %y, %z {
  %yes: bool = {1}
  %y, %z = Loop(_, %yes, %x)  "loop" body(%i, %c, %v) {
    %t = MatMul(%v, %x)
    yield %c, %t, %t
  }
}
TEXT
# In a branch that is not taken, the other is proved.
cat >branches.g <<'TEXT'
graph branches(%x: f32[4], %n: i64, %c: bool) -> %y {
  %yes: bool = {1}
  %y = Loop(%n, _, %x)  "around" body(%i, %d, %u) {
    %r = If(%c)  "if" then_branch {
      %a = Loop(_, %yes, %u)  "loop" body(%j, %e, %v) {
        %t = Tanh(%v)
        yield %e, %t
      }
      yield %a
    } else_branch {
      %s = Loop(_, %c, %u)  "ends" body(%k, %f, %w) { yield %c, %w }
      %o = Exp(%s)
      yield %o
    }
    yield %d, %r
  }
}
TEXT
within 60 "$tw" compile branches.g -o proved.twb >said 2>&1
grep -q "^proved: " said && ! grep -q warning said && pass || lose "branches: $(cat said)"
cat >count.g <<'TEXT'
graph count(%n: i64, %x: f32[3]) -> %k, %y {
  %one: i64 = {1}
  %half: f32 = {0.5}
  %zero: i64 = {0}
  %yes: bool = {1}
  %k, %y = Loop(_, %yes, %zero, %x)  "loop" body(%i, %c, %v, %u) {
    %w = Add(%v, %one)
    %z = Add(%u, %half)
    %more = Less(%w, %n)
    yield %more, %w, %z
  }
}
TEXT
"$tw" compile -q --prove require count.g -o count.twb &&
	"$tw" run -q --runs 1 count.twb --input n=50000 --input x=1.0,2,3 --expect k=50000 &&
	"$tw" run -q --runs 1 count.g --input n=50000 --input x=1.0,2,3 --expect k=50000 && pass ||
	lose "a run of many turns"
cat >long.g <<'TEXT'
graph long(%x: f32[3]) -> %y {
  %m: i64 = {20000}
  %half: f32 = {0.5}
  %y = Loop(%m, _, %x)  "loop" body(%i, %c, %u) {
    %z = Mul(%u, %half)
    yield %c, %z
  }
}
TEXT
proves long.g ".*" --prove require

# Denials: "deny CHOICE VALUE" among the choices. steps CHOICES: how many steps of which kind there are.
steps() { "$tw" inspect "$1" | sed -n '/^step  kind/,/^part/{/^ *[0-9]/p}' | awk '{ print $2 }' | sort | uniq -c | awk '{ all = all (NR == 1 ? "" : ", ") $1 " " $2 } END { print all }'; }

# denied FILE CHOICE VALUE BEFORE AFTER: its steps without and with a denial.
denied() {
	rm -rf before
	pin "$1"
	"$tw" compile -q "$1" -o before.twb --choices pinned --keep before || lose "compile $1"
	echo '{"choices": 2}' >choices
	echo "{\"key\": \"deny $2 $3\", \"chosen\": \"it was wrong\", \"candidates\": \"\"}" >>choices
	tail -n +2 pinned >>choices
	rm -rf denied
	"$tw" compile -q "$1" -o after.twb --choices choices --keep denied >said 2>&1 || lose "deny $2: $(cat said)"
	! grep -q "is wrong" said && pass || lose "deny $2 $3: $(cat said)"
	before=$(steps before.twb) after=$(steps after.twb)
	[ "$before" = "$4" ] && [ "$after" = "$5" ] && pass || lose "deny $2 $3: $before, then $after"
	grep -q "\"deny $2 $3\"" denied/choices.jsonl && pass || lose "deny $2 is not among the choices: $(cat denied/choices.jsonl)"
	"$tw" run -q --prove after.twb && pass || lose "deny $2: not proved"
}
cat >fused.g <<'TEXT'
graph fused(%x: f32[6,16]) -> %y { %e = Exp(%x)  "e" %y = Neg(%e)  "n" }
TEXT
denied fused.g fusion y "1 kernel" "2 kernel"
denied rows.g view p "1 copy, 1 kernel" "2 kernel"
denied fused.g schedule y "1 kernel" "1 kernel"
! cmp -s before/kernels/*.c denied/kernels/*.c && pass || lose "deny schedule: the kernel is the same"
if [ "$vendor" ]; then
	denied plan.g vendor m "5 vendor" "1 kernel, 4 vendor"
	denied plan.g layout y "5 vendor" "1 kernel, 3 vendor"
	"$tw" inspect after.twb | grep -q 'f32\[2,16,9,11\]  *relu' && pass || lose "deny layout: %y is blocked"
fi

# What a C compiler makes wrong at any level is refused, and the last line says what would write it.
cat >cc.sh <<'SCRIPT'
#!/bin/sh
for word; do
	case $word in *.c) sed -i 's/1\.25/2.25/g' "$word" ;; esac
done
exec cc "$@"
SCRIPT
chmod +x cc.sh
cat >sum.g <<'TEXT'
graph sum(%x: f32[4]) -> %y { %c: f32 = {1.25} %y = Add(%x, %c) }
TEXT
CC="$tmp/cc.sh" XDG_CACHE_HOME="$tmp/own" "$tw" compile -q -O1 sum.g -o sum.twb 2>said
rc=$?
[ $rc = 5 ] && [ ! -e sum.twb ] && tail -n 1 said | grep -q 'a way round it is --prove none' && pass ||
	lose "a wrong compiler: exit code $rc: $(cat said)"
CC="$tmp/cc.sh" XDG_CACHE_HOME="$tmp/own" "$tw" compile -q -O1 --prove none sum.g -o sum.twb 2>said &&
	pass || lose "a wrong compiler, not proved: $(cat said)"

# Cases of operators whose sizes or constants are among their inputs, each as a bundle, by its own data.
if [ -n "$ONNX_TESTDATA" ]; then
	"$tw" test-onnx --prove --only 'test_r[eo]*' "$ONNX_TESTDATA/node" >said 2>&1 && pass || lose "cases: $(cat said)"
else
	skip 1 testdata
fi
finish
