/* Operations of threads: shuffles are functions of CUDA, the others are the prelude's, which name
 * the first of the elements that they take and give.
 *
 *     m[] max= shfl.xor(m[], 16)               =>    const tw_f32 t0 = __shfl_xor_sync(…, m, 16);
 *                                                    m = tw_max_f32(m, t0);
 *     a[0] = ldmatrix.x4(sa[t%16*8])           =>    tw_ldmatrix_x4(&a[0], &sa[…]);
 *     acc[0] += mma.m16n8k16.f16(a[0], b[0])   =>    tw_mma_m16n8k16_f16(&acc[0], &a[0], &b[0]);
 *     s[t*4] = cp.async(X[t*4], 16)            =>    tw_cp_async_16(&s[t * 4], &X[t * 4]);
 */
#include "codegen/cuda/emit.h"

#include <string.h>

/* tw_mma_m16n8k16_f16 */
static const char *
function_name(Emit *em, const WarpOp *op)
{
	char *name = arena_printf(em->arena, "tw_%s", op->name);
	for (char *c = name; *c; c++)
		if (*c == '.')
			*c = '_';
	return name;
}

static const char *
place_of_arg(Emit *em, const Stmt *stmt, int i)
{
	const Expr *arg = stmt->args[i];
	return scalar_place(em, arg->tensor, arg->arg);
}

/* The shuffles of CUDA know numbers of 4 and 8 bytes. */
static const char *
shuffle_text(Emit *em, const Stmt *stmt)
{
	DType type = stmt->buffer->tensor.type;
	const char *value = emit_scalar(em, stmt->args[0]), *by = emit_scalar(em, stmt->args[1]);
	/* shfl.xor is __shfl_xor_sync, shfl.idx __shfl_sync */
	const char *kind = strchr(stmt->warp_op->name, '.') + 1;
	bool is_plain = strcmp(kind, "idx") == 0, is_short = dtype_bits(type) < 32;
	const char *call =
		emit_text(em, "__shfl%s%s_sync(0xffffffffu, %s%s, (int)(%s))", is_plain ? "" : "_",
	              is_plain ? "" : kind, is_short ? "(tw_i32)" : "", value, by);
	return is_short ? emit_text(em, "(%s)%s", c_type(type), call) : call;
}

/* The value that all have, then a store of it. */
static void
emit_shuffle(Emit *em, const Stmt *stmt)
{
	DType type = stmt->buffer->tensor.type;
	const char *name = new_name(em, 't');
	emit_line(em, "const %s %s = %s;", c_type(type), name, shuffle_text(em, stmt));
	Stmt store = *stmt;
	Var *var = var_new(em->ctx, "shuffled", type, NULL, NULL);
	map_set_ptr(&em->names, var, (void *)name);
	store.kind = STMT_STORE;
	store.value = expr_var(em->ctx, var);
	emit_store(em, &store);
}

/* Where nothing is copied, nothing that its address depends on may be read. */
static const Expr *
guarded_index(Emit *em, const Stmt *stmt)
{
	const Expr *index = stmt->args[0]->arg[0];
	if (stmt->warp_op->nargs < 3 || !index->has_read)
		return index;
	const Expr *arms[] = {stmt->args[2], index, expr_i64(em->ctx, 0)};
	return expr_op(em->ctx, EX_select, arms);
}

static void
emit_copy(Emit *em, const Stmt *stmt)
{
	const Expr *index = guarded_index(em, stmt);
	const char *to = scalar_place(em, &stmt->buffer->tensor, stmt->index);
	const char *from = scalar_place(em, stmt->args[0]->tensor, &index);
	const char *name = function_name(em, stmt->warp_op), *bytes = emit_scalar(em, stmt->args[1]);
	if (stmt->warp_op->nargs < 3)
		emit_line(em, "%s_%s(&%s, &%s);", name, bytes, to, from);
	else
		emit_line(em, "%s_%s(&%s, &%s, %s);", name, bytes, to, from,
		          emit_scalar(em, stmt->args[2]));
}

void
emit_warp_op(Emit *em, const Stmt *stmt)
{
	const Expr *index = stmt->buffer && stmt->buffer->tensor.rank ? stmt->index[0] : NULL;
	const Expr *exprs[WARP_ARGS + 1] = {index};
	for (int i = 0; i < stmt->warp_op->nargs; i++)
		exprs[i + 1] = stmt->args[i];
	begin_statement(em, stmt->warp_op->nargs + 1, exprs);
	const char *name = function_name(em, stmt->warp_op);
	switch (stmt->warp_op->kind) {
	case WARP_SHUFFLE:
		emit_shuffle(em, stmt);
		break;
	case WARP_LOAD:
		emit_line(em, "%s(&%s, &%s);", name, scalar_place(em, &stmt->buffer->tensor, stmt->index),
		          place_of_arg(em, stmt, 0));
		break;
	case WARP_MMA:
		emit_line(em, "%s(&%s, &%s, &%s);", name,
		          scalar_place(em, &stmt->buffer->tensor, stmt->index), place_of_arg(em, stmt, 0),
		          place_of_arg(em, stmt, 1));
		break;
	case WARP_COPY:
		emit_copy(em, stmt);
		break;
	case WARP_HINT: /* of caches that follow by themselves */
		break;
	case WARP_COMMIT:
		emit_line(em, "%s();", name);
		break;
	case WARP_WAIT:
		emit_line(em, "%s<%s>();", name, emit_scalar(em, stmt->args[0]));
		break;
	}
}
