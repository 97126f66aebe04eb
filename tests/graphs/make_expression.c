/* Expressions: programs that no operator says, of all forms of indices, around a value or two. */
#include "gen.h"

#include <string.h>

/* The loops `a0:3, a1:N, …` of x but for its last `less` axes, and their names as indices. */
static void
put_outer(Buf *buf, const Value *x, int less, bool is_loops)
{
	for (int i = 0; i + less < gen_rank(x); i++) {
		buf_printf(buf, is_loops ? "a%d:" : "a%d, ", i);
		if (is_loops)
			buf_printf(buf, "A%d, ", i);
	}
}

/* `X: f32[A0,A1,7]`: outer dims by symbols, the last ones as they are. */
static void
put_input(Buf *buf, const char *name, const Value *x, int less)
{
	buf_printf(buf, "%s: %s[", name, dtype_name(gen_dtype(x)));
	for (int i = 0; i < gen_rank(x); i++) {
		buf_puts(buf, i ? "," : "");
		if (i + less < gen_rank(x))
			buf_printf(buf, "A%d", i);
		else
			buf_printf(buf, "%d", (int)gen_fixed(x, i));
	}
	buf_puts(buf, "]");
}

/* Y[…, p:P] = body, where $ stands for the indices of the outer loops. */
static void
put_program(Buf *buf, const Value *x, int less, const char *loops, const char *body)
{
	buf_puts(buf, "expr f(");
	put_input(buf, "X", x, less);
	buf_puts(buf, ") -> Y { Y[");
	put_outer(buf, x, less, true);
	buf_printf(buf, "%s]: %s = ", loops, dtype_name(gen_dtype(x)));
	for (const char *c = body; *c; c++)
		if (*c == '$')
			put_outer(buf, x, less, false);
		else
			buf_putc(buf, *c);
	buf_puts(buf, " }");
}

/* A window over the last axis: stride, dilation, border; terms outside are not there. */
static void
put_window(Gen *g, Buf *buf, const Value *x)
{
	Trial *t = &g->dice;
	int64_t size = gen_fixed(x, gen_rank(x) - 1);
	int taps = (int)roll(t, 1, 4), by = (int)roll(t, 1, 3), gap = (int)roll(t, 1, 2);
	int before = (int)roll(t, 0, 2), out = (int)roll(t, 1, 6);
	const char *at = arena_printf(g->arena, "%d*p+%d*r-%d", by, gap, before);
	put_program(buf, x, 1, arena_printf(g->arena, "p:%d", out),
	            arena_printf(g->arena, "%s(r:%d where 0 <= %s, %s < %d) X[$%s]",
	                         chance(t, 60) ? "sum" : "max", taps, at, at, (int)size, at));
}

/* Every element at another place: in cycles, in blocks, turned around, every other negated. */
static void
put_places(Gen *g, Buf *buf, const Value *x)
{
	Trial *t = &g->dice;
	int size = (int)gen_fixed(x, gen_rank(x) - 1), by = (int)roll(t, 1, 4);
	int shift = (int)roll(t, 0, 3);
	const char *texts[] = {
		arena_printf(g->arena, "X[$(p*%d+%d)%%%d]", by, shift, size),
		arena_printf(g->arena, "X[$p/%d] + X[$%d-p]", by, size - 1),
		arena_printf(g->arena, "p%%%d == %d ? X[$p] : -X[$p]", by, shift % by),
		arena_printf(g->arena, "X[$p-%d] else 0", shift),
		arena_printf(g->arena, "(X[$p+%d] else 1) * (X[$p-%d] else 0)", shift, by),
	};
	put_program(buf, x, 1, arena_printf(g->arena, "p:%d", size), texts[roll(t, 0, 4)]);
}

/* The last two axes as one, or the last as two; the one before is the outer of them. */
static void
put_blocks(Gen *g, Buf *buf, const Value *x)
{
	int n = (int)gen_fixed(x, gen_rank(x) - 2), m = (int)gen_fixed(x, gen_rank(x) - 1);
	const char *texts[][2] = {
		{arena_printf(g->arena, "p:%d", n * m), arena_printf(g->arena, "X[$p/%d, p%%%d]", m, m)},
		{arena_printf(g->arena, "p:%d", n * m), arena_printf(g->arena, "X[$p%%%d, p/%d]", n, n)},
		{arena_printf(g->arena, "q:%d, p:%d", m, n), "X[$p, q]"},
		{arena_printf(g->arena, "p:%d", n < m ? n : m), "X[$p, p]"},
		{arena_printf(g->arena, "p:%d", n),
	     arena_printf(g->arena, "sum(q:%d where q <= p) X[$p, q]", m)},
		{arena_printf(g->arena, "p:%d, q:%d", n, n),
	     arena_printf(g->arena, "sum(r:%d) X[$p, r] * X[$q, r]", m)},
	};
	int row = (int)roll(&g->dice, 0, countof(texts) - 1);
	put_program(buf, x, 2, texts[row][0], texts[row][1]);
}

void
make_expression(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_F32) | BIT(DT_F64) | BIT(DT_I32), 1, 4);
	Buf text = {.arena = g->arena};
	int last = gen_rank(x) - 1;
	if (gen_fixed(x, last) < 1)
		gen_give_up();
	bool is_pair = last > 0 && gen_fixed(x, last - 1) > 0;
	if (is_pair && chance(&g->dice, 40))
		put_blocks(g, &text, x);
	else if (chance(&g->dice, 50))
		put_window(g, &text, x);
	else
		put_places(g, &text, x);
	trial_string(&g->dice, "expr", buf_text(&text));
	gen_node(g, row->op, 1, &x, 1);
}
