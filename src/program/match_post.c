/* What follows a main stage: map stages over its box, as one scalar, as a bias and post-ops. */
#include "program/match_inner.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 32, EPILOGUE_SIZE = 512, SHOWN = 80 };

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

typedef struct Epilogue {
	const PostForms *forms;
	const char *library;
	unsigned losses;
	bool is_exact; /* behind a sum of integers, which has no bound for a function to be off by */
	double within; /* so much of their size may constants be off, see FormLeaves */
	Arena *arena;
	int ncut;
	const Expr *cuts[MAX_PARTS]; /* from the main result to the whole */
	int count[MAX_PARTS];        /* post-ops up to each; more than POST_MAX: there is no way */
} Epilogue;

const PostForms *
match_read_posts(Arena *arena, ExprCtx *ctx, const TextOperators *operators, unsigned losses)
{
	PostForms *forms = NEW(arena, PostForms);
	Map names = {.arena = arena};
	const char *const leaves[] = {"x", "a", "b", "z"};
	const Expr **slots[] = {&forms->x, &forms->leaves.unknown[0], &forms->leaves.unknown[1],
	                        &forms->leaves.any};
	forms->ctx = ctx;
	forms->losses = losses;
	for (size_t i = 0; i < countof(leaves); i++) {
		*slots[i] = expr_var(ctx, var_new(ctx, leaves[i], DT_F32, NULL, NULL));
		map_set(&names, leaves[i], (void *)(uintptr_t)*slots[i]);
	}
	TextScope scope = {.names = &names, .operators = operators};
	while (vendor_post_at(forms->count))
		forms->count++;
	forms->rows = NEW_N(arena, const PostRow *, forms->count);
	forms->forms = NEW_N(arena, const Form *, forms->count);
	for (int i = 0; i < forms->count; i++) {
		Scanner scan;
		forms->rows[i] = vendor_post_at(i);
		scan_open(&scan, arena, "vendor.def", forms->rows[i]->pattern);
		forms->forms[i] = form_of(arena, &forms->leaves, expr_parse_in(ctx, &scan, &scope, DT_F32));
		must(forms->forms[i]);
	}
	return forms;
}

/* False where there are too many. */
static bool
find_cuts(Epilogue *e, const Expr *body, const Expr *main)
{
	if (body->size > EPILOGUE_SIZE)
		return false;
	for (ExprWalk walk = expr_walk(body); expr_step(&walk);) {
		if (walk.e->type != DT_F32 || !expr_reads(walk.e, main->tensor) ||
		    expr_reads(expr_replace(e->forms->ctx, body, walk.e, e->forms->x), main->tensor))
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

/* What is computed between two cuts. */
static const Expr *
part_of(const Epilogue *e, int from, int to)
{
	return expr_replace(e->forms->ctx, e->cuts[to], e->cuts[from], e->forms->x);
}

/* The part between two cuts as one post-op. */
static bool
is_post(const Epilogue *e, int from, int to, PostOp *post)
{
	const PostForms *forms = e->forms;
	FormLeaves leaves = forms->leaves;
	leaves.within = e->within;
	const Form *form = form_of(e->arena, &forms->leaves, part_of(e, from, to));
	Solved solved;
	for (int i = 0; form && i < forms->count; i++) {
		const PostRow *row = forms->rows[i];
		if (strcmp(row->library, e->library) != 0 || (e->is_exact && row->error == POST_near) ||
		    (row->loses & ~e->losses) || !form_solve(&leaves, forms->forms[i], form, &solved) ||
		    !in_order(&solved))
			continue;
		*post = (PostOp){.post = {.kind = row->kind}, .operand = solved.any, .row = row};
		fill_in(&solved, row->numbers, post->post.numbers);
		return true;
	}
	return false;
}

/* The fewest post-ops, from the innermost outwards; -1 when there is no way. */
static int
fewest_posts(Epilogue *e, PostOp post[POST_MAX])
{
	int from[MAX_PARTS] = {0};
	PostOp last[MAX_PARTS] = {{.operand = NULL}}, found;
	for (int to = 1; to < e->ncut; to++) {
		e->count[to] = POST_MAX + 1;
		for (int k = to - 1; k >= 0; k--)
			if (e->count[k] + 1 < e->count[to] && is_post(e, k, to, &found)) {
				e->count[to] = e->count[k] + 1;
				from[to] = k;
				last[to] = found;
			}
	}
	int at = e->ncut - 1, total = e->count[at];
	for (int i = total; 0 < i && total <= POST_MAX; at = from[at])
		post[--i] = last[at];
	return total <= POST_MAX ? total : -1;
}

static const char *
shown(Arena *arena, const Expr *e)
{
	Buf text = {.arena = arena};
	expr_print(&text, e);
	return text.size <= SHOWN ? buf_text(&text)
	                          : arena_printf(arena, "%.*s ...", (int)SHOWN, buf_text(&text));
}

/* What stands behind the last place that post-ops lead to. */
static const char *
first_refused(Arena *arena, Epilogue *e)
{
	PostOp lossy;
	int reached = e->ncut - 1;
	while (e->count[reached] > POST_MAX)
		reached--;
	const char *text = shown(arena, part_of(e, reached, reached + 1));
	e->losses = ~0u;
	if (!is_post(e, reached, reached + 1, &lossy))
		return text;
	return arena_printf(arena, "%s, where the library loses %s", text,
	                    lossy.row->loses & LOSES_nan ? "NaN" : "-0");
}

/* Post-ops begin at the sum itself, or where it is cast to f32, in which they compute. */
static bool
is_result(const Expr *first, const Expr *main)
{
	const Expr *read = main->type == DT_F32 ? first : first->op == EX_cast ? first->arg[0] : NULL;
	return read && read->op == EX_read && read->tensor == main->tensor;
}

/* What post-ops compute of a body: f32 that is stored as it is, or rounded to a number of 8 bits,
 * half to even, as libraries do when they store one. NULL: it is neither. */
static const Expr *
without_store(const Expr *body)
{
	if (body->type == DT_F32)
		return body;
	if (body->op != EX_cast || !dtype_is_byte((DType)body->type))
		return NULL;
	const Expr *stored = body->arg[0];
	bool is_moved = stored->op == EX_add && expr_is_const(stored->arg[1]);
	const Expr *rounded = is_moved ? stored->arg[0] : stored;
	return rounded->op == EX_round && rounded->type == DT_F32 ? is_moved ? stored : rounded->arg[0]
	                                                          : NULL;
}

/* Two constants in a product, each of which is rounded to this type. */
static double
rounding_of(DType type)
{
	return type == DT_F16 ? 0x1p-10 : type == DT_BF16 ? 0x1p-7 : 0;
}

/* NULL, or what no row takes. */
static const char *
find_posts(Arena *owner, const PostForms *forms, VendorMatch *m, const Expr *body, const Expr *main)
{
	const char *stop = NULL;
	const Expr *computed = without_store(body);
	Epilogue e = {.forms = forms, .library = m->row->library};
	e.losses = forms->losses;
	e.is_exact = main->type == DT_I32;
	e.within = rounding_of(m->rounds_less);
	e.arena = arena_new_in(owner, "epilogue");
	bool has_cuts = computed && find_cuts(&e, computed, main) && is_result(e.cuts[0], main);
	m->npost = has_cuts ? fewest_posts(&e, m->post) : -1;
	if (m->npost < 0)
		stop = has_cuts ? first_refused(owner, &e) : shown(owner, body);
	arena_reset(e.arena);
	return stop;
}

bool
match_has_types(const Program *p, const Expr *const reads[VENDOR_OPERANDS], const VendorRow *row)
{
	const Stage *stage = p->stages[0];
	for (int k = 0; k < VENDOR_OPERANDS && reads[k]; k++)
		if (!dtype_is_among((DType)reads[k]->type, row->operands[k]))
			return false;
	DType made = stage->results[0]->type, result = p->outputs[0]->type;
	bool is_short = row->bias && row->rounds_once && dtype_is_short_float(made);
	/* match_posts() asks for it, and an epilogue is compared with all of its row's. */
	bool may_be_cast = is_short || ((row->bias || row->epilogue) && made == stage->acc);
	return dtype_is_among(stage->acc, row->sum) && (made == result || may_be_cast) &&
	       dtype_is_among(result, row->result);
}

/* ---- roundings that a row leaves out ---- */

/* What is f32 in the place of 16 bits; tensors have stand-ins. Roundings to other types stay, and
 * no post-op has them. */
typedef struct Widened {
	DType type;
	Map stand_ins, originals;
} Widened;

static const Expr *
widen(ExprCtx *ctx, const Expr *e, void *arg)
{
	Widened *w = arg;
	if (e->type != w->type)
		return e;
	if (e->op != EX_read)
		return expr_cast(ctx, DT_F32, e->op == EX_cast ? e->arg[0] : e);
	const Tensor *from = e->tensor, *to = map_find_ptr(&w->stand_ins, from);
	if (!to) {
		to = tensor_new(ctx, from->name, DT_F32, from->rank, from->hi);
		map_set_ptr(&w->stand_ins, from, (void *)(uintptr_t)to);
		map_set_ptr(&w->originals, to, (void *)(uintptr_t)from);
	}
	return expr_read(ctx, to, e->arg);
}

/* Operands that are read again, not their stand-ins. */
static void
restore_operands(const Widened *w, ExprCtx *ctx, VendorMatch *m)
{
	for (int i = 0; i < m->npost; i++) {
		const Expr *read = m->post[i].operand;
		const Tensor *from = read ? map_find_ptr(&w->originals, read->tensor) : NULL;
		if (from)
			m->post[i].operand = expr_read(ctx, from, read->arg);
	}
}

/* f32, or of the 16 bits that a row computes in f32. */
static bool
may_be_operand(const VendorMatch *m, const Tensor *tensor)
{
	return match_is_operand(m->program, tensor, DT_F32) ||
	       (m->rounds_less && match_is_operand(m->program, tensor, m->rounds_less));
}

/* The 16 bits of the result, or of the sum where the result is f32; none: neither has them. */
static DType
short_type(const VendorMatch *m, const Expr *main)
{
	DType result = m->program->outputs[0]->type, sum = (DType)main->type;
	return dtype_is_short_float(result) ? result : dtype_is_short_float(sum) ? sum : DT_NONE;
}

const char *
match_posts(Arena *arena, const PostForms *forms, VendorMatch *m, const Expr *body,
            const Expr *main, int channel)
{
	m->rounds_less = m->row->rounds_once ? short_type(m, main) : DT_NONE;
	Widened w = {m->rounds_less, {.arena = arena}, {.arena = arena}};
	if (m->rounds_less) {
		body = expr_rewrite(forms->ctx, body, widen, &w);
		main = expr_rewrite(forms->ctx, main, widen, &w);
	}
	const char *stop = find_posts(arena, forms, m, body, main);
	if (stop)
		return stop;
	restore_operands(&w, forms->ctx, m);
	take_bias(m, channel);
	int rank = m->program->stages[0]->nloop;
	for (int i = 0; i < m->npost; i++) {
		const Expr *read = m->post[i].operand;
		if (read && (read->argc > rank || !is_broadcast_read(m->program, read, rank) ||
		             !may_be_operand(m, read->tensor)))
			return shown(arena, read);
	}
	return m->bias && !may_be_operand(m, m->bias) ? m->bias->name : NULL;
}
