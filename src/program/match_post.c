/* What follows a main stage: map stages over its box, as one scalar, as a bias and post-ops. */
#include "program/match_inner.h"

#include <string.h>

#include "program/row.h"

static bool
same_extent(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return a == b || (dim_proves_le(ctx, a, b) && dim_proves_le(ctx, b, a));
}

bool
read_is_one(const Expr *read, int d)
{
	return expr_is_zero(read->arg[d]) && dim_is(read->tensor->hi[d], 1);
}

bool
read_is_iter(ExprCtx *ctx, const Stage *stage, const Expr *read, int d, int position)
{
	const Expr *index = read->arg[d];
	bool stands = (index->op == EX_iter && index->iter == position) || read_is_one(read, d);
	return stands && same_extent(ctx, stage->iters[position].hi, read->tensor->hi[d]);
}

/* ---- the shape of the group: main stage, then an epilogue of map stages over its box ---- */

static const Expr *
fold_stage(ExprCtx *ctx, const Expr *e, void *arg)
{
	Map *bodies = arg;
	const Expr *body = e->op == EX_read ? map_find_ptr(bodies, e->tensor) : NULL;
	return body ? expr_substitute(ctx, body, e->argc, e->arg) : e;
}

/* The main result is read, and at the reader's own loops only. */
static bool
is_read_in_place(ExprCtx *ctx, const Expr *body, const Stage *main)
{
	bool is_read = false, in_place = true;
	for (ExprWalk walk = expr_walk(body); expr_step(&walk);) {
		if (walk.e->op != EX_read || walk.e->tensor != main->results[0])
			continue;
		is_read = true;
		for (int d = 0; d < walk.e->argc; d++)
			in_place &= read_is_iter(ctx, main, walk.e, d, d);
	}
	return is_read && in_place;
}

const Expr *
match_epilogue_of(Arena *arena, const Program *p, const Expr **main_read)
{
	const Stage *main = p->stages[0], *last = p->stages[p->nstage - 1];
	if (last->results[0] != p->outputs[0])
		return NULL;
	const Expr **loops = NEW_N(arena, const Expr *, main->nloop + 1);
	stage_identity(p->ctx, main->nloop, loops);
	*main_read = expr_read(p->ctx, main->results[0], loops);
	const Expr *body = *main_read;
	Map bodies = {.arena = arena};
	for (int s = 1; s < p->nstage; s++) {
		const Stage *stage = p->stages[s];
		if (stage->kind != STAGE_map || stage->scan || !stage_same_loops(stage, main))
			return NULL;
		body = expr_rewrite(p->ctx, stage->body[0], fold_stage, &bodies);
		map_set_ptr(&bodies, stage->results[0], (void *)(uintptr_t)body);
	}
	return is_read_in_place(p->ctx, body, main) ? body : NULL;
}

/* An operand of the epilogue: reads each dim of the result in place, or an extent of 1. */
static bool
is_broadcast_read(const Program *p, const Expr *read, int rank)
{
	for (int d = 0; d < read->argc; d++)
		if (!read_is_one(read, d) &&
		    !read_is_iter(p->ctx, p->stages[0], read, d, rank - read->argc + d))
			return false;
	return true;
}

/* A vector over loop `loop` alone: a bias, in any rank. */
static bool
is_vector_over(const Program *p, const Expr *read, int loop)
{
	int found = 0;
	for (int d = 0; d < read->argc; d++) {
		if (read_is_one(read, d))
			continue;
		if (!read_is_iter(p->ctx, p->stages[0], read, d, loop))
			return false;
		found++;
	}
	return found == 1;
}

static bool
is_program_input(const Program *p, const Tensor *tensor)
{
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == tensor)
			return true;
	return false;
}

/* The bias is the first post-op, where it is an addition over loop `channel`. */
static void
take_bias(VendorMatch *m, int channel)
{
	if (m->npost == 0 || !m->post[0].operand || m->post[0].post.kind != POST_add ||
	    !is_vector_over(m->program, m->post[0].operand, channel))
		return;
	m->bias = m->post[0].operand->tensor;
	memmove(m->post, m->post + 1, (size_t)(m->npost - 1) * sizeof *m->post);
	m->npost--;
}

bool
match_is_operand(const Program *p, const Tensor *tensor, DType type)
{
	return is_program_input(p, tensor) && tensor->type == type;
}

bool
match_main_reads(const Program *p, const Stage *stage, const Expr *reads[VENDOR_OPERANDS])
{
	if (stage->kind != STAGE_reduce || stage->scan || stage->nresult != 1 ||
	    stage->body[0]->type != stage->acc || stage->nloop + stage->nreduce > 31)
		return false;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (!dim_is(stage->iters[i].lo, 0))
			return false;
	const Expr *body = stage->body[0];
	reads[0] = body->op == EX_mul ? body->arg[0] : body;
	reads[1] = body->op == EX_mul ? body->arg[1] : NULL;
	for (int k = 0; k < VENDOR_OPERANDS && reads[k]; k++) {
		if (reads[k]->op == EX_cast)
			reads[k] = reads[k]->arg[0];
		if (reads[k]->op != EX_read || !is_program_input(p, reads[k]->tensor) ||
		    reads[k]->argc > ROW_DIMS)
			return false;
	}
	return true;
}

bool
match_has_types(const Program *p, const Expr *const reads[VENDOR_OPERANDS], const VendorRow *row)
{
	const Stage *stage = p->stages[0];
	for (int k = 0; k < VENDOR_OPERANDS && reads[k]; k++)
		if (reads[k]->type != row->operands[k])
			return false;
	return stage->acc == row->sum && stage->results[0]->type == row->result &&
	       p->outputs[0]->type == row->result;
}

bool
match_posts(Arena *arena, VendorMatch *m, int channel)
{
	const Expr *main;
	const Expr *body = match_epilogue_of(arena, m->program, &main);
	m->npost =
		body ? vendor_epilogue(m->program->ctx, arena, m->row->library, body, main, m->post) : -1;
	if (m->npost < 0)
		return false;
	take_bias(m, channel);
	int rank = m->program->stages[0]->nloop;
	for (int i = 0; i < m->npost; i++) {
		const Expr *read = m->post[i].operand;
		if (read && (read->argc > rank || !is_broadcast_read(m->program, read, rank) ||
		             !match_is_operand(m->program, read->tensor, m->row->result)))
			return false;
	}
	return !m->bias || match_is_operand(m->program, m->bias, m->row->result);
}
