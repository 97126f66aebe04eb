/* Matching rows that are a program of several stages: attention as the operator has it and as nodes
 * of 16 bits do, with dims in any order and what is added broadcast; norms, whose factors and
 * biases are read alike; and what only looks so. */
#include "program/forms.h"
#include "vendor_rows.h"

/* Inputs and stages; which of their dims those of the call are, q k v added, and the scale. */
typedef struct Case {
	const char *inputs, *stages, *orders;
	double scale;
} Case;

#define SOFTMAX(x) \
	"m[b:B, h:4, i:M]: f32 = max(j:9) " x "[b,h,i,j]\n" \
	"e[b:B, h:4, i:M, j:9]: f32 = exp(" x "[b,h,i,j] - m[b,h,i])\n" \
	"l[b:B, h:4, i:M]: f32 = sum(j:9) e[b,h,i,j]\n" \
	"p[b:B, h:4, i:M, j:9]: f32 = e[b,h,i,j] / l[b,h,i]\n"
#define VALUES "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,h,j,e])"
#define SCORES "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h,j,d])\n"
#define OPERANDS "Q: f16[B,4,M,16], K: f16[B,4,9,16], V: f16[B,4,9,8]"
#define ADDED OPERANDS ", Z: f16[B,1,1,9]"

/* clang-format off */
static const Case cases[] = {
	/* as the operator is, each factor with the root of the scale; without a scale */
	{OPERANDS,
	 "s[b:B, h:4, i:M, j:9]: f32 = "
	 "sum(d:16) f32(Q[b,h,i,d]) * 0.5 * (f32(K[b,h,j,d]) * 0.5)\n" SOFTMAX("s") VALUES,
	 "0123 0123 0123", 0.25},
	{OPERANDS, SCORES SOFTMAX("s") VALUES, "0123 0123 0123", 1},
	/* divided, something added that is broadcast; of f32, of two dims less */
	{ADDED,
	 SCORES "x[b:B, h:4, i:M, j:9]: f32 = s[b,h,i,j] / 4.0 + f32(Z[b,0,0,j])\n" SOFTMAX("x") VALUES,
	 "0123 0123 0123 0--1", 0.25},
	{OPERANDS ", Z: f32[M,9]",
	 SCORES "x[b:B, h:4, i:M, j:9]: f32 = Z[i,j] + s[b,h,i,j] * 0.5\n" SOFTMAX("x") VALUES,
	 "0123 0123 0123 --01", 0.5},
	/* two are added, one for each head and one for each key; the same of nodes that round */
	{OPERANDS ", Z: f32[4,M,9], U: f16[B,1,1,9]",
	 SCORES "x[b:B, h:4, i:M, j:9]: f32 = s[b,h,i,j] + Z[h,i,j] + f32(U[b,0,0,j])\n" SOFTMAX("x")
	 VALUES,
	 "0123 0123 0123 -012 0--1", 1},
	{OPERANDS ", Z: f16[B,1,1,9], U: f16[1,4,M,9]",
	 "s[b:B, h:4, i:M, j:9]: f16 = sum f32 (d:16) f32(Q[b,h,i,d]) * f32(K[b,h,j,d])\n"
	 "t[b:B, h:4, i:M, j:9]: f16 = f16(f32(s[b,h,i,j]) + f32(Z[b,0,0,j]))\n"
	 "x[b:B, h:4, i:M, j:9]: f32 = f32(f16(f32(t[b,h,i,j]) + f32(U[0,h,i,j])))\n" SOFTMAX("x")
	 VALUES,
	 "0123 0123 0123 0--1 -012", 1},
	/* nodes of 16 bits, each of which rounds */
	{ADDED,
	 "s[b:B, h:4, i:M, j:9]: f16 = sum f32 (d:16) f32(Q[b,h,i,d]) * f32(K[b,h,j,d])\n"
	 "t[b:B, h:4, i:M, j:9]: f16 = f16(f32(s[b,h,i,j]) * 0.5)\n"
	 "x[b:B, h:4, i:M, j:9]: f32 = f32(f16(f32(t[b,h,i,j]) + f32(Z[b,0,0,j])))\n" SOFTMAX("x")
	 "r[b:B, h:4, i:M, j:9]: f16 = f16(p[b,h,i,j])\n"
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) f32(r[b,h,i,j]) * f32(V[b,h,j,e])",
	 "0123 0123 0123 0--1", 0.5},
	/* as the operator is with a mask: a row whose keys are all masked is 0 */
	{ADDED,
	 SCORES "x[b:B, h:4, i:M, j:9]: f32 = s[b,h,i,j] + f32(Z[b,0,0,j])\n" SOFTMAX("x")
	 "t[b:B, h:4, i:M]: f32 = max(j:9) f32(Z[b,0,0,j])\n"
	 "r[b:B, h:4, i:M, j:9]: f32 = t[b,h,i] == -inf ? 0.0 : p[b,h,i,j]\n"
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) r[b,h,i,j] * f32(V[b,h,j,e])",
	 "0123 0123 0123 0--1", 1},
	/* heads between each other, keys turned, one tensor for two operands */
	{"Q: f16[B,M,4,16], K: f16[16,4,9,B], V: f16[B,4,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,i,h,d]) * f32(K[d,h,j,b])\n"
	 SOFTMAX("s") VALUES,
	 "0213 3120 0123", 1},
	{"Q: f16[B,4,M,16], V: f16[B,4,9,16]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(V[b,h,j,d])\n" SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:16]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,h,j,e])",
	 "0123 0123 0123", 1},
	/* two heads, or all, share one of keys and values; of one batch */
	{"Q: f16[B,4,M,16], K: f16[B,2,9,16], V: f16[B,9,2,8], Z: f16[B,1,1,9]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h/2,j,d])\n"
	 "x[b:B, h:4, i:M, j:9]: f32 = s[b,h,i,j] + f32(Z[b,0,0,j])\n" SOFTMAX("x")
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,j,h/2,e])",
	 "0123 0123 0213 0--1", 1},
	{"Q: f16[B,4,M,16], K: f16[B,1,9,16], V: f16[B,1,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,0,j,d])\n" SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,0,j,e])",
	 "0123 0-12 0-12", 1},
	/* keys alone; values alone, repeated before */
	{"Q: f16[B,4,M,16], K: f16[B,2,9,16], V: f16[B,4,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h/2,j,d])\n" SOFTMAX("s")
	 VALUES,
	 "0123 0123 0123", 1},
	{"Q: f16[B,4,M,16], K: f16[B,4,9,16], V: f16[B,2,9,8]",
	 "w[b:B, h:4, j:9, e:8]: f16 = V[b,h/2,j,e]\n" SCORES SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(w[b,h,j,e])",
	 "0123 0123 0123", 1},
	{"Q: f16[1,4,M,16], K: f16[1,2,9,16], V: f16[1,2,9,8]",
	 "s[h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[0,h,i,d]) * f32(K[0,h/2,j,d])\n"
	 "m[h:4, i:M]: f32 = max(j:9) s[h,i,j]\n"
	 "e[h:4, i:M, j:9]: f32 = exp(s[h,i,j] - m[h,i])\n"
	 "l[h:4, i:M]: f32 = sum(j:9) e[h,i,j]\n"
	 "Y[h:4, i:M, e:8]: f16 = sum f32 (j:9) e[h,i,j] / l[h,i] * f32(V[0,h/2,j,e])",
	 "012 012 012", 1},
	/* without a batch, and a batch of 1 */
	{"Q: f16[1,M,16], K: f16[1,9,16], V: f16[1,9,8]",
	 "s[h:1, i:M, j:9]: f32 = sum(d:16) f32(Q[h,i,d]) * f32(K[h,j,d])\n"
	 "m[h:1, i:M]: f32 = max(j:9) s[h,i,j]\n"
	 "e[h:1, i:M, j:9]: f32 = exp(s[h,i,j] - m[h,i])\n"
	 "l[h:1, i:M]: f32 = sum(j:9) e[h,i,j]\n"
	 "Y[h:1, i:M, e:8]: f16 = sum f32 (j:9) e[h,i,j] / l[h,i] * f32(V[h,j,e])",
	 "01 01 01", 1},
};

/* A row, and the number epsilon. */
typedef struct Norm {
	const char *row, *inputs, *stages, *orders;
	double epsilon;
} Norm;

#define MOMENTS \
	"s[b:B, i:M]: f32 = sum(c:24) X[b,i,c]\n" \
	"m[b:B, i:M]: f32 = s[b,i] / 24.0\n" \
	"q[b:B, i:M]: f32 = sum(c:24) (X[b,i,c] - m[b,i]) * (X[b,i,c] - m[b,i])\n"
#define MOMENTS_OF_16 \
	"s[b:B, i:M]: f32 = sum(c:24) f32(X[b,i,c])\n" \
	"m[b:B, i:M]: f32 = s[b,i] / 24.0\n" \
	"q[b:B, i:M]: f32 = sum(c:24) (f32(X[b,i,c]) - m[b,i]) * (f32(X[b,i,c]) - m[b,i])\n"
#define SQUARES "q[b:B, i:M]: f32 = sum(c:24) X[b,i,c] * X[b,i,c]\n"
#define ROWS "X: f32[B,M,24], "
#define OF_IMAGES \
	"s[n:N, c:3]: f32 = sum(h:4, w:6) X[n,c,h,w]\n" \
	"q[n:N, c:3]: f32 = sum(h:4, w:6) " \
	"(X[n,c,h,w] - s[n,c] / 24.0) * (X[n,c,h,w] - s[n,c] / 24.0)\n" \
	"Y[n:N, c:3, h:4, w:6]: f32 = " \
	"(X[n,c,h,w] - s[n,c] / 24.0) / sqrt(q[n,c] / 24.0 + 0.01) * "

#define IMAGE_OF_TWO_TYPES \
	"s[n:N, c:3]: f32 = sum(h:8) X[n,c,h]\n" \
	"q[n:N, c:3]: f32 = sum(h:8) (X[n,c,h] - s[n,c] / 8.0) * (X[n,c,h] - s[n,c] / 8.0)\n" \
	"Y[n:N, c:3, h:8]: f16 = " \
	"f16((X[n,c,h] - s[n,c] / 8.0) / sqrt(q[n,c] / 8.0 + 0.01) * W[c] + Z[c])"

static const Norm norms[] = {
	/* leading dims are joined; a factor and a bias, the bias first, and without one */
	{"layer_norm", ROWS "W: f32[24], Z: f32[24]",
	 MOMENTS
	 "Y[b:B, i:M, c:24]: f32 = (X[b,i,c] - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01) * W[c] + Z[c]",
	 "01 0 0", 0.01},
	{"layer_norm", ROWS "Z: f32[24], W: f32[24]",
	 MOMENTS
	 "d[b:B, i:M]: f32 = q[b,i] / 24.0 + 0.001\n"
	 "Y[b:B, i:M, c:24]: f32 = Z[c] + W[c] * ((X[b,i,c] - m[b,i]) * (1.0 / sqrt(d[b,i])))",
	 "01 0 0", 0.001},
	{"layer_norm", ROWS "W: f32[24]",
	 MOMENTS "Y[b:B, i:M, c:24]: f32 = W[c] * (X[b,i,c] - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01)",
	 "01 0", 0.01},
	/* 16 bits, rounded on the way; factors of f32; stored as 16 bits alone */
	{"layer_norm", "X: f16[B,M,24], W: f16[24], Z: f16[24]",
	 MOMENTS_OF_16
	 "Y[b:B, i:M, c:24]: f16 = "
	 "f16((f32(X[b,i,c]) - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01)) * W[c] + Z[c]",
	 "01 0 0", 0.01},
	{"layer_norm", "X: bf16[B,M,24], W: f32[24], Z: f32[24]",
	 MOMENTS_OF_16
	 "Y[b:B, i:M, c:24]: bf16 = "
	 "bf16((f32(X[b,i,c]) - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01) * W[c] + Z[c])",
	 "01 0 0", 0.01},
	{"layer_norm", ROWS "W: f32[24]",
	 MOMENTS
	 "Y[b:B, i:M, c:24]: f16 = f16(W[c] * (X[b,i,c] - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01))",
	 "01 0", 0.01},
	/* one row; its numbers in two dims */
	{"layer_norm", "X: f32[1,24], W: f32[24]",
	 "s[b:1]: f32 = sum(c:24) X[b,c]\n"
	 "q[b:1]: f32 = sum(c:24) (X[b,c] - s[b] / 24.0) * (X[b,c] - s[b] / 24.0)\n"
	 "Y[b:1, c:24]: f32 = (X[b,c] - s[b] / 24.0) / sqrt(q[b] / 24.0 + 0.01) * W[c]",
	 "0 0", 0.01},
	{"layer_norm", "X: f32[N,3,4,6], W: f32[4,6], Z: f32[4,6]", OF_IMAGES "W[h,w] + Z[h,w]",
	 "01 0 0", 0.01},
	{"rms_norm", ROWS "W: f32[24]",
	 SQUARES "Y[b:B, i:M, c:24]: f32 = X[b,i,c] / sqrt(q[b,i] / 24.0 + 0.01) * W[c]", "01 0", 0.01},
	{"rms_norm", ROWS "W: f32[24]",
	 SQUARES "Y[b:B, i:M, c:24]: f32 = X[b,i,c] * W[c] * (1.0 / sqrt(q[b,i] * 0.041666668 + 0.5))",
	 "01 0", 0.5},
	/* places of an image are joined */
	{"instance_norm", "X: f32[N,3,4,6], W: f32[3], Z: f32[3]", OF_IMAGES "W[c] + Z[c]", "012 0 0",
	 0.01},
};

static const char *const no_norms[][2] = {
	/* without epsilon; another count; a factor for each row; of something else; a
	 * number behind the root */
	{ROWS "W: f32[24]",
	 MOMENTS "Y[b:B, i:M, c:24]: f32 = (X[b,i,c] - m[b,i]) / sqrt(q[b,i] / 24.0) * W[c]"},
	{ROWS "W: f32[24]",
	 MOMENTS "Y[b:B, i:M, c:24]: f32 = (X[b,i,c] - m[b,i]) / sqrt(q[b,i] / 23.0 + 0.01) * W[c]"},
	{ROWS "W: f32[M]",
	 MOMENTS "Y[b:B, i:M, c:24]: f32 = (X[b,i,c] - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01) * W[i]"},
	{ROWS "V: f32[B,M,24], W: f32[24]",
	 MOMENTS "Y[b:B, i:M, c:24]: f32 = (V[b,i,c] - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01) * W[c]"},
	{ROWS "W: f32[24]",
	 MOMENTS "Y[b:B, i:M, c:24]: f32 = (X[b,i,c] - m[b,i]) / (sqrt(q[b,i] / 24.0) + 0.01) * W[c]"},
	/* more behind it; a bias of one channel for an image; an image of two types; a row of two types
	 * of 16 bits; one of f64; every second number of a row */
	{ROWS "W: f32[24]",
	 SQUARES
	 "Y[b:B, i:M, c:24]: f32 = max(X[b,i,c] / sqrt(q[b,i] / 24.0 + 0.01) * W[c], 0.0)"},
	{"X: f32[N,3,4,6], W: f32[3], Z: f32[6]", OF_IMAGES "W[c] + Z[w]"},
	{"X: f32[N,3,8], W: f32[3], Z: f32[3]", IMAGE_OF_TWO_TYPES},
	{"X: f16[B,M,24], W: bf16[24]",
	 MOMENTS_OF_16
	 "Y[b:B, i:M, c:24]: f16 = "
	 "f16((f32(X[b,i,c]) - m[b,i]) / sqrt(q[b,i] / 24.0 + 0.01) * f32(W[c]))"},
	{"X: f64[B,M,24], W: f64[24]",
	 "q[b:B, i:M]: f64 = sum(c:24) X[b,i,c] * X[b,i,c] * 2.0\n"
	 "Y[b:B, i:M, c:24]: f64 = X[b,i,c] / sqrt(q[b,i] / 48.0 + 0.01) * W[c]"},
	{"X: f32[B,M,48], W: f32[24]",
	 "q[b:B, i:M]: f32 = sum(c:24) X[b,i,2*c] * X[b,i,2*c]\n"
	 "Y[b:B, i:M, c:24]: f32 = X[b,i,2*c] / sqrt(q[b,i] / 24.0 + 0.01) * W[c]"},
};

static const char *const refused[][2] = {
	/* of f32; widths that cuDNN has no engine for; types that differ */
	{"Q: f32[B,4,M,16], K: f32[B,4,9,16], V: f32[B,4,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) Q[b,h,i,d] * K[b,h,j,d]\n" SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:8]: f32 = sum(j:9) p[b,h,i,j] * V[b,h,j,e]"},
	{"Q: f16[B,4,M,12], K: f16[B,4,9,12], V: f16[B,4,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:12) f32(Q[b,h,i,d]) * f32(K[b,h,j,d])\n"
	 SOFTMAX("s") VALUES},
	{"Q: f16[B,4,M,16], K: bf16[B,4,9,16], V: f16[B,4,9,8]", SCORES SOFTMAX("s") VALUES},
	/* every second key; the largest of something else; a sum of squares */
	{"Q: f16[B,4,M,16], K: f16[B,4,18,16], V: f16[B,4,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h,2*j,d])\n"
	 SOFTMAX("s") VALUES},
	{ADDED,
	 SCORES "m[b:B, h:4, i:M]: f32 = max(j:9) s[b,h,i,j]\n"
	 "e[b:B, h:4, i:M, j:9]: f32 = exp(s[b,h,i,j] + f32(Z[b,0,0,j]) - m[b,h,i])\n"
	 "l[b:B, h:4, i:M]: f32 = sum(j:9) e[b,h,i,j]\n"
	 "p[b:B, h:4, i:M, j:9]: f32 = e[b,h,i,j] / l[b,h,i]\n" VALUES},
	{OPERANDS,
	 SCORES "m[b:B, h:4, i:M]: f32 = max(j:9) s[b,h,i,j]\n"
	 "e[b:B, h:4, i:M, j:9]: f32 = exp(s[b,h,i,j] - m[b,h,i])\n"
	 "l[b:B, h:4, i:M]: f32 = sum(j:9) e[b,h,i,j] * e[b,h,i,j]\n"
	 "p[b:B, h:4, i:M, j:9]: f32 = e[b,h,i,j] / l[b,h,i]\n" VALUES},
	/* two scales; what is added depends on the values' width; probabilities from the wrong side */
	{OPERANDS,
	 SCORES "m[b:B, h:4, i:M]: f32 = max(j:9) s[b,h,i,j] * 0.5\n"
	 "e[b:B, h:4, i:M, j:9]: f32 = exp(s[b,h,i,j] * 0.25 - m[b,h,i])\n"
	 "l[b:B, h:4, i:M]: f32 = sum(j:9) e[b,h,i,j]\n"
	 "p[b:B, h:4, i:M, j:9]: f32 = e[b,h,i,j] / l[b,h,i]\n" VALUES},
	{ADDED,
	 SCORES SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,h,j,e]) * f32(Z[b,0,0,j])"},
	/* heads that share one lie apart, or are more for one than for another */
	{"Q: f16[B,4,M,16], K: f16[B,2,9,16], V: f16[B,2,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h%2,j,d])\n" SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,h%2,j,e])"},
	{"Q: f16[B,4,M,16], K: f16[B,2,9,16], V: f16[B,2,9,8]",
	 "s[b:B, h:4, i:M, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h/3,j,d])\n" SOFTMAX("s")
	 "Y[b:B, h:4, i:M, e:8]: f16 = sum f32 (j:9) p[b,h,i,j] * f32(V[b,h/3,j,e])"},
	{"Q: f16[B,4,9,16], K: f16[B,4,9,16], V: f16[B,4,9,8]",
	 "s[b:B, h:4, i:9, j:9]: f32 = sum(d:16) f32(Q[b,h,i,d]) * f32(K[b,h,j,d])\n"
	 "m[b:B, h:4, i:9]: f32 = max(j:9) s[b,h,j,i]\n"
	 "e[b:B, h:4, i:9, j:9]: f32 = exp(s[b,h,i,j] - m[b,h,i])\n"
	 "l[b:B, h:4, i:9]: f32 = sum(j:9) e[b,h,i,j]\n"
	 "Y[b:B, h:4, i:9, e:8]: f16 = sum f32 (j:9) e[b,h,i,j] / l[b,h,i] * f32(V[b,h,j,e])"},
};
/* clang-format on */

static bool
match_text(Arena *arena, const char *inputs, const char *stages, VendorMatch *m)
{
	const char *text = arena_printf(arena, "expr made(%s) -> Y {\n%s\n}\n", inputs, stages);
	Program *program = program_parse(expr_ctx_new(arena), "made", text);
	program_check(program);
	return row_match(arena, program_inline_stages(arena, program), m) && m->row->program;
}

static const char *
orders_text(Arena *arena, const VendorMatch *m)
{
	Buf buf = {.arena = arena};
	for (int k = 0; k < VENDOR_INPUTS && m->operands[k].tensor; k++) {
		buf_puts(&buf, k ? " " : "");
		for (int i = 0; i < m->operands[k].rank; i++)
			buf_putc(&buf, m->operands[k].dims[i] < 0 ? '-' : (char)('0' + m->operands[k].dims[i]));
	}
	return buf_text(&buf);
}

START_TEST(attention_is_found)
{
	Arena *arena = arena_new("test");
	const Case *c = &cases[_i];
	VendorMatch m;
	ck_assert_msg(match_text(arena, c->inputs, c->stages, &m), "%s", c->stages);
	ck_assert_str_eq(orders_text(arena, &m), c->orders);
	ck_assert(m.nattr == 1 && strcmp(m.attrs[0].name, "scale") == 0);
	ck_assert_msg(fabs((double)m.attrs[0].floats[0] - c->scale) < 1e-6, "%g",
	              (double)m.attrs[0].floats[0]);
	arena_free(arena);
}
END_TEST

START_TEST(norms_are_found)
{
	Arena *arena = arena_new("test");
	const Norm *n = &norms[_i];
	VendorMatch m;
	ck_assert_msg(match_text(arena, n->inputs, n->stages, &m), "%s", n->stages);
	ck_assert_str_eq(m.row->name, n->row);
	ck_assert_str_eq(orders_text(arena, &m), n->orders);
	ck_assert(m.nattr == 1 && strcmp(m.attrs[0].name, "epsilon") == 0);
	ck_assert_msg(fabs((double)m.attrs[0].floats[0] - n->epsilon) < 1e-6, "%g",
	              (double)m.attrs[0].floats[0]);
	/* The factor is W, wherever it stands. */
	ck_assert_str_eq(m.operands[1].tensor->name, "W");
	arena_free(arena);
}
END_TEST

START_TEST(others_are_no_norms)
{
	Arena *arena = arena_new("test");
	VendorMatch m;
	ck_assert_msg(!match_text(arena, no_norms[_i][0], no_norms[_i][1], &m), "%s", no_norms[_i][1]);
	arena_free(arena);
}
END_TEST

START_TEST(others_are_not)
{
	Arena *arena = arena_new("test");
	VendorMatch m;
	ck_assert_msg(!match_text(arena, refused[_i][0], refused[_i][1], &m), "%s", refused[_i][1]);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("match_whole");
	tcase_add_loop_test(tcase, attention_is_found, 0, (int)countof(cases));
	tcase_add_loop_test(tcase, norms_are_found, 0, (int)countof(norms));
	tcase_add_loop_test(tcase, others_are_no_norms, 0, (int)countof(no_norms));
	tcase_add_loop_test(tcase, others_are_not, 0, (int)countof(refused));
	return unit_run(tcase);
}
