/* Vectorize: @vector loops become loops of one machine vector each.
 *
 *     for i in E @vector      =>      f: f32[1,16] @reg = 0
 *       s[] += X[i]                   for v in E/16
 *                                       for i in 16 @vector(i32x16)
 *                                         f[0, i] += X[v*16+i]
 *                                     if (0 < E%16)
 *                                       for i in E%16 @vector(i32x16)
 *                                         f[0, i] += X[E/16*16+i]
 *                                     for i in 16 @vector(i32x16)
 *                                       s[] += f[0, i]
 *
 * A loop @vector(i32x16) runs at most 16 times, in lockstep; its values take 4 bytes a lane, those
 * of i64x8 take 8. A sum across the lanes is gathered in a register per lane, and ends in a loop
 * that combines these, as a fixed tree. A loop that sums and holds no other runs four vectors at a
 * time, each with its own f, since one chain of additions would wait for itself. Which additions
 * are joined depends on E alone.
 *
 * Few vectors of constant number stand one after the other (@unroll), and the last one may begin
 * early where computing an element twice does no harm: whole vectors need no masks. Where lanes are
 * tested, the first and the last vector stand apart, since what is tested (a border) is mostly
 * known for those between.
 *
 * needs    flat kernels: that X[v*16+i] is in range is not to be proven again
 * keeps    values but those of sums, which are joined in another order
 * breaks   @vector loops without a width: there are none behind it
 * leaves   as plain loops what has no vector form: other buffers than registers made inside, or
 *          registers of which each lane takes another element; loops inside that run more often in
 *          one lane than in another; one place stored to by all lanes
 */
#include "target/maker.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { COPIES = 4, FLAT_TRIPS = 4, REG_TRIPS = 64 };

/* A reduction across the lanes, and the registers that gather what each lane adds. */
typedef struct Fold {
	struct Fold *next;
	Stmt *store;
	bool is_array; /* the place depends on loops inside */
	Buffer *lanes;
} Fold;

typedef struct Survey {
	Kernel *kernel;
	bool is_wide; /* values of 8 bytes are stored or computed */
	bool holds_loop, touches_regs, tests_lanes, is_impossible;
	bool may_repeat; /* an iteration run twice leaves what it left the first time */
	int stores;
	Fold *folds;
	VEC(const Var *) inner; /* variables defined in the body */
	Lanes lanes;
} Survey;

/* ---- what the loop holds --------------------------------------------------------------------- */

/* Registers made outside, of which each lane has its own. */
static bool
is_register(const Survey *survey, const Buffer *buffer)
{
	return buffer->scope == SCOPE_REG && buffer->tensor.rank > 0 &&
	       !lanes_own(&survey->lanes, &buffer->tensor);
}

static void
survey_node(Survey *survey, const Expr *e)
{
	survey->is_wide |= e->type == DT_F64;
	if (e->op == EX_read) {
		survey->may_repeat &= !((const Buffer *)e->tensor)->is_output;
		survey->touches_regs |= is_register(survey, (const Buffer *)e->tensor);
		survey->is_impossible |= lanes_own(&survey->lanes, e->tensor) &&
		                         lanes_differ_in(&survey->lanes, e->argc, e->arg);
	}
}

static void
survey_definition(Survey *survey, const Stmt *stmt)
{
	lanes_note(&survey->lanes, stmt);
	if (stmt->var)
		vec_push(survey->kernel->arena, &survey->inner, stmt->var);
	survey->is_impossible |= stmt->kind == STMT_SYNC || stmt->kind == STMT_WARP_OP;
	survey->is_impossible |= stmt->kind == STMT_ALLOC && stmt->buffer->scope != SCOPE_REG;
	survey->is_impossible |=
		stmt->kind == STMT_FOR &&
		lanes_differ_in(&survey->lanes, 2, (const Expr *[]){stmt->lo, stmt->hi});
	survey->holds_loop |= stmt->kind == STMT_FOR;
}

/* A store that combines into one place outside: a reduction across the lanes. */
static void
survey_fold(Survey *survey, Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	bool differs = lanes_differ_in(&survey->lanes, tensor->rank, stmt->index), is_array = false;
	bool is_own = lanes_own(&survey->lanes, tensor);
	for (int d = 0; d < tensor->rank; d++)
		is_array =
			is_array || expr_uses_any(stmt->index[d], survey->inner.count, survey->inner.data);
	survey->is_impossible |= differs && is_own;
	if (differs || is_own)
		return;
	if (stmt->op == STORE_SET || (is_array && stmt->buffer->scope != SCOPE_REG) ||
	    !lanes_join(tensor->type)) {
		survey->is_impossible = true;
		return;
	}
	Fold *fold = NEW(survey->kernel->arena, Fold);
	*fold = (Fold){survey->folds, stmt, is_array, NULL};
	survey->folds = fold;
}

static void
survey_stmt(Survey *survey, Stmt *stmt)
{
	ExprWalk walk = expr_walk(stmt->condition);
	for (expr_walk_add(&walk, stmt->value); expr_step(&walk);)
		survey_node(survey, walk.e);
	survey->tests_lanes |= stmt->kind == STMT_IF && lanes_differ(&survey->lanes, stmt->condition);
	if (stmt->kind != STMT_STORE)
		return;
	survey->stores++;
	if (!lanes_own(&survey->lanes, &stmt->buffer->tensor)) {
		survey->may_repeat &=
			stmt->op == STORE_SET && stmt->buffer->scope == SCOPE_PARAM && !stmt->buffer->may_alias;
		survey->is_wide |= dtype_bits(stmt->buffer->tensor.type) == 64;
	}
	survey->touches_regs |= is_register(survey, stmt->buffer);
	survey_fold(survey, stmt);
}

/* ---- the vectors ----------------------------------------------------------------------------- */

typedef struct Vectors {
	Kernel *kernel;
	ExprCtx *ctx;
	const Survey *survey;
	Stmt *loop; /* whose body is written in terms of base, lane and copy */
	const Var *base, *lane, *copy;
	int lanes;
} Vectors;

/* Fewer lanes where the whole loop is short; extent 0: not known. */
static int
choose_lanes(const Survey *survey, const Target *target, int64_t extent)
{
	int lanes = (int)target_lanes(target, survey->is_wide ? DT_F64 : DT_F32);
	int least = lanes < 4 ? lanes : 4;
	while (lanes > least && extent > 0 && lanes / 2 >= extent)
		lanes /= 2;
	return lanes;
}

/* The body for the lanes base .. base + extent. */
static Stmt *
one_vector(const Vectors *v, const Expr *base, const Expr *copy, const Expr *extent)
{
	Var *lane = var_new(v->ctx, v->lane->name, DT_I64, expr_i64(v->ctx, 0), extent);
	Stmt *body = stmt_copy(v->kernel, v->loop->body, v->lane, expr_var(v->ctx, lane));
	stmt_substitute(v->kernel, body, v->base, base);
	stmt_substitute(v->kernel, body, v->copy, copy);
	Stmt *loop = stmt_for(v->kernel, lane, NULL, extent, BIND_VECTOR, body);
	loop->lanes = v->lanes;
	loop->lane_bytes = v->survey->is_wide ? 8 : 4;
	return loop;
}

/* base + number * step */
static const Expr *
step_to(const Vectors *v, const Expr *base, const Expr *number, int step)
{
	const Expr *behind = expr_mul(v->ctx, number, expr_i64(v->ctx, step));
	return expr_is_zero(base) ? behind : expr_add(v->ctx, base, behind);
}

/* Whole vectors from number `from` to before number `to`, `copies` at a time. */
static Stmt *
whole_vectors(const Vectors *v, const Expr *base, const Expr *from, const Expr *to, int copies,
              Bind bind)
{
	ExprCtx *ctx = v->ctx;
	const Expr *zero = expr_i64(ctx, 0), *width = expr_i64(ctx, v->lanes);
	Var *number = var_new(ctx, "v", DT_I64, from, to);
	const Expr *at = step_to(v, base, expr_var(ctx, number), v->lanes * copies);
	if (copies == 1)
		return stmt_for(v->kernel, number, from, to, bind, one_vector(v, at, zero, width));
	Var *copy = var_new(ctx, "c", DT_I64, zero, expr_i64(ctx, copies));
	const Expr *which = expr_var(ctx, copy);
	Stmt *vector = one_vector(v, step_to(v, at, which, v->lanes), which, width);
	Stmt *all = stmt_for(v->kernel, copy, zero, expr_i64(ctx, copies), BIND_UNROLL, vector);
	return stmt_for(v->kernel, number, from, to, bind, all);
}

static Stmt *
last_vector(const Vectors *v, int64_t lo, int64_t hi)
{
	int64_t rest = (hi - lo) % v->lanes, at = hi - (rest ? rest : v->lanes);
	if (v->survey->may_repeat && hi - lo >= v->lanes)
		at = hi - v->lanes;
	const Expr *zero = expr_i64(v->ctx, 0), *count = expr_i64(v->ctx, hi - at);
	return one_vector(v, expr_i64(v->ctx, at), zero, count);
}

/* Constant bounds, few vectors: one after the other. */
static Stmt *
flat_vectors(const Vectors *v, int64_t lo, int64_t hi)
{
	ExprCtx *ctx = v->ctx;
	const Expr *zero = expr_i64(ctx, 0), *trips = expr_i64(ctx, (hi - lo) / v->lanes);
	Stmt *list = NULL;
	if (hi - lo >= v->lanes)
		list = whole_vectors(v, expr_i64(ctx, lo), zero, trips, 1, BIND_UNROLL);
	return (hi - lo) % v->lanes ? stmt_append(list, last_vector(v, lo, hi)) : list;
}

static Stmt *
between_borders(const Vectors *v, int64_t lo, int64_t hi)
{
	ExprCtx *ctx = v->ctx;
	const Expr *base = expr_i64(ctx, lo), *zero = expr_i64(ctx, 0), *one = expr_i64(ctx, 1);
	const Expr *last = expr_i64(ctx, (hi - lo - 1) / v->lanes);
	Stmt *list = one_vector(v, base, zero, expr_i64(ctx, v->lanes));
	list = stmt_append(list, whole_vectors(v, base, one, last, 1, BIND_SERIAL));
	return stmt_append(list, last_vector(v, lo, hi));
}

/* The same where only a run knows how many there are. */
static Stmt *
counted_between_borders(const Vectors *v)
{
	ExprCtx *ctx = v->ctx;
	const Expr *lo = v->loop->lo, *zero = expr_i64(ctx, 0), *one = expr_i64(ctx, 1);
	const Expr *width = expr_i64(ctx, v->lanes), *extent = expr_sub(ctx, v->loop->hi, lo);
	const Expr *last = expr_floordiv(ctx, expr_sub(ctx, extent, one), width);
	const Expr *at = expr_mul(ctx, last, width), *count = expr_sub(ctx, extent, at);
	if (v->survey->may_repeat) {
		at = expr_sub(ctx, extent, width);
		count = width;
	}
	Stmt *list = one_vector(v, lo, zero, width);
	list = stmt_append(list, whole_vectors(v, lo, one, last, 1, BIND_SERIAL));
	list = stmt_append(list, one_vector(v, step_to(v, lo, at, 1), zero, count));
	const Expr *few = expr_max(ctx, expr_min(ctx, extent, width), zero);
	return stmt_if(v->kernel, expr_lt(ctx, width, extent), list, one_vector(v, lo, zero, few));
}

/* At most one vector, which mostly is whole. */
static Stmt *
counted_vector(const Vectors *v)
{
	ExprCtx *ctx = v->ctx;
	const Expr *lo = v->loop->lo, *zero = expr_i64(ctx, 0), *width = expr_i64(ctx, v->lanes);
	const Expr *extent = expr_sub(ctx, v->loop->hi, lo);
	Stmt *partial = one_vector(v, lo, zero, expr_max(ctx, extent, zero));
	return stmt_if(v->kernel, expr_le(ctx, width, extent), one_vector(v, lo, zero, width), partial);
}

static Stmt *
counted_vectors(const Vectors *v, int copies)
{
	ExprCtx *ctx = v->ctx;
	const Expr *lo = v->loop->lo, *zero = expr_i64(ctx, 0), *width = expr_i64(ctx, v->lanes);
	const Expr *extent = expr_max(ctx, expr_sub(ctx, v->loop->hi, lo), zero), *begin = zero;
	const Expr *trips = expr_floordiv(ctx, extent, width);
	Stmt *list = NULL;
	if (copies > 1) {
		const Expr *rounds = expr_floordiv(ctx, extent, expr_i64(ctx, copies * v->lanes));
		list = whole_vectors(v, lo, zero, rounds, copies, BIND_SERIAL);
		begin = step_to(v, zero, rounds, copies);
	}
	list = stmt_append(list, whole_vectors(v, lo, begin, trips, 1, BIND_SERIAL));
	const Expr *rest = expr_floormod(ctx, extent, width);
	Stmt *partial = one_vector(v, step_to(v, lo, trips, v->lanes), zero, rest);
	return stmt_append(list, stmt_if(v->kernel, expr_lt(ctx, zero, rest), partial, NULL));
}

/* ---- folds ----------------------------------------------------------------------------------- */

/* The registers of a fold, one per copy, place and lane; its stores go there. */
static Stmt *
open_fold(const Vectors *v, Fold *fold, int copies)
{
	ExprCtx *ctx = v->ctx;
	Stmt *store = fold->store;
	const Tensor *tensor = &store->buffer->tensor;
	int rank = fold->is_array ? tensor->rank : 0;
	const Dim *dims[ARRAY_MAX_RANK];
	const Expr *index[ARRAY_MAX_RANK];
	dims[0] = dim_const(ctx, copies);
	index[0] = expr_var(ctx, v->copy);
	for (int d = 0; d < rank; d++) {
		dims[d + 1] = tensor->hi[d];
		index[d + 1] = store->index[d];
	}
	dims[rank + 1] = dim_const(ctx, v->lanes);
	index[rank + 1] = expr_var(ctx, v->lane);
	fold->lanes = kernel_local(v->kernel, "f", tensor->type, rank + 2, dims, SCOPE_REG);
	const Expr *identity = reduce_identity(ctx, store->op, 0, tensor->type);
	Stmt *gather = stmt_store(v->kernel, fold->lanes, index, store->op, store->value);
	store->buffer = gather->buffer;
	store->index = gather->index;
	return stmt_alloc(v->kernel, fold->lanes, identity);
}

/* Combine what the lanes gathered with its place: `to` is the store as it was. */
static Stmt *
close_fold(const Vectors *v, const Fold *fold, const Stmt *to, int copies)
{
	ExprCtx *ctx = v->ctx;
	const Tensor *tensor = &to->buffer->tensor;
	int rank = fold->is_array ? tensor->rank : 0;
	const Expr *place[ARRAY_MAX_RANK], *index[ARRAY_MAX_RANK], *sum = NULL;
	Var *vars[ARRAY_MAX_RANK];
	for (int d = 0; d < tensor->rank; d++) {
		vars[d] = var_new(ctx, "k", DT_I64, expr_i64(ctx, 0), tensor->hi[d]);
		place[d] = fold->is_array ? expr_var(ctx, vars[d]) : to->index[d];
		index[d + 1] = place[d];
	}
	Var *lane = var_new(ctx, v->lane->name, DT_I64, expr_i64(ctx, 0), expr_i64(ctx, v->lanes));
	index[rank + 1] = expr_var(ctx, lane);
	for (int copy = 0; copy < copies; copy++) {
		index[0] = expr_i64(ctx, copy);
		const Expr *part = expr_read(ctx, &fold->lanes->tensor, index);
		sum = sum ? expr_op(ctx, reduce_fold(to->op), (const Expr *[]){sum, part}) : part;
	}
	Stmt *list = stmt_store(v->kernel, to->buffer, place, to->op, sum);
	list = stmt_for(v->kernel, lane, NULL, expr_i64(ctx, v->lanes), BIND_VECTOR, list);
	list->lanes = v->lanes;
	list->lane_bytes = v->survey->is_wide ? 8 : 4;
	for (int d = rank - 1; d >= 0; d--)
		list = stmt_for(v->kernel, vars[d], NULL, tensor->hi[d], BIND_UNROLL, list);
	return list;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* What stands in place of a loop: its vectors, and what opens and closes its folds around them. */
typedef struct Parts {
	Stmt *opened, *vectors, *closed;
} Parts;

static Parts
all_vectors(const Vectors *v, bool is_constant, int64_t lo, int64_t hi)
{
	const Survey *survey = v->survey;
	int64_t least, most = INT64_MAX;
	facts_range(facts_new(v->ctx, v->kernel->arena), expr_sub(v->ctx, v->loop->hi, v->loop->lo),
	            &least, &most);
	int64_t trips = (hi - lo + v->lanes - 1) / v->lanes;
	bool is_flat =
		is_constant && (trips <= FLAT_TRIPS || (survey->touches_regs && trips <= REG_TRIPS));
	bool is_chain = survey->folds && !survey->holds_loop && survey->stores <= 2 && !is_flat;
	int copies = is_chain && (!is_constant || trips >= COPIES) ? COPIES : 1;
	Parts parts = {NULL};
	for (Fold *fold = survey->folds; fold; fold = fold->next) {
		Stmt to = *fold->store;
		parts.opened = stmt_append(parts.opened, open_fold(v, fold, copies));
		parts.closed = stmt_append(parts.closed, close_fold(v, fold, &to, copies));
	}
	if (is_flat)
		parts.vectors = flat_vectors(v, lo, hi);
	else if (survey->tests_lanes && copies == 1)
		parts.vectors = is_constant ? between_borders(v, lo, hi) : counted_between_borders(v);
	else if (copies == 1 && most <= v->lanes)
		parts.vectors = counted_vector(v);
	else
		parts.vectors = counted_vectors(v, copies);
	return parts;
}

static Parts
vectorize(Kernel *kernel, Stmt *loop, const Target *target)
{
	ExprCtx *ctx = kernel->ctx;
	Survey survey = {.kernel = kernel, .may_repeat = true, .lanes.arena = kernel->arena};
	lanes_note(&survey.lanes, loop);
	for (StmtWalk walk = stmt_walk(kernel->arena, loop->body); stmt_step(&walk);)
		survey_definition(&survey, walk.stmt);
	for (StmtWalk walk = stmt_walk(kernel->arena, loop->body); stmt_step(&walk);)
		survey_stmt(&survey, walk.stmt);
	if (survey.is_impossible) {
		loop->bind = BIND_SERIAL;
		return (Parts){.vectors = loop};
	}
	int64_t lo = 0, hi = 0;
	bool is_constant = expr_as_i64(loop->lo, &lo) && expr_as_i64(loop->hi, &hi);
	if (is_constant && hi <= lo)
		return (Parts){NULL};
	Vectors v = {
		.kernel = kernel,
		.ctx = ctx,
		.survey = &survey,
		.loop = loop,
		.base = var_new(ctx, "base", DT_I64, NULL, NULL),
		.lane = var_new(ctx, loop->var->name, DT_I64, NULL, NULL),
		.copy = var_new(ctx, "copy", DT_I64, NULL, NULL),
		.lanes = choose_lanes(&survey, target, is_constant ? hi - lo : 0),
	};
	const Expr *i = expr_add(ctx, expr_var(ctx, v.base), expr_var(ctx, v.lane));
	stmt_substitute(kernel, loop->body, loop->var, i);
	return all_vectors(&v, is_constant, lo, hi);
}

static bool
is_vector(const Stmt *stmt)
{
	return stmt->kind == STMT_FOR && stmt->bind == BIND_VECTOR && !stmt->lanes;
}

/* A loop around nothing but a loop in lanes, or around such a one. */
static bool
is_around_vector(const Stmt *stmt)
{
	const Stmt *body = stmt->body;
	return stmt->kind == STMT_FOR && (stmt->bind == BIND_SERIAL || stmt->bind == BIND_UNROLL) &&
	       body && !body->next && (is_vector(body) || is_around_vector(body));
}

static bool
uses_var(Arena *arena, Stmt *list, const Var *var)
{
	bool uses = false;
	for (StmtWalk walk = stmt_walk(arena, list); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		for (int d = 0; stmt->kind == STMT_STORE && d < stmt->buffer->tensor.rank; d++)
			uses |= expr_uses_any(stmt->index[d], 1, &var);
	}
	return uses;
}

/* Folds are opened and closed around all loops that add to the same places. */
static Parts
vectorize_nest(Kernel *kernel, Stmt *loop, const Target *target)
{
	if (is_vector(loop))
		return vectorize(kernel, loop, target);
	Parts parts = vectorize_nest(kernel, loop->body, target);
	loop->body = parts.vectors;
	if (uses_var(kernel->arena, parts.closed, loop->var)) {
		loop->body = stmt_append(stmt_append(parts.opened, parts.vectors), parts.closed);
		parts.opened = parts.closed = NULL;
	}
	parts.vectors = loop;
	return parts;
}

static Stmt *
vectorize_list(Kernel *kernel, Stmt *list, const Target *target)
{
	StmtList made = {0};
	for (Stmt *next, *stmt = list; stmt; stmt = next) {
		next = stmt->next;
		stmt->next = NULL;
		if (is_vector(stmt) || is_around_vector(stmt)) {
			Parts parts = vectorize_nest(kernel, stmt, target);
			stmt = stmt_append(stmt_append(parts.opened, parts.vectors), parts.closed);
		} else {
			stmt->body = vectorize_list(kernel, stmt->body, target);
			stmt->other = vectorize_list(kernel, stmt->other, target);
		}
		stmt_list_add(&made, stmt);
	}
	return made.first;
}

bool
pass_Vectorize(Kernel *kernel, PassContext *context)
{
	kernel->body = vectorize_list(kernel, kernel->body, context->target);
	tir_simplify(kernel);
	return true;
}
