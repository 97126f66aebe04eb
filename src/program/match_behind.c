/* What stands behind the main stage of a program that matches a row: the row's epilogue, or a bias
 * and post-ops. */
#include <string.h>

#include "program/match_solver.h"

/* Forms of post-ops for this program. */
static const PostForms *
posts_of(Solver *s)
{
	VendorForms *forms = s->forms;
	if (!forms->posts || forms->posts->ctx != s->ctx)
		forms->posts =
			match_read_posts(forms->arena, s->ctx, &forms->operators, forms->losses.posts);
	return forms->posts;
}

static bool
match_absorbed(Solver *s, Arena *arena)
{
	VendorMatch *m = s->match;
	const Expr *main, *body = match_epilogue_of(s->arena, m->program, &main);
	int channel = 0;
	while (strcmp(s->form->iters[channel], m->row->bias) != 0)
		channel++;
	if (body == main)
		return true;
	const char *stop = "stages of other loops";
	if (body && s->forms->operators.call)
		stop = match_posts(arena, posts_of(s), m, body, main, s->bound[channel]);
	if (stop && s->found && !s->found->stop) {
		s->found->stopped = m->row;
		s->found->stop = stop;
	}
	return !stop;
}

/* How many terms of the sum are not omitted, at the place of the result's element. */
static const Expr *
count_terms(Solver *s)
{
	const char *items[ROW_LIST];
	int count = row_list(s->arena, s->form->row->terms, s->form->copies, items);
	const Expr *terms = expr_i64(s->ctx, 1);
	for (int i = 0; i < count; i++)
		terms = expr_mul(s->ctx, terms, solver_value(s, items[i], DT_I64));
	return terms;
}

/* The same scalar, but for how integers in it are written. */
static bool
is_alike(Solver *s, const Expr *a, const Expr *b)
{
	if (a == b)
		return true;
	if (a->type == DT_I64 && b->type == DT_I64)
		return expr_is_zero(expr_simplify(s->facts, expr_sub(s->ctx, a, b)));
	if (a->op != b->op || a->type != b->type || (a->op != EX_cast && a->op != EX_div))
		return false;
	for (int i = 0; i < a->argc; i++)
		if (!is_alike(s, a->arg[i], b->arg[i]))
			return false;
	return true;
}

bool
solver_epilogue(Solver *s, Arena *arena)
{
	VendorMatch *m = s->match;
	const Expr *main;
	int64_t taps;
	if (m->row->bias)
		return match_absorbed(s, arena);
	const Expr *body = match_epilogue_of(s->arena, m->program, &main);
	if (!body)
		return false;
	DType sum = (DType)main->type;
	solver_name(s, "TERMS", expr_cast(s->ctx, sum, count_terms(s)));
	if (solver_number(s, "TAPS", &taps))
		solver_name(s, "TAPS", expr_number(s->ctx, sum, (double)taps));
	solver_name(s, "x", main);
	const Expr *expected = solver_value(s, m->row->epilogue, sum);
	return is_alike(s, body, expr_cast(s->ctx, m->result.tensor->type, expected));
}
