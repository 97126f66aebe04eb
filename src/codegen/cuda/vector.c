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
 * That is done to a loop of a store behind lets, at places that are proven to be aligned; its
 * iterations read before any stores. Any other loop is unrolled if it is as short.
 */
#include "codegen/cuda/emit.h"

enum { MAX_LANES = 16, MAX_BYTES = 16 };

typedef struct Wide {
	Emit *em;
	const Stmt *loop;
	int64_t lanes;
	Map rows; /* read to the register that holds what all lanes read */
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
	    tensor->type == DT_BOOL || index->has_read || uses_let(wide->loop, index))
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

/* Load what e reads for certain: what stands in an arm of a lazy operation may not be there. */
static void
load_rows(Wide *wide, const Expr *e)
{
	bool is_lazy = e->op == EX_select || e->op == EX_and || e->op == EX_or;
	for (int i = 0; i < e->argc && !(is_lazy && i > 0); i++)
		load_rows(wide, e->arg[i]);
	const Expr *first = e->op == EX_read && !map_find_ptr(&wide->rows, e)
	                        ? first_place(wide, e->tensor, e->arg[0])
	                        : NULL;
	if (!first)
		return;
	const Buffer *row = open_row(wide, e->tensor->type);
	move_row(wide, row, e->tensor, first, true);
	map_set_ptr(&wide->rows, e, (void *)row);
}

static const Expr *
read_row(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Wide *wide = arg;
	const Buffer *row = e->op == EX_read ? map_find_ptr(&wide->rows, e) : NULL;
	if (!row)
		return e;
	const Expr *lane = expr_var(ctx, wide->loop->var);
	return expr_read(ctx, &row->tensor, &lane);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The one store of the loop's body, its last statement; NULL: there is more. */
static const Stmt *
only_store(const Stmt *loop)
{
	const Stmt *stmt = loop->body;
	while (stmt && stmt->kind == STMT_LET && stmt->next)
		stmt = stmt->next;
	return stmt && stmt->kind == STMT_STORE && !stmt->next ? stmt : NULL;
}

static void
emit_unrolled(Emit *em, const Stmt *loop)
{
	int64_t count;
	if (expr_as_i64(loop->hi, &count) && count <= MAX_LANES)
		emit_line(em, "#pragma unroll");
	emit_serial_loop(em, loop);
}

/* The loop with rows in place of what is loaded and stored. */
static void
emit_lanes_of(Wide *wide, const Stmt *store, const Buffer *result)
{
	Emit *em = wide->em;
	Kernel *owner = (Kernel *)(uintptr_t)em->kernel;
	const Expr *lane = expr_var(em->ctx, wide->loop->var);
	StmtList body = {0};
	for (const Stmt *stmt = wide->loop->body; stmt != store; stmt = stmt->next)
		stmt_list_add(
			&body, stmt_let(owner, stmt->var, expr_rewrite(em->ctx, stmt->value, read_row, wide)));
	const Expr *value = expr_rewrite(em->ctx, store->value, read_row, wide);
	if (result)
		stmt_list_add(&body, stmt_store(owner, result, &lane, STORE_SET, value));
	else
		stmt_list_add(&body, stmt_store(owner, store->buffer, store->index, store->op, value));
	Stmt loop = *wide->loop;
	loop.body = body.first;
	emit_unrolled(em, &loop);
}

void
emit_wide_loop(Emit *em, const Stmt *loop)
{
	Wide wide = {.em = em, .loop = loop, .rows.arena = em->arena};
	const Stmt *store = only_store(loop);
	if (!store || !expr_is_zero(loop->lo) || !expr_as_i64(loop->hi, &wide.lanes) ||
	    wide.lanes < 2 || wide.lanes > MAX_LANES || (wide.lanes & (wide.lanes - 1))) {
		emit_unrolled(em, loop);
		return;
	}
	int mark = facts_mark(em->facts);
	emit_line(em, "{");
	em->depth++;
	learn_loop(em, loop);
	for (const Stmt *stmt = loop->body; stmt; stmt = stmt->next)
		load_rows(&wide, stmt->value);
	const Expr *first =
		store->op == STORE_SET ? first_place(&wide, &store->buffer->tensor, store->index[0]) : NULL;
	const Buffer *result = first ? open_row(&wide, store->buffer->tensor.type) : NULL;
	facts_release(em->facts, mark);
	emit_lanes_of(&wide, store, result);
	if (result)
		move_row(&wide, result, &store->buffer->tensor, first, false);
	em->depth--;
	emit_line(em, "}");
}
