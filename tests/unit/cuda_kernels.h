/* Kernels for what CUDA C has its own way, besides operations of threads. */
#ifndef UNIT_CUDA_KERNELS_H
#define UNIT_CUDA_KERNELS_H

static const char *const cuda_kernels[] = {
	/* several elements in one access: side by side and aligned, in place, of 8 and of 2 bytes, and
       what is neither */
	"kernel wide(N, X: f32[N,64,8], Y: out f32[N,64,8]) {\n"
	"  for n in N @block.x for t in 64 @thread.x {\n"
	"    for v in 8 @vector\n"
	"      Y[n, t, v] = X[n, t, v] * 2.0 + X[n, t, 7-v]\n"
	"  }\n"
	"}\n",
	"kernel in_place(X: f64[64,4], Y: out alias f64[64,4]) {\n"
	"  for t in 64 @thread.x {\n"
	"    for v in 4 @vector Y[t, v] = X[t, v]\n"
	"    for v in 2 @vector Y[t, v] = Y[t, v] + Y[t, v+2]\n"
	"    for v in 3 @vector Y[t, v] += 1.0\n"
	"    for v in 2 @vector Y[t, v+1] = X[t, v] + 1.0\n"
	"  }\n"
	"}\n",
	"kernel halves(X: f16[64,4], I: i64[64], Y: out f16[64,4]) {\n"
	"  for t in 64 @thread.x {\n"
	"    s: f16[64,4] @shared\n"
	"    for v in 4 @vector s[t, v] = X[at(I[t], 0..64, wrap, check), v] * 3.0\n"
	"    sync\n"
	"    for v in 4 @vector {\n"
	"      let twice = s[63-t, v] + s[63-t, v]\n"
	"      Y[t, v] = t < 32 ? twice : X[t, v]\n"
	"    }\n"
	"  }\n"
	"}\n",
	/* lets in places: one that differs between the lanes, and one of what has changed since */
	"kernel lets(X: i64[64,8], Y: out i64[64,8]) {\n"
	"  for t in 64 @thread.x {\n"
	"    s: i64[64] @shared\n"
	"    s[t] = X[t, 0] * 2 + 16\n"
	"    sync\n"
	"    let before = at(s[63-t], 0..63, wrap)\n"
	"    sync\n"
	"    s[t] = X[t, 1] + 9\n"
	"    sync\n"
	"    let behind = at(s[63-t], 0..63, wrap)\n"
	"    for v in 8 @vector Y[t, v] = X[before, v]\n"
	"    for v in 2 @vector { let twice = v\n Y[t, v+twice] = X[t, v+4] }\n"
	"    for v in 2 @vector Y[t, v+4] = X[at(before-behind+20, 0..63, wrap), v]\n"
	"  }\n"
	"}\n",
	/* indices whose parts fit 32 bits and whose sums do not */
	"kernel large(N, X: i64[64,8], Y: out i64[64,8]) {\n"
	"  for t in 64 @thread.x {\n"
	"    let near = t * 30000000\n"
	"    let far = t * 100000000\n"
	"    for i in 8 {\n"
	"      Y[t, i] = X[(near*5 + i*300000000) / 100000007 % 64, i] + near*near\n"
	"      Y[t, i] += X[(far + near + N*1000000000) % 64, i] * 3 + near*4 - far\n"
	"      Y[t, i] += (near*2 - 1900000000) / 7 % 1000 + min(near*3, far) + min(far, 1000) + "
	"N*N*i\n"
	"    }\n"
	"  }\n"
	"}\n",
	/* functions of CUDA and of the prelude, of both widths */
	"kernel functions(X: f32[64,2], Y: out f32[64,2]) {\n"
	"  for t in 64 @thread.x for i in 2 @unroll {\n"
	"    let x = X[t, i] * 0.37\n"
	"    Y[t, i] = floor(x) + ceil(x) * 8.0 + trunc(x) * 64.0 + round(x) * 512.0\n"
	"    Y[t, i] += sqrt(abs(x)) + exp(x) + tanh(x) + max(x, 0.5) + min(x, X[t, 0])\n"
	"    Y[t, i] += sin(x * 1000000.0) + asin(x * 0.1) + log(abs(x)) + pow(abs(x), 1.5)\n"
	"  }\n"
	"}\n",
	"kernel doubles(X: f64[64], Y: out f64[64]) {\n"
	"  for t in 64 @thread.x {\n"
	"    let x = X[t] * 0.37\n"
	"    Y[t] = floor(x) + round(x) * 512.0 + sqrt(abs(x)) + exp(x) + max(x, 0.5)\n"
	"  }\n"
	"}\n",
	/* axes, several loops on one, a block's memory beyond what a function may declare */
	"kernel axes(N, X: i32[N,2,3,4,5,6], Y: out i32[N,2,3,4,5,6]) {\n"
	"  for a in N @block.x for b in 2 @block.y for c in 3 @block.z {\n"
	"    s: i32[4,5,6] @shared\n"
	"    big: i64[8000] @shared\n"
	"    for d in 4 @thread.z for e in 5 @thread.y {\n"
	"      for f in 6 @thread.x {\n"
	"        s[d, e, f] = X[a, b, c, d, e, f]\n"
	"        big[d*30+e*6+f] = i64(X[a, b, c, d, e, f])\n"
	"      }\n"
	"      sync\n"
	"      for g in 6 @thread.x\n"
	"        Y[a, b, c, d, e, g] = s[3-d, 4-e, 5-g] * 3 + i32(big[d*30+e*6+5-g])\n"
	"    }\n"
	"  }\n"
	"}\n",
	/* names that are words of C++ and of CUDA; a fused sum; types of little */
	"kernel words(template: f32[64], threadIdx: i8[64], step: bool[64], status: out f32[64]) {\n"
	"  for this in 64 @thread.x {\n"
	"    operator: f32 @reg = 0.0\n"
	"    for new in 4\n"
	"      operator[] += template[(this+new)%64] * template[this]\n"
	"    class: i8 @reg\n"
	"    class[] = shfl.idx(threadIdx[this], 5)\n"
	"    xor: bool @reg\n"
	"    xor[] = shfl.down(step[this], 3)\n"
	"    status[this] = operator[] + f32(class[]) + (xor[] ? 0.25 : 0.5)\n"
	"  }\n"
	"}\n",
	/* codes of less than a byte, from several threads in one */
	"kernel codes(X: i4[64], Y: out i4[64]) {\n"
	"  for t in 64 @thread.x\n"
	"    Y[t] = i4(i32(X[t]) + 1)\n"
	"}\n",
	/* a copy of which the address is read only where it is made */
	"kernel gathered(I: i64[64], X: f32[64,4], Y: out f32[64,4]) {\n"
	"  for t in 64 @thread.x {\n"
	"    s: f32[64,4] @shared\n"
	"    s[t, 0] = cp.async.zfill(X[at(I[t], 0..64, wrap, check), 0], 16, t < 40)\n"
	"    cp.async.commit()\n"
	"    cp.async.wait(0)\n"
	"    for v in 4 Y[t, v] = s[t, v]\n"
	"  }\n"
	"}\n",
};

#endif
