/* Expectations: points, their values by the meaning of a node, and the verdict. */
#include "prove/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "expr/scalar/ctx.h"

enum { POINTS = 64, CORNER_DIMS = 4 };

/* ---- points ---- */

static int
order_positions(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Point `number`: the corners of the first dims that have two, then a side here and there, then
 * anywhere. */
static int64_t
place_of(uint64_t seed, int number, int rank, const int64_t *dims)
{
	int64_t at = 0;
	int corner = 0;
	for (int d = 0; d < rank; d++) {
		uint64_t random = hash_mix(hash_mix(seed, (uint64_t)number), (uint64_t)d);
		int64_t here = (int64_t)(random % (uint64_t)dims[d]);
		bool is_corner = number < 1 << CORNER_DIMS, is_side = number < POINTS / 2 && random >> 62;
		if (is_corner && dims[d] > 1)
			here = number >> (corner++ % CORNER_DIMS) & 1 ? dims[d] - 1 : 0;
		else if (is_side)
			here = random >> 62 == 1 ? 0 : random >> 62 == 2 ? dims[d] - 1 : here;
		at = at * dims[d] + here;
	}
	return at;
}

/* In order, none twice; how many there are. */
static int64_t
sort_apart(int64_t at[POINTS])
{
	int64_t count = 0;
	qsort(at, POINTS, sizeof *at, order_positions);
	for (int i = 0; i < POINTS; i++)
		if (count == 0 || at[count - 1] != at[i])
			at[count++] = at[i];
	return count;
}

PointSet *
points_choose(Arena *arena, uint64_t seed, int rank, const int64_t *dims)
{
	PointSet *set = NEW(arena, PointSet);
	int64_t count = dims_count(rank, dims), *at = NEW_N(arena, int64_t, POINTS);
	set->at = at;
	if (count <= POINTS) {
		for (int64_t i = 0; i < count; i++)
			at[i] = i;
		set->count = count;
		return set;
	}
	for (int i = 0; i < POINTS; i++)
		at[i] = place_of(seed, i, rank, dims);
	set->count = sort_apart(at);
	return set;
}

PointSet *
points_of(Arena *arena, uint64_t seed, int64_t count, const int64_t *elements)
{
	PointSet *set = NEW(arena, PointSet);
	int64_t *at = NEW_N(arena, int64_t, POINTS);
	for (int i = 0; i < POINTS; i++) {
		uint64_t any = hash_mix(seed, (uint64_t)i) % (uint64_t)count;
		at[i] = elements[i == 0 ? 0 : i == 1 ? count - 1 : (int64_t)any];
	}
	set->at = at;
	set->count = sort_apart(at);
	return set;
}

/* The set's values from those of a whole tensor (`at` NULL: from a vector of just these). */
static PointSet *
take_bounds(Arena *arena, PointSet *set, const BoundArray *from, const int64_t *at)
{
	size_t count = (size_t)set->count + 1;
	set->type = from->type;
	set->value = from->value ? NEW_N(arena, double, count) : NULL;
	set->bound = from->value ? NEW_N(arena, double, count) : NULL;
	set->integer = from->value ? NULL : NEW_N(arena, int64_t, count);
	set->undecided = from->value ? NULL : NEW_N(arena, uint8_t, count);
	for (int64_t i = 0; i < set->count; i++) {
		int64_t k = at ? at[i] : i;
		if (from->value) {
			set->value[i] = from->value[k];
			set->bound[i] = from->bound ? from->bound[k] : 0;
		} else {
			set->integer[i] = from->integer[k];
			set->undecided[i] = from->undecided && from->undecided[k];
		}
	}
	set->deviation = set->bound;
	return set;
}

/* Expectations without an error: elements as they are. */
PointSet *
expect_array(Arena *arena, const Array *array, uint64_t seed)
{
	PointSet *set = points_choose(arena, seed, array->rank, array->dims);
	Array *picked = array_new(arena, array->type, 1, &set->count);
	size_t size = element_bytes(array->type);
	for (int64_t i = 0; i < set->count; i++)
		if (size)
			memcpy((char *)picked->data + (size_t)i * size,
			       (const char *)array->data + (size_t)set->at[i] * size, size);
		else
			dtype_store_i64(array->type, picked->data, i,
			                dtype_load_i64(array->type, array->data, set->at[i]));
	return take_bounds(arena, set, bound_from_array(arena, picked), NULL);
}

/* ---- symbols and inputs ---- */

Binding
expect_binding(Arena *arena, const Graph *graph, const Frame *frame)
{
	int count = graph->ctx->symbol_list.count;
	int64_t *value = NEW_N(arena, int64_t, count + 1);
	bool *is_bound = NEW_N(arena, bool, count + 1);
	for (int i = 0; i < frame->plan->nsymbol; i++) {
		const Symbol *symbol = symbol_get(graph->ctx, frame->plan->symbols[i].name);
		if (symbol->id >= count || frame->symbols[i] == PLAN_UNBOUND)
			continue;
		value[symbol->id] = frame->symbols[i];
		is_bound[symbol->id] = true;
	}
	return (Binding){count, value, is_bound};
}

/* The array a value is now. */
static bool
array_of(Arena *arena, const PlanFacts *facts, const Frame *frame, const Value *value, Array *out)
{
	const Claim *claim = facts_claim(facts, value);
	Held held;
	const Array *fixed = value_fixed(value);
	if (fixed)
		*out = *fixed;
	if (fixed)
		return true;
	if (!claim || claim->done == NEVER || !held_of(arena, frame, claim->buffer, &held))
		return false;
	int64_t *dims = arena_memdup(arena, held.dims, (size_t)held.rank * sizeof *dims);
	*out = (Array){held.type, held.rank, dims, (void *)(uintptr_t)held_dense(arena, &held)};
	return true;
}

/* ---- nodes with a meaning ---- */

typedef struct Job {
	Arena *arena, *scratch; /* results; what goes at once */
	const Graph *graph;
	const PlanFacts *facts;
	const NodeFacts *node;
	const Frame *frame;
	uint64_t seed;
	PointSet *const *points; /* per result, NULL: to be chosen */
	Expected *expected;
} Job;

/* NULL: it is not read, and its size not known yet. */
static const PointInput *
input_of(Job *job, const Binding *binding, int index)
{
	const Tensor *tensor = job->node->program->inputs[index];
	PointInput *input = NEW(job->scratch, PointInput);
	const Value *value = job->node->inputs[index];
	const Claim *claim = facts_claim(job->facts, value);
	Held *held = NEW(job->scratch, Held);
	Array array;
	if (!value_fixed(value) && claim && claim->done != NEVER &&
	    held_of(job->scratch, job->frame, claim->buffer, held) && held->block_dim < 0) {
		*input = (PointInput){held->type, held->rank, held->dims, held->strides, held->data};
		return input;
	}
	if (array_of(job->scratch, job->facts, job->frame, value, &array)) {
		*input = (PointInput){array.type, array.rank, array.dims, NULL, array.data};
		return input;
	}
	int64_t *dims = NEW_N(job->scratch, int64_t, tensor->rank + 1);
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_eval(tensor->hi[d], binding, &dims[d]))
			return NULL;
	*input = (PointInput){.type = tensor->type, .rank = tensor->rank, .dims = dims};
	return input;
}

static void
ask(Job *job, const Binding *binding, int output)
{
	const Tensor *tensor = job->node->program->outputs[output];
	const Value *value = job->node->node->outputs[output];
	if (!tensor || !value || !facts_claim(job->facts, value))
		return;
	int64_t *dims = NEW_N(job->scratch, int64_t, tensor->rank + 1);
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_eval(tensor->hi[d], binding, &dims[d]))
			fail(NULL, "a size is not known before it runs");
	PointSet *given = job->points ? job->points[output] : NULL;
	job->expected->outputs[output] =
		given ? given : points_choose(job->arena, job->seed, tensor->rank, dims);
}

static void
evaluate_points(Job *job)
{
	const Program *program = job->node->program;
	Binding binding = expect_binding(job->scratch, job->graph, job->frame);
	const PointInput **inputs = NEW_N(job->scratch, const PointInput *, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++)
		inputs[i] = input_of(job, &binding, i);
	for (int i = 0; i < program->noutput; i++)
		ask(job, &binding, i);
	const PointWay way = {.joins_sums = job->node->is_vendor, .keeps_halves = job->node->is_vendor};
	PointResult result = program_eval_points(job->arena, program, &binding, inputs,
	                                         job->expected->outputs, POINT_OPERATIONS, way);
	if (!result.is_done)
		job->expected->reason = result.reason;
}

/* ---- If, Loop, Scan ---- */

/* Operations and bytes of nested plans, once. */
static double
work_of(const PlanStep *step)
{
	double work = 0;
	for (int k = 0; k < step->nbody; k++)
		for (int s = 0; s < step->bodies[k]->nstep; s++) {
			const PlanStep *inner = &step->bodies[k]->steps[s];
			work += inner->flops + inner->bytes + 100 + work_of(inner);
		}
	return work;
}

enum { SOME_TRIPS = 100 };

/* A Scan takes a row of what it scans each time: its last input is one. */
static double
scan_trips(Job *job, const Node *node)
{
	Array rows;
	int64_t count;
	const int64_t *axes = attr_ints(node, "scan_input_axes", &count);
	int64_t axis = count > 0 ? axes[count - 1] : 0;
	if (!array_of(job->scratch, job->facts, job->frame, node->inputs[node->ninput - 1], &rows))
		return SOME_TRIPS;
	return (double)rows.dims[axis < 0 ? axis + rows.rank : axis];
}

/* How often a body runs at most; a loop that only its condition ends, some times. */
static double
trips_of(Job *job, const PlanStep *step)
{
	const Node *node = job->node->node;
	Array array;
	const Value *first = node->ninput > 0 ? node->inputs[0] : NULL;
	if (step->kind == PT_IF)
		return 1;
	if (step->kind == PT_SCAN)
		return scan_trips(job, node);
	if (step->kind == PT_LOOP && first &&
	    array_of(job->scratch, job->facts, job->frame, first, &array) && array.type == DT_I64)
		return (double)((const int64_t *)array.data)[0];
	return SOME_TRIPS;
}

/* What sizes say of a value is stored nowhere; NULL: they do not say all of it. */
static const Array *
array_of_sizes(Job *job, const Value *value, const Binding *sizes)
{
	const Type *type = &value->type;
	int64_t dims[ARRAY_MAX_RANK], element;
	int count = value->known && dtype_is_integer(type->dtype) ? value->known->count : -1;
	for (int d = 0; d < type->rank; d++)
		if (!dim_eval(type->dims[d], sizes, &dims[d]))
			return NULL;
	if (count < 0 || dims_count(type->rank, dims) != count)
		return NULL;
	Array *array = array_new(job->scratch, type->dtype, type->rank, dims);
	for (int i = 0; i < count; i++) {
		if (!value->known->value[i] || !dim_eval(value->known->value[i], sizes, &element))
			return NULL;
		dtype_store_i64(type->dtype, array->data, i, element);
	}
	return array;
}

static void
give_value(Job *job, Eval *eval, const Value *value, const Binding *sizes)
{
	Array array;
	const Array *given = NULL;
	if (!value || value_fixed(value))
		return;
	if (array_of(job->scratch, job->facts, job->frame, value, &array))
		given = arena_memdup(job->scratch, &array, sizeof array);
	else
		given = array_of_sizes(job, value, sizes);
	if (given)
		eval_give(eval, value, given);
}

static void
take_points(Job *job, int output, const BoundArray *whole)
{
	PointSet *set = points_choose(job->arena, job->seed, whole->rank, whole->dims);
	job->expected->outputs[output] = take_bounds(job->arena, set, whole, set->at);
}

/* The whole node by the interpreter, where that is cheap. */
static void
interpret_control(Job *job)
{
	const Node *node = job->node->node;
	const PlanStep *step = facts_step_of(job->facts, node);
	if (!step || work_of(step) * trips_of(job, step) > CONTROL_OPERATIONS) {
		job->expected->reason = "a loop or branch too long to be interpreted: its body is proved";
		job->expected->is_long = true;
		return;
	}
	Binding binding = expect_binding(job->scratch, job->graph, job->frame);
	Eval *eval = eval_new(job->scratch, job->graph, EVAL_bound);
	eval_keep_all(eval);
	for (int i = 0; i < job->graph->symbols.count; i++) {
		const Symbol *symbol = job->graph->symbols.data[i].symbol;
		if (symbol->id < binding.count && binding.is_bound[symbol->id])
			eval_give_symbol(eval, symbol, binding.value[symbol->id]);
	}
	for (int i = 0; i < node->ninput; i++)
		give_value(job, eval, node->inputs[i], &binding);
	for (int r = 0; r < node->nregion; r++)
		for (int i = 0; i < node->regions[r]->captures.count; i++)
			give_value(job, eval, node->regions[r]->captures.data[i], &binding);
	eval_nodes(eval, 1, &node);
	for (int i = 0; i < node->noutput; i++) {
		const Value *value = node->outputs[i];
		const BoundArray *whole = value ? eval_bounds(eval, value) : NULL;
		if (whole && facts_claim(job->facts, value))
			take_points(job, i, whole);
	}
}

/* ---- host operators ---- */

/* The results live as long as the expectations: their texts, and of other types the shape. */
static const Array *
keep_whole(Arena *arena, const Array *array)
{
	if (array->type != DT_STRING) {
		Array *shape = arena_memdup(arena, array, sizeof *shape);
		shape->dims = arena_memdup(arena, array->dims, (size_t)array->rank * sizeof *array->dims);
		shape->data = NULL;
		return shape;
	}
	Array *texts = array_new(arena, DT_STRING, array->rank, array->dims);
	for (int64_t i = 0; i < array_count(array); i++)
		((const char **)texts->data)[i] = arena_strdup(arena, ((const char **)array->data)[i]);
	return texts;
}

/* What the operator's function makes of the same operands: the plan gave it others, or kept its
 * results badly, where that differs. */
static void
call_host(Job *job)
{
	const Node *node = job->node->node;
	Binding binding = expect_binding(job->scratch, job->graph, job->frame);
	Eval *eval = eval_new(job->scratch, job->graph, EVAL_exact);
	eval_keep_all(eval);
	for (int i = 0; i < node->ninput; i++)
		give_value(job, eval, node->inputs[i], &binding);
	eval_nodes(eval, 1, &node);
	job->expected->whole = NEW_N(job->arena, const Array *, node->noutput + 1);
	for (int i = 0; i < node->noutput; i++) {
		const Value *value = node->outputs[i];
		const Array *made = value ? eval_array(eval, value) : NULL;
		if (!made || !facts_claim(job->facts, value))
			continue;
		job->expected->whole[i] = keep_whole(job->arena, made);
		if (made->type != DT_STRING)
			job->expected->outputs[i] = expect_array(job->arena, made, job->seed);
	}
}

static void
evaluate(void *arg)
{
	Job *job = arg;
	if (job->node->program)
		evaluate_points(job);
	else if (job->node->node->nregion > 0)
		interpret_control(job);
	else
		call_host(job);
}

Expected *
expect_node(Arena *arena, const Graph *graph, const PlanFacts *facts, const NodeFacts *node,
            const Frame *frame, uint64_t seed, PointSet *const *points)
{
	Failure failure;
	Expected *expected = NEW(arena, Expected);
	Job job = {arena, arena_new("points"), graph, facts, node, frame, seed, points, expected};
	expected->outputs = NEW_N(arena, PointSet *, node->node->noutput + 1);
	expected->reason = node->reason;
	if (!node->reason && !try_run(evaluate, &job, &failure))
		expected->reason = arena_strdup(arena, failure.text);
	arena_free(job.scratch);
	return expected;
}

/* ---- the verdict ---- */

static void
put_index(Buf *buf, int rank, const int64_t *dims, int64_t flat)
{
	int64_t index[PLAN_MAX_RANK];
	for (int d = rank - 1; d >= 0; d--) {
		index[d] = flat % dims[d];
		flat /= dims[d];
	}
	buf_putc(buf, '[');
	for (int d = 0; d < rank; d++)
		buf_printf(buf, "%s%lld", d ? "," : "", (long long)index[d]);
	buf_putc(buf, ']');
}

const char *
expect_judge(Arena *arena, const PointSet *expected, const Held *held, Agreement *out)
{
	PointInput seen = {held->type, held->rank, held->dims, held->strides, held->data};
	if (held->block_dim >= 0 || held->is_dense) {
		seen.data = held_dense(arena, held);
		seen.strides = NULL;
	}
	Agreement a = *out = points_compare(expected, &seen, 1);
	Buf buf = {.arena = arena};
	if (a.wrong > 0) {
		buf_puts(&buf, "element ");
		put_index(&buf, held->rank, held->dims, a.first_wrong);
		buf_printf(&buf, " is %.9g, and %.9g within %.3g is meant; %lld of %lld points are wrong",
		           a.seen, a.expected, a.bound, (long long)a.wrong, (long long)a.points);
		return buf_text(&buf);
	}
	if (a.spread <= POINTS_SPREAD)
		return NULL;
	buf_printf(&buf,
	           "each of %lld points is within its bound, but together they are %.1f times as far "
	           "off as roundings take them",
	           (long long)a.points, a.spread);
	return buf_text(&buf);
}

const char *
expect_whole(Arena *arena, const Array *expected, const Held *held)
{
	bool is_shape = expected->rank == held->rank;
	for (int d = 0; is_shape && d < held->rank; d++)
		is_shape = expected->dims[d] == held->dims[d];
	if (!is_shape)
		return arena_printf(arena, "its shape is not that which the operator's function gives it");
	if (expected->type != DT_STRING)
		return NULL;
	const char *const *seen = (const char *const *)held_dense(arena, held);
	const char *const *meant = expected->data;
	for (int64_t i = 0; i < array_count(expected); i++)
		if (strcmp(seen[i] ? seen[i] : "", meant[i] ? meant[i] : "") != 0)
			return arena_printf(arena, "text %lld is '%.40s', and '%.40s' is meant", (long long)i,
			                    seen[i] ? seen[i] : "", meant[i] ? meant[i] : "");
	return NULL;
}
