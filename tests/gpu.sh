#!/bin/sh
# usage: tests/gpu.sh [-a | MODEL...]
#
# Targets cuda:… without a GPU: models compile, the CUDA text of their kernels is run on this CPU and
# proved, and the bundle has what it should; what is missing is said in a sentence. MODELs: names of
# the zoo, in the place of those that are quick. -a: more of these, and four cases of each operator.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common

unset CXX
want c++
echo 'graph g(%x: f32[N,20]) -> %y { %y = Exp(%x) "exp" }' >"$tmp/exp.g"

# says WORDS COMMAND...: it fails, and its words hold these
says() {
	words=$1
	shift
	"$@" >"$tmp/out" 2>"$tmp/err" && { lose "'$*' does not fail"; return; }
	grep -qF "$words" "$tmp/err" && pass || lose "'$*' says: $(cat "$tmp/err")"
}

says "CUDA's compiler begins at sm_75" "$tw" compile "$tmp/exp.g" --target cuda:sm_70 -o "$tmp/m.twb"
says "CUDA's compiler begins at sm_75" "$tw" compile "$tmp/exp.g" --target cuda:v100 -o "$tmp/m.twb"
says "install NVIDIA's CUDA toolkit 12 or 13" env CUDA_HOME="$tmp" "$tw" compile "$tmp/exp.g" \
	--target cuda:sm_90 -o "$tmp/m.twb"
[ -e "$tmp/m.twb" ] && lose "a refused target writes a bundle" || pass

# What the CPU runs is the text that is compiled for the GPU, word for word.
same_text() {
	"$tw" compile -q "$tmp/exp.g" --target test:sm_90 --keep "$tmp/test" -o "$tmp/t.twb" &&
		"$tw" compile -q "$tmp/exp.g" --target cuda:sm_90 --keep "$tmp/cuda" -o "$tmp/m.twb" || return 1
	sed -n '/^extern "C" __global__/,/^}/p' "$tmp/cuda/kernels/cuda-sm_90.cu" >"$tmp/a"
	sed -n '/^extern "C" __global__/,/^}/p' "$tmp/test/kernels/test-sm_90.cpp" >"$tmp/b"
	[ -s "$tmp/a" ] && cmp -s "$tmp/a" "$tmp/b"
}

# The simulated device, which needs no toolkit, and two models of it: the whole of the maker.
quick="dcgan bert-tiny" each=1
[ -z "$is_whole" ] || { shift; quick="resnet18 mobilenetv2 $quick" each=4; }
# shellcheck disable=SC2086  # words
[ $# -gt 0 ] || set -- $quick
for model; do
	"$zoo" "$model" -o "$tmp/m.onnx" || { lose "zoo $model"; continue; }
	"$tw" compile -q --target test:sm_80 --prove require "$tmp/m.onnx" -o "$tmp/m.twb" 2>"$tmp/err" &&
		pass || { lose "compile $model: $(cat "$tmp/err")"; continue; }
	"$tw" run -q --self-test "$tmp/m.twb" 2>"$tmp/err" && pass || lose "run $model: $(cat "$tmp/err")"
done

# Windows with a stride over open sides: how many there are is a part of what is read.
cat >"$tmp/strided.g" <<'EOT'
graph g(%x: f32[N,3,H,W]) -> %y, %z {
  %y = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} "largest"
  %z = AveragePool(%x) {kernel_shape=[2,3], strides=[2,3]} "mean"
}
EOT
"$tw" compile -q --target test:sm_90 --prove require --shape N=2 --shape H=37 --shape W=70 "$tmp/strided.g" \
	-o "$tmp/m.twb" 2>"$tmp/err" && "$tw" run -q --self-test "$tmp/m.twb" 2>"$tmp/err" && pass ||
	lose "windows over open sides: $(cat "$tmp/err")"

# Products of halves by tensor cores, with rows and columns that tiles do not divide.
cat >"$tmp/half.g" <<'EOT'
graph g(%a: f16[N,100,96], %b: f16[96,70], %c: f16[70], %p: bf16[N,40,64], %q: bf16[N,64,33]) -> %y, %z {
  %m = MatMul(%a, %b) "mm"
  %n = Add(%m, %c) "add"
  %y = Relu(%n) "relu"
  %z = MatMul(%p, %q) "odd"
}
EOT
"$tw" compile -q --target test:sm_80 --prove require "$tmp/half.g" --keep "$tmp/half" -o "$tmp/m.twb" 2>"$tmp/err" &&
	pass || lose "compile half.g: $(cat "$tmp/err")"
grep -q 'tw_mma_m16n8k16_bf16' "$tmp/half/kernels/test-sm_80.cpp" && pass || lose "bf16 is not for tensor cores"

# Weights of halves stay halves: as f32 they would be for no tensor core.
cat >"$tmp/weights.g" <<'EOT'
graph g(%a: f16[100,96]) -> %y {
  %w: f16[96,64] = weight 0
  %y = MatMul(%a, %w) "mm"
}
EOT
"$tw" compile -q --target test:sm_80 --prove none "$tmp/weights.g" --keep "$tmp/weights" -o "$tmp/m.twb" 2>"$tmp/err" &&
	grep -q 'tw_mma_m16n8k16_f16(&' "$tmp/weights/kernels/test-sm_80.cpp" && pass || lose "weights of f16: $(cat "$tmp/err")"

# Arguments begin where accesses of 16 bytes may: the simulation ends at one that does not.
cat >"$tmp/apart.g" <<'EOT'
graph g(%x: f32[4097], %a: f32[9,64], %w: f32[64,64], %u: f32[7]) -> %y, %z {
  %b: i64[1] = {1}
  %e: i64[1] = {4097}
  %h: i64[2] = {64,64}
  %i: i64[1] = {-1}
  %s = Slice(%x, %b, %e)
  %r = Reshape(%s, %h)
  %y = MatMul(%r, %w)
  %v = Relu(%u)
  %m = MatMul(%a, %w)
  %c = Reshape(%m, %i)
  %z = Concat(%v, %c) {axis=0}
}
EOT
"$tw" compile -q --target test:sm_80 --prove require "$tmp/apart.g" -o "$tmp/m.twb" 2>"$tmp/err" &&
	pass || lose "compile apart.g: $(cat "$tmp/err")"

# A large kernel: some of its blocks are run, what they wrote is compared, and the proof says so. What
# they do wrong is found there.
cat >"$tmp/large.g" <<'EOT'
graph g(%a: f32[1400,160], %b: f32[160,1300]) -> %y { %m = MatMul(%a, %b) "mm"; %y = Relu(%m) "relu" }
EOT
sed -i 's/; /\n/' "$tmp/large.g"
cat >"$tmp/wrong" <<'EOT'
#!/bin/sh
for word; do case $word in */unit*.cpp) sed -i '/^#define/!s/__fmaf_rn(/0.01f + &/' "$word" ;; esac; done
exec c++ "$@"
EOT
chmod +x "$tmp/wrong"
"$tw" compile -q --target test:sm_80 --prove require "$tmp/large.g" --keep "$tmp/large" -o "$tmp/m.twb" 2>"$tmp/err" &&
	grep -q '"proved": 1, .*"sampled": \[{"step": "relu", "blocks": [0-9]*, "of": [0-9]*}\]' "$tmp/large/proof.json" &&
	pass || lose "compile large.g: $(cat "$tmp/err" "$tmp/large/proof.json")"
"$tw" run -q --self-test "$tmp/m.twb" 2>"$tmp/err" && pass || lose "a sampled kernel runs otherwise: $(cat "$tmp/err")"
sed 's/0.01f + &/nothing + &/' "$tmp/wrong" >"$tmp/broken"
chmod +x "$tmp/broken"
says "broken' failed, in mm + relu" env CXX="$tmp/broken" "$tw" compile --target test:sm_80 "$tmp/large.g" \
	-o "$tmp/m.twb"
says "of 64 points are wrong" env CXX="$tmp/wrong" "$tw" compile --target test:sm_80 "$tmp/large.g" -o "$tmp/m.twb"

# Long sums of few results are cut into parts, a kernel for these and one that adds them, of products
# and of windows with borders, whatever the batch.
cat >"$tmp/parts.g" <<'EOT'
graph g(%a: f32[96,1536], %b: f32[1536,80], %x: f32[N,160,9,9], %w: f32[64,160,3,3], %r: f32[N,64,9,9]) -> %y, %z {
  %m = MatMul(%a, %b) "mm"
  %y = Relu(%m) "relu"
  %c = Conv(%x, %w) {pads = [1,1,1,1]} "conv"
  %z = Add(%c, %r) "add"
}
EOT
if "$tw" compile -q --target test:sm_90 --prove require "$tmp/parts.g" --keep "$tmp/parts" -o "$tmp/m.twb" 2>"$tmp/err"; then
	pass
	"$tw" inspect "$tmp/m.twb" | grep -q '4 kernel' && pass || lose "parts.g: $("$tw" inspect "$tmp/m.twb" | grep kernel)"
else
	lose "compile parts.g: $(cat "$tmp/err")"
fi

# More in a batch than a grid has blocks along y and z.
cat >"$tmp/batch.g" <<'EOT'
graph g(%a: f32[70000,8,16], %b: f32[70000,16,8], %t: f32[70000,8,9]) -> %y, %u {
  %y = MatMul(%a, %b) "mm"
  %u = Transpose(%t) {perm = [0, 2, 1]} "turn"
}
EOT
"$tw" compile -q --prove none --target test:sm_80 "$tmp/batch.g" -o "$tmp/m.twb" 2>"$tmp/err" && pass ||
	lose "compile batch.g: $(cat "$tmp/err")"

# Random cases of the awkward operators: interpreted and simulated must agree.
random=${BUILD:-build}/test/random
operators=$(sed -n 's/^TRIAL(\([A-Za-z]*\),.*/\1/p' tests/random/operators.def)
for operator in $operators; do
	DEVICE=test:sm_90 "$random" "$operator" $each >"$tmp/out" 2>&1 && { pass; continue; }
	# Probabilities of many classes are a scan with more in hand than a thread has.
	[ "$operator" = SVMClassifier ] && grep -q "larger than a thread of a GPU may hold" "$tmp/out" ||
		lose "$operator: $(tail -n 3 "$tmp/out")"
done

if "$tw" compile -q "$tmp/exp.g" --target cuda:sm_90 -o "$tmp/m.twb" 2>"$tmp/err"; then
	same_text && pass || lose "what is simulated is not what is compiled"
	"$tw" print -O3 --cuda --target cuda:sm_90 "$tmp/exp.g" | sed -n '/^extern "C" __global__/,/^}/p' >"$tmp/b"
	[ -s "$tmp/b" ] && cmp -s "$tmp/a" "$tmp/b" && pass || lose "what is printed is not what is compiled: $(cat "$tmp/b")"
	for entry in cubin ptx cu; do
		[ -s "$tmp/cuda/kernels/cuda-sm_90.$entry" ] && pass || lose "no kernels/cuda-sm_90.$entry"
	done
	grep -q '"kernels": "simulated"' "$tmp/cuda/proof.json" && pass || lose "the proof does not say how"
	"$tw" inspect "$tmp/m.twb" | grep -q 'proved.* in simulation' && pass || lose "inspect does not say how"
	"$tw" inspect "$tmp/m.twb" >"$tmp/out"
	grep -q '^modelled  .* ms on cuda:sm_90, not run' "$tmp/out" && pass || lose "inspect has no modelled time"
	grep -q '"needs": "sm_90, driver 1[23]\.0"' "$tmp/cuda/manifest.json" && pass || lose "no driver is named"
	CXX=/nowhere/c++ "$tw" compile "$tmp/exp.g" --target cuda:sm_80 -o "$tmp/n.twb" 2>"$tmp/err" >"$tmp/out"
	grep -qF "its kernels cannot be simulated: the C++ compiler '/nowhere/c++' cannot be started" "$tmp/err" \
		&& pass || lose "without a C++ compiler it says: $(cat "$tmp/err")"
else
	skip 10 NVRTC
	grep -q NVRTC "$tmp/err" || lose "compile: $(cat "$tmp/err")"
fi
finish
