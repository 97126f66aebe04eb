#!/bin/sh
# usage: tests/products.sh    of which groups a library computes the products, and kernels the rest
#
# At -O3 a search makes products of sums over windows where that is measured to be faster; at -O2
# what the library has no kernel for stays loops.
. tests/common
plain_only choices
cd "$tmp" || exit 1

# steps EXPECTED FILE: what steps the model has, of a library and our own
steps() {
	"$tw" compile -q -O2 --prove=none "$2" -o m.twb
	seen=$("$tw" inspect m.twb | sed -n 's/^ *[0-9]  kernel .*/kernel/p; s/^ *[0-9]  vendor  *|* *\([a-z]*\) .*/\1/p' | xargs)
	if [ "$seen" = "$1" ]; then
		pass
	else
		lose "$2: expected $1, saw $seen"
	fi
}

# derived FILE: windows for which the library has no kernel, where another form is far faster
derived() {
	"$tw" compile -q -O3 --prove=none --log "$1" -o m.twb 2>log
	if grep -q '^DeriveExpressions: .* -> Expression' log; then
		pass
	else
		lose "$1: nothing was derived"
	fi
}

has oneDNN || { skip 1 oneDNN; finish; exit; }

# An image with one channel: 25 taps of 56 channels would be 280 MB.
cat >plain.g <<'END'
graph g(%x: f32[1,1,224,224]) -> %y {
  %w: f32[56,1,5,5] = weight 0
  %s: f32[56,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[2,2,2,2]}
  %y = PRelu(%c, %s)
}
END
steps 'kernel' plain.g

# A slope for each channel is nothing that the library knows.
cat >small.g <<'END'
graph g(%x: f32[1,64,28,28]) -> %y {
  %w: f32[64,64,3,3] = weight 0
  %s: f32[64,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}
  %y = PRelu(%c, %s)
}
END
steps 'kernel' small.g

# A transposed one with a stride: three of four terms of the loops do not exist.
cat >transposed.g <<'END'
graph g(%x: f32[1,56,224,224]) -> %y {
  %w: f32[56,1,9,9] = weight 0
  %y = ConvTranspose(%x, %w) {strides=[2,2], pads=[4,4,4,4], output_padding=[1,1]}
}
END
derived transposed.g

# One position, as behind a global pool: each weight is used once, and loops wait for memory as well.
cat >vector.g <<'END'
graph g(%x: f32[1,240,1,1]) -> %y {
  %w: f32[960,240,1,1] = weight 0
  %s: f32[960,1,1] = weight 1
  %c = Conv(%x, %w)
  %y = PRelu(%c, %s)
}
END
steps 'kernel' vector.g

# Nor is a mask for all heads at once (attention as exporters write it).
cat >mask.g <<'END'
graph g(%q: f32[N,S,4,64], %k: f32[N,S,4,64], %m: f32[N,1,S,S]) -> %y {
  %a = Transpose(%q) {perm=[0,2,1,3]}
  %b = Transpose(%k) {perm=[0,2,3,1]}
  %p = MatMul(%a, %b)
  %s: f32 = {0.125}
  %t = Mul(%p, %s)
  %y = Add(%t, %m)
}
END
steps 'matmul kernel' mask.g

# Windows that reach beyond the image: one tap of nine counts.
cat >beyond.g <<'END'
graph g(%x: f32[1,256,14,14]) -> %y {
  %w: f32[128,256,3,3] = weight 0
  %c = Conv(%x, %w) {pads=[24,24,24,24], dilations=[24,24]}
  %y = Relu(%c)
}
END
steps 'kernel' beyond.g

# A residual sum that is needed twice: the product ends with it, and what follows is a kernel.
cat >residual.g <<'END'
graph g(%x: f32[7,33], %r: f32[7,40]) -> %s, %y, %m {
  %w: f32[33,40] = weight 0
  %v: f32[40,40] = weight 1
  %p = MatMul(%x, %w)
  %s = Add(%p, %r)
  %e = Exp(%s)
  %y = Neg(%e)
  %q = MatMul(%s, %v)
  %g = Sigmoid(%q)
  %m = Mul(%q, %g)
}
END
steps 'matmul kernel matmul' residual.g

# SiLU behind a convolution: Winograd is there for the sum alone, as for the second convolution, if
# the library has it on this machine. What is faster is a choice; both ways are proved when they are
# compiled.
cat >silu.g <<'END'
graph g(%x: f32[1,64,40,52]) -> %y {
  %w: f32[64,64,3,3] = weight 0
  %v: f32[64,64,3,3] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}
  %g = Sigmoid(%c)
  %s = Mul(%c, %g)
  %y = Conv(%s, %v) {pads=[1,1,1,1]}
}
END
"$tw" compile -q --disable DeriveExpressions --tune none --prove=none silu.g -o m.twb --keep kept
# Calls that it has Winograd for: none in some versions, and perhaps with SiLU in others.
grep -s winograd kept/choices.jsonl >with.jsonl
for way in apart whole; do
	if [ ! -s with.jsonl ] || grep -q post= with.jsonl; then
		skip 1 winograd
		continue
	fi
	sed "/\"apart onednn.conv/s/\"chosen\": \"[a-z]*\"/\"chosen\": \"$way\"/" kept/choices.jsonl >"$way.jsonl"
	"$tw" compile -q --disable DeriveExpressions silu.g -o m.twb --choices "$way.jsonl" || failed=$((failed + 1))
	seen=$("$tw" inspect m.twb | grep -c '^ *[0-9]  kernel ')
	if [ "$seen" = "$([ $way = apart ] && echo 1 || echo 0)" ]; then
		pass
	else
		lose "silu.g $way: $seen kernels"
	fi
done

# A sum and a kernel behind it, which reads what is computed late: the sum must not run long before,
# when the proof cannot see all that the node reads in one moment. What is forced here is one of the
# choices that measuring makes.
cat >late.g <<'END'
graph g(%x: f32[1,32,14,14], %z: f32[1,32,14,14]) -> %y {
  %w: f32[32,32,3,3] = weight 0
  %v: f32[32,32,3,3] = weight 1
  %u: f32[32,32,3,3] = weight 2
  %a = Conv(%x, %w) {pads=[1,1,1,1]}
  %m = Softmax(%a) {axis=2}
  %r = Transpose(%m) {perm=[0,1,3,2]}
  %b = Conv(%z, %v) {pads=[1,1,1,1]}
  %s = Add(%b, %r)
  %y = Conv(%s, %u) {pads=[1,1,1,1]}
}
END
"$tw" compile -q --disable DeriveExpressions --tune none --prove=none late.g -o m.twb --keep kept
if grep -q '"apart onednn.conv' kept/choices.jsonl; then
	sed '/"apart onednn.conv/s/"chosen": "[a-z]*"/"chosen": "apart"/' kept/choices.jsonl >late.jsonl
	"$tw" compile -q --disable DeriveExpressions late.g -o m.twb --choices late.jsonl 2>err || failed=$((failed + 1))
	if [ ! -s err ]; then
		pass
	else
		lose "late.g: $(cat err)"
	fi
else
	skip 1 winograd
fi
# Products of bf16, by the library where it has them: rounded before the bias, as the model says.
cat >bf16.g <<'END'
graph g(%a: bf16[40,96], %q: bf16[2,4,32,16], %k: bf16[2,4,32,16]) -> %y, %s {
  %v: bf16[96,64] = weight 2
  %b: bf16[64] = weight 3
  %m = MatMul(%a, %v)
  %y = Add(%m, %b)
  %t = Transpose(%k) {perm=[0,1,3,2]}
  %s = MatMul(%q, %t)
}
END
if "$tw" compile -q --tune none --prove=require bf16.g -o m.twb 2>err; then
	pass
else
	lose "bf16.g: $(cat err)"
fi

# Products of bytes: without VNNI the library adds pairs in 16 bits, which saturate, so they are ours.
cat >bytes.g <<'END'
graph g(%a: u8[64,64]) -> %p {
  %b: i8[64,64] = weight 0
  %p = MatMulInteger(%a, %b)  "bytes"
}
END
ONEDNN_MAX_CPU_ISA=AVX512_CORE steps "kernel" bytes.g
ONEDNN_MAX_CPU_ISA=AVX512_CORE "$tw" compile -O2 --log --prove=none bytes.g -o m.twb >log 2>&1
if grep -q 'bytes not applied: products of bytes are exact with AVX-512 VNNI only' log; then
	pass
else
	lose "bytes.g: it is not said why the library has no product of bytes"
fi
finish
