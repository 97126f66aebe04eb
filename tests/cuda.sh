#!/bin/sh
# usage: tests/cuda.sh [-a | MODEL...]
#
# The runtime of GPUs without one: bundles for cuda:sm_90 on what stands for CUDA's runtime
# (tests/standin), whose kernels are this machine's. Models of the zoo give the bits of the test device,
# step by step and replayed, whatever order their streams are done in; each call fails once; and what is
# missing is said. -a: more models, and all of the ONNX cases.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common

want c++
build=$(realpath "${BUILD:-build}")
program=$build/test/cuda
LD_LIBRARY_PATH=$build/test/standin:$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
XDG_CACHE_HOME=$tmp/cache
export LD_LIBRARY_PATH XDG_CACHE_HOME

# made NAME MODEL: NAME.test.twb and the same for a GPU, NAME.cuda.twb
made() {
	# shellcheck disable=SC2086  # no option, or one with its value
	"$tw" compile -q "$2" --target test:sm_90 --prove none $vendor -o "$tmp/$1.test.twb" 2>"$tmp/err" &&
		"$build/test/amend" "$tmp/$1.test.twb" "$tmp/$1.cuda.twb" target cuda:sm_90 "sm_90, driver 12.8" && return
	lose "compile $1: $(cat "$tmp/err")"
	return 1
}

# called LIBRARY ONE MANY [WAY]: from here on its calls are made. Each of CUDA's functions fails once below
# ONE of them; MANY give the bits of the test device, or of a first run (WAY: cuda), on lent memory and by
# eight threads; their profile is in $tmp/out.
called() {
	vendor="--config FuseOps.driver=13000 --config FuseOps.library=$1"
	for name in "$2" "$3"; do
		made "$name" "$tmp/$name.g" && pass
	done
	"$program" fail "$tmp/$2.cuda.twb" "$tmp/$2.test.twb" >"$tmp/out" 2>&1 && pass ||
		lose "$2, fail: $(cat "$tmp/out")"
	for verb in lent threads; do
		STANDIN_SEED=5 "$program" "$verb" "$tmp/$3.cuda.twb" "$tmp/$3.${4:-test}.twb" >"$tmp/out" 2>&1 && pass ||
			lose "$3, $verb: $(cat "$tmp/out")"
	done
	"$tw" run "$tmp/$3.cuda.twb" --shape N=2 --shape K=3 --profile >"$tmp/out" 2>"$tmp/err"
}
lives() {
	STANDIN_SEED=5 "$program" life "$tmp/$1.cuda.twb" "$tmp/$1.test.twb" >"$tmp/life" 2>&1 && pass ||
		lose "$1, life: $(cat "$tmp/life")"
}

# Arrays that a block shares begin at multiples of 16 bytes, and are counted so.
cat >"$tmp/rows.g" <<'EOT'
graph g(%x: f32[N,79,81], %b: f32[81]) -> %y {
  %a: i64[2] = {1,2}
  %t = Add(%x, %b) "add"
  %e = Exp(%t) "exp"
  %s = ReduceSum(%e, %a) {keepdims=1} "sum"
  %y = Div(%e, %s) "div"
}
EOT
"$tw" compile -q "$tmp/rows.g" --target test:sm_90 --prove none --keep "$tmp/kept" -o "$tmp/rows.twb" &&
	grep -q '"25664"' "$tmp/kept/plan/test-sm_90.json" && pass || lose "64 + 25596 shared bytes are not 25664"

# A gather whose index may be wrong, rows that are summed, and what a host operator does between.
cat >"$tmp/small.g" <<'EOT'
graph g(%x: f32[N,20], %i: i64[K]) -> %y, %o, %u {
  %one: i64[1] = {1}
  %r = ReduceSum(%x, %one) "sum"
  %f = Cast(%i) {to=1}
  %o = Mul(%r, %f) "outer"
  %e = Exp(%x) "exp"
  %g = Gather(%e, %i) "take"
  %y = Softmax(%g) "soft"
  %u, %a, %b, %c = Unique(%i) "unique"
}
EOT
grep -v Unique "$tmp/small.g" | sed 's/, %u / /' >"$tmp/whole.g"
made small "$tmp/small.g" && made whole "$tmp/whole.g" || finish
for name in small whole; do
	"$program" index "$tmp/$name.cuda.twb" >"$tmp/out" 2>&1 && pass || lose "$name, index: $(cat "$tmp/out")"
	for verb in fail refuse life; do
		"$program" $verb "$tmp/$name.cuda.twb" "$tmp/$name.test.twb" >"$tmp/out" 2>&1 && pass ||
			lose "$name, $verb: $(cat "$tmp/out")"
	done
done
"$program" lent "$tmp/whole.cuda.twb" "$tmp/whole.test.twb" >"$tmp/out" 2>&1 && pass ||
	lose "memory of the caller's: $(cat "$tmp/out")"

# Weights that kernels read, and arrays of no elements, for which CUDA gives no address.
cat >"$tmp/held.g" <<'EOT'
graph g(%x: f32[N,20]) -> %y {
  %w: f32[20,8] = weight 0
  %y = MatMul(%x, %w) "product"
}
EOT
made held "$tmp/held.g" && "$program" fail "$tmp/held.cuda.twb" "$tmp/held.test.twb" >"$tmp/out" 2>&1 && pass ||
	lose "weights: $(cat "$tmp/out")"
for way in test cuda; do # the first run, when nobody waits for the weights but who copied them
	STANDIN_SEED=0 "$tw" run -q "$tmp/held.$way.twb" --shape N=2 --runs 1 --output "$tmp/held.$way" >"$tmp/out" 2>&1 ||
		lose "weights, $way: $(cat "$tmp/out")"
done
cmp -s "$tmp/held.test/y.npy" "$tmp/held.cuda/y.npy" && pass || lose "weights are not there at the first run"
"$tw" run -q "$tmp/whole.cuda.twb" --shape N=3 --shape K=0 >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ] && pass ||
	lose "no elements: $(cat "$tmp/out" "$tmp/err")"

"$program" copies >"$tmp/out" 2>&1 && pass || lose "copies: $(cat "$tmp/out")"

# Steps that may run side by side, which no plan for a GPU has by itself: on several streams, joined again.
cat >"$tmp/beside.g" <<'EOT'
graph g(%x: f32[N,20]) -> %y {
  %m = ReduceMax(%x) "m"
  %s = ReduceSumSquare(%x) "s"
  %a = Softmax(%x) {axis=0} "a"
  %t = Transpose(%x) {perm=[1,0]} "t"
  %p = MatMul(%t, %x) "p"
  %q = MatMul(%x, %p) "q"
  %u = Sum(%a, %q) "u"
  %v = Sum(%m, %s) "v"
  %y = Mul(%u, %v) "y"
}
EOT
"$tw" compile -q "$tmp/beside.g" --target test:sm_90 --prove none --keep "$tmp/kept" -o "$tmp/beside.test.twb" &&
	awk '{ gsub(/"first": [0-9]*, "last": [0-9]*/, "\"first\": 0, \"last\": 7") }
		/"kernel", "name": "a"/ && !seen++ || /"kernel", "name": "[pv]"/ { sub(/"outputs": 1/, "&, \"beside\": 1") } 1' \
		"$tmp/kept/plan/test-sm_90.json" >"$tmp/plan" && [ "$(grep -c beside "$tmp/plan")" = 3 ] &&
	"$build/test/amend" "$tmp/beside.test.twb" "$tmp/waves.twb" set plan/test-sm_90.json "$tmp/plan" &&
	"$build/test/amend" "$tmp/waves.twb" "$tmp/beside.cuda.twb" target cuda:sm_90 sm_90 || lose "no plan with waves"
for verb in lent fail threads; do
	"$program" $verb "$tmp/beside.cuda.twb" "$tmp/beside.test.twb" >"$tmp/out" 2>&1 && pass ||
		lose "side by side, $verb: $(cat "$tmp/out")"
done

STANDIN_SEED=3 "$program" threads "$tmp/small.cuda.twb" "$tmp/small.test.twb" >"$tmp/out" 2>&1 && pass ||
	lose "eight threads: $(cat "$tmp/out")"

# cuDNN's calls, on what stands for it (tests/standin_cudnn): sums of few bits, which are the same in any
# order. Where cuDNN fails when a call is prepared the fallback kernel does it.
cat >"$tmp/call.g" <<'EOT'
graph g(%x: f32[N,4,5,6], %w: f32[6,2,3,3], %b: f32[6]) -> %y {
  %c = Conv(%x, %w, %b) {group=2, pads=[1,1,1,1], strides=[2,1]} "window"
  %y = Relu(%c) "relu"
}
EOT
cat >"$tmp/calls.g" <<'EOT'
graph g(%x: f32[N,4,6,6], %w: f32[8,4,3,3], %b: f32[8], %v: f32[8,8,1,1], %m: f32[6,K]) -> %y, %p, %t, %o, %q {
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]} "first"
  %r = Relu(%c) "relu"
  %d = Conv(%r, %v) "second"
  %s = Add(%d, %r) "add"
  %y = Relu(%s) "last"
  %h = Cast(%x) {to=10} "short"
  %i = Cast(%m) {to=10} "short too"
  %p = MatMul(%h, %i) "product"
  %t = MaxPool(%y) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} "largest"
  %o = AveragePool(%x) {kernel_shape=[3,2], pads=[1,0,1,1]} "mean"
  %q = ConvTranspose(%r, %w) {group=2, strides=[2,1], pads=[1,0,0,1], output_padding=[1,0]} "transposed"
}
EOT
called cudnn call calls
lives calls
[ "$(grep -c 'vendor .* engine 1, ' "$tmp/out")" = 5 ] && [ "$(grep -c 'vendor .* engine 2, ' "$tmp/out")" = 1 ] &&
	[ ! -s "$tmp/err" ] && pass || lose "calls are not made: $(cat "$tmp/out" "$tmp/err")"
"$tw" run "$tmp/calls.cuda.twb" --shape N=2 --shape K=3 --log >"$tmp/out" 2>"$tmp/err"
[ "$(grep -c "step '.*': engine [12], [0-9]* bytes, made in [0-9.]* ms" "$tmp/err")" = 6 ] && pass ||
	lose "--log: $(cat "$tmp/out" "$tmp/err")"

# Channels of f16 lie last between calls, given weights, too: windows, groups, additions, pools, concatenated
# parts that are written where they lie, transposed ones.
cat >"$tmp/last.g" <<'EOT'
graph g(%x: f16[N,4,5,6], %w: f16[8,2,3,3], %b: f16[8]) -> %y {
  %c = Conv(%x, %w, %b) {group=2, pads=[1,1,1,1], strides=[2,1]} "window"
  %y = Relu(%c) "relu"
}
EOT
cat >"$tmp/lasts.g" <<'EOT'
graph g(%x: f16[N,8,6,6], %w: f16[8,8,3,3], %b: f16[8], %v: f16[8,1,1,3], %u: f16[8,8,1,1], %t: f16[16,4,2,2], %i: f16[K]) -> %y, %z, %m, %j {
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]} "first"
  %r = Relu(%c) "relu"
  %p = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]} "largest"
  %z = Conv(%p, %v) {group=8} "deep"
  %e = Conv(%p, %w) {pads=[1,1,1,1]} "second"
  %s = Add(%e, %p) "add"
  %a = Relu(%s) "positive"
  %m = GlobalAveragePool(%p) "mean"
  %f = Conv(%p, %u) "third"
  %l = Concat(%a, %f) {axis=1} "beside"
  %y = ConvTranspose(%l, %t) {strides=[2,2]} "transposed"
  %j = Neg(%i) "else"
}
EOT
called cudnn last lasts
lives lasts
[ "$(grep -c 'vendor .* engine 1, ' "$tmp/out")" = 5 ] && [ ! -s "$tmp/err" ] && pass ||
	lose "channels last, calls: $(cat "$tmp/out" "$tmp/err")"
"$tw" inspect "$tmp/lasts.cuda.twb" | grep -q 'vendor *conv *f16\[N,8,3,3\] @nc8hw *positive' && pass ||
	lose "channels do not lie last: $("$tw" inspect "$tmp/lasts.cuda.twb")"

# Attention, a program of several stages: heads that lie between each other and are read where they lie,
# something added that is broadcast, f16 and bf16; by the CPU's results, too, at two sizes. Where the fallback
# kernel may do it, one key counts: bits differ otherwise, since cuDNN rounds probabilities.
cat >"$tmp/head.g" <<'EOT'
graph g(%q: f16[N,2,5,8], %k: f16[N,2,7,8], %v: f16[N,2,7,16]) -> %y {
  %m: f16[1,7] = {-30000,-30000,0,-30000,-30000,-30000,-30000}
  %y = Attention(%q, %k, %v, %m) "attention"
}
EOT
cat >"$tmp/heads.g" <<'EOT'
graph g(%q: f16[N,K,2,16], %k: f16[N,7,2,16], %v: f16[N,2,7,8], %m: f16[K,7], %x: f32[1,N,9,8], %a: f32[9,9], %u: f16[N,4,K,16]) -> %y, %z, %w {
  %r = Transpose(%q) {perm=[0,2,1,3]} "queries"
  %s = Transpose(%k) {perm=[0,2,1,3]} "keys"
  %y = Attention(%r, %s, %v, %m) {scale=0.5} "masked"
  %b = Cast(%x) {to=16} "short"
  %c = Cast(%a) {to=16} "short too"
  %o = Attention(%b, %b, %b, %c) "own"
  %z = Cast(%o) {to=1} "single"
  %w = Attention(%u, %s, %v) "shared"
}
EOT
called cudnn head heads cuda
lives head
[ "$(grep -c 'vendor .* engine 2, ' "$tmp/out")" = 3 ] && ! grep -q 'kernel *\(queries\|keys\)' "$tmp/out" && pass ||
	lose "attention is not called: $(cat "$tmp/out" "$tmp/err")"
"$tw" compile -q "$tmp/heads.g" --target cpu:native --prove none -o "$tmp/heads.cpu.twb" || lose "heads for a CPU"
for k in 1 6; do
	"$tw" run -q "$tmp/heads.cpu.twb" --shape N=2 --shape K=$k --runs 1 --output "$tmp/wanted" 2>"$tmp/err" &&
		"$tw" run -q "$tmp/heads.cuda.twb" --shape N=2 --shape K=$k --rtol 1e-2 --atol 2e-3 \
			--expect y=@"$tmp/wanted/y.npy" --expect z=@"$tmp/wanted/z.npy" --expect w=@"$tmp/wanted/w.npy" >"$tmp/out" 2>&1 && pass ||
		lose "attention, K=$k: $(cat "$tmp/out" "$tmp/err")"
done

# Written out as nodes: one call, which covers their steps. These run where it is not made (each call of CUDA's
# and cuDNN's fails once), where someone else reads what is between, and in loops whose sizes are data.
cat >"$tmp/node.g" <<'EOT'
graph g(%q: f16[N,2,5,8], %k: f16[N,2,8,7], %v: f16[N,2,7,16]) -> %y {
  %m: f16[1,7] = {-30000,-30000,0,-30000,-30000,-30000,-30000}
  %s = MatMul(%q, %k) "scores"
  %a = Add(%s, %m) "masked"
  %p = Softmax(%a) "soft"
  %y = MatMul(%p, %v) "attention"
}
EOT
cat >"$tmp/nodes.g" <<'EOT'
graph g(%q: f16[N,K,2,16], %k: f16[N,7,2,16], %v: f16[N,2,7,8], %m: f32[K,7], %n: f16[N,1,1,7]) -> %y, %p, %r {
  %half: f16 = {0.5}
  %x = Transpose(%q) {perm=[0,2,1,3]} "queries"
  %b = Neg(%k) "rotated"
  %t = Transpose(%b) {perm=[0,2,3,1]} "keys"
  %s = MatMul(%x, %t) "scores"
  %c = Mul(%s, %half) "scaled"
  %f = Cast(%c) {to=1} "wide"
  %i = Add(%f, %m) "masked"
  %j = Cast(%n) {to=1} "wide too"
  %a = Add(%i, %j) "masked too"
  %d = Softmax(%a) "soft"
  %h = Cast(%d) {to=10} "short"
  %y = MatMul(%h, %v) "attention"
  %z = Neg(%x) "other queries"
  %e = MatMul(%z, %t) "scores too"
  %g = Softmax(%e) "seen"
  %r = MatMul(%g, %v) "three steps"
  %o = Neg(%v) "other values"
  %p = MatMul(%g, %o) "who sees it"
}
EOT
cat >"$tmp/late.g" <<'EOT'
graph g(%b: bool[9], %x: f16[N,K]) -> %o, %y {
  %y = Relu(%x) "relu"
  %n = NonZero(%b) "many"
  %i: i64[1] = {0}
  %j = Squeeze(%n, %i) "which"
  %l = Cast(%j) {to=10} "number"
  %two: i64[4] = {1,1,-1,1}
  %g = Reshape(%l, %two) "rows"
  %w: f16[1,1,1,8] = {1,2,1,0.5,1,0,1,2}
  %u = Mul(%g, %w) "late"
  %ut = Transpose(%u) {perm=[0,1,3,2]} "late keys"
  %us = MatMul(%u, %ut) "late scores"
  %up = Softmax(%us) "late soft"
  %o = MatMul(%up, %u) "late attention"
}
EOT
called cudnn node nodes cuda
lives node
[ "$(grep -c 'vendor .* engine 2, ' "$tmp/out")" = 3 ] && ! grep -q ' \(short\|keys\)  ' "$tmp/out" && grep -q 'kernel .* seen' "$tmp/out" &&
	pass || lose "attention by nodes is not one call: $(cat "$tmp/out" "$tmp/err")"
made late "$tmp/late.g"
# Heads that share keys and values, which are repeated for them: the call reads them as they came.
cat >"$tmp/shared.g" <<'EOT'
graph g(%q: f16[N,4,K,16], %k: f16[N,2,3,16], %past: f16[N,2,6,16], %v: f16[N,9,2,8]) -> %y, %keys {
  %two: i64[1] = {2}
  %times: i64[5] = {1,1,2,1,1}
  %all: i64[4] = {0,4,-1,16}
  %each: i64[4] = {0,4,-1,8}
  %new = Neg(%k) "rotated"
  %keys = Concat(%past, %new) {axis=2} "present"
  %k1 = Unsqueeze(%keys, %two) "keys apart"
  %k2 = Expand(%k1, %times) "keys repeated"
  %k3 = Reshape(%k2, %all) "keys for all"
  %kt = Transpose(%k3) {perm=[0,1,3,2]} "keys turned"
  %u = Neg(%v) "values"
  %w = Transpose(%u) {perm=[0,2,1,3]} "values by heads"
  %v1 = Unsqueeze(%w, %two) "values apart"
  %v2 = Expand(%v1, %times) "values repeated"
  %v3 = Reshape(%v2, %each) "values for all"
  %s = MatMul(%q, %kt) "scores"
  %p = Softmax(%s) "soft"
  %y = MatMul(%p, %v3) "attention"
}
EOT
made shared "$tmp/shared.g"
"$tw" run "$tmp/shared.cuda.twb" --shape N=2 --shape K=3 --profile >"$tmp/out" 2>"$tmp/err"
[ "$(grep -c 'vendor .* engine 2, ' "$tmp/out")" = 1 ] && ! grep -q ' \(scores\|soft\|[a-z]* for all\|[a-z]* repeated\)  ' "$tmp/out" &&
	pass || lose "shared keys are repeated: $(cat "$tmp/out" "$tmp/err")"
for name in nodes late shared; do
	"$tw" compile -q "$tmp/$name.g" --target cpu:native --prove none -o "$tmp/$name.cpu.twb" || lose "$name for a CPU"
	for seed in 1 6; do
		"$tw" compare "$tmp/$name.cpu.twb" "$tmp/$name.cuda.twb" "$tmp/$name.test.twb" --shape N=2 --shape K=$seed \
			--seed $seed --rtol 1e-2 --atol 2e-3 >"$tmp/out" 2>&1 && pass || lose "$name, K=$seed: $(cat "$tmp/out")"
	done
done

# Norms, which are called for who names the library: rows and images, with a bias and without, f32 and f16,
# both in one. Of the first, whose bits the fallback kernel must give, factors are 0.
cat >"$tmp/norm.g" <<'EOT'
graph g(%x: f32[N,3,8], %b: f32[8]) -> %y {
  %w: f32[8] = {0,0,0,0,0,0,0,0}
  %y = LayerNormalization(%x, %w, %b) "norm"
}
EOT
cat >"$tmp/norms.g" <<'EOT'
graph g(%x: f32[N,K,24], %w: f32[24], %b: f32[24], %h: f16[N,5,16], %s: f16[16], %t: f16[K,32], %f: f32[32], %i: f32[N,3,4,8], %c: f32[3], %d: f32[3]) -> %y, %z, %u, %v, %o {
  %y = LayerNormalization(%x, %w, %b) {epsilon=0.01} "both"
  %z = LayerNormalization(%h, %s) "halves"
  %q = Cast(%t) {to=1} "wide"
  %r = RMSNormalization(%q, %f) "root"
  %u = Cast(%r) {to=10} "short"
  %v = InstanceNormalization(%i, %c, %d) {epsilon=0.5} "image"
  %o = RMSNormalization(%x, %b) {epsilon=0.25} "root of f32"
}
EOT
called cudnn norm norms cuda
lives norm
[ "$(grep -c 'vendor .* engine 2, ' "$tmp/out")" = 5 ] && pass ||
	lose "norms are not called: $(cat "$tmp/out" "$tmp/err")"
"$tw" compile -q "$tmp/norms.g" --target cpu:native --prove none -o "$tmp/norms.cpu.twb" || lose "norms for a CPU"
for k in 1 6; do
	"$tw" run -q "$tmp/norms.cpu.twb" --shape N=2 --shape K=$k --runs 1 --output "$tmp/wanted" 2>"$tmp/err" &&
		"$tw" run -q "$tmp/norms.cuda.twb" --shape N=2 --shape K=$k --rtol 1e-5 --atol 1e-5 \
			--expect y=@"$tmp/wanted/y.npy" --expect v=@"$tmp/wanted/v.npy" --expect o=@"$tmp/wanted/o.npy" >"$tmp/out" 2>&1 &&
		"$tw" run -q "$tmp/norms.cuda.twb" --shape N=2 --shape K=$k --rtol 1e-2 --atol 2e-3 \
			--expect z=@"$tmp/wanted/z.npy" --expect u=@"$tmp/wanted/u.npy" >"$tmp/out" 2>&1 && pass ||
		lose "norms, K=$k: $(cat "$tmp/out" "$tmp/err")"
done

# The plan of an engine that cuDNN compiles is kept for the next process, which compiles none, for this driver
# alone; without a folder it is made each time. Each call fails once there, too.
plan() {
	rm -rf "$tmp/given"
	"$tw" run -q "$tmp/head.cuda.twb" --shape N=2 --runs 1 --output "$tmp/given" >"$tmp/out" 2>"$tmp/err" &&
		cmp -s "$tmp/given/y.npy" "$tmp/planned.npy" && [ ! -s "$tmp/err" ]
}
XDG_CACHE_HOME=$tmp/plans
"$tw" run -q "$tmp/head.test.twb" --shape N=2 --runs 1 --output "$tmp/given" && mv "$tmp/given/y.npy" "$tmp/planned.npy"
plan && file=$(find "$XDG_CACHE_HOME" -type f) && cp "$file" "$tmp/whole" && STANDIN_COMPILES=0 plan && pass ||
	lose "a plan is not kept: $(cat "$tmp/err") $file"
! STANDIN_COMPILES=0 STANDIN_DRIVER=13010 plan && STANDIN_DRIVER=13010 plan &&
	[ "$(find "$XDG_CACHE_HOME" -type f | wc -l)" = 2 ] && pass || lose "another driver's plan: $(cat "$tmp/err")"
for none in /proc/none ""; do
	HOME='' XDG_CACHE_HOME=$none plan && pass || lose "plans, no folder '$none': $(cat "$tmp/err")"
done
HOME='' XDG_CACHE_HOME='' "$program" fail "$tmp/head.cuda.twb" "$tmp/head.test.twb" >"$tmp/out" 2>&1 && pass ||
	lose "plans, no folder, fail: $(cat "$tmp/out")"

# Of a damaged one nothing is parsed, which would end the process here: it is made and kept again, and nobody
# is told.
at=0 wrong='' size=$(wc -c <"$tmp/whole")
while [ $at -lt "$size" ]; do
	{
		head -c $at "$tmp/whole"
		[ $((at % 2)) = 1 ] || tail -c +$((at + 2)) "$tmp/whole"
	} >"$file"
	plan && cmp -s "$file" "$tmp/whole" || wrong="$wrong $at"
	[ -z "$is_whole" ] && at=$((at + size / 12 + 1)) || at=$((at + size / 120 + 1))
done
[ -z "$wrong" ] && pass || lose "plans damaged at these bytes of $size:$wrong: $(cat "$tmp/err")"
XDG_CACHE_HOME=$tmp/cache

# What cuDNN answered is kept: asked again, it is told of the device (three calls) and no more.
for cache in cache none; do
	# shellcheck disable=SC2086  # options
	XDG_CACHE_HOME=$tmp/$cache STANDIN_FAIL=4:700 "$tw" print --lower --target test:sm_90 $vendor --log "$tmp/call.g" \
		>"$tmp/$cache.text" 2>"$tmp/$cache.log"
done
grep -q 'vendor call: .*engine 1, ' "$tmp/cache.log" && ! grep -q 'vendor call' "$tmp/none.log" && pass ||
	lose "what is kept: $(grep conv "$tmp/cache.log" "$tmp/none.log")"

# Where the file of it is damaged, a byte changed in one of two ways or the rest of it missing, that is
# said at most, and what was kept is asked and kept again: 204 ways, of which without -a every eighth is tried.
kept() {
	# shellcheck disable=SC2086  # options
	XDG_CACHE_HOME=$tmp/damaged "$tw" print --lower --target test:sm_90 $vendor "$tmp/call.g" >"$tmp/out" 2>"$tmp/err"
}
kept && cp "$tmp/out" "$tmp/asked" && file=$(find "$tmp/damaged" -type f) && cp "$file" "$tmp/whole" &&
	[ ! -s "$tmp/err" ] && pass || lose "nothing is kept: $(cat "$tmp/err") $file"
way=0 wrong=
while [ $way -lt $((3 * $(wc -c <"$tmp/whole"))) ]; do
	at=$((way / 3))
	byte=$(od -An -tu1 -j $at -N 1 "$tmp/whole")
	head -c $at "$tmp/whole" >"$file"
	case $((way % 3)) in
	0) byte=$((byte ^ 16)) ;;
	1) byte=$((255 - byte)) ;;
	esac
	[ $((way % 3)) = 2 ] || {
		# shellcheck disable=SC2059  # a byte by its number
		printf "\\$(printf %o "$byte")"
		tail -c +$((at + 2)) "$tmp/whole"
	} >>"$file"
	! cmp -s "$file" "$tmp/whole" && kept && cmp -s "$tmp/out" "$tmp/asked" &&
		! grep -qv 'warning: a damaged file of the cache is not used' "$tmp/err" && cmp -s "$file" "$tmp/whole" || wrong="$wrong $way"
	[ -z "$is_whole" ] && way=$((way + 8)) || way=$((way + 1))
done
[ $way -gt 200 ] && [ -z "$wrong" ] && pass || lose "damaged in these ways:$wrong of $way: $(cat "$tmp/err")"

# Calls that are alike have one plan.
cat >"$tmp/alike.g" <<'EOT'
graph g(%x: f32[N,4,6,6], %w: f32[4,4,3,3], %v: f32[4,4,3,3]) -> %y {
  %c = Conv(%x, %w) {pads=[1,1,1,1]} "first"
  %d = Conv(%c, %v) {pads=[1,1,1,1]} "second"
  %y = Conv(%d, %w) {pads=[1,1,1,1]} "third"
}
EOT
made alike "$tmp/alike.g" && "$tw" run "$tmp/alike.cuda.twb" --shape N=2 --log >"$tmp/out" 2>"$tmp/err"
[ "$(grep -c 'engine 1, ' "$tmp/err")" = 3 ] && [ "$(grep -c 'made in' "$tmp/err")" = 1 ] && pass ||
	lose "three calls that are alike: $(cat "$tmp/err")"
[ -z "$is_whole" ] || "$program" fail "$tmp/alike.cuda.twb" "$tmp/alike.test.twb" >"$tmp/out" 2>&1 && pass ||
	lose "calls that are alike, fail: $(cat "$tmp/out")"

# cuBLASLt's, the same way (tests/standin_cublaslt): with a bias, a tensor that is added, a factor, a
# transposed matrix, numbers of 16 bits, and such with a result of f32.
cat >"$tmp/product.g" <<'EOT'
graph g(%x: f32[N,3,16], %w: f32[16,8], %b: f32[8]) -> %y {
  %p = MatMul(%x, %w) "product"
  %s = Add(%p, %b) "bias"
  %y = Relu(%s) "relu"
}
EOT
cat >"$tmp/products.g" <<'EOT'
graph g(%x: f32[N,5,16], %v: f32[12,16], %b: f32[12], %r: f32[N,5,12], %q: f32[N,4,3,8], %m: f32[6,K], %e: f32[K,K]) -> %y, %u, %h, %i, %j {
  %t = Transpose(%v) {perm=[1,0]} "turned"
  %p = MatMul(%x, %t) "product"
  %a = Add(%p, %b) "bias"
  %s = Add(%a, %r) "residual"
  %y = Relu(%s) "relu"
  %half: f32 = {0.5}
  %k = Transpose(%q) {perm=[0,1,3,2]} "keys"
  %c = MatMul(%q, %k) "scores"
  %u = Mul(%c, %half) "scaled"
  %n = Transpose(%m) {perm=[1,0]} "m turned"
  %mh = Cast(%m) {to=10} "m16"
  %nh = Cast(%n) {to=10} "n16"
  %h = MatMul(%mh, %nh) "f16"
  %mb = Cast(%m) {to=16} "mb16"
  %nb = Cast(%n) {to=16} "nb16"
  %ib = MatMul(%mb, %nb) "bf16"
  %i = Relu(%ib) "relu of bf16"
  %g = MatMul(%nh, %mh) "f16, then f32"
  %l = Cast(%g) {to=1} "wide"
  %j = Add(%l, %e) "residual of f32"
}
EOT
called cublaslt product products
lives products
[ "$(grep -c 'vendor .* cuBLASLt, ' "$tmp/out")" = 5 ] && pass ||
	lose "products are not called: $(cat "$tmp/out" "$tmp/err")"

# Whole, by both libraries, sums in another order: the CPU's results, at two sizes by one bundle. Heads of
# attention lie between each other, so that a batch is several calls.
vendor="--config FuseOps.driver=13000"
if "$zoo" bert-tiny --symbolic -o "$tmp/m.onnx" && made bert "$tmp/m.onnx" &&
	"$tw" compile -q "$tmp/m.onnx" --target cpu:native --prove none -o "$tmp/bert.cpu.twb" 2>"$tmp/err"; then
	for batch in 1 3; do
		"$tw" run -q "$tmp/bert.cpu.twb" --shape batch=$batch --runs 1 --output "$tmp/wanted" 2>"$tmp/err" ||
			lose "bert-tiny on the CPU: $(cat "$tmp/err")"
		"$tw" run -q "$tmp/bert.cuda.twb" --shape batch=$batch --runs 3 --rtol 1e-4 --atol 1e-5 \
			--expect last_hidden_state="@$tmp/wanted/last_hidden_state.npy" \
			--expect pooler_output="@$tmp/wanted/pooler_output.npy" >"$tmp/out" 2>&1 && pass ||
			lose "bert-tiny with libraries, batch $batch: $(cat "$tmp/out")"
	done
	"$tw" run "$tmp/bert.cuda.twb" --shape batch=3 --profile >"$tmp/out" 2>"$tmp/err"
	[ "$(grep -c 'vendor .* cuBLASLt, ' "$tmp/out")" = 12 ] && pass || lose "bert-tiny calls: $(cat "$tmp/out")"
else
	lose "bert-tiny: $(cat "$tmp/err")"
fi
vendor=

# run MODEL WAY RUNS BATCH [NAME=VALUE]: its results in $tmp/WAY; the stand-in has nothing to say
run() {
	env ${5:+"$5"} "$tw" run -q "$tmp/$1.$2.twb" --shape batch="$4" --runs "$3" --output "$tmp/$2" 2>"$tmp/err" &&
		[ ! -s "$tmp/err" ] || lose "run $1 on $2: $(cat "$tmp/err")"
}

# The ONNX cases of nodes, where they are: plans of hosts and devices in turns, views, loops, no elements.
SAMPLE=15
[ -z "$is_whole" ] || SAMPLE=1
if [ -n "$ONNX_TESTDATA" ]; then
	SAMPLE=$SAMPLE BACKEND=cuda: "$build/test/cases" compiled -q --target test:sm_90 --only "test_*" "$ONNX_TESTDATA" \
		>"$tmp/out" 2>&1 &&
		! grep -q stand-in "$tmp/out" && pass || lose "cases: $(grep -e '^FAIL' -e stand-in "$tmp/out")"
	made weights "$ONNX_TESTDATA/pytorch-converted/test_Linear/model.onnx" &&
		"$program" fail "$tmp/weights.cuda.twb" "$tmp/weights.test.twb" >"$tmp/err" 2>&1 && pass ||
		lose "weights: $(cat "$tmp/err")"
	passed_cases=$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$tmp/out")
	[ "${passed_cases:-0}" -ge $((750 / SAMPLE)) ] && pass ||
		lose "of $((750 / SAMPLE)) cases and more: $passed_cases"
fi

case $1 in
-a) set -- resnet18 mobilenetv2 squeezenet dcgan infogan fsrcnn csrnet bert-tiny longformer-tiny ;;
"") set -- bert-tiny ;;
esac
for model; do
	"$zoo" "$model" --symbolic -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	made "$model" "$tmp/m.onnx" || continue
	for seed in 0 1; do # the second with another size, by the same bundle
		run "$model" test 1 $((2 - seed))
		run "$model" cuda 3 $((2 - seed)) "STANDIN_SEED=$seed"
		diff -r "$tmp/cuda" "$tmp/test" >/dev/null && pass || lose "$model, order $seed: other bits"
	done
done

# says WORDS [NAME=VALUE]: running says these, and is no bug
says() {
	words=$1
	shift
	env "$@" "$tw" run "$tmp/whole.cuda.twb" --shape N=3 --shape K=2 >"$tmp/out" 2>"$tmp/err"
	case $? in 4 | 6) ;; *) lose "with $*: $(cat "$tmp/err")" ;; esac
	grep -qF "$words" "$tmp/err" && pass || lose "with $* it says: $(cat "$tmp/err")"
}
says "this machine has sm_80: run \`tilewright compile MODEL --target cuda:sm_80\`" STANDIN_SM=80
says "this machine has sm_100: run" STANDIN_SM=100
says "needs sm_90, driver 12.8 (cuda:sm_90), and the driver of NVIDIA's is one for CUDA 12.4" STANDIN_DRIVER=12040
says "there is no driver of NVIDIA's" STANDIN_DRIVER=0
mkdir "$tmp/alone" && cp "$tw" "$tmp/alone/tilewright" && tw=$tmp/alone/tilewright
says "since libtilewright_cuda.so is not beside it" LD_LIBRARY_PATH=
finish
