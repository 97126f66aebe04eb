/* Random small programs: the interpreter against a slow evaluator that walks the definition point
 * by point, bit by bit; and the bound mode against the exact results, which must lie within, and
 * against the point evaluator.
 */
#include <stdio.h>
#include <string.h>

#include "array_access.h"
#include "expr/stage/build.h"
#include "points_check.h"
#include "random_number.h"

typedef struct Maker {
	Arena *arena;
	ExprCtx *ctx;
	uint64_t state;
	Tensor *inputs[8];
	Array *data[8];
	int ninput;
	StageBuilder *stage;
	int niter;     /* of the stage so far */
	int extent[8]; /* of its iterators */
	bool reduces;
	const Tensor *more[4]; /* results of earlier stages */
	int nmore;
} Maker;

static unsigned
pick(Maker *k, unsigned count)
{
	return random_below(&k->state, count);
}

static const DType types[] = {DT_F32, DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16,
                              DT_I32, DT_I64, DT_U8,  DT_I8,  DT_U32, DT_BOOL};

static int64_t
const_dim(const Dim *dim)
{
	int64_t value = -1;
	ck_assert(dim_is_const(dim, &value));
	return value;
}

/* ---- the slow evaluator ---------------------------------------------------------------------- */

typedef struct Slow {
	Map arrays; /* Tensor to Array */
	ExprCtx *ctx;
	const int64_t *iters;
} Slow;

static Scalar slow(Slow *s, const Expr *e);

static Scalar
slow_read(Slow *s, const Expr *e)
{
	const Array *array = map_find_ptr(&s->arrays, e->tensor);
	int64_t at = 0;
	for (int d = 0; d < array->rank; d++) {
		int64_t index = slow(s, e->arg[d]).i64;
		ck_assert_msg(index >= 0 && index < array->dims[d], "a read that must not happen");
		at = at * array->dims[d] + index;
	}
	return array_load(array, at);
}

static Scalar
slow(Slow *s, const Expr *e)
{
	Scalar args[3];
	switch (e->op) {
	case EX_const:
		return e->value;
	case EX_iter:
		return (Scalar){.i64 = s->iters[e->iter]};
	case EX_read:
		return slow_read(s, e);
	case EX_at: {
		int64_t index = slow(s, e->arg[0]).i64, extent = const_dim(e->arg[1]);
		if (e->flags & AT_WRAP && index < 0)
			index += extent;
		return (Scalar){.i64 = index < 0 ? 0 : index >= extent ? extent - 1 : index};
	}
	case EX_cast:
		return scalar_cast(e->type, e->flags, e->arg[0]->type, slow(s, e->arg[0]));
	case EX_select:
		return slow(s, e->arg[slow(s, e->arg[0]).u64 ? 1 : 2]);
	case EX_and:
		return slow(s, e->arg[0]).u64 ? slow(s, e->arg[1]) : (Scalar){.u64 = 0};
	case EX_or:
		return slow(s, e->arg[0]).u64 ? (Scalar){.u64 = 1} : slow(s, e->arg[1]);
	default:
		break;
	}
	for (int i = 0; i < e->argc; i++)
		args[i] = slow(s, e->arg[i]);
	return scalar_eval(e->op, e->type, args, e->arg[0]->type);
}

/* Step through a box in row-major order; false after the last point. */
static bool
next_point(int64_t *iters, const Iter *box, int first, int last)
{
	for (int i = last - 1; i >= first; i--) {
		if (++iters[i] < const_dim(box[i].hi))
			return true;
		iters[i] = 0;
	}
	return false;
}

static void
slow_reduce(Slow *s, const Stage *stage, int64_t *iters, Scalar *out)
{
	const Expr *acc[8], *term[8], *next[8];
	int count = stage->nbody;
	for (int k = 0; k < count; k++)
		acc[k] = reduce_identity(s->ctx, stage->reduce, k, k ? stage->body[k]->type : stage->acc);
	bool is_empty = false;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
		iters[i] = 0;
		is_empty |= const_dim(stage->iters[i].hi) == 0;
	}
	if (!is_empty)
		do {
			if (stage->guard && !slow(s, stage->guard).u64)
				continue;
			for (int k = 0; k < count; k++) {
				Scalar value = slow(s, stage->body[k]);
				DType type = acc[k]->type;
				term[k] =
					expr_const(s->ctx, type, scalar_cast(type, 0, stage->body[k]->type, value));
			}
			reduce_combine(s->ctx, stage->reduce, count, acc, term, next);
			memcpy(acc, next, sizeof acc);
		} while (next_point(iters, stage->iters, stage->nloop, stage->nloop + stage->nreduce));
	for (int k = 0; k < count; k++) {
		ck_assert(expr_is_const(acc[k]));
		out[k] = scalar_cast(stage->results[k]->type, 0, acc[k]->type, acc[k]->value);
	}
}

static void
slow_stage(Slow *s, Arena *arena, const Stage *stage)
{
	int64_t iters[16] = {0}, dims[8];
	s->iters = iters;
	Array *arrays[8];
	for (int d = 0; d < stage->nloop; d++)
		dims[d] = const_dim(stage->iters[d].hi);
	for (int k = 0; k < stage->nresult; k++) {
		arrays[k] = array_new(arena, stage->results[k]->type, stage->nloop, dims);
		map_set_ptr(&s->arrays, stage->results[k], arrays[k]);
	}
	if (array_count(arrays[0]) == 0)
		return;
	int64_t at = 0;
	do {
		Scalar values[8];
		if (stage->kind == STAGE_reduce)
			slow_reduce(s, stage, iters, values);
		else
			values[0] = slow(s, stage->body[0]);
		for (int k = 0; k < stage->nresult; k++)
			array_store(arrays[k], at, values[k]);
		at++;
	} while (next_point(iters, stage->iters, 0, stage->nloop));
}

static void
slow_scatter(Slow *s, Arena *arena, const Stage *stage)
{
	int64_t iters[16] = {0};
	s->iters = iters;
	const Array *init = map_find_ptr(&s->arrays, stage->init);
	Array *result = array_from(arena, init->type, init->rank, init->dims, init->data);
	map_set_ptr(&s->arrays, stage->results[0], result);
	do {
		int64_t at = 0;
		for (int d = 0; d < init->rank; d++)
			at = at * init->dims[d] + slow(s, stage->target[d]).i64;
		const Expr *value = expr_const(s->ctx, init->type, slow(s, stage->body[0]));
		if (stage->combine != SCATTER_SET) {
			const Expr *old = expr_const(s->ctx, init->type, array_load(result, at)), *sum;
			reduce_combine(s->ctx, (ReduceOp)stage->combine, 1, &old, &value, &sum);
			value = sum;
		}
		array_store(result, at, value->value);
	} while (next_point(iters, stage->iters, 0, stage->nloop));
}

/* One state, one step stage: forward or back along scan_axis. */
static void
slow_scan(Slow *s, Arena *arena, const Stage *stage)
{
	const Scan *scan = stage->scan;
	int64_t iters[16] = {0}, dims[8], prev_dims[8], steps = const_dim(scan->hi);
	int axis = stage->scan_axis, rank = 0;
	s->iters = iters;
	for (int d = 0; d < stage->nloop; d++) {
		dims[d] = const_dim(stage->iters[d].hi);
		if (d != axis)
			prev_dims[rank++] = dims[d];
	}
	Array *result = array_new(arena, stage->results[0]->type, stage->nloop, dims);
	Array *prev = array_new(arena, scan->prev[0]->type, rank, prev_dims);
	if (scan->init[0])
		memcpy(prev->data, ((Array *)map_find_ptr(&s->arrays, scan->init[0]))->data,
		       array_bytes(prev));
	map_set_ptr(&s->arrays, stage->results[0], result);
	map_set_ptr(&s->arrays, scan->prev[0], prev);
	for (int64_t t = 0; t < steps; t++) {
		int64_t where = scan->reverse ? steps - 1 - t : t;
		for (int pass = 0; pass < 2; pass++) {
			memset(iters, 0, sizeof iters);
			do {
				if (iters[axis] != where)
					continue;
				int64_t at = 0, slot = 0;
				for (int d = 0; d < stage->nloop; d++) {
					at = at * dims[d] + iters[d];
					slot = d == axis ? slot : slot * dims[d] + iters[d];
				}
				if (pass == 0)
					array_store(result, at, slow(s, stage->body[0]));
				else
					array_store(prev, slot, array_load(result, at));
			} while (next_point(iters, stage->iters, 0, stage->nloop));
		}
	}
}

/* ---- making programs ------------------------------------------------------------------------- */

static Scalar
random_value(Maker *k, DType type, int64_t below)
{
	static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30, 1e-30};
	if (dtype_is_float(type)) {
		double x = pick(k, 40) == 0 ? odd[pick(k, 7)] : (double)pick(k, 4001) / 500 - 4;
		return scalar_cast(type, 0, DT_F64, (Scalar){.f64 = x});
	}
	int64_t x =
		below ? (int64_t)pick(k, (unsigned)(2 * below)) - below : (int64_t)pick(k, 300) - 150;
	return scalar_cast(type, 0, DT_I64, (Scalar){.i64 = x});
}

static void
add_input(Maker *k, DType type, int rank, const int64_t *dims, int64_t below)
{
	const Dim *extents[8];
	char name[8];
	snprintf(name, sizeof name, "X%d", k->ninput);
	for (int d = 0; d < rank; d++)
		extents[d] = dim_const(k->ctx, dims[d]);
	Array *array = array_new(k->arena, type, rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		array_store(array, i, random_value(k, type, below));
	k->inputs[k->ninput] = tensor_new(k->ctx, name, type, rank, extents);
	k->data[k->ninput++] = array;
}

static const Expr *make(Maker *k, DType type, int depth);

static const Expr *
make_index(Maker *k)
{
	ExprCtx *ctx = k->ctx;
	if (k->niter == 0)
		return expr_i64(ctx, pick(k, 3));
	const Expr *i = stage_iter(k->stage, (int)pick(k, (unsigned)k->niter));
	const Expr *j = stage_iter(k->stage, (int)pick(k, (unsigned)k->niter));
	switch (pick(k, 8)) {
	case 0:
		return expr_add(ctx, expr_mul(ctx, i, expr_i64(ctx, 2)),
		                expr_sub(ctx, j, expr_i64(ctx, 1)));
	case 1:
		return expr_floordiv(ctx, expr_add(ctx, i, j), expr_i64(ctx, 2));
	case 2:
		return expr_floormod(ctx, expr_sub(ctx, i, j), expr_i64(ctx, 3));
	case 3:
		return expr_sub(ctx, i, j);
	case 4:
		return expr_i64(ctx, (int64_t)pick(k, 4) - 1);
	case 5:
		return expr_sub(ctx, expr_i64(ctx, 5), i);
	default:
		return i;
	}
}

static const Expr *
make_read(Maker *k, DType type)
{
	const Tensor *found[16];
	unsigned count = 0;
	for (int i = 1; i < k->ninput; i++)
		if (k->inputs[i]->type == type)
			found[count++] = k->inputs[i];
	for (int i = 0; i < k->nmore; i++)
		if (k->more[i]->type == type)
			found[count++] = k->more[i];
	if (count == 0)
		return expr_const(k->ctx, type, random_value(k, type, 0));
	const Tensor *tensor = found[pick(k, count)];
	const Expr *index[8];
	for (int d = 0; d < tensor->rank; d++) {
		index[d] = make_index(k);
		if (pick(k, 6) > 0)
			continue;
		const Expr *where = expr_floormod(k->ctx, make_index(k), expr_i64(k->ctx, 9));
		const Expr *indirect = stage_read_or(k->stage, k->inputs[0], &where, expr_i64(k->ctx, -1));
		index[d] = expr_at(k->ctx, indirect, tensor->hi[d], pick(k, 2) ? AT_WRAP : 0);
	}
	if (k->reduces && pick(k, 2))
		return stage_read(k->stage, tensor, index);
	return stage_read_or(k->stage, tensor, index,
	                     expr_const(k->ctx, type, random_value(k, type, 0)));
}

static const Expr *
make_bool(Maker *k, int depth)
{
	ExprCtx *ctx = k->ctx;
	static const ExprOp compare[] = {EX_lt, EX_le, EX_gt, EX_ge, EX_eq, EX_ne};
	DType type = types[pick(k, countof(types) - 1)];
	switch (pick(k, 7)) {
	case 0:
		return expr_and(ctx, make_bool(k, depth - 1), make(k, DT_BOOL, depth - 1));
	case 1:
		return expr_or(ctx, make_bool(k, depth - 1), make(k, DT_BOOL, depth - 1));
	case 2:
		return expr_not(ctx, make(k, DT_BOOL, depth - 1));
	case 3:
		return expr_lt(ctx, make_index(k), make_index(k));
	case 4:
		return expr_isnan(ctx, make(k, DT_F32, depth - 1));
	default:
		return expr_op(ctx, compare[pick(k, 6)],
		               (const Expr *[]){make(k, type, depth - 1), make(k, type, depth - 1)});
	}
}

static const Expr *
make(Maker *k, DType type, int depth)
{
	ExprCtx *ctx = k->ctx;
	if (depth <= 0 || pick(k, 5) == 0)
		return make_read(k, type);
	unsigned what = pick(k, 10);
	if (what == 0)
		return expr_cast(ctx, type, make(k, types[pick(k, countof(types))], depth - 1));
	if (what == 1)
		return expr_select(ctx, make_bool(k, depth - 1), make(k, type, depth - 1),
		                   make(k, type, depth - 1));
	if (what == 2)
		return expr_cast(ctx, type, make_index(k));
	if (type == DT_BOOL)
		return make_bool(k, depth);
	for (;;) {
		ExprOp op = (ExprOp)pick(k, EX_COUNT);
		const ScalarInfo *row = scalar_info(op);
		if (!row || (row->rule != RULE_same && row->rule != RULE_float && row->rule != RULE_int))
			continue;
		if ((row->rule == RULE_float && !dtype_is_float(type)) ||
		    (row->rule == RULE_int && !dtype_is_integer(type)))
			continue;
		if (op == EX_fma && type != DT_F64 && type != DT_F32)
			continue;
		const Expr *args[3];
		for (int i = 0; i < row->arity; i++)
			args[i] = make(k, type, depth - 1);
		return expr_op(ctx, op, args);
	}
}

static void
open_stage(Maker *k, const char *name, int rank, bool reduces)
{
	static const int sizes[] = {1, 2, 3, 5, 7, 9, 20, 40};
	const Dim *dims[4];
	int shift = pick(k, 12) == 0 ? 0 : 3;
	for (int d = 0; d < rank; d++) {
		k->extent[d] = sizes[pick(k, rank > 2 ? 5 : 8)];
		if (pick(k, 30) == 0)
			k->extent[d] = shift ? 1 : 0;
		dims[d] = dim_const(k->ctx, k->extent[d]);
	}
	k->stage = stage_open(k->ctx, name, rank, dims);
	k->niter = rank;
	k->reduces = reduces;
	for (int r = reduces ? 1 + (int)pick(k, 2) : 0; r > 0; r--) {
		int extent = rank == 0 || pick(k, 8) == 0 ? (int)pick(k, 90) : 1 + (int)pick(k, 5);
		stage_over(k->stage, "r", dim_const(k->ctx, 0), dim_const(k->ctx, extent));
		k->niter++;
	}
}

static Tensor *
make_reduce(Maker *k, DType type)
{
	ReduceOp op = (ReduceOp)pick(k, REDUCE_COUNT);
	const ReduceInfo *row = reduce_info(op);
	if (row->states == 1)
		return stage_reduce(k->stage, op, type, make(k, type, 3));
	type = dtype_is_float(type) ? DT_F32 : type;
	Tensor *results[3];
	const Expr *bodies[3];
	DType result[3] = {type, type, type};
	if (row->states == 0) {
		bodies[0] = make(k, type, 2);
		bodies[1] = expr_cast(k->ctx, DT_I64, make_index(k));
		result[1] = DT_I64;
		stage_reduce_tuple(k->stage, op, 2, result, bodies, results);
		return results[pick(k, 2)];
	}
	const Expr *x = make(k, DT_F32, 2), *one = expr_number(k->ctx, DT_F32, 1);
	result[0] = result[1] = result[2] = DT_F32;
	bodies[0] = op == REDUCE_maxsumexp ? x : one;
	bodies[1] = op == REDUCE_maxsumexp ? one : x;
	bodies[2] = expr_number(k->ctx, DT_F32, 0);
	stage_reduce_tuple(k->stage, op, row->states, result, bodies, results);
	return results[pick(k, (unsigned)row->states)];
}

static Tensor *
make_scatter(Maker *k)
{
	/* a scatter of sums into an input */
	const Tensor *init = k->inputs[1 + pick(k, (unsigned)k->ninput - 1)];
	static const int combines[] = {SCATTER_SET, REDUCE_sum, REDUCE_max, REDUCE_prod};
	if (k->extent[0] == 0 || k->extent[1] == 0 || init->type == DT_BOOL)
		return NULL;
	const Expr *target[4];
	for (int d = 0; d < init->rank; d++)
		target[d] = expr_at(k->ctx, make_index(k), init->hi[d], AT_WRAP);
	return stage_scatter(k->stage, init, target, combines[pick(k, 4)], make(k, init->type, 2));
}

static Tensor *
make_scan(Maker *k, DType type)
{
	if (k->extent[0] == 0 || k->extent[1] == 0)
		return NULL;
	const Expr *prev = stage_prev(k->stage, (int)pick(k, 2), NULL, pick(k, 2), type);
	static const ExprOp ops[] = {EX_add, EX_max, EX_sub};
	ExprOp op = type == DT_BOOL ? EX_or : ops[pick(k, 3)];
	return stage_scan(k->stage, type,
	                  expr_op(k->ctx, op, (const Expr *[]){prev, make(k, type, 2)}));
}

static Tensor *
make_stage(Maker *k, const char *name)
{
	DType type = types[pick(k, countof(types))];
	unsigned kind = pick(k, 10);
	open_stage(k, name, kind < 2 ? 2 : (int)pick(k, 4), kind >= 6);
	if (kind == 0)
		return make_scatter(k);
	if (kind == 1)
		return make_scan(k, type);
	if (kind < 6)
		return stage_map(k->stage, type, make(k, type, 4));
	return make_reduce(k, type == DT_BOOL ? DT_I32 : type);
}

/* ---- the test -------------------------------------------------------------------------------- */

static void
setup(Maker *k, uint64_t seed)
{
	k->state = seed * 7919;
	k->arena = arena_new("test");
	k->ctx = expr_ctx_new(k->arena);
	add_input(k, DT_I64, 1, (int64_t[]){9}, 6);
	for (int i = 0; i < 4; i++) {
		int64_t dims[3];
		int rank = 1 + (int)pick(k, 3);
		for (int d = 0; d < rank; d++)
			dims[d] = 1 + pick(k, 12);
		add_input(k, types[pick(k, countof(types))], rank, dims, 0);
	}
}

/* Equal bits; NaNs are equal whatever their bits. */
static bool
is_same(const Array *a, const Array *b, int64_t *where)
{
	for (int64_t i = 0; i < array_count(a); i++) {
		double x = dtype_load_f64(a->type, a->data, i), y = dtype_load_f64(b->type, b->data, i);
		bool is_equal =
			dtype_is_float(a->type)
				? (x == y && signbit(x) == signbit(y)) || (isnan(x) && isnan(y))
				: dtype_load_i64(a->type, a->data, i) == dtype_load_i64(b->type, b->data, i);
		*where = i;
		if (!is_equal)
			return false;
	}
	return true;
}

/* Points of the output, some twice. */
static void
check_some_points(const Program *program, Maker *k, const BoundArray *bounds, const Array *seen,
                  int seed)
{
	const PointInput *inputs[8];
	int64_t at[40], size = array_count(seen);
	PointSet set = {.at = at};
	for (int i = 0; i < k->ninput; i++)
		inputs[i] = point_input(k->arena, k->data[i]);
	for (unsigned want = 1 + pick(k, 40); size && set.count < want; set.count++)
		at[set.count] = pick(k, (unsigned)size);
	const char *what = arena_printf(k->arena, "seed %d\n%s", seed, text_of(program));
	check_points(k->arena, program, inputs, &set, bounds, what);
	Agreement a = points_compare(&set, point_input(k->arena, seen), 1);
	ck_assert_msg(a.wrong == 0 && a.spread <= POINTS_SPREAD, "spread %g\n%s", a.spread, what);
}

static void
check_bounds(const Program *program, Maker *k, const Array *seen, int seed)
{
	const BoundArray *inputs[8];
	BoundArray *bounds;
	for (int i = 0; i < k->ninput; i++)
		inputs[i] = bound_from_array(k->arena, k->data[i]);
	program_eval_bound(k->arena, program, NULL, inputs, &bounds, (BoundWay){.sample = 0});
	Agreement a = bound_compare(bounds, seen, 1);
	ck_assert_msg(a.wrong == 0, "seed %d: point %lld: %.17g, bound mode says %.17g +- %g\n%s", seed,
	              (long long)a.first_wrong, a.seen, a.expected, a.bound, text_of(program));
	check_some_points(program, k, bounds, seen, seed);
}

static void
run_seed(int seed)
{
	Maker k = {.ninput = 0};
	setup(&k, (uint64_t)seed + 1);
	Tensor *last = NULL;
	for (int i = 0; i < 3; i++) {
		char name[16];
		snprintf(name, sizeof name, "S%d", i);
		Tensor *result = make_stage(&k, name);
		if (!result)
			continue;
		last = result;
		k.more[k.nmore++] = last;
	}
	if (!last) {
		arena_free(k.arena);
		return;
	}
	const Tensor *output = last;
	Program *program = program_new(k.ctx, "p", k.ninput, k.inputs, 1, &output);
	Slow s = {.ctx = k.ctx, .arrays = {.arena = k.arena}};
	for (int i = 0; i < k.ninput; i++)
		map_set_ptr(&s.arrays, k.inputs[i], k.data[i]);
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		if (stage->scan)
			slow_scan(&s, k.arena, stage);
		else if (stage->kind == STAGE_scatter)
			slow_scatter(&s, k.arena, stage);
		else
			slow_stage(&s, k.arena, stage);
	}
	Array *result;
	program_eval(k.arena, program, NULL, (const Array *const *)k.data, &result);
	const Array *want = map_find_ptr(&s.arrays, output);
	int64_t at = 0;
	ck_assert_int_eq(array_count(result), array_count(want));
	if (!is_same(result, want, &at))
		ck_abort_msg("seed %d: element %lld is %.17g, should be %.17g\n%s", seed, (long long)at,
		             dtype_load_f64(result->type, result->data, at),
		             dtype_load_f64(want->type, want->data, at), text_of(program));
	check_bounds(program, &k, result, seed);
	arena_free(k.arena);
}

enum { SEEDS_PER_TEST = 75 };

START_TEST(random_programs)
{
	for (int i = 0; i < SEEDS_PER_TEST; i++)
		run_seed(_i * SEEDS_PER_TEST + i);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("expr_interp_random");
	tcase_add_loop_test(tcase, random_programs, 0, 8);
	return unit_run(tcase);
}
