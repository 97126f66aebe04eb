/* Integers known before running: a node's meaning, run on dims.
 *
 *     %s = Shape(%x)            {N, 3, H, W}
 *     %n = Gather(%s, {0})      {N}
 *     %m = Mul(%n, {12})        {12*N}
 *
 *     %f = Cast(%h) {to=1}      {f32(H)}
 *     %i = Cast(Floor(Mul(%f, {0.5}))) {to=7}      {S}, S = i64(floor(f32(H)*0.5))
 *
 * There is no table of operators here: the program of the node's row is evaluated point by point
 * with iterators that are numbers and elements that are dims or not known. What is not known stays
 * so; an arm that is not taken need not be known.
 */
#include <string.h>

#include "expr/scalar/ctx.h"
#include "graph/inner.h"
#include "graph/meaning.h"

enum {
	MAX_STEPS = 1 << 16, /* scalars evaluated for one output; more and the rest is not known */
	MAX_DEPTH = 64,
	MAX_FLOATS = 4,
};

typedef struct Run {
	Graph *graph;
	ExprCtx *ctx;
	const Program *program;
	Value **inputs; /* of the program */
	int steps;      /* still allowed */
	int depth;
} Run;

/* A stage and the numbers its iterators stand at. */
typedef struct Point {
	const Stage *stage;
	const int64_t *at;
} Point;

static const Dim *run_tensor(Run *run, const Tensor *tensor, const int64_t *index);
static const Dim *run_expr(Run *run, const Point *point, const Expr *e);

static bool
is_known_type(DType type)
{
	return dtype_is_integer(type) || type == DT_BOOL;
}

/* Most elements of a tensor that may be known. */
static int
known_most(DType type)
{
	return is_known_type(type) ? KNOWN_MAX : dtype_is_float(type) ? MAX_FLOATS : -1;
}

/* Dims do not wrap around: a number that the type cannot hold is not known. */
static const Dim *
held(DType type, const Dim *a)
{
	int64_t number;
	if (!a || !dtype_is_integer(type) || !dim_is_const(a, &number))
		return a;
	bool is_held = scalar_cast(type, 0, DT_I64, (Scalar){.i64 = number}).i64 == number;
	return is_held && (type != DT_U64 || number >= 0) ? a : NULL;
}

const Known *
value_known(Graph *graph, Value *value)
{
	const Array *array = value->constant;
	if (value->known || !array || value->is_default)
		return value->known;
	int64_t count = array_count(array);
	if (count > known_most(array->type))
		return NULL;
	const Dim **dims = NEW_N(graph->arena, const Dim *, count);
	for (int64_t i = 0; i < count; i++)
		dims[i] =
			is_known_type(array->type)
				? held(array->type,
		               dim_const(graph->ctx, dtype_load_i64(array->type, array->data, i)))
				: expr_number(graph->ctx, array->type, dtype_load_f64(array->type, array->data, i));
	Known *known = NEW(graph->arena, Known);
	*known = (Known){(int)count, dims};
	value->known = known;
	return known;
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* a / b towards zero, for b above zero: down for what is positive of a, up for what is not. */
static const Dim *
quotient(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	const Dim *zero = dim_const(ctx, 0), *opposite = dim_sub(ctx, zero, a);
	const Dim *up = dim_max(ctx, zero, dim_floordiv(ctx, a, b));
	if (dim_proves_lt(ctx, opposite, b))
		return up;
	return dim_sub(ctx, up, dim_max(ctx, zero, dim_floordiv(ctx, opposite, b)));
}

static const Dim *
run_divide(Run *run, ExprOp op, const Dim *a, const Dim *b)
{
	ExprCtx *ctx = run->ctx;
	const Dim *zero = dim_const(ctx, 0);
	int64_t x, y;
	if (dim_is_const(a, &x) && dim_is_const(b, &y)) {
		Scalar args[2] = {{.i64 = x}, {.i64 = y}};
		return dim_const(ctx, scalar_eval(op, DT_I64, args, DT_I64).i64);
	}
	if (!dim_proves_le(ctx, zero, b))
		return NULL; /* where it comes to 0 there is no size either */
	if (op == EX_floordiv || (op == EX_quot && dim_proves_le(ctx, zero, a)))
		return dim_floordiv(ctx, a, b);
	if (op == EX_floormod || dim_proves_le(ctx, zero, a))
		return dim_floormod(ctx, a, b);
	const Dim *whole = quotient(ctx, a, b);
	return op == EX_quot ? whole : dim_sub(ctx, a, dim_mul(ctx, whole, b));
}

static const Dim *
run_integer(Run *run, ExprOp op, const Dim *const *args)
{
	ExprCtx *ctx = run->ctx;
	const Dim *zero = dim_const(ctx, 0), *a = args[0];
	switch (op) {
	case EX_not:
		return dim_op(ctx, EX_eq, (const Dim *[]){a, zero});
	case EX_abs:
		return dim_max(ctx, a, dim_sub(ctx, zero, a));
	case EX_sign:
		return dim_proves_lt(ctx, zero, a) ? dim_const(ctx, 1) : dim_is(a, 0) ? a : NULL;
	case EX_floordiv:
	case EX_floormod:
	case EX_quot:
	case EX_rem:
		return run_divide(run, op, a, args[1]);
	default:
		return dim_op(ctx, op, args);
	}
}

/* Whether a float scalar over dims is certainly not negative. */
static bool
is_nonnegative(Run *run, const Expr *e)
{
	switch ((ExprOp)e->op) {
	case EX_const:
		return dtype_is_float((DType)e->type) && expr_const_f64(e) >= 0;
	case EX_cast:
		if (dtype_is_float((DType)e->arg[0]->type))
			return is_nonnegative(run, e->arg[0]);
		return dim_proves_le(run->ctx, dim_const(run->ctx, 0), e->arg[0]);
	case EX_floor:
	case EX_ceil:
	case EX_round:
	case EX_trunc:
	case EX_sqrt:
		return is_nonnegative(run, e->arg[0]);
	case EX_add:
	case EX_mul:
	case EX_div:
	case EX_min:
	case EX_max:
		return is_nonnegative(run, e->arg[0]) && is_nonnegative(run, e->arg[1]);
	default:
		return false;
	}
}

/* A float as an integer: a number, or a symbol with this definition. */
static const Dim *
run_to_integer(Run *run, DType to, const Expr *x)
{
	const Expr *whole = expr_cast(run->ctx, to, x);
	int64_t number;
	if (expr_as_i64(whole, &number))
		return dim_const(run->ctx, number);
	if ((to != DT_I64 && to != DT_I32) || !is_nonnegative(run, x))
		return NULL;
	return graph_expr_symbol(run->graph, "S", expr_cast(run->ctx, DT_I64, x));
}

/* Conversions among integers keep the number; a symbol is within 32 bits. */
static const Dim *
run_cast(Run *run, const Point *point, const Expr *e)
{
	DType from = (DType)e->arg[0]->type, to = (DType)e->type;
	if (known_most(from) < 0 || known_most(to) < 0)
		return NULL;
	const Dim *a = run_expr(run, point, e->arg[0]);
	if (!a || from == to)
		return a;
	if (dtype_is_float(to))
		return expr_cast(run->ctx, to, a);
	if (dtype_is_float(from))
		return run_to_integer(run, to, a);
	if (to == DT_BOOL)
		return dim_op(run->ctx, EX_ne, (const Dim *[]){a, dim_const(run->ctx, 0)});
	int64_t number;
	if (!dim_is_const(a, &number))
		return dtype_bits(to) >= 32 ? a : NULL;
	return held(to, dim_const(run->ctx, scalar_cast(to, 0, from, (Scalar){.i64 = number}).i64));
}

/* select, && and ||: the side not taken is not looked at. */
static const Dim *
run_lazy(Run *run, const Point *point, const Expr *e)
{
	const Dim *left = run_expr(run, point, e->arg[0]);
	int64_t is_true;
	if (!left || !dim_is_const(left, &is_true))
		return NULL;
	if (e->op == EX_select)
		return run_expr(run, point, e->arg[is_true ? 1 : 2]);
	if ((e->op == EX_and) != (is_true != 0))
		return left;
	return run_expr(run, point, e->arg[1]);
}

static bool
run_index(Run *run, const Point *point, const Expr *e, int64_t *number)
{
	const Dim *dim = run_expr(run, point, e);
	return dim && dim_is_const(dim, number);
}

static const Dim *
run_at(Run *run, const Point *point, const Expr *e)
{
	int64_t index, extent;
	if (!run_index(run, point, e->arg[0], &index) || !dim_is_const(e->arg[1], &extent))
		return NULL;
	if ((e->flags & AT_WRAP) && index < 0)
		index += extent;
	return index < 0 || index >= extent ? NULL : dim_const(run->ctx, index);
}

static const Dim *
run_read(Run *run, const Point *point, const Expr *e)
{
	int64_t index[ARRAY_MAX_RANK];
	if (e->argc > ARRAY_MAX_RANK)
		return NULL;
	for (int i = 0; i < e->argc; i++)
		if (!run_index(run, point, e->arg[i], &index[i]))
			return NULL;
	return run_tensor(run, e->tensor, index);
}

/* Operations on floats build the same scalar over what is known of the operands; a condition must
 * come out as a constant. */
static const Expr *
run_float(Run *run, const Expr *e, const Expr *const *args)
{
	for (int i = 0; i < e->argc; i++)
		if (args[i]->type != e->arg[i]->type)
			return NULL;
	const Expr *result = expr_op(run->ctx, (ExprOp)e->op, args);
	int64_t is_true;
	if (result->type != DT_BOOL)
		return result;
	return expr_as_i64(result, &is_true) ? dim_const(run->ctx, is_true != 0) : NULL;
}

static const Dim *
run_op(Run *run, const Point *point, const Expr *e)
{
	const Dim *args[3];
	if (e->argc < 1 || e->argc > 3 || !scalar_info((ExprOp)e->op))
		return NULL;
	DType type = (DType)e->arg[0]->type;
	if (!dtype_is_float(type) && !is_known_type(type))
		return NULL;
	for (int i = 0; i < e->argc; i++)
		if (!(args[i] = run_expr(run, point, e->arg[i])))
			return NULL;
	if (dtype_is_float(type))
		return run_float(run, e, args);
	return held((DType)e->type, run_integer(run, (ExprOp)e->op, args));
}

/* The value of a scalar at a point, or NULL. Integers and booleans are dims. */
static const Dim *
run_expr(Run *run, const Point *point, const Expr *e)
{
	if (--run->steps < 0)
		return NULL;
	switch ((ExprOp)e->op) {
	case EX_const:
		return is_known_type((DType)e->type)
		           ? held((DType)e->type, dim_const(run->ctx, e->value.i64))
		           : e;
	case EX_symbol:
		return e;
	case EX_iter:
		return dim_const(run->ctx, point->at[e->iter]);
	case EX_read:
		return run_read(run, point, e);
	case EX_at:
		return run_at(run, point, e);
	case EX_cast:
		return run_cast(run, point, e);
	case EX_select:
	case EX_and:
	case EX_or:
		return run_lazy(run, point, e);
	default:
		return run_op(run, point, e);
	}
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Step the reduction's iterators; false after the last point. */
static bool
step(const Stage *stage, int64_t *at, const int64_t *lo, const int64_t *hi)
{
	for (int i = stage->nloop + stage->nreduce - 1; i >= stage->nloop; i--) {
		if (++at[i] < hi[i])
			return true;
		at[i] = lo[i];
	}
	return false;
}

static const Dim *
run_reduce(Run *run, const Stage *stage, int64_t *at)
{
	int64_t lo[2 * ARRAY_MAX_RANK], hi[2 * ARRAY_MAX_RANK];
	const Dim *result = NULL;
	bool is_empty = false;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
		if (!dim_is_const(stage->iters[i].lo, &lo[i]) || !dim_is_const(stage->iters[i].hi, &hi[i]))
			return NULL;
		at[i] = lo[i];
		is_empty |= lo[i] >= hi[i];
	}
	Point point = {stage, at};
	ExprOp join = reduce_fold(stage->reduce);
	while (!is_empty) {
		int64_t is_kept = 1;
		if (stage->guard && !run_index(run, &point, stage->guard, &is_kept))
			return NULL;
		const Dim *term = is_kept ? run_expr(run, &point, stage->body[0]) : NULL;
		if (is_kept && !term)
			return NULL;
		if (term)
			result = result
			             ? held(stage->acc, dim_op(run->ctx, join, (const Dim *[]){result, term}))
			             : term;
		if (term && !result)
			return NULL;
		is_empty = !step(stage, at, lo, hi);
	}
	if (result)
		return result;
	const Expr *identity = reduce_identity(run->ctx, stage->reduce, 0, stage->acc);
	return run_expr(run, &point, identity);
}

static const Dim *
run_stage(Run *run, const Stage *stage, const int64_t *index)
{
	int64_t at[2 * ARRAY_MAX_RANK];
	if (stage->nloop + stage->nreduce > 2 * ARRAY_MAX_RANK || stage->scan)
		return NULL;
	memcpy(at, index, (size_t)stage->nloop * sizeof *at);
	if (stage->kind == STAGE_map)
		return run_expr(run, &(Point){stage, at}, stage->body[0]);
	if (stage->kind == STAGE_reduce && stage->nresult == 1 && is_known_type(stage->acc))
		return run_reduce(run, stage, at);
	return NULL;
}

/* The place of an element among all, in row-major order; -1 when it has none. */
static int64_t
element_place(const Tensor *tensor, const int64_t *index)
{
	int64_t place = 0, extent;
	for (int i = 0; i < tensor->rank; i++) {
		if (!dim_is_const(tensor->hi[i], &extent) || index[i] < 0 || index[i] >= extent)
			return -1;
		place = place * extent + index[i];
	}
	return place;
}

static const Dim *
run_input(Run *run, const Tensor *tensor, const int64_t *index)
{
	for (int i = 0; i < run->program->ninput; i++) {
		if (run->program->inputs[i] != tensor)
			continue;
		const Known *known = value_known(run->graph, run->inputs[i]);
		int64_t at = known ? element_place(tensor, index) : -1;
		return at >= 0 && at < known->count ? known->value[at] : NULL;
	}
	return NULL;
}

static const Dim *
run_tensor(Run *run, const Tensor *tensor, const int64_t *index)
{
	if (known_most(tensor->type) < 0 || run->depth >= MAX_DEPTH)
		return NULL;
	run->depth++;
	const Dim *result =
		tensor->stage ? run_stage(run, tensor->stage, index) : run_input(run, tensor, index);
	run->depth--;
	return result;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Elements of a value that may be known, and its extents; -1 when they are too many or open. */
static int64_t
known_count(const Value *value, int64_t *extents)
{
	const Type *type = &value->type;
	int64_t count = 1, most = type->kind == TYPE_TENSOR ? known_most(type->dtype) : -1;
	if (type->rank < 0 || most < 0)
		return -1;
	for (int i = 0; i < type->rank; i++)
		if (!dim_is_const(type->dims[i], &extents[i]) || extents[i] > most ||
		    (count *= extents[i]) > most)
			return -1;
	return count;
}

static void
next_element(int64_t *index, int rank, const int64_t *extents)
{
	for (int d = rank - 1; d >= 0; d--) {
		if (++index[d] < extents[d])
			return;
		index[d] = 0;
	}
}

static void
find_output(Run *run, Value *value, const Tensor *tensor)
{
	int64_t extents[ARRAY_MAX_RANK], index[ARRAY_MAX_RANK] = {0};
	int64_t count = known_count(value, extents);
	if (count < 0 || value->known)
		return;
	Arena *arena = run->graph->arena;
	const Dim **dims = NEW_N(ctx_scratch(run->ctx), const Dim *, count);
	bool is_any = count == 0;
	for (int64_t i = 0; i < count; i++, next_element(index, value->type.rank, extents)) {
		dims[i] = graph_short_dim(run->graph, run_tensor(run, tensor, index));
		is_any |= dims[i] != NULL;
		if (!dims[i] && !is_any && i >= 8)
			return; /* nothing known so far: not worth the rest */
	}
	if (!is_any)
		return;
	Known *known = NEW(arena, Known);
	*known = (Known){(int)count, arena_memdup(arena, dims, (size_t)count * sizeof *dims)};
	value->known = known;
}

typedef struct Job {
	Graph *graph;
	Node *node;
} Job;

static void
find_outputs(void *arg)
{
	const Job *job = arg;
	const Node *node = job->node;
	const Program *program = node_meaning(job->graph, node);
	Value **inputs = NEW_N(ctx_scratch(job->graph->ctx), Value *, node->ninput);
	node_meaning_inputs(node, inputs);
	for (int i = 0; i < node->noutput; i++) {
		Run run = {job->graph, job->graph->ctx, program, inputs, MAX_STEPS, 0};
		if (node->outputs[i] && program->outputs[i])
			find_output(&run, node->outputs[i], program->outputs[i]);
	}
}

/* Whether running the node can tell anything: an output that may be known. (Even where no input's
 * elements are known: Shape needs none.) */
static bool
is_worth_running(const Node *node)
{
	bool is_wanted = false;
	int64_t extents[ARRAY_MAX_RANK];
	for (int i = 0; i < node->noutput; i++)
		is_wanted |= node->outputs[i] && !node->outputs[i]->known &&
		             known_count(node->outputs[i], extents) >= 0;
	return is_wanted && node_has_meaning(node);
}

void
node_find_known(Graph *graph, Node *node)
{
	if (node->op->meaning == MEANING_CONTROL || !is_worth_running(node))
		return;
	Job job = {graph, node};
	Failure failure;
	Arena *scratch = ctx_scratch(graph->ctx);
	ArenaMark mark = arena_mark(scratch);
	bool is_found = try_run(find_outputs, &job, &failure);
	arena_release(scratch, mark);
	if (!is_found && failure.kind != FAIL_INVALID && failure.kind != FAIL_UNSUPPORTED)
		fail_again(&failure); /* a dim that overflows is merely not known */
}
