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

bool
solver_epilogue(Solver *s, Arena *arena)
{
	VendorMatch *m = s->match;
	const Expr *main;
	int64_t taps;
	if (m->row->bias)
		return match_absorbed(s, arena);
	const Expr *body = match_epilogue_of(s->arena, m->program, &main);
	if (solver_number(s, "TAPS", &taps))
		solver_name(s, "TAPS", expr_number(s->ctx, m->result.tensor->type, (double)taps));
	solver_name(s, "x", main);
	return body && body == solver_value(s, m->row->epilogue, m->result.tensor->type);
}
