/* @vector loops: what lies side by side in memory is read and stored in one access of up to 16
 * bytes, which is as wide as CUDA has them; what is computed of it is plain numbers.
 *
 *     for v in 4 @vector                  =>    tw_f32 t0[4] __attribute__((aligned(16)));
 *       Y[4*i+v] = X[4*i+v] + 1.0               tw_f32 t1[4] __attribute__((aligned(16)));
 *                                               tw_move_16(t0, &X[4 * i]);
 *                                               #pragma unroll
 *                                               for (tw_i64 v = 0; v < 4; v++) {
 *                                                   t1[v] = (t0[v] + 1.0f);
 *                                               }
 *                                               tw_move_16(&Y[4 * i], t1);
 *
 * That is done to a loop of lets, registers and stores, at places that are proven to be aligned;
 * its iterations read before any stores. Any other loop is unrolled if it is as short. A loop over
 * what is left, v in min(4, N-4*i), is either whole or done one by one.
 */
#include "codegen/cuda/emit.h"

enum { MAX_LANES = 16, MAX_BYTES = 16 };

/* What all lanes store by one statement. */
typedef struct StoredRow {
	const Stmt *store;
	const Expr *first;
	const Buffer *row;
} StoredRow;

typedef struct Wide {
	Emit *em;
	const Stmt *loop;
	int64_t lanes;
	Map rows; /* read to the register that holds what all lanes read */
	Map arms; /* the same of what is read on one of two ways: the register is full there alone */
	VEC(StoredRow) stored;
} Wide;

/* Bytes of one access to all elements, or to the first so many; 0: no such access. */
static int
access_bytes(const Wide *wide, DType type)
{
	int64_t bytes = wide->lanes * dtype_bits(type) / 8;
	return bytes > MAX_BYTES && bytes % MAX_BYTES == 0 ? MAX_BYTES : (int)bytes;
}

/* Whether a let of the loop stands in an index: it may differ between the lanes. */
static bool
uses_let(const Stmt *loop, const Expr *index)
{
	for (const Stmt *stmt = loop->body; stmt; stmt = stmt->next)
		if (stmt->kind == STMT_LET && expr_uses_var(index, stmt->var))
			return true;
	return false;
}

/* A let's variable, or its value; where that was read, reading again may give another. */
static const Expr *
without_let(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Emit *em = arg;
	(void)ctx;
	const Expr *value = e->op == EX_var ? map_find_ptr(&em->lets, e->var) : NULL;
	return value && !value->has_read ? value : e;
}

/* Where lane 0 is, if the lanes lie side by side in memory from an aligned place on; else NULL. */
static const Expr *
first_place(const Wide *wide, const Tensor *tensor, const Expr *index)
{
	Emit *em = wide->em;
	Scope scope = ((const Buffer *)tensor)->scope;
	if ((scope != SCOPE_PARAM && scope != SCOPE_SHARED) || dtype_class(tensor->type) == DC_S ||
	    dtype_bits(tensor->type) < 8 || index->has_read || uses_let(wide->loop, index))
		return NULL;
	index = expr_rewrite(em->ctx, index, without_let, em);
	const Expr *zero = expr_i64(em->ctx, 0), *lane = expr_var(em->ctx, wide->loop->var);
	int64_t step = access_bytes(wide, tensor->type) * 8 / dtype_bits(tensor->type);
	const Expr *first = expr_replace_var(index, wide->loop->var, zero);
	first = expr_simplify(em->facts, first);
	const Expr *offset = expr_simplify(em->facts, expr_sub(em->ctx, index, first));
	const Expr *rest = expr_floormod(em->ctx, first, expr_i64(em->ctx, step));
	if (offset != lane || !expr_is_zero(expr_simplify(em->facts, rest)))
		return NULL;
	return first;
}

/* ---- rows of registers ----------------------------------------------------------------------- */

static const Buffer *
open_row(Wide *wide, DType type)
{
	Emit *em = wide->em;
	const Dim *count = expr_i64(em->ctx, wide->lanes);
	Kernel *owner = (Kernel *)(uintptr_t)em->kernel;
	const Buffer *row = kernel_local(owner, "row", type, 1, &count, SCOPE_REG);
	map_set_ptr(&em->names, &row->tensor, (void *)new_name(em, 't'));
	emit_alloc(em, stmt_alloc(owner, row, NULL));
	return row;
}

static void
move_row(Wide *wide, const Buffer *row, const Tensor *tensor, const Expr *first, bool is_load)
{
	Emit *em = wide->em;
	int bytes = access_bytes(wide, tensor->type), step = bytes * 8 / dtype_bits(tensor->type);
	const char *name = name_of(em, &row->tensor);
	begin_statement(em, 1, &first);
	for (int64_t i = 0; i < wide->lanes; i += step) {
		const Expr *index = i ? expr_add(em->ctx, first, expr_i64(em->ctx, i)) : first;
		const char *place = scalar_place(em, tensor, &index);
		const char *part = emit_text(em, i ? "%s + %lld" : "%s", name, (long long)i);
		if (is_load)
			emit_line(em, "tw_move_%d(%s, &%s);", bytes, part, place);
		else
			emit_line(em, "tw_move_%d(&%s, %s);", bytes, place, part);
	}
}

/* ---- loads ----------------------------------------------------------------------------------- */

static bool
is_lazy(const Expr *e)
{
	return e->op == EX_select || e->op == EX_and || e->op == EX_or;
}

/* A select whose condition is the same for all lanes. */
static bool
is_branch(const Wide *wide, const Expr *e)
{
	return e->op == EX_select && !e->arg[0]->has_read && !uses_let(wide->loop, e->arg[0]) &&
	       !expr_uses_var(e->arg[0], wide->loop->var);
}

/* Whether all lanes of the read are there in every iteration, whatever is asked before it. */
static bool
is_inside(const Wide *wide, const Expr *read, const Expr *first)
{
	ExprCtx *ctx = wide->em->ctx;
	const Expr *end = expr_add(ctx, first, expr_i64(ctx, wide->lanes));
	Facts *facts = wide->em->facts;
	return !first->has_check && facts_prove(facts, expr_le(ctx, expr_i64(ctx, 0), first)) &&
	       facts_prove(facts, expr_le(ctx, end, read->tensor->hi[0]));
}

typedef VEC(const Expr *) Reads;

/* The reads of e that may be loaded where it is evaluated, into rows that are open then. */
static void
find_loads(Wide *wide, const Expr *e, bool is_certain, Map *rows, Reads *found)
{
	int count = is_branch(wide, e) ? 1 : e->argc;
	for (int i = 0; i < count; i++)
		find_loads(wide, e->arg[i], is_certain && (i == 0 || !is_lazy(e)), rows, found);
	if (e->op != EX_read || e->argc == 0 || map_find_ptr(&wide->rows, e))
		return;
	const Expr *first = first_place(wide, e->tensor, e->arg[0]);
	if (!first || !(is_certain || is_inside(wide, e, first)))
		return;
	if (!map_find_ptr(rows, e))
		map_set_ptr(rows, e, (void *)open_row(wide, e->tensor->type));
	vec_push(wide->em->arena, found, e);
}

static void
load_rows(Wide *wide, const Expr *e, Map *rows, const Expr *condition)
{
	Emit *em = wide->em;
	Reads found = {0};
	find_loads(wide, e, true, rows, &found);
	if (found.count > 0 && condition) {
		begin_statement(em, 1, &condition);
		emit_line(em, "if (%s) {", emit_scalar(em, condition));
		em->depth++;
	}
	for (int i = 0; i < found.count; i++) {
		const Expr *read = found.data[i], *first = first_place(wide, read->tensor, read->arg[0]);
		move_row(wide, map_find_ptr(rows, read), read->tensor, first, true);
	}
	if (found.count > 0 && condition) {
		em->depth--;
		emit_line(em, "}");
	}
}

/* Load what e reads on one of two ways only, under the condition that leads there. */
static void
load_arms(Wide *wide, const Expr *e, const Expr *condition)
{
	ExprCtx *ctx = wide->em->ctx;
	if (!is_branch(wide, e)) {
		for (int i = 0; i < (is_lazy(e) ? 1 : e->argc); i++)
			load_arms(wide, e->arg[i], condition);
		return;
	}
	for (int arm = 1; arm < 3; arm++) {
		const Expr *way = arm == 1 ? e->arg[0] : expr_not(ctx, e->arg[0]);
		const Expr *both = expr_both(ctx, condition, way);
		load_rows(wide, e->arg[arm], &wide->arms, both);
		load_arms(wide, e->arg[arm], both);
	}
}

static const Expr *
read_row(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Wide *wide = arg;
	const Buffer *row = e->op == EX_read ? map_find_ptr(&wide->rows, e) : NULL;
	if (e->op == EX_read && !row)
		row = map_find_ptr(&wide->arms, e);
	if (!row)
		return e;
	const Expr *lane = expr_var(ctx, wide->loop->var);
	return expr_read(ctx, &row->tensor, &lane);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool
is_memory(const Buffer *buffer)
{
	return buffer->scope == SCOPE_PARAM || buffer->scope == SCOPE_SHARED;
}

/* Whether the list reads the buffer, or what may be the same memory. */
static bool
reads(const Stmt *list, const Buffer *buffer)
{
	bool is_found = false;
	for (const Stmt *stmt = list; stmt; stmt = stmt->next)
		for (ExprWalk walk = expr_walk(stmt->value); expr_step(&walk);) {
			const Buffer *from = walk.e->op == EX_read ? (const Buffer *)walk.e->tensor : NULL;
			is_found |= from && (from == buffer || (from->may_alias && buffer->may_alias));
		}
	return is_found;
}

/* Whether all loads of all iterations may come before all stores. */
static bool
is_straight(const Stmt *loop)
{
	int stores = 0;
	bool is_read = false;
	for (const Stmt *stmt = loop->body; stmt; stmt = stmt->next) {
		bool is_own = stmt->kind == STMT_LET ||
		              (stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_REG);
		if (!is_own && stmt->kind != STMT_STORE)
			return false;
		stores += !is_own && is_memory(stmt->buffer);
		is_read |= !is_own && is_memory(stmt->buffer) && reads(loop->body, stmt->buffer);
	}
	return stores <= 1 || !is_read;
}

static void
emit_unrolled(Emit *em, const Stmt *loop)
{
	int64_t count;
	if (expr_as_i64(loop->hi, &count) && count <= MAX_LANES)
		emit_line(em, "#pragma unroll");
	emit_serial_loop(em, loop);
}

static void
open_stores(Wide *wide)
{
	for (const Stmt *stmt = wide->loop->body; stmt; stmt = stmt->next) {
		if (stmt->kind != STMT_STORE || stmt->op != STORE_SET)
			continue;
		const Tensor *tensor = &stmt->buffer->tensor;
		const Expr *first = is_memory(stmt->buffer) && tensor->rank > 0
		                        ? first_place(wide, tensor, stmt->index[0])
		                        : NULL;
		if (first)
			vec_push(wide->em->arena, &wide->stored,
			         (StoredRow){stmt, first, open_row(wide, tensor->type)});
	}
}

/* The loop with rows in place of what is loaded and stored. */
static void
emit_lanes_of(Wide *wide)
{
	Emit *em = wide->em;
	Kernel *owner = (Kernel *)(uintptr_t)em->kernel;
	const Expr *lane = expr_var(em->ctx, wide->loop->var);
	StmtList body = {0};
	int stored = 0;
	for (const Stmt *stmt = wide->loop->body; stmt; stmt = stmt->next) {
		Stmt *copy = NEW(owner->arena, Stmt);
		*copy = *stmt;
		copy->next = NULL;
		copy->value = stmt->value ? expr_rewrite(em->ctx, stmt->value, read_row, wide) : NULL;
		if (stored < wide->stored.count && wide->stored.data[stored].store == stmt)
			copy =
				stmt_store(owner, wide->stored.data[stored++].row, &lane, STORE_SET, copy->value);
		stmt_list_add(&body, copy);
	}
	Stmt loop = *wide->loop;
	loop.body = body.first;
	emit_unrolled(em, &loop);
}

static void
emit_whole(Emit *em, const Stmt *loop, int64_t lanes)
{
	Wide wide = {em, loop, lanes, {.arena = em->arena}, {.arena = em->arena}, {0}};
	int mark = facts_mark(em->facts);
	emit_line(em, "{");
	em->depth++;
	learn_loop(em, loop);
	for (const Stmt *stmt = loop->body; stmt; stmt = stmt->next)
		if (stmt->value)
			load_rows(&wide, stmt->value, &wide.rows, NULL);
	for (const Stmt *stmt = loop->body; stmt; stmt = stmt->next)
		if (stmt->value)
			load_arms(&wide, stmt->value, NULL);
	open_stores(&wide);
	facts_release(em->facts, mark);
	emit_lanes_of(&wide);
	for (int i = 0; i < wide.stored.count; i++) {
		const StoredRow *stored = &wide.stored.data[i];
		move_row(&wide, stored->row, &stored->store->buffer->tensor, stored->first, false);
	}
	em->depth--;
	emit_line(em, "}");
}

/* The loop where it has all its iterations, and where it has fewer. */
static void
emit_last(Emit *em, const Stmt *loop, int64_t lanes)
{
	const Expr *count = expr_i64(em->ctx, lanes), *is_whole = expr_le(em->ctx, count, loop->hi);
	Stmt whole = *loop;
	whole.hi = count;
	begin_statement(em, 1, &is_whole);
	emit_line(em, "if (%s) {", emit_scalar(em, is_whole));
	em->depth++;
	int mark = facts_mark(em->facts);
	learn_condition(em, is_whole, true);
	emit_whole(em, &whole, lanes);
	facts_release(em->facts, mark);
	em->depth--;
	emit_line(em, "} else {");
	em->depth++;
	emit_serial_loop(em, loop);
	em->depth--;
	emit_line(em, "}");
}

void
emit_wide_loop(Emit *em, const Stmt *loop)
{
	int64_t least, lanes;
	bool is_wide = expr_is_zero(loop->lo) && is_straight(loop) &&
	               facts_range(em->facts, without_lets(em, loop->hi), &least, &lanes) &&
	               lanes > 1 && lanes <= MAX_LANES && !(lanes & (lanes - 1));
	if (!is_wide)
		emit_unrolled(em, loop);
	else if (expr_is_const(loop->hi))
		emit_whole(em, loop, lanes);
	else
		emit_last(em, loop, lanes);
}
