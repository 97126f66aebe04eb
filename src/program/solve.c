/* See solve.h. Stages are paired in order: when one of the meaning is looked for, all that it reads
 * have been found, so that reads of a pair are reads of the same tensor. Numbers are moved out of
 * sums, sum(c*x) = c*sum(x), so that a sum is paired with one that is a multiple of it. */
#include "program/solve.h"

/* What a tensor of the given program is: one of the meaning, so many times. */
typedef struct Pair {
	const Tensor *tensor;
	double times;
} Pair;

typedef struct Solver {
	Arena *arena;
	const FormLeaves *leaves;
	Map pairs; /* Tensor to Pair */
	Solved solved;
} Solver;

static void
add_pair(Solver *s, const Tensor *given, const Tensor *meant, double times)
{
	Pair *pair = NEW(s->arena, Pair);
	*pair = (Pair){meant, times};
	map_set_ptr(&s->pairs, given, pair);
}

static const Expr *
read_pair(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Solver *s = arg;
	const Pair *pair = e->op == EX_read ? map_find_ptr(&s->pairs, e->tensor) : NULL;
	if (!pair)
		return e;
	const Expr *read = expr_read(ctx, pair->tensor, e->arg);
	return pair->times == 1 ? read : expr_mul(ctx, read, expr_number(ctx, DT_F32, pair->times));
}

/* What else two stages must have in common. */
static bool
are_alike(const Stage *m, const Stage *given)
{
	return m->kind == given->kind && m->kind != STAGE_scatter && !m->scan && !given->scan &&
	       m->nresult == 1 && given->nresult == 1 && m->nloop == given->nloop &&
	       m->nreduce == given->nreduce && stage_same_iters(m, given) &&
	       m->results[0]->type == given->results[0]->type &&
	       (m->kind == STAGE_map || (m->reduce == given->reduce && m->acc == given->acc));
}

/* The numbers of one stage, beside those that are known already. */
static bool
add_solved(Solved *all, const Solved *some)
{
	for (int i = 0; i < FORM_UNKNOWNS; i++) {
		if (!some->is_known[i])
			continue;
		if (all->is_known[i] && !form_same_number(all->value[i], some->value[i]))
			return false;
		all->is_known[i] = true;
		all->value[i] = some->value[i];
	}
	return true;
}

/* Whether the stages are the same but for the number *times, which others than sums have not. */
static bool
solve_stage(Solver *s, ExprCtx *ctx, const Stage *m, const Stage *given, double *times)
{
	if (!are_alike(m, given) || !m->guard != !given->guard)
		return false;
	if (m->guard && expr_rewrite(ctx, given->guard, read_pair, s) != m->guard)
		return false;
	const Expr *body = expr_rewrite(ctx, given->body[0], read_pair, s);
	const FormLeaves known = {.any = s->leaves->any}; /* a number of the model is no unknown */
	const Form *meaning = form_of(s->arena, s->leaves, m->body[0]);
	const Form *form = form_of(s->arena, &known, body);
	bool is_sum = m->kind == STAGE_reduce && m->reduce == REDUCE_sum;
	*times = meaning && form && is_sum ? form_times(meaning, form) : 1;
	if (*times != 1)
		form = form_of(s->arena, &known, expr_div(ctx, body, expr_number(ctx, DT_F32, *times)));
	Solved some;
	return meaning && form && form_solve(s->leaves, meaning, form, &some) &&
	       add_solved(&s->solved, &some);
}

bool
program_solve(Arena *arena, const FormLeaves *leaves, const Program *meaning, const Program *given,
              const int *place, Solved *solved)
{
	Solver s = {arena, leaves, {.arena = arena}, {.any = NULL}};
	if (meaning->nstage != given->nstage)
		return false;
	for (int i = 0; i < given->ninput; i++)
		if (place[i] >= 0)
			add_pair(&s, given->inputs[i], meaning->inputs[place[i]], 1);
	for (int i = 0; i < meaning->nstage; i++) {
		const Stage *m = meaning->stages[i], *pair = NULL;
		double times = 1;
		for (int k = 0; k < given->nstage && !pair; k++) {
			const Stage *stage = given->stages[k];
			if (!map_find_ptr(&s.pairs, stage->results[0]) &&
			    solve_stage(&s, given->ctx, m, stage, &times))
				pair = stage;
		}
		if (!pair)
			return false;
		add_pair(&s, pair->results[0], m->results[0], times);
	}
	*solved = s.solved;
	const Pair *result = map_find_ptr(&s.pairs, given->outputs[0]);
	return result && result->tensor == meaning->outputs[0] && result->times == 1;
}
