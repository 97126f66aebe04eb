/* Kernels of threads, and plain loops that compute the same. */
#ifndef UNIT_THREAD_PAIRS_H
#define UNIT_THREAD_PAIRS_H

#include <string.h>

#include "kernels.h"

static const struct {
	const char *name, *threads, *plain;
} pairs[] = {
	{"a sum through shared memory",
     "kernel k(X: f32[6,256], Y: out f32[6]) {\n"
     "  for b in 6 @block.x {\n"
     "    s: f32[256] @shared\n"
     "    for t in 256 @thread.x {\n"
     "      s[t] = X[b, t]\n"
     "      sync\n"
     "      for k in 8 {\n"
     "        let half = shr(128, k)\n"
     "        if (t < half)\n"
     "          s[t] += s[t+half]\n"
     "        sync\n"
     "      }\n"
     "      if (t == 0)\n"
     "        Y[b] = s[0]\n"
     "    }\n"
     "  }\n"
     "}\n",
     "kernel k(X: f32[6,256], Y: out f32[6]) {\n"
     "  for b in 6 {\n"
     "    acc: f32 @reg = 0\n"
     "    for t in 256\n"
     "      acc[] += X[b, t]\n"
     "    Y[b] = acc[]\n"
     "  }\n"
     "}\n"},
	{"a maximum by shuffles, a row to a warp",
     "kernel k(X: f32[4,96], Y: out f32[4]) {\n"
     "  for t in 128 @thread.x {\n"
     "    m: f32 @reg = X[t/32, t%32]\n"
     "    for j in 1..3\n"
     "      m[] max= X[t/32, j*32+t%32]\n"
     "    for k in 5\n"
     "      m[] max= shfl.xor(m[], shr(16, k))\n"
     "    if (t % 32 == 0)\n"
     "      Y[t/32] = m[]\n"
     "  }\n"
     "}\n",
     "kernel k(X: f32[4,96], Y: out f32[4]) {\n"
     "  for i in 4 {\n"
     "    m: f32 @reg = X[i, 0]\n"
     "    for j in 1..96\n"
     "      m[] max= X[i, j]\n"
     "    Y[i] = m[]\n"
     "  }\n"
     "}\n"},
	{"shuffles beyond the warp give one's own",
     "kernel k(X: i32[64], Y: out i32[64]) {\n"
     "  for t in 64 @thread.x {\n"
     "    a: i32 @reg\n"
     "    b: i32 @reg\n"
     "    a[] = shfl.up(X[t], 3)\n"
     "    b[] = shfl.down(X[t], 5)\n"
     "    a[] += b[]\n"
     "    a[] += shfl.idx(X[t], 7)\n"
     "    Y[t] = a[]\n"
     "  }\n"
     "}\n",
     "kernel k(X: i32[64], Y: out i32[64]) {\n"
     "  for t in 64 {\n"
     "    Y[t] = X[t%32 < 3 ? t : t-3]\n"
     "    Y[t] += X[t%32 > 26 ? t : t+5]\n"
     "    Y[t] += X[t/32*32+7]\n"
     "  }\n"
     "}\n"},
	{"a product in tiles through shared memory",
     "kernel k(A: f32[48,40], B: f32[40,32], C: out f32[48,32]) {\n"
     "  for by in 3 @block.y\n"
     "    for bx in 2 @block.x {\n"
     "      a: f32[16,8] @shared\n"
     "      b: f32[8,16] @shared\n"
     "      for ty in 16 @thread.y\n"
     "        for tx in 16 @thread.x {\n"
     "          acc: f32 @reg = 0\n"
     "          for k in 5 {\n"
     "            if (tx < 8) {\n"
     "              a[ty, tx] = A[by*16+ty, k*8+tx]\n"
     "            } else {\n"
     "              b[tx-8, ty] = B[k*8+tx-8, bx*16+ty]\n"
     "            }\n"
     "            sync\n"
     "            for i in 8\n"
     "              acc[] += a[ty, i]*b[i, tx]\n"
     "            sync\n"
     "          }\n"
     "          C[by*16+ty, bx*16+tx] = acc[]\n"
     "        }\n"
     "    }\n"
     "}\n",
     "kernel k(A: f32[48,40], B: f32[40,32], C: out f32[48,32]) {\n"
     "  for i in 48, j in 32 {\n"
     "    acc: f32 @reg = 0\n"
     "    for k in 40\n"
     "      acc[] += A[i, k]*B[k, j]\n"
     "    C[i, j] = acc[]\n"
     "  }\n"
     "}\n"},
	{"a product whose next tile is on its way while the last is used",
     "kernel k(A: f32[16,64], B: f32[64,16], C: out f32[16,16]) {\n"
     "  for bx in 1 @block.x {\n"
     "    a: f32[2,16,8] @shared\n"
     "    b: f32[2,8,16] @shared\n"
     "    for t in 256 @thread.x {\n"
     "      acc: f32 @reg = 0\n"
     "      if (t < 32)\n"
     "        a[0, t/2, t%2*4] = cp.async(A[t/2, t%2*4], 16)\n"
     "      if (32 <= t && t < 64)\n"
     "        b[0, (t-32)/4, t%4*4] = cp.async(B[(t-32)/4, t%4*4], 16)\n"
     "      cp.async.commit()\n"
     "      for k in 8 {\n"
     "        if (k < 7) {\n"
     "          if (t < 32)\n"
     "            a[(k+1)%2, t/2, t%2*4] = cp.async(A[t/2, k*8+8+t%2*4], 16)\n"
     "          if (32 <= t && t < 64)\n"
     "            b[(k+1)%2, (t-32)/4, t%4*4] = cp.async(B[k*8+8+(t-32)/4, t%4*4], 16)\n"
     "        }\n"
     "        cp.async.commit()\n"
     "        cp.async.wait(1)\n"
     "        sync\n"
     "        for i in 8\n"
     "          acc[] += a[k%2, t/16, i]*b[k%2, i, t%16]\n"
     "        sync\n"
     "      }\n"
     "      C[t/16, t%16] = acc[]\n"
     "    }\n"
     "  }\n"
     "}\n",
     "kernel k(A: f32[16,64], B: f32[64,16], C: out f32[16,16]) {\n"
     "  for i in 16, j in 16 {\n"
     "    acc: f32 @reg = 0\n"
     "    for k in 64\n"
     "      acc[] += A[i, k]*B[k, j]\n"
     "    C[i, j] = acc[]\n"
     "  }\n"
     "}\n"},
	{"copies at a border, with zeros where nothing is",
     "kernel k(X: f32[100], Y: out f32[128]) {\n"
     "  for t in 32 @thread.x {\n"
     "    s: f32[128] @shared\n"
     "    s[t*4] = cp.async.zfill(X[t*4], 16, t < 25)\n"
     "    cp.async.commit()\n"
     "    cp.async.wait(0)\n"
     "    sync\n"
     "    for j in 4\n"
     "      Y[j*32+t] = s[j*32+t]\n"
     "  }\n"
     "}\n",
     "kernel k(X: f32[100], Y: out f32[128]) {\n"
     "  for i in 128\n"
     "    Y[i] = i < 100 ? X[i] : 0.0\n"
     "}\n"},
	{"a product of f16 by matrix operations",
     "kernel k(A: f16[32,48], B: f16[48,16], C: out f32[32,16]) {\n"
     "  a: f16[8] @reg\n"
     "  b: f16[4] @reg\n"
     "  acc: f32[4] @reg = 0\n"
     "  for bx in 2 @block.x {\n"
     "    sa: f16[16,16] @shared\n"
     "    sb: f16[16,16] @shared\n"
     "    for t in 64 @thread.x {\n"
     "      let lane = t % 32\n"
     "      let warp = t / 32\n"
     "      for k in 3 {\n"
     "        for i in 4 {\n"
     "          sa[i*4+t/16, t%16] = A[bx*16+i*4+t/16, k*16+t%16]\n"
     "          sb[i*4+t/16, t%16] = B[k*16+i*4+t/16, t%16]\n"
     "        }\n"
     "        sync\n"
     "        a[0] = ldmatrix.x4(sa[lane%16, lane/16*8])\n"
     "        b[0] = ldmatrix.x2.trans(sb[lane%16, warp*8])\n"
     "        acc[0] += mma.m16n8k16.f16(a[0], b[0])\n"
     "        sync\n"
     "      }\n"
     "      for i in 4\n"
     "        C[bx*16+lane/4+i/2*8, warp*8+lane%4*2+i%2] = acc[i]\n"
     "    }\n"
     "  }\n"
     "}\n",
     "kernel k(A: f16[32,48], B: f16[48,16], C: out f32[32,16]) {\n"
     "  for i in 32, j in 16 {\n"
     "    acc: f32 @reg = 0\n"
     "    for k in 48\n"
     "      acc[] += f32(A[i, k])*f32(B[k, j])\n"
     "    C[i, j] = acc[]\n"
     "  }\n"
     "}\n"},
	{"a product of f32 as tf32 by matrix operations",
     "kernel k(A: f32[16,24], B: f32[24,8], C: out f32[16,8]) {\n"
     "  for t in 32 @thread.x {\n"
     "    a: f32[4] @reg\n"
     "    b: f32[2] @reg\n"
     "    acc: f32[4] @reg = 0\n"
     "    for k in 3 {\n"
     "      for i in 4\n"
     "        a[i] = A[t/4+i%2*8, k*8+t%4+i/2*4]\n"
     "      for i in 2\n"
     "        b[i] = B[k*8+t%4+i*4, t/4]\n"
     "      acc[0] += mma.m16n8k8.tf32(a[0], b[0])\n"
     "    }\n"
     "    for i in 4\n"
     "      C[t/4+i/2*8, t%4*2+i%2] = acc[i]\n"
     "  }\n"
     "}\n",
     "kernel k(A: f32[16,24], B: f32[24,8], C: out f32[16,8]) {\n"
     "  for i in 16, j in 8 {\n"
     "    acc: f32 @reg = 0\n"
     "    for k in 24\n"
     "      acc[] += A[i, k]*B[k, j]\n"
     "    C[i, j] = acc[]\n"
     "  }\n"
     "}\n"},
};

/* The text with another word in place of each of this one. */
static inline const char *
replaced(const char *text, const char *word, const char *other)
{
	Buf buf = {.arena = arena};
	for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
		buf_write(&buf, text, (size_t)(at - text));
		buf_puts(&buf, other);
	}
	buf_puts(&buf, text);
	return buf_text(&buf);
}

#endif
