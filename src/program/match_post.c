/* What follows a main stage: map stages over its box, as one scalar, as a bias and post-ops. */
#include "program/match_inner.h"

#include <stdlib.h>
#include <string.h>

#include "expr/index/text.h"
#include "program/form.h"
#include "program/row.h"

enum { MAX_PARTS = 32, EPILOGUE_SIZE = 512 };

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

/* ---- an epilogue as post-ops ----
 *
 * All that is computed of the main result passes through some nodes of the epilogue, where it may
 * be cut. Between two of them lies one post-op if its scalar, with x for the lower one, is the
 * meaning of a row. As few as possible are taken.
 *
 *     max(R + B[f], 0.0)      cuts R, R + B[f], max(...)      x + z: add, max(x, 0.0): relu
 */

/* A row's pattern, read. */
typedef struct Meaning {
	const PostRow *row;
	const Form *form;
} Meaning;

typedef struct Epilogue {
	ExprCtx *ctx;
	Arena *arena;
	const Expr *x;
	FormLeaves leaves;
	int nmeaning, ncut;
	Meaning *meanings;
	const Expr *cuts[MAX_PARTS]; /* from the main result to the whole */
} Epilogue;

static void
read_meanings(Epilogue *e, const char *library)
{
	Map names = {.arena = e->arena};
	const char *const leaves[] = {"x", "a", "b", "z"};
	const Expr **slots[] = {&e->x, &e->leaves.unknown[0], &e->leaves.unknown[1], &e->leaves.any};
	for (size_t i = 0; i < countof(leaves); i++) {
		*slots[i] = expr_var(e->ctx, var_new(e->ctx, leaves[i], DT_F32, NULL, NULL));
		map_set(&names, leaves[i], (void *)(uintptr_t)*slots[i]);
	}
	int count = 0;
	while (vendor_post_at(count))
		count++;
	e->meanings = NEW_N(e->arena, Meaning, count + 1);
	for (int i = 0; i < count; i++) {
		const PostRow *row = vendor_post_at(i);
		if (strcmp(row->library, library) != 0)
			continue;
		Scanner scan;
		scan_open(&scan, e->arena, "vendor.def", row->pattern);
		const Form *form = form_of(e->arena, &e->leaves, expr_parse(e->ctx, &scan, &names));
		must(form);
		e->meanings[e->nmeaning++] = (Meaning){row, form};
	}
}

/* False where there are too many. */
static bool
find_cuts(Epilogue *e, const Expr *body, const Expr *main)
{
	if (body->size > EPILOGUE_SIZE)
		return false;
	for (ExprWalk walk = expr_walk(body); expr_step(&walk);) {
		if (walk.e->type != DT_F32 || !expr_reads(walk.e, main->tensor) ||
		    expr_reads(expr_replace(e->ctx, body, walk.e, e->x), main->tensor))
			continue;
		if (e->ncut < MAX_PARTS)
			e->cuts[e->ncut] = walk.e;
		e->ncut++;
	}
	return 0 < e->ncut && e->ncut <= MAX_PARTS;
}

/* Bounds the wrong way round are taken in one order by a pattern, in another by a library. */
static bool
in_order(const Solved *s)
{
	return !s->is_known[0] || !s->is_known[1] || s->value[0] <= s->value[1];
}

/* The numbers of a row: "a, 0". */
static void
fill_in(const Solved *s, const char *text, double numbers[POST_NUMBERS])
{
	for (int i = 0; *text && i < POST_NUMBERS; i++) {
		numbers[i] = *text == 'a' ? s->value[0] : *text == 'b' ? s->value[1] : strtod(text, NULL);
		text += strcspn(text, ",");
		text += strspn(text, ", ");
	}
}

/* The part between two cuts as one post-op. */
static bool
is_post(const Epilogue *e, int from, int to, PostOp *post)
{
	const Expr *part = expr_replace(e->ctx, e->cuts[to], e->cuts[from], e->x);
	const Form *form = form_of(e->arena, &e->leaves, part);
	Solved solved;
	for (int i = 0; form && i < e->nmeaning; i++)
		if (form_solve(&e->leaves, e->meanings[i].form, form, &solved) && in_order(&solved)) {
			const PostRow *row = e->meanings[i].row;
			*post = (PostOp){.post = {.kind = row->kind}, .operand = solved.any};
			fill_in(&solved, row->numbers, post->post.numbers);
			return true;
		}
	return false;
}

/* The fewest post-ops, from the innermost outwards; -1 when there is no way. */
static int
fewest_posts(const Epilogue *e, PostOp post[POST_MAX])
{
	int count[MAX_PARTS] = {0}, from[MAX_PARTS] = {0};
	PostOp last[MAX_PARTS] = {{.operand = NULL}}, found;
	for (int to = 1; to < e->ncut; to++) {
		count[to] = POST_MAX + 1;
		for (int k = to - 1; k >= 0; k--)
			if (count[k] + 1 < count[to] && is_post(e, k, to, &found)) {
				count[to] = count[k] + 1;
				from[to] = k;
				last[to] = found;
			}
	}
	int at = e->ncut - 1, total = count[at];
	for (int i = total; 0 < i && total <= POST_MAX; at = from[at])
		post[--i] = last[at];
	return total <= POST_MAX ? total : -1;
}

static int
posts_of(Arena *owner, VendorMatch *m, const Expr *body, const Expr *main)
{
	if (body == main)
		return 0;
	Epilogue e = {.ctx = m->program->ctx, .arena = arena_new_in(owner, "epilogue")};
	read_meanings(&e, m->row->library);
	int count = find_cuts(&e, body, main) ? fewest_posts(&e, m->post) : -1;
	arena_reset(e.arena);
	return count;
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
	m->npost = body ? posts_of(arena, m, body, main) : -1;
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
