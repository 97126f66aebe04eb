/* Random programs as derivation meets them, small and of odd sizes, and data for them: small
 * integers, so that every order of a sum is exact.
 */
#ifndef DERIVE_PROGRAMS_H
#define DERIVE_PROGRAMS_H

#include "unit.h"

#include "expr/interp/interp.h"
#include "expr/scalar/ctx.h"
#include "expr/stage/canon.h"
#include "random_number.h"

enum { MAX_INPUTS = 4 };

static uint64_t state = 1;
static Arena *arena;

static int
pick(int below)
{
	return (int)random_below(&state, (unsigned)below);
}

static const char *
text_of(const Program *program)
{
	Buf buf = {.arena = arena};
	program_print(&buf, program);
	return buf_text(&buf);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A window over H places: of stride, dilation, and a border before it; as many results as fit. */
typedef struct Window {
	int in, taps, stride, dilation, before, out;
} Window;

static Window
make_window(void)
{
	Window w = {1 + pick(7), 1 + pick(5), 1 + pick(3), 1 + pick(2), pick(3), 1 + pick(6)};
	return w;
}

/* `sum` of a product over two windows, and what comes behind it, which may read a part of it; the
 * sum may be an output as well. */
static const char *
convolution(void)
{
	Window h = make_window(), w = make_window();
	int c = 1 + pick(3), f = 1 + pick(3), g = pick(3), shown = pick(2) ? h.out : 1 + pick(h.out);
	static const char *const behind[] = {"T[p, q, f]", "max(T[p, q, f] + B[f], 0)",
	                                     "T[p, q, f] * B[f] - 1"};
	const char *row = pick(4) ? "sum" : "max";
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d], K: f32[%d,%d,%d,%d], B: f32[%d]) -> Y%s {\n"
	                    " T[p:%d, q:%d, f:%d]: f32 = %s(c:%d, r:%d, s:%d where 0 <= %d*p+%d*r-%d,"
	                    " %d*p+%d*r-%d < %d, 0 <= %d*q+%d*s-%d && %d*q+%d*s-%d < %d%s)"
	                    " X[%d*p+%d*r-%d, %d*q+%d*s-%d, c] * K[r, s, f, c]\n"
	                    " Y[p:%d, q:%d, f:%d]: f32 = %s\n}\n",
	                    h.in, w.in, c, h.taps, w.taps, f, c, f, pick(4) ? "" : ", T", h.out, w.out,
	                    f, row, c, h.taps, w.taps, h.stride, h.dilation, h.before, h.stride,
	                    h.dilation, h.before, h.in, w.stride, w.dilation, w.before, w.stride,
	                    w.dilation, w.before, w.in, pick(4) ? "" : ", p+q < 5", h.stride,
	                    h.dilation, h.before, w.stride, w.dilation, w.before, shown, w.out, f,
	                    behind[g]);
}

static const char *
transposed(void)
{
	Window h = make_window();
	int c = 1 + pick(3), f = 1 + pick(3), g = 1 + pick(3);
	return arena_printf(
		arena,
		"expr f(X: f32[%d,%d,%d], K: f32[%d,%d,%d], B: f32[%d]) -> Y {\n"
		" T[n:%d, f:%d, p:%d]: f32 = sum(c:%d, r:%d where (p+%d-%d*r)%%%d == 0,"
		" 0 <= (p+%d-%d*r)/%d, (p+%d-%d*r)/%d < %d) X[n, c, (p+%d-%d*r)/%d] * K[c, f, r]\n"
		" Y[n:%d, f:%d, p:%d]: f32 = max(T[n, f, p] + B[f], 0)\n}\n",
		g, c, h.in, c, f, h.taps, f, g, f, h.out, c, h.taps, h.before, h.dilation, h.stride,
		h.before, h.dilation, h.stride, h.before, h.dilation, h.stride, h.in, h.before, h.dilation,
		h.stride, g, f, h.out);
}

/* Loops, and terms, that run against the index; with a border, or with all that is read inside. */
static const char *
backward(void)
{
	Window h = make_window();
	int c = 1 + pick(3), f = 1 + pick(3), q = 1 + pick(3), along = pick(3), last = h.out - 1;
	int sign = pick(2) ? 1 : -1, tap = sign * h.dilation;
	int at = h.stride * last + (sign < 0 ? h.dilation * (h.taps - 1) : 0);
	int reach = h.stride * last + along * (q - 1) + h.dilation * (h.taps - 1) + 1;
	const char *index =
		arena_printf(arena, "%d-%d*p+%d*q%+d*r", at - pick(2) * h.before, h.stride, along, tap);
	const char *guard = arena_printf(arena, " where 0 <= %s, %s < %d", index, index, h.in);
	if (pick(3) == 0) {
		index = arena_printf(arena, "%d-%d*p+%d*q%+d*r", at, h.stride, along, tap);
		guard = "";
		h.in = reach;
	}
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d], K: f32[%d,%d,%d]) -> Y {\n"
	                    " Y[f:%d, p:%d, q:%d]: f32 = sum(c:%d, r:%d%s) X[%s, c] * K[f, r, c]\n}\n",
	                    h.in, c, f, h.taps, c, f, h.out, q, c, h.taps, guard, index);
}

/* A product of a product, with symbols; the first may be read where it is not defined, and what
 * stands between them scale it and add to it. */
static const char *
products(void)
{
	static const char *const reads[] = {"T[n, m]", "(T[n, m-1] else 0)", "(T[n+1, m] else 0)"};
	static const char *const terms[] = {"", " where k <= n", " where m <= n+k"};
	static const char *const guards[] = {"", " where m <= n+j", " where (n+m+j)%3 == 0, m <= n"};
	static const char *const between[] = {"T[n, m]", "T[n, m] + D[n, m]", "T[n, m]*2 + D[0, m]",
	                                      "D[n, m] * (D[n, 0] + T[n, m])"};
	bool is_direct = pick(2);
	const char *read = is_direct ? reads[pick(3)] : "U[n, m]";
	const char *way =
		is_direct ? "" : arena_printf(arena, " U[n:N, m:M]: f32 = %s\n", between[pick(4)]);
	return arena_printf(arena,
	                    "expr f(X: f32[N,K], W: f32[K,M], V: f32[M,2,L], D: f32[N,M]) -> Y {\n"
	                    " T[n:N, m:M]: f32 = sum(k:K%s) X[n, k] * W[k, m]\n%s"
	                    " Y[n:N, l:L]: f32 = sum(m:M, j:2%s) %s * V[m, j, l]\n}\n",
	                    terms[pick(3)], way, guards[pick(3)], read);
}

static const char *
maps(void)
{
	int pad = pick(3), taps = 1 + pick(4);
	return arena_printf(arena,
	                    "expr f(X: f32[N,M]) -> Y {\n"
	                    " P[i:N+%d, j:M]: f32 = X[i-%d, j] else 0\n"
	                    " S[i:N+%d, j:M]: f32 = sum(r:%d where 0 <= i+r-1, i+r-1 < N+%d)"
	                    " P[i+r-1, j]\n"
	                    " Y[i:N+%d, j:M]: f32 = S[i, j] * P[N+%d-1-i, j] + 1\n}\n",
	                    2 * pad, pad, 2 * pad, taps, 2 * pad, 2 * pad, 2 * pad);
}

/* Products of one factor, or of factors of their own, in any order of their loops; one may come
 * from another. All are outputs, or what a map makes of them. */
static const char *
several(void)
{
	int m = 1 + pick(4), k = 1 + pick(5), taps = 1 + pick(2), n1 = 1 + pick(4), n2 = 1 + pick(3);
	static const char *const guards[] = {"", " where m <= k", " where 1 <= k"};
	int some = pick(2) ? k : 1 + pick(k);
	int g = pick(3);
	const char *guard = guards[g], *own = pick(2) ? "X" : "Z", *bound = pick(2) ? "k" : "r";
	const char *other = pick(2) ? "W[k, 0, r]" : arena_printf(arena, "A[k%%%d, n]", m);
	bool is_one = pick(3) == 0;
	const char *all = arena_printf(arena,
	                               " R[m:%d, n:%d]: f32 ="
	                               " A[m, n] + B[n%%%d, m] * Y[m, n] - C[n%%2, m, n%%%d]\n",
	                               m, n1, n2, n1);
	return arena_printf(
		arena,
		"expr f(X: f32[%d,%d], V: f32[%d,%d,%d], W: f32[%d,%d,%d], Z: f32[%d,%d]) -> %s {\n"
		" A[m:%d, n:%d]: f32 = sum(k:%d, r:%d%s) X[m+r, k] * V[k-%d, n, r]\n"
		" B[n:%d, m:%d]: f32 = sum(%s:%d, %s:%d%s) W[k, n, r] * %s[m+r, k]\n"
		" C[p:2, m:%d, q:%d]: f32 = sum(k:%d, r:%d%s) X[m+r, k] * V[(k+p)/2, q, r]\n"
		" Y[m:%d, n:%d]: f32 = sum(k:%d, r:%d%s) %s[m+r, k] * %s\n%s}\n",
		m + taps, k, k, n1, taps, k, n2, taps, m + taps, k, is_one ? "R" : "Y, A, B, C", m, n1, k,
		taps, guard, g / 2, n2, m, bound, *bound == 'k' ? some : taps, *bound == 'k' ? "r" : "k",
		*bound == 'k' ? taps : some, guard, own, m, n1, k, taps, pick(2) ? guard : "", m, n1, k,
		taps, guard, own, other, is_one ? all : "");
}

static inline const Program *
make_program(ExprCtx *ctx)
{
	static const char *(*const makers[])(void) = {convolution, convolution, transposed, backward,
	                                              products,    maps,        several,    several};
	const char *text = makers[pick(countof(makers))]();
	const Program *program = program_parse(ctx, "random.e", text);
	program_check(program);
	return pick(2) ? program_canon(program) : program;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct Sample {
	const Array *inputs[MAX_INPUTS];
	Binding binding;
} Sample;

static Sample
make_sample(const Program *program)
{
	enum { SYMBOLS = 16 };
	int64_t *values = NEW_N(arena, int64_t, SYMBOLS);
	bool *is_bound = NEW_N(arena, bool, SYMBOLS);
	Sample sample = {.binding = {SYMBOLS, values, is_bound}};
	for (int i = 0; i < SYMBOLS; i++) {
		values[i] = 1 + pick(7);
		is_bound[i] = true;
	}
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *input = program->inputs[i];
		int64_t dims[8];
		for (int k = 0; k < input->rank; k++)
			ck_assert(dim_eval(input->hi[k], &sample.binding, &dims[k]));
		Array *array = array_new(arena, input->type, input->rank, dims);
		for (int64_t k = 0; k < array_count(array); k++)
			dtype_store_f64(array->type, array->data, k, pick(2) ? pick(3) + 1 : -1 - pick(3));
		sample.inputs[i] = array;
	}
	return sample;
}

/* One for each output. */
static Array **
values_of(const Program *program, const Sample *sample)
{
	Array **out = NEW_N(arena, Array *, program->noutput);
	program_eval(arena, program, &sample->binding, sample->inputs, out);
	return out;
}

#endif
