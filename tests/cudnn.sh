#!/bin/sh
# usage: tests/cudnn.sh [-a | MODEL...]
#
# cuDNN asked while compiling for GPUs that are not here: each convolution, product and pool of the zoo
# is accepted for A100, H100 and H200, of f32, f16 and bf16, or the log says why it is our kernel; what was accepted stands in choices.jsonl;
# a bundle with calls is proved by its fallback kernels, which run. -a: all models.
# shellcheck disable=SC2015,SC2046  # pass cannot fail; names without blanks
. tests/common
about="cuDNN: "
plain_only "what a library is asked and what it says"

want cuDNN

XDG_CACHE_HOME=$tmp/cache # of this library, and of now
export XDG_CACHE_HOME

case $1 in
-a) set -- $("$zoo" list | awk '{ print $1 }') ;;
"") set -- squeezenet resnet18 mobilenetv2 fsrcnn ;;
esac
driver="--config FuseOps.driver=13000 --config FuseOps.library=cudnn"
taken=0 open=0 refused=0 pools=0 transposed=0
for model; do
	"$zoo" "$model" -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	for chip in a100 h100 h200 "h100 --precision fp16" "a100 --precision bf16"; do
		# shellcheck disable=SC2086  # words
		"$tw" print --lower --target cuda:$chip $driver --log "$tmp/m.onnx" >"$tmp/text" 2>"$tmp/log" ||
			lose "$model for $chip: $(tail -1 "$tmp/log")"
		grep '^lowering: \(conv\|conv_transpose\|matmul\|pool\): ' "$tmp/log" >"$tmp/said"
		# A reason: an engine, or what stands behind that cuDNN is not asked for, or a sentence of its.
		odd=$(grep -v -e 'vendor call: .*engine [0-9]' -e 'not applied: cuDNN' \
			-e 'not applied: epilogue stops at' -e 'not applied: an operand does not lie' \
			-e 'not applied: a batch whose matrices lie in several runs' "$tmp/said")
		[ -z "$odd" ] && pass || lose "$model for $chip: $odd"
		! grep 'not applied: cuDNN says' "$tmp/said" && pass || lose "$model for $chip: cuDNN refuses what a row has"
		taken=$((taken + $(grep -c 'vendor call' "$tmp/said")))
		transposed=$((transposed + $(grep -c '^lowering: conv_transpose: .*vendor call' "$tmp/said")))
		pools=$((pools + $(grep -c '^lowering: pool: .*vendor call' "$tmp/said")))
		open=$((open + $(grep -c 'at open: ' "$tmp/said")))
		refused=$((refused + $(grep -c 'not applied' "$tmp/said")))
	done
done
echo "$taken calls accepted, $pools of them pools, $transposed transposed convolutions, $open at open; $refused are our kernels"
[ "$taken" -gt 0 ] && [ "$pools" -gt 0 ] && [ "$transposed" -gt 0 ] && pass ||
	lose "nothing is accepted, or no pool, or no transposed convolution"

# Without the driver's version nobody is asked, and none of a CPU's calls is cuDNN's.
"$zoo" squeezenet -o "$tmp/m.onnx"
"$tw" print --lower --target cuda:h100 --log "$tmp/m.onnx" 2>&1 | grep -q 'vendor call' && lose "asked without a driver" || pass
# shellcheck disable=SC2086  # two words
"$tw" print -O2 --lower --target cpu:native $driver --log "$tmp/m.onnx" 2>&1 | grep -q 'engine [0-9]' &&
	lose "a CPU's call is cuDNN's" || pass

# Of halves, too, with what stands behind, and products; whole, by fallback kernels.
cat >"$tmp/halves.g" <<'EOT'
graph g(%x: f16[N,8,9,9], %w: f16[16,8,3,3], %h: f16[16], %r: f16[N,16,9,9], %m: bf16[4,24,32], %k: bf16[4,32,16], %f: f32[N,8,9,9], %v: f32[16,8,3,3], %b: f32[16]) -> %y, %z, %u {
  %a = Conv(%x, %w, %h) {pads=[1,1,1,1]} "half"
  %s = Add(%r, %a) "add"
  %y = Relu(%s) "positive"
  %p = MatMul(%m, %k) "product"
  %z = Sigmoid(%p) "sigmoid"
  %c = Conv(%f, %v, %b) {pads=[1,1,1,1]} "single"
  %u = Relu(%c) "relu"
}
EOT
# shellcheck disable=SC2086  # two words
"$tw" print -O1 --values finite --lower --target cuda:h100 $driver --log "$tmp/halves.g" >"$tmp/said" 2>&1
[ "$(grep -c 'not applied: below -O2 all is rounded as the model says' "$tmp/said")" = 2 ] && pass ||
	lose "-O1 leaves roundings out: $(grep '^lowering' "$tmp/said")"

# Transposed convolutions in groups, of one channel, too.
cat >"$tmp/groups.g" <<'EOT'
graph g(%x: f32[N,8,5,5], %w: f32[8,3,3,3], %d: f32[8,1,3,3], %h: f16[N,8,5,5], %v: f16[8,2,2,2]) -> %y, %z, %t {
  %y = ConvTranspose(%x, %w) {group=2, strides=[2,2], pads=[1,1,1,1]} "groups"
  %z = ConvTranspose(%x, %d) {group=8} "depthwise"
  %t = ConvTranspose(%h, %v) {group=8, strides=[2,2]} "two filters"
}
EOT
for chip in a100 h100 h200; do
	# shellcheck disable=SC2086  # two words
	"$tw" print -O3 --lower --target cuda:$chip $driver --log "$tmp/groups.g" >"$tmp/said" 2>&1
	[ "$(grep -c 'lowering: conv_transpose: .*vendor call: .*(engine [0-9]' "$tmp/said")" = 3 ] && pass ||
		lose "groups for $chip: $(grep '^lowering' "$tmp/said")"
done

# Attention, one call: accepted at open. Not where all is rounded as the model says, nor where infinities
# count, of which masks may be.
cat >"$tmp/attention.g" <<'EOT'
graph g(%q: f16[N,4,32,64], %k: f16[N,4,48,64], %v: f16[N,4,48,64], %m: f16[N,1,1,48], %s: f16[N,2,48,64]) -> %y, %z {
  %y = Attention(%q, %k, %v, %m) "heads"
  %z = Attention(%q, %s, %s, %m) "shared"
}
EOT
# heads WORDS OPTION...: what the log says of it
heads() {
	words=$1
	shift
	# shellcheck disable=SC2086  # two words
	"$tw" print --lower $driver --log "$@" "$tmp/attention.g" >"$tmp/said" 2>&1
	grep -q "$words" "$tmp/said" && pass || lose "attention, $*: $(grep '^lowering' "$tmp/said")"
}
for chip in a100 h100 h200; do
	heads 'attention: heads -> vendor call: plain add (at open: engine [0-9]' -O3 --target cuda:$chip
	grep -q 'attention: shared -> vendor call: plain add (at open: engine [0-9]' "$tmp/said" && pass ||
		lose "attention whose heads share keys, $chip: $(grep '^lowering' "$tmp/said")"
done
heads 'not applied: below -O2 all is rounded' -O1 --values finite --target cuda:h100
heads 'not applied: it rounds on its way' -O3 --accuracy strict --target cuda:h100
heads '^kernel k0_heads' -O3 --values all --target cuda:h100
! grep -q '^  vendor' "$tmp/said" && pass || lose "attention with infinities: $(cat "$tmp/said")"

# Norms, as nodes or written out: accepted at open where cuDNN is named, else ours, which the log says.
cat >"$tmp/norms.g" <<'EOT'
graph g(%x: f16[N,32,64], %s: f16[64], %b: f16[64], %f: f32[N,32,64], %t: f32[64], %i: f32[N,8,16,16], %c: f32[8], %u: f16[N,7], %v: f16[7]) -> %y, %z, %w, %o {
  %ax: i64[1] = {-1}
  %e: f32 = {0.00001}
  %y = LayerNormalization(%x, %s, %b) "layer"
  %q = Mul(%f, %f) "squares"
  %m = ReduceMean(%q, %ax) "mean"
  %a = Add(%m, %e) "above"
  %r = Sqrt(%a) "root"
  %d = Div(%f, %r) "quotient"
  %z = Mul(%d, %t) "written"
  %w = InstanceNormalization(%i, %c, %c) "instance"
  %o = LayerNormalization(%u, %v) "odd"
}
EOT
# norms WORDS NODE OPTION...: what the log says of one
norms() {
	words=$1 node=$2
	shift 2
	"$tw" print --lower --config FuseOps.driver=13000 --log "$@" "$tmp/norms.g" >"$tmp/said" 2>&1
	grep -q "^lowering: [a-z]*_norm: $node $words" "$tmp/said" && pass || lose "norm $node, $*: $(grep '^lowering' "$tmp/said")"
}
for chip in a100 h100 h200; do
	for node in layer written instance; do
		norms '-> vendor call: plain add (at open: engine [0-9]' $node -O3 --target cuda:$chip --config FuseOps.library=cudnn
	done
done
norms '-> our kernels: modelled [0-9.]* us, the call [0-9.]*$' layer -O3 --target cuda:h100
norms 'not applied: rows of a norm begin between multiples of 16 bytes' odd -O3 --shape N=2 --target cuda:h100 --config FuseOps.library=cudnn
norms 'not applied: below -O2 all is rounded' layer -O1 --values finite --target cuda:h100 --config FuseOps.library=cudnn

# A rounding that the model asks for stays.
cat >"$tmp/rounded.g" <<'EOT'
graph g(%x: f32[1,8,9,9], %w: f32[16,8,3,3], %b: f32[16]) -> %y {
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]} "single"
  %h = Cast(%c) {to=10} "half"
  %f = Cast(%h) {to=1} "back"
  %y = Relu(%f) "positive"
}
EOT
# shellcheck disable=SC2086  # two words
"$tw" print --lower --target cuda:h100 $driver --log "$tmp/rounded.g" 2>&1 |
	grep -q 'conv: .*not applied: epilogue stops at f32(f16(x' && pass || lose "a rounding is left out"

# Channels of f16 lie last between calls, whatever stands there: relayouts at the ends alone. Of f32 there is
# none.
cat >"$tmp/last.g" <<'EOT'
graph g(%x: f16[N,3,20,20]) -> %y, %m {
  %w: f16[32,3,3,3] = weight 0
  %v: f16[32,1,3,3] = weight 1
  %u: f16[32,16,1,1] = weight 2
  %t: f16[64,8,2,2] = weight 3
  %c = Conv(%x, %w) {pads=[1,1,1,1]} "c"
  %r = Relu(%c) "r"
  %p = MaxPool(%r) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} "p"
  %d = Conv(%p, %v) {group=32, pads=[1,1,1,1]} "d"
  %g = Conv(%d, %u) {group=2} "g"
  %a = Add(%g, %p) "a"
  %s = Concat(%a, %d) {axis=1} "s"
  %y = ConvTranspose(%s, %t) {strides=[2,2]} "y"
  %m = GlobalAveragePool(%s) "m"
}
EOT
cat >"$tmp/wanted" <<'EOT'
  %v_5: f16[N,3,20,20] @nc3hw = Relayout(%x)  "r"
  %r: f16[N,32,20,20] @nc32hw = fused(%v_5, %w)  "r" from "c", "r" {
    %c: f16[N,32,20,20]   = Conv(%v_5, %w) {pads=[1,1,1,1]}  "c"
    %v_1: f16[N,32,20,20] = Relu(%c)  "r"
    yield %v_1
  }
  %p: f16[N,32,10,10] @nc32hw = MaxPool(%r) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}  "p"
  %d: f16[N,32,10,10] @nc32hw = Conv(%p, %v) {group=32, pads=[1,1,1,1]}  "d"
  %a: f16[N,32,10,10] @nc32hw = fused(%d, %u, %p)  "a" from "g", "a" {
    %g: f16[N,32,10,10]   = Conv(%d, %u) {group=2}  "g"
    %v_2: f16[N,32,10,10] = Add(%g, %p)  "a"
    yield %v_2
  }
  %s: f16[N,64,10,10] @nc64hw, %v_7: f16[N,64,1,1] @nc64hw = fused(%a, %d)  "m" from "s", "m" {
    %v_3: f16[N,64,10,10] = Concat(%a, %d) {axis=1}  "s"
    %v_4: f16[N,64,1,1]   = GlobalAveragePool(%v_3)  "m"
    yield %v_3, %v_4
  }
  %m: f16[N,64,1,1]           = Relayout(%v_7)  "y" from "s", "m"
  %v_6: f16[N,8,20,20] @nc8hw = ConvTranspose(%s, %t) {strides=[2,2]}  "y"
  %y: f16[N,8,20,20]          = Relayout(%v_6)  "y"
}
EOT
last() {
	# shellcheck disable=SC2086  # two words
	"$tw" print -O3 --disable DeriveExpressions --target cuda:h100 $driver "$@" | grep -v '^graph\|= weight' >"$tmp/text"
}
last "$tmp/last.g" && cmp -s "$tmp/text" "$tmp/wanted" && pass || lose "channels last: $(diff "$tmp/wanted" "$tmp/text")"
sed 's/f16/f32/g' "$tmp/last.g" >"$tmp/single.g"
last "$tmp/single.g" && grep -q Conv "$tmp/text" && ! grep -q 'Relayout\|@' "$tmp/text" && pass ||
	lose "f32 lies otherwise: $(cat "$tmp/text")"

# shellcheck disable=SC2086  # two words
if "$tw" compile "$tmp/halves.g" --target cuda:sm_90 $driver --shape N=2 --keep "$tmp/kept" -o "$tmp/h.twb" >"$tmp/said" 2>&1; then
	[ "$(grep -c '"key": "cudnn.*engine [0-9]' "$tmp/kept/choices.jsonl")" = 3 ] && pass ||
		lose "choices.jsonl: $(cat "$tmp/kept/choices.jsonl")"
	grep -q 'cudnn.conv 2x8x9x9:f16@nc8hw 16x8x3x3:f16@nc8hw 16:f16 2x16x9x9:f16@nc16hw .* post=sum(3);relu"' "$tmp/kept/choices.jsonl" &&
		grep -q 'post=sigmoid.*at open: engine' "$tmp/kept/choices.jsonl" && pass ||
		lose "what stands behind: $(cat "$tmp/kept/choices.jsonl")"
	[ "$("$tw" inspect "$tmp/h.twb" | awk '$2 == "vendor"' | wc -l)" = 3 ] && pass || lose "not three calls"
	"$tw" inspect "$tmp/h.twb" >"$tmp/inspected"
	awk '/^modelled  /{ ours = $2 } /^with calls  /{ n++; with = $3; calls = $7; kernels = $9; without = $(NF - 1) }
		END { exit !(n == 1 && calls + 0 > 0 && with - calls - kernels < 0.002 && without == ours) }' "$tmp/inspected" &&
		pass || lose "modelled with calls and without: $(grep -e '^modelled  ' -e '^with calls' "$tmp/inspected")"
	grep -q 'calls of cudnn are not made on this device: fallback kernels are used' "$tmp/said" && pass ||
		lose "nobody says that fallback kernels run"
	grep -q '^proved: in simulation, 7 values' "$tmp/said" && pass || lose "not proved: $(grep '^prove' "$tmp/said")"
	"$tw" compile -q "$tmp/halves.g" --target cuda:sm_90 $driver --shape N=2 --prove none -o "$tmp/again.twb" &&
		"$tw" compile -q "$tmp/halves.g" --target cuda:sm_90 $driver --shape N=2 --prove none -o "$tmp/third.twb" &&
		cmp -s "$tmp/again.twb" "$tmp/third.twb" && pass || lose "the same bytes twice"
else
	lose "compile: $(cat "$tmp/said")"
fi

finish
