/* @vector loops: how many lanes, the whole vectors, the masked rest, and sums across lanes.
 *
 *     for i in E @vector {        f0 = {0…}
 *       s[] += X[i]          =>   for (i = 0; i + 16 <= E; i += 16) f0 = f0 + load(X + i)
 *     }                           if (i < E) f0 = pick(m, f0 + loadm(X + i, m), f0)
 *                                 s = s + (f0's lanes added as a fixed tree)
 *
 * A loop that sums and holds no other loop runs four vectors at a time, each with its own f, since
 * one chain of additions would wait for itself. Which additions are joined depends on E alone.
 *
 * What has no vector form (loops whose bounds differ between lanes, barriers, one place written by
 * all lanes) is emitted as an ordinary loop.
 */
#include "codegen/c/emit.h"

#include <string.h>

enum { COPIES = 4, FLAT_TRIPS = 4, REG_TRIPS = 64 };

/* ---- what the loop holds --------------------------------------------------------------------- */

typedef struct Survey {
	Emit *em;
	const Stmt *loop;
	bool is_wide; /* values of 8 bytes are stored or computed */
	bool holds_loop, touches_regs, tests_lanes, is_impossible;
	bool may_repeat; /* an iteration run twice leaves what it left the first time */
	int stores;
	Fold *folds;
	VEC(const Var *) inner;   /* variables defined in the body */
	VEC(const Var *) varying; /* the loop's own, and lets that may differ between lanes */
	VEC(const Buffer *) local;
} Survey;

static void
survey_node(const Expr *e, void *arg)
{
	Survey *survey = arg;
	survey->is_wide |= e->type == DT_F64;
	if (e->op == EX_read) {
		survey->may_repeat &= !((const Buffer *)e->tensor)->is_output;
		const RegInfo *reg = find_reg(survey->em, e->tensor);
		survey->touches_regs |= reg && e->tensor->rank > 0;
	}
}

static bool
uses_any(const Expr *e, int count, const Var *const *vars)
{
	for (int i = 0; i < count; i++)
		if (expr_uses_var(e, vars[i]))
			return true;
	return false;
}

static bool
may_differ(const Survey *survey, const Expr *e)
{
	return uses_any(e, survey->varying.count, survey->varying.data);
}

static bool
is_inside(const Survey *survey, const Buffer *buffer)
{
	for (int i = 0; i < survey->local.count; i++)
		if (survey->local.data[i] == buffer)
			return true;
	return false;
}

static void
survey_definition(Stmt *stmt, void *arg)
{
	Survey *survey = arg;
	if (stmt->var)
		vec_push(survey->em->arena, &survey->inner, stmt->var);
	if (stmt->kind == STMT_LET && (stmt->value->has_read || may_differ(survey, stmt->value)))
		vec_push(survey->em->arena, &survey->varying, stmt->var);
	if (stmt->kind == STMT_ALLOC) {
		vec_push(survey->em->arena, &survey->local, stmt->buffer);
		survey->is_impossible |= stmt->buffer->scope != SCOPE_REG;
	}
	survey->is_impossible |= stmt->kind == STMT_SYNC;
	survey->holds_loop |= stmt->kind == STMT_FOR;
}

/* A store that combines into one place outside: a reduction across the lanes. */
static void
survey_fold(Survey *survey, Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	bool differs = false, is_array = false;
	for (int d = 0; d < tensor->rank; d++) {
		differs = differs || may_differ(survey, stmt->index[d]);
		is_array = is_array || uses_any(stmt->index[d], survey->inner.count, survey->inner.data);
	}
	if (differs || is_inside(survey, stmt->buffer))
		return;
	bool is_reg = stmt->buffer->scope == SCOPE_REG;
	bool is_plain =
		dtype_is_integer(tensor->type) || tensor->type == DT_F32 || tensor->type == DT_F64;
	if (stmt->op == STORE_SET || (is_array && !is_reg) || !is_plain) {
		survey->is_impossible = true;
		return;
	}
	Fold *fold = NEW(survey->em->arena, Fold);
	*fold = (Fold){survey->folds, stmt, new_name(survey->em, 'f'), is_array};
	survey->folds = fold;
}

static void
survey_stmt(Stmt *stmt, void *arg)
{
	Survey *survey = arg;
	const Expr *fields[] = {stmt->condition, stmt->value};
	for (size_t i = 0; i < countof(fields); i++)
		if (fields[i])
			expr_visit(fields[i], survey_node, survey);
	survey->tests_lanes |= stmt->kind == STMT_IF && may_differ(survey, stmt->condition);
	if (stmt->kind != STMT_STORE)
		return;
	survey->stores++;
	if (!is_inside(survey, stmt->buffer))
		survey->may_repeat &=
			stmt->op == STORE_SET && stmt->buffer->scope == SCOPE_PARAM && !stmt->buffer->may_alias;
	const RegInfo *reg = find_reg(survey->em, &stmt->buffer->tensor);
	survey->touches_regs |= reg && stmt->buffer->tensor.rank > 0;
	survey->is_wide |=
		dtype_bits(stmt->buffer->tensor.type) == 64 && !is_inside(survey, stmt->buffer);
	survey_fold(survey, stmt);
}

/* ---- folds ----------------------------------------------------------------------------------- */

const char *
combine_text(Emit *em, int op, DType type, bool is_vector, const char *a, const char *b)
{
	const char *args[] = {a, b};
	const Expr *x = expr_var(em->ctx, var_new(em->ctx, "a", type, NULL, NULL));
	const Expr *y = expr_var(em->ctx, var_new(em->ctx, "b", type, NULL, NULL));
	const Expr *e = expr_op(em->ctx, store_combine(op), (const Expr *[]){x, y});
	return is_vector ? v_operation(em, e, args) : c_operation(em, e, args);
}

static const char *
fold_place(Emit *em, const Fold *fold, const Stmt *stmt)
{
	const char *name = text(em, "%s_%d", fold->name, em->copy);
	if (!fold->is_array)
		return name;
	const Expr *flat = flat_address(em, stmt->buffer, stmt->index);
	return text(em, "%s[%s]", name, emit_scalar(em, flat));
}

bool
emit_fold(Emit *em, const Stmt *stmt)
{
	char name[24];
	Fold *fold = in_lanes(em) ? em->vector->folds : NULL;
	while (fold && fold->store != stmt)
		fold = fold->next;
	if (!fold)
		return false;
	const char *place = fold_place(em, fold, stmt), *mask = em->vector->mask;
	const char *value = stored_text(em, stmt, true, place);
	if (mask)
		value = text(em, "tw_pick_%s(%s, %s, %s)",
		             (value_name(stmt->value->type, name, em->vector->lanes), name),
		             natural_mask(em, mask, dtype_bits(lane_type(stmt->value->type)) / 8), value,
		             place);
	line(em, "%s = %s;", place, value);
	return true;
}

static int64_t
fold_count(const Fold *fold)
{
	int64_t count = 1, extent;
	for (int d = 0; fold->is_array && d < fold->store->buffer->tensor.rank; d++)
		if (dim_is_const(fold->store->buffer->tensor.hi[d], &extent))
			count *= extent;
	return count;
}

static void
open_folds(Emit *em, const Fold *fold, int copies)
{
	char name[24];
	for (; fold; fold = fold->next) {
		DType type = fold->store->buffer->tensor.type;
		const Expr *identity = reduce_identity(em->ctx, fold->store->op, 0, type);
		const char *zero = c_number(em, type, identity->value);
		value_name(type, name, em->vector->lanes);
		for (int copy = 0; copy < copies; copy++) {
			const char *vector = c_vector(em, type, em->vector->lanes);
			if (!fold->is_array) {
				line(em, "%s %s_%d = tw_set_%s(%s);", vector, fold->name, copy, name, zero);
				continue;
			}
			line(em, "%s %s_%d[%lld];", vector, fold->name, copy, (long long)fold_count(fold));
			line(em, "for (int i = 0; i < %lld; i++)", (long long)fold_count(fold));
			line(em, "\t%s_%d[i] = tw_set_%s(%s);", fold->name, copy, name, zero);
		}
	}
}

/* All lanes of one accumulator as a scalar. */
static const char *
folded_text(Emit *em, const Fold *fold, const char *vector)
{
	char name[24];
	DType type = fold->store->buffer->tensor.type;
	value_name(type, name, em->vector->lanes);
	const char *op = scalar_info(store_combine(fold->store->op))->name;
	return c_cast(em, type, 0, lane_type(type), text(em, "tw_%s_lanes_%s(%s)", op, name, vector));
}

/* Add what the lanes gathered to its place. Called behind the loop, outside the lanes. */
static void
close_fold(Emit *em, Vector *vector, const Fold *fold, int copies)
{
	const Stmt *store = fold->store;
	DType type = store->buffer->tensor.type;
	for (int64_t i = 0; i < fold_count(fold); i++) {
		em->vector = vector;
		const char *element = fold->is_array ? text(em, "[%lld]", (long long)i) : "";
		const char *sum = text(em, "%s_0%s", fold->name, element);
		for (int copy = 1; copy < copies; copy++)
			sum = combine_text(em, store->op, type, true, sum,
			                   text(em, "%s_%d%s", fold->name, copy, element));
		const char *value = folded_text(em, fold, sum);
		em->vector = NULL;
		const Expr *index[ARRAY_MAX_RANK];
		int64_t rest = i, extent = 1;
		for (int d = store->buffer->tensor.rank - 1; d >= 0; d--) {
			dim_is_const(store->buffer->tensor.hi[d], &extent);
			index[d] = fold->is_array ? expr_i64(em->ctx, rest % extent) : store->index[d];
			rest /= extent ? extent : 1;
		}
		Var *var = var_new(em->ctx, "fold", type, NULL, NULL);
		const char *name = new_name(em, 't');
		line(em, "const %s %s = %s;", c_type(type), name, value);
		push_var(em, (VarInfo){.var = var, .kind = VAR_NAMED, .val = {name, UNIFORM}});
		Stmt joined = *store;
		joined.index = index;
		joined.value = expr_var(em->ctx, var);
		emit_store(em, &joined);
		em->vars.count--;
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void
emit_body(Emit *em, const Stmt *loop, VarInfo lane, const char *mask, const char *count)
{
	em->vector->mask = em->vector->tail = em->vector->live = mask;
	em->vector->last = count ? text(em, "(%s - 1)", count) : text(em, "%d", em->vector->lanes - 1);
	lane.var = loop->var;
	lane.kind = VAR_LANE;
	lane.depth = em->vars.count + 1;
	int regs = em->regs.count;
	push_var(em, lane);
	emit_list(em, loop->body);
	em->vars.count--;
	em->regs.count = regs;
	em->vector->mask = em->vector->tail = em->vector->live = NULL;
}

static const char *
first_lanes(Emit *em, const char *count)
{
	const char *mask = new_name(em, 'm');
	int bits = em->vector->width * 8, lanes = em->vector->lanes;
	line(em, "const tw_i%dx%d %s = (tw_i%dx%d)(tw_iota_i%dx%d() < tw_set_i%dx%d(%s));", bits, lanes,
	     mask, bits, lanes, bits, lanes, bits, lanes, count);
	return mask;
}

static VarInfo
fixed_lane(Emit *em, int64_t value)
{
	Val val = {c_number(em, DT_I64, (Scalar){.i64 = value}), UNIFORM};
	return (VarInfo){.is_fixed = true, .value = value, .val = val};
}

/* Constant bounds, few vectors: one after the other. The last one may begin early where computing
 * an element twice does no harm: whole vectors need no masks. */
static void
emit_flat(Emit *em, const Stmt *loop, int64_t lo, int64_t hi)
{
	int lanes = em->vector->lanes;
	for (int64_t at = lo; at < hi; at += lanes) {
		if (em->vector->may_repeat && hi - at < lanes && at - lo >= lanes)
			at = hi - lanes;
		int mark = facts_mark(em->facts);
		learn_range(em, loop->var, at, at + lanes < hi ? at + lanes : hi);
		line(em, "{");
		em->depth++;
		const char *count = hi - at < lanes ? text(em, "%d", (int)(hi - at)) : NULL;
		const char *mask = count ? first_lanes(em, count) : NULL;
		emit_body(em, loop, fixed_lane(em, at), mask, count);
		em->depth--;
		line(em, "}");
		facts_release(em->facts, mark);
	}
}

/* Constant bounds, more vectors than that, and lanes that are tested: the first and the last vector
 * apart, since what is tested (a border) is mostly known for those between. */
static void
emit_between_borders(Emit *em, const Stmt *loop, int64_t lo, int64_t hi)
{
	const Vector *vector = em->vector;
	int lanes = vector->lanes, rest = (int)((hi - lo) % lanes);
	int64_t first = lo + lanes, last = hi - (rest ? rest : lanes);
	const char *var = map_find_ptr(&em->names, loop->var);
	emit_flat(em, loop, lo, first);
	int mark = facts_mark(em->facts);
	learn_range(em, loop->var, first, last);
	line(em, "for (tw_i64 %s = %lld; %s < %lld; %s += %d) {", var, (long long)first, var,
	     (long long)last, var, lanes);
	em->depth++;
	emit_body(em, loop, (VarInfo){.val = {var, UNIFORM}}, NULL, NULL);
	em->depth--;
	line(em, "}");
	facts_release(em->facts, mark);
	emit_flat(em, loop, vector->may_repeat ? hi - lanes : last, hi);
}

static void
emit_whole_vectors(Emit *em, const Stmt *loop, const char *var, const char *hi, int copies)
{
	int step = em->vector->lanes * copies;
	line(em, "for (; %s + %d <= %s; %s += %d) {", var, step, hi, var, step);
	em->depth++;
	for (em->copy = 0; em->copy < copies; em->copy++) {
		const char *base = var;
		if (em->copy > 0) {
			base = new_name(em, 'b');
			line(em, "const tw_i64 %s = %s + %d;", base, var, em->copy * em->vector->lanes);
		}
		line(em, "{");
		em->depth++;
		emit_body(em, loop, (VarInfo){.val = {base, UNIFORM}}, NULL, NULL);
		em->depth--;
		line(em, "}");
	}
	em->copy = 0;
	em->depth--;
	line(em, "}");
}

static void
emit_counted(Emit *em, const Stmt *loop, int copies)
{
	int64_t lo, hi_value;
	int lanes = em->vector->lanes;
	Vector *vector = em->vector;
	em->vector = NULL; /* bounds are the same for all lanes */
	const Expr *bounds[] = {loop->lo, loop->hi};
	begin_statement(em, 2, bounds);
	const char *var = map_find_ptr(&em->names, loop->var), *hi = new_name(em, 'e');
	line(em, "tw_i64 %s = %s;", var, emit_scalar(em, loop->lo));
	line(em, "const tw_i64 %s = %s;", hi, emit_scalar(em, loop->hi));
	em->vector = vector;
	bool is_exact = constant_value(em, loop->lo, &lo) && constant_value(em, loop->hi, &hi_value) &&
	                (hi_value - lo) % lanes == 0;
	if (copies > 1)
		emit_whole_vectors(em, loop, var, hi, copies);
	emit_whole_vectors(em, loop, var, hi, 1);
	if (is_exact)
		return;
	line(em, "if (%s < %s) {", var, hi);
	em->depth++;
	const char *count = text(em, vector->width == 8 ? "(%s - %s)" : "(tw_i32)(%s - %s)", hi, var);
	const char *mask = first_lanes(em, count);
	emit_body(em, loop, (VarInfo){.val = {var, UNIFORM}}, mask, count);
	em->depth--;
	line(em, "}");
}

/* Fewer lanes where the whole loop is short. */
static int
choose_lanes(const Emit *em, const Survey *survey, int64_t extent)
{
	int width = survey->is_wide ? 8 : 4;
	int lanes = em->target->device->vector_bytes / width, least = lanes < 4 ? lanes : 4;
	while (lanes > least && extent > 0 && lanes / 2 >= extent)
		lanes /= 2;
	return lanes;
}

static void
emit_as_vector(Emit *em, const Stmt *loop, const Survey *survey)
{
	int64_t lo = 0, hi = 0;
	bool is_constant = constant_value(em, loop->lo, &lo) && constant_value(em, loop->hi, &hi);
	Vector vector = {.loop = loop,
	                 .width = survey->is_wide ? 8 : 4,
	                 .allocs = em->regs.count,
	                 .may_repeat = survey->may_repeat,
	                 .folds = survey->folds};
	vector.lanes = choose_lanes(em, survey, is_constant ? hi - lo : 0);
	int64_t trips = (hi - lo + vector.lanes - 1) / vector.lanes;
	bool is_flat =
		is_constant && (trips <= FLAT_TRIPS || (survey->touches_regs && trips <= REG_TRIPS));
	bool is_chain = survey->folds && !survey->holds_loop && survey->stores <= 2 && !is_flat;
	int copies = is_chain && (!is_constant || trips >= COPIES) ? COPIES : 1;
	em->vector = &vector;
	line(em, "{");
	em->depth++;
	open_folds(em, survey->folds, copies);
	if (is_flat)
		emit_flat(em, loop, lo, hi);
	else if (is_constant && survey->tests_lanes && copies == 1)
		emit_between_borders(em, loop, lo, hi);
	else
		emit_counted(em, loop, copies);
	em->vector = NULL;
	for (const Fold *fold = survey->folds; fold; fold = fold->next)
		close_fold(em, &vector, fold, copies);
	em->vector = NULL;
	em->depth--;
	line(em, "}");
}

/* What the first walk noted about registers, to forget a failed attempt. */
static RegInfo *
save_regs(Emit *em)
{
	RegInfo *saved = NEW_N(em->arena, RegInfo, em->regs.count + 1);
	for (int i = 0; i < em->regs.count; i++)
		saved[i] = *em->regs.data[i];
	return saved;
}

void
emit_vector_loop(Emit *em, const Stmt *loop)
{
	Survey survey = {.em = em, .loop = loop, .may_repeat = true};
	vec_push(em->arena, &survey.varying, loop->var);
	stmt_visit(loop->body, survey_definition, &survey);
	stmt_visit(loop->body, survey_stmt, &survey);
	if (!survey.is_impossible) {
		RegInfo *saved = save_regs(em);
		Buf attempt = {.arena = em->arena}, *out = em->out;
		int vars = em->vars.count, regs = em->regs.count, depth = em->depth;
		int mark = facts_mark(em->facts);
		bool had_failed = em->has_failed_vector;
		em->has_failed_vector = false;
		em->out = &attempt;
		learn_loop(em, loop);
		emit_as_vector(em, loop, &survey);
		em->out = out;
		facts_release(em->facts, mark);
		bool is_done = !em->has_failed_vector;
		em->has_failed_vector = had_failed;
		if (is_done) {
			buf_puts(out, buf_text(&attempt));
			return;
		}
		em->vars.count = vars;
		em->regs.count = regs;
		em->depth = depth;
		em->vector = NULL;
		em->copy = 0;
		for (int i = 0; i < regs; i++)
			*em->regs.data[i] = saved[i];
	}
	emit_serial_loop(em, loop);
}
