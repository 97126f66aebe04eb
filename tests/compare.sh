#!/bin/sh
# tilewright compare: a mistake in a weight, in a plan, in what another runtime computes is found by the
# name of its tensor; what is equal does not differ; exit codes and JSON. Times are looked at only as far
# as they cannot depend on the machine.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
spoiled="wrong.twb"
about="compare: "
amend=${BUILD:-build}/test/amend
[ -x "$amend" ] || { echo "there is no $amend"; exit 1; }
case $amend in /*) ;; *) amend=$PWD/$amend ;; esac
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache"

# model NAME WEIGHT: three products, the middle one with this weight; what it gives is read twice, so
# that it is stored by every pipeline.
model() {
	cat >"$1.g" <<TEXT
graph chain(%x: f32[4,6]) -> %y {
  %u: f32[6,2] = {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}
  %v: f32[2,2] = {1, 2, 3, $2}
  %w: f32[2,12] = {1, 2, 3, 4, 5, 6, 1, 1, 1, 2, 2, 2, 3, 3, 3, 1, 2, 1, 2, 1, 2, 1, 2, 1}
  %a = MatMul(%x, %u)  "first"
  %b = MatMul(%a, %v)  "second"
  %c = MatMul(%b, %w)  "third"
  %s = ReduceSum(%b) {keepdims=1}  "sum"
  %y = Add(%c, %s)  "last"
}
TEXT
	"$tw" optimize -q -O0 "$1.g" "$1.onnx" || lose "$1"
}
model right 4
model wrong 4.5

# says PATTERN SUBJECTS AND OPTIONS: exit code 0, and a line as this one
says() {
	pattern=$1
	shift
	"$tw" compare --rounds 0 "$@" >said 2>err && grep -q -- "$pattern" said && pass || lose "$*: $(cat said err)"
}
# member NAME: its first value in JSON
member() { sed -n "s/.*\"$1\":[	 ]*\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}.*/\1/p" said | head -n 1; }

# ---- a weight ----
for level in 0 1 2 3; do
	says '%b of node "second" (MatMul): element \[0,1\] is' right.onnx@O0 "wrong.onnx@O$level" --tensors
	says ': [1-9][0-9]* tensors are compared, 0 differ' right.onnx@O0 "right.onnx@O$level" --tensors
done
grep -q "of another model file" err && lose "equal models: $(cat err)"
"$tw" compare --rounds 0 right.onnx wrong.onnx >said 2>err && grep -q "wrong.onnx is of another model file than right.onnx" err &&
	grep -q "y .* of 48 are wrong" said && pass || lose "another model: $(cat said err)"
"$tw" compare --rounds 0 --fail-if-differs right.onnx wrong.onnx >said 2>err
[ $? = 1 ] && pass || lose "--fail-if-differs of what differs: $(cat said err)"
"$tw" compare --rounds 0 --fail-if-differs --tensors right.onnx@O0 right.onnx@O3 >said 2>err && pass ||
	lose "--fail-if-differs of equals: $(cat said err)"
"$tw" compare --rounds 0 --fail-if-differs --atol 1e6 right.onnx wrong.onnx >said 2>err && pass ||
	lose "--atol: $(cat said err)"

# ---- values by their names ----
# A BatchNormalization that is folded: what its Conv gives then is not what the model calls so.
cat >norm.g <<'TEXT'
graph norm(%x: f32[1,2,5,5]) -> %y, %z {
  %w: f32[2,2,3,3] = weight 0
  %s: f32[2] = {3, 0.5}
  %b: f32[2] = {1, -1}
  %m: f32[2] = {0.25, 0.5}
  %v: f32[2] = {2, 0.75}
  %c = Conv(%x, %w)  "conv"
  %n = BatchNormalization(%c, %s, %b, %m, %v)  "norm"
  %y = Softmax(%n)  "soft"
  %z = ReduceMax(%n)  "max"
}
TEXT
"$tw" optimize -q -O0 norm.g norm.onnx || lose "norm"
for level in 1 2 3; do
	says ', 0 differ' norm.onnx@O0 "norm.onnx@O$level" --tensors
	"$tw" compare --rounds 0 -q --json norm.onnx@O0 "norm.onnx@O$level" --tensors --seed 2 >said
	grep -q '"tensor":.*"n"' said && pass || lose "-O$level: the norm is not compared: $(cat said)"
done
grep -q '"tensor":.*"c"' said && lose "what a folded convolution gives has another name: $(cat said)"

# ---- run: every value by its name ----
"$tw" run -O0 --runs 1 --all-outputs values norm.onnx >said 2>err && [ "$(echo values/*)" = "values/c.npy values/n.npy values/y.npy values/z.npy" ] &&
	grep -q "^4 values in values" said && pass || lose "all outputs: $(echo values/*) $(cat said err)"
"$tw" run -O3 --runs 1 norm.onnx --expect n=@values/n.npy --expect z=@values/z.npy >said 2>err &&
	grep -q "^n agrees" said && pass || lose "a value between: $(cat said err)"
"$tw" run -q -O3 --runs 1 norm.onnx --expect n=@values/c.npy >said 2>err
[ $? = 1 ] && grep -q "^n: " err && pass || lose "another value: $(cat said err)"
"$tw" run -q -O3 --runs 1 norm.onnx --expect c=@values/c.npy >said 2>err
[ $? = 2 ] && grep -q "no value 'c', or it is inside of a kernel" err && pass || lose "a value inside: $(cat said err)"
"$tw" run -q --runs 1 norm.g --expect n=@values/n.npy >said 2>err
[ $? = 2 ] && grep -q "only an ONNX file says" err && pass || lose "a text's value: $(cat said err)"

# f16 that is computed and stored as f32 is still the model's value.
cat >half.g <<'TEXT'
graph half(%x: f16[7,33], %w: f16[33,9], %v: f16[9,4]) -> %y, %z {
  %p = MatMul(%x, %w)  "product"
  %y = MatMul(%p, %v)  "last"
  %z = ReduceMax(%p) {keepdims=0}  "max"
}
TEXT
"$tw" optimize -q -O0 half.g half.onnx || lose "half"
for level in 0 2 3; do says ': 3 tensors are compared, 0 differ' half.onnx@O0 "half.onnx@O$level" --tensors; done

# ---- a plan ----
cat >plan.g <<'TEXT'
graph plan(%x: f32[6,16], %y: f32[6,16]) -> %d, %t {
  %d = Sub(%x, %y)  "difference"
  %t = Softmax(%d)  "soft"
}
TEXT
"$tw" optimize -q -O0 plan.g plan.onnx && "$tw" compile -q -O1 plan.onnx -o plan.twb --keep kept || lose "plan"
plan=$(cd kept && ls plan/*.json)
index() { grep -o '{"name": "[^"]*", "type"' "kept/$plan" | grep -n "\"$1\"" | head -n 1 | sed 's/:.*//' | awk '{ print $1 - 1 }'; }
x=$(index x) y=$(index y)
sed "s/\"args\": \[$x, $y, /\"args\": [$y, $x, /" "kept/$plan" >changed
cmp -s changed "kept/$plan" && lose "the plan has another form"
"$amend" plan.twb wrong.twb set "$plan" changed || lose "amend"
says '2 tensors are compared, 2 differ, first %d of node "difference" (Sub)' plan.onnx@O0 wrong.twb --tensors
says '^wrong.twb  *kernel .* d  *element .* is meant; [0-9]* of [0-9]* points are wrong$' plan.onnx@O0 wrong.twb --kernels
"$tw" compare --rounds 0 --fail-if-differs --kernels plan.onnx@O0 wrong.twb >said 2>err
[ $? = 1 ] && pass || lose "--kernels: $(cat said err)"
"$tw" compare --rounds 0 plan.twb wrong.twb --tensors >said 2>err
[ $? = 2 ] && grep -q "none of the subjects is an ONNX model" err && pass || lose "bundles alone: $(cat err)"

# ---- numbers ----
printf 'graph g(%%x: f32[3,12]) -> %%y { %%y = Relu(%%x) }\n' >relu.g
printf 'graph g(%%x: f32[3,12]) -> %%y { %%y = Abs(%%x) }\n' >abs.g
"$tw" compare --rounds 0 -q --json relu.g abs.g --input x=@x.npy >said 2>err
[ $? = 6 ] && pass || lose "no x.npy: $(cat err)"
"$tw" run -q relu.g --output in --seed 3 && "$tw" compare --rounds 0 -q --json relu.g relu.g abs.g >said 2>err || lose "$(cat err)"
[ "$(member max)" = 0 ] && [ "$(member cosine)" = 1 ] && [ "$(member top1)" = 1 ] && pass || lose "equal outputs: $(cat said)"
awk '/"max":/ { n++ } /"top1":/ { gsub(/[",]/, ""); t = $2 } END { exit !(n == 2 && t <= 1) }' said && pass || lose "rows: $(cat said)"

# ---- times ----
"$tw" compare -q --json --rounds 8 right.onnx@O1 right.onnx@O1 --fail-if-slower 100000% >said 2>err &&
	grep -q '"verdict":.*"[a-z ]*",$' said && grep -q '"ratio_lower":' said && pass || lose "times: $(cat said err)"
"$tw" compare -q --json --rounds 1 right.onnx@O1 right.onnx@O1 >said 2>err &&
	grep -q '"verdict":.*"too few rounds to say"' said && pass || lose "one round: $(cat said err)"
"$tw" compare --rounds 3 right.onnx right.onnx --fail-if-slower 3% >said 2>err
[ $? = 2 ] && grep -q "fewer than 8 rounds do not tell" err && pass || lose "three rounds: $(cat err)"
"$tw" bench -q --json --rounds 2 right.onnx@O1 right.onnx@O1 >said 2>err &&
	tr -d ' \t\n' <said | grep -q '"turns_ms":\[\[[0-9.e-]*,[0-9.e-]*\],\[[0-9.e-]*,[0-9.e-]*\]\]' &&
	grep -q '"cpu_ms":' said && pass || lose "turns: $(cat said err)"
"$tw" compare --rounds 0 right.onnx right.onnx --fail-if-slower much >said 2>err
[ $? = 2 ] && grep -q "expected a percentage as 3%, saw 'much'" err && pass || lose "much: $(cat err)"

# ---- sizes that a bundle was not compiled for ----
printf 'graph g(%%x: f32[N,4]) -> %%y { %%y = Softmax(%%x) }\n' >open.g
"$tw" compile -q open.g -o open.twb --shape N=8 || lose "open.g"
"$tw" compare --rounds 3 open.twb open.twb --shape N=8 --json >said 2>err &&
	tr -d '\t' <said | grep -q '"output":"y"' && pass ||
	lose "names of outputs once times were taken: $(cat said err)"
"$tw" compare --rounds 0 open.twb open.twb --shape N=2 >said 2>err && grep -q "compiled for N=8 and runs at 2" err && pass ||
	lose "other sizes: $(cat err)"

# ---- a program ----
# It doubles nothing and adds nothing: it copies the file of its input, of 4x6 numbers, as y.
cat >program <<'TEXT'
#!/bin/sh
echo "a word that is no number"
while read -r word; do
	case $word in
	run) echo 1500 ;;
	save) cp "$2/x.npy" "$3/$1.npy"; echo 0 ;;
	esac
done
TEXT
chmod +x program
printf 'graph g(%%x: f32[4,6]) -> %%y { %%y = Identity(%%x) }\n' >same.g
"$tw" compare -q --json --rounds 1 same.g "cmd:./program y" --fail-if-differs >said 2>err &&
	grep -q '"median_ms":.*0.0015,' said && grep -q "a word that is no number" err && pass || lose "a program: $(cat said err)"
"$tw" compare --rounds 0 same.g "cmd:./program z" >said 2>err && grep -q "^cmd:./program z  *y " said && pass ||
	lose "a program that calls its only output otherwise: $(cat said err)"
"$tw" optimize -q -O0 same.g same.onnx && says ': 1 tensor is compared' same.onnx@O0 "cmd:./program y" --tensors
says ': 0 tensors are compared' same.onnx@O0 "cmd:./program z" --tensors
grep -q "have no tensor of one name" err && pass || lose "no tensor: $(cat err)"
"$tw" compare --rounds 0 "cmd:./program y" same.g >said 2>err
[ $? = 2 ] && grep -q "it cannot be the first" err && pass || lose "a program in front: $(cat err)"
"$tw" compare --rounds 0 same.g "cmd:false" >said 2>err
[ $? = 6 ] && grep -q "cmd:false: it ended" err && pass || lose "a program that ends: $(cat err)"

# ---- other runtimes ----
printf 'graph g(%%x: f32[3,4]) -> %%y { %%y = ReduceSum(%%x) {keepdims=0} }\n' >scalar.g
"$tw" optimize -q -O0 scalar.g scalar.onnx || lose "scalar"
for other in ort openvino; do
	if "$tw" bench -q --rounds 1 "right.onnx/$other" >said 2>err; then
		says '%b of node "second" (MatMul): element' "right.onnx/$other" wrong.onnx@O2 --tensors
		says ': 5 tensors are compared, 0 differ' right.onnx@O0 "right.onnx/$other" --tensors
		says ', first %b of node "second" (MatMul)' right.onnx@O0 "wrong.onnx/$other" --tensors
		says ': 1 tensor is compared, 0 differ' scalar.onnx@O0 "scalar.onnx/$other" --tensors
	elif grep -q "was not found" err; then
		skip 4 "$other"
	else
		lose "$other: $(cat err)"
	fi
done
finish
