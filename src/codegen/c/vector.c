/* @vector(…) loops: one vector of the machine, masked where it is a partial one; sums across lanes.
 *
 *     for i in 16 @vector(i32x16)       =>    tw_store_f32x16(Y + 16 * v, …)
 *     for i in N % 16 @vector(i32x16)   =>    const tw_i32x16 m = …; tw_storem_f32x16(Y + …, …, m)
 *     … s[] += f[0, i]                  =>    s = s + tw_add_lanes_f32x16(f_0)
 *
 * What can be no vector is none here: Vectorize left it as a plain loop. A @vector loop that
 * Vectorize has not seen is one, too.
 */
#include "codegen/c/emit.h"

/* ---- folds ----------------------------------------------------------------------------------- */

const char *
binary_text(Emit *em, ExprOp op, DType type, bool is_vector, const char *a, const char *b)
{
	const char *args[] = {a, b};
	const Expr *x = expr_var(em->ctx, var_new(em->ctx, "a", type, NULL, NULL));
	const Expr *y = expr_var(em->ctx, var_new(em->ctx, "b", type, NULL, NULL));
	const Expr *e = expr_op(em->ctx, op, (const Expr *[]){x, y});
	return is_vector ? v_operation(em, e, args) : c_operation(em, e, args);
}

/* Whether a store combines all lanes into one place. */
static bool
is_fold(Emit *em, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	return in_lanes(em) && stmt->op != STORE_SET && lanes_join(tensor->type) &&
	       !lanes_own(&em->lanes, tensor) &&
	       !lanes_differ_in(&em->lanes, tensor->rank, stmt->index);
}

/* The lanes of the value, joined by a fixed tree; those that do not count are the identity. */
static const char *
joined_text(Emit *em, const Stmt *stmt)
{
	char name[24];
	DType type = stmt->value->type;
	const char *value = emit_vector(em, stmt->value), *mask = em->vector->mask;
	value_name(type, name, em->vector->lanes);
	if (mask) {
		const Expr *identity = reduce_identity(em->ctx, stmt->op, 0, type);
		value = v_pick(em, type, mask, value, emit_vector(em, identity));
	}
	const char *op = scalar_info(reduce_fold(stmt->op))->name;
	return c_cast(em, type, 0, lane_type(type),
	              emit_text(em, "tw_%s_lanes_%s(%s)", op, name, value));
}

bool
emit_fold(Emit *em, const Stmt *stmt)
{
	if (!is_fold(em, stmt))
		return false;
	Vector *vector = em->vector;
	DType type = stmt->value->type;
	const char *name = new_name(em, 't'), *value = joined_text(em, stmt);
	emit_line(em, "const %s %s = %s;", c_type(type), name, value);
	Stmt joined = *stmt;
	Var *var = var_new(em->ctx, "fold", type, NULL, NULL);
	joined.value = expr_var(em->ctx, var);
	map_set_ptr(&em->names, var, (void *)name);
	em->vector = NULL;
	emit_store(em, &joined);
	em->vector = vector;
	return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static const char *
first_lanes(Emit *em, const char *count)
{
	const char *mask = new_name(em, 'm');
	int bits = em->vector->width * 8, lanes = em->vector->lanes;
	emit_line(em, "const tw_i%dx%d %s = (tw_i%dx%d)(tw_iota_i%dx%d() < tw_set_i%dx%d(%s));", bits,
	          lanes, mask, bits, lanes, bits, lanes, bits, lanes, count);
	return mask;
}

/* The lanes that count, when these are not all. */
static void
emit_partial(Emit *em, const Stmt *loop)
{
	Vector *vector = em->vector;
	em->vector = NULL; /* how many is the same for all lanes */
	begin_statement(em, 1, &loop->hi);
	const char *count = emit_scalar(em, loop->hi);
	em->vector = vector;
	if (vector->width == 4 && !expr_is_const(loop->hi))
		count = emit_text(em, "(tw_i32)%s", count);
	int64_t least, most;
	bool is_live = facts_range(em->facts, without_lets(em, loop->hi), &least, &most) && least > 0;
	vector->mask = vector->tail = first_lanes(em, count);
	vector->live = is_live ? vector->mask : NULL;
}

void
emit_vector_loop(Emit *em, const Stmt *loop)
{
	int64_t count;
	int mark = facts_mark(em->facts);
	Vector *vector = NEW(em->arena, Vector);
	*vector = (Vector){.loop = loop, .lanes = loop->lanes, .width = loop->lane_bytes};
	learn_loop(em, loop);
	lanes_note(&em->lanes, loop);
	em->vector = vector;
	emit_line(em, "{");
	em->depth++;
	if (!expr_as_i64(loop->hi, &count) || count != loop->lanes)
		emit_partial(em, loop);
	em->depth--;
	emit_block(em, loop->body);
	emit_line(em, "}");
	em->vector = NULL;
	facts_release(em->facts, mark);
}

/* tw_turn_x16(t + 8*16, 16, X + origin, S, 16, 16): each index where both loops begin, and how far
 * the next vector and the next lane is from there. */
void
emit_turn(Emit *em, const Stmt *loop)
{
	const Stmt *vector = loop->body, *store = vector->body;
	const Expr *zero = expr_i64(em->ctx, 0), *one = expr_i64(em->ctx, 1);
	const Expr *to = expr_replace_var(store->index[0], vector->var, zero);
	const Expr *from = expr_replace_var(store->value->arg[0], loop->var, zero);
	const Expr *next = expr_replace_var(to, loop->var, one), *far;
	to = expr_replace_var(to, loop->var, zero);
	far = expr_replace_var(from, vector->var, one);
	from = expr_replace_var(from, vector->var, zero);
	next = expr_sub(em->ctx, next, to);
	far = expr_sub(em->ctx, far, from);
	const Expr *all[] = {to, next, from, far, loop->hi, vector->hi};
	begin_statement(em, countof(all), all);
	const char *text[countof(all)];
	for (size_t i = 0; i < countof(all); i++)
		text[i] = emit_scalar(em, all[i]);
	emit_line(em, "tw_turn_x%d(%s + %s, %s, %s + %s, %s, %s, %s);", vector->lanes,
	          name_of(em, &store->buffer->tensor), text[0], text[1],
	          name_of(em, store->value->tensor), text[2], text[3], text[4], text[5]);
}
