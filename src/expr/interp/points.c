/* Points of outputs: back through the program to see what they need, then forward to compute it.
 *
 *     back      from the last stage to the first: a stage's listing is complete when all its
 *               readers have been asked. Its machine runs over these points and collects what it
 *               reads of other stages (listed.h). A stage that reads only inputs need not.
 *     forward   each stage's machine computes its listed points.
 *
 * What the machines will do is counted on the way back, before any of it is done. A scan is taken
 * as a whole, step by step. A scatter makes all its updates, and keeps those somebody asks for.
 */
#include "expr/interp/points.h"

#include <string.h>

#include "expr/interp/listed.h"

typedef struct Walk {
	Arena *arena, *scratch; /* of results; of everything else */
	const Program *program;
	const Binding *binding;
	const PointInput *const *inputs;
	PointSet *const *outputs;
	double limit;
	PointWay way;
	PointResult result;

	Stores stores;
	Listing **listings; /* of each stage's results */
	Machine **machines; /* NULL: of no use to the points */
} Walk;

/* ---- tensors --------------------------------------------------------------------------------- */

static void
open_input(Walk *w, int k)
{
	const Tensor *tensor = w->program->inputs[k];
	const PointInput *input = w->inputs[k];
	if (!input)
		return;
	if (input->type != tensor->type)
		fail(NULL, "input %s of %s is %s, expected %s", tensor->name, w->program->name,
		     dtype_name(input->type), dtype_name(tensor->type));
	Store *store = stores_input(&w->stores, tensor, input->dims);
	store->type = input->type;
	store->data = (void *)(uintptr_t)input->data;
	if (!input->strides)
		return;
	store->stride = input->strides;
	store->least = store->most = 0;
	for (int d = 0; d < store->rank; d++) {
		int64_t last = (store->dims[d] - 1) * store->stride[d];
		store->least += last < 0 ? last : 0;
		store->most += last > 0 ? last : 0;
	}
}

static void
open_inputs(Walk *w)
{
	int count = w->program->ninput;
	const int64_t **dims = NEW_N(w->scratch, const int64_t *, count + 1);
	int *ranks = NEW_N(w->scratch, int, count + 1);
	for (int k = 0; k < count; k++) {
		dims[k] = w->inputs[k] ? w->inputs[k]->dims : NULL;
		ranks[k] = w->inputs[k] ? w->inputs[k]->rank : w->program->inputs[k]->rank;
	}
	stores_bind(&w->stores, w->program, w->binding, dims, ranks);
	for (int k = 0; k < count; k++)
		open_input(w, k);
}

static void
open_stages(Walk *w)
{
	const Program *program = w->program;
	w->listings = NEW_N(w->scratch, Listing *, program->nstage + 1);
	w->machines = NEW_N(w->scratch, Machine *, program->nstage + 1);
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		for (int k = 0; k < stage->nresult; k++) {
			if (!stage->results[k])
				continue;
			Store *store = stores_shape(&w->stores, stage->results[k]);
			if (!w->listings[i])
				w->listings[i] = listing_new(w->scratch, store->count);
			store->listing = w->listings[i];
		}
	}
}

/* All elements are wanted; of an input they are there. */
static void
want_all(const Walk *w, const Tensor *tensor)
{
	Store *store = tensor ? stores_get(&w->stores, tensor) : NULL;
	if (store && store->listing)
		listing_fill(store->listing);
}

static void
want_outputs(Walk *w)
{
	for (int k = 0; k < w->program->noutput; k++) {
		const PointSet *set = w->outputs[k];
		if (!set || !w->program->outputs[k])
			continue;
		const Store *store = stores_get(&w->stores, w->program->outputs[k]);
		for (int64_t i = 0; i < set->count; i++) {
			if (set->at[i] < 0 || set->at[i] >= store->count)
				fail_as(FAIL_BUG, NULL, "point %lld is not an element of %s", (long long)set->at[i],
				        w->program->outputs[k]->name);
			if (store->listing)
				listing_add(store->listing, set->at[i]);
		}
	}
}

/* ---- back ------------------------------------------------------------------------------------ */

static bool
is_within_limits(Walk *w, const Stage *stage)
{
	int64_t elements = 0;
	for (int i = 0; i < w->program->nstage; i++)
		if (w->listings[i])
			elements += w->listings[i]->is_full ? LISTING_MAX + 1 : listing_count(w->listings[i]);
	if (elements > LISTING_MAX)
		w->result.reason =
			arena_printf(w->arena, "its points need more than %d elements of inner tensors (at %s)",
		                 LISTING_MAX, stage->name);
	else if (w->result.operations > w->limit)
		w->result.reason = arena_printf(
			w->arena, "its points need %.3g operations or more (%.3g are allowed; counted to %s)",
			w->result.operations, w->limit, stage->name);
	return !w->result.reason;
}

/* Points a stage's machine runs over. */
static int64_t
points_of(const Walk *w, int i)
{
	const Stage *stage = w->program->stages[i];
	if (stage->kind != STAGE_scatter)
		return listing_count(w->listings[i]);
	int64_t count = 1;
	for (int k = 0; k < stage->nloop; k++) {
		const Iter *iter = &stage->iters[k];
		int64_t lo = 0, hi = 0;
		if (!dim_eval(iter->lo, &w->stores.binding, &lo) ||
		    !dim_eval(iter->hi, &w->stores.binding, &hi) ||
		    __builtin_mul_overflow(count, hi > lo ? hi - lo : 0, &count))
			fail(&stage->loc, "an extent of stage %s has no value", stage->name);
	}
	return count;
}

typedef struct ReadsInner {
	const Walk *walk;
	bool is_found;
} ReadsInner;

static void
note_inner(const Tensor *tensor, void *arg)
{
	ReadsInner *found = arg;
	found->is_found |= stores_get(&found->walk->stores, tensor)->listing != NULL;
}

/* A scatter begins as its init. */
static void
want_init(const Walk *w, int i)
{
	Store *init = stores_get(&w->stores, w->program->stages[i]->init);
	const Listing *own = w->listings[i];
	if (init->listing && own->is_whole)
		listing_fill(init->listing);
	for (int64_t p = 0; init->listing && !own->is_whole && p < own->count; p++)
		listing_add(init->listing, own->at[p]);
}

static bool
walk_back_stage(Walk *w, int i)
{
	const Stage *stage = w->program->stages[i];
	if (!is_within_limits(w, stage))
		return false;
	ReadsInner inner = {w, false};
	stage_visit_reads(stage, note_inner, &inner);
	int64_t count = points_of(w, i);
	Machine *m = interp_compile_listed(&w->stores, w->program->ctx, stage, count);
	w->machines[i] = m;
	w->result.operations += interp_operations(m, count) * (inner.is_found ? 2 : 1);
	if (!is_within_limits(w, stage))
		return false;
	if (stage->kind == STAGE_scatter)
		want_init(w, i);
	if (inner.is_found) {
		m->is_collecting = true;
		interp_run_listed(m, count, stage->kind == STAGE_scatter ? NULL : w->listings[i]->at,
		                  false);
		m->is_collecting = false;
	}
	return true;
}

/* The previous states are kept as one slice each. */
static void
open_scan(Walk *w, const Scan *scan, int first)
{
	for (int s = 0; s < scan->nstep; s++)
		listing_fill(w->listings[first + s]);
	for (int k = 0; k < scan->nstate; k++) {
		Store *prev = stores_shape(&w->stores, scan->prev[k]);
		prev->listing = listing_new(w->scratch, prev->count);
		listing_fill(prev->listing);
		want_all(w, scan->init[k]);
	}
}

/* The first of the stages that are computed together with stage `last`. */
static int
first_of_unit(const Program *program, int last)
{
	const Scan *scan = program->stages[last]->scan;
	return scan ? last - scan->nstep + 1 : last;
}

static bool
walk_back(Walk *w)
{
	for (int last = w->program->nstage - 1, first; last >= 0; last = first - 1) {
		first = first_of_unit(w->program, last);
		int64_t wanted = 0;
		for (int i = first; i <= last; i++)
			wanted += w->listings[i] ? listing_count(w->listings[i]) : 0;
		if (wanted == 0)
			continue;
		if (w->program->stages[last]->scan)
			open_scan(w, w->program->stages[last]->scan, first);
		for (int i = last; i >= first; i--)
			if (!walk_back_stage(w, i))
				return false;
	}
	return true;
}

/* ---- forward --------------------------------------------------------------------------------- */

static void
alloc_results(Walk *w, const Stage *stage)
{
	for (int k = 0; k < stage->nresult; k++)
		if (stage->results[k])
			listed_alloc(stores_get(&w->stores, stage->results[k]), w->scratch);
}

static void
run_scatter(Walk *w, int i)
{
	const Stage *stage = w->program->stages[i];
	const Store *init = stores_get(&w->stores, stage->init);
	Store *store = stores_get(&w->stores, stage->results[0]);
	const Listing *own = w->listings[i];
	for (int64_t p = 0, count = listing_count(own); p < count; p++)
		listed_put(store, p, listed_get(init, own->is_whole ? p : own->at[p]));
	interp_run_listed(w->machines[i], points_of(w, i), NULL, false);
}

static void
start_scan(Walk *w, const Scan *scan)
{
	for (int k = 0; k < scan->nstate; k++) {
		Store *prev = stores_get(&w->stores, scan->prev[k]);
		listed_alloc(prev, w->scratch);
		const Store *init = scan->init[k] ? stores_get(&w->stores, scan->init[k]) : NULL;
		for (int64_t i = 0; init && i < prev->count; i++)
			listed_put(prev, i, listed_get(init, i));
	}
}

/* Element `i` of the slice of a tensor at `value` along `axis`. */
static int64_t
in_slice(const Store *store, int axis, int64_t value, int64_t i)
{
	int64_t inner = store->stride[axis], span = store->dims[axis] * inner;
	return i / inner * span + (value - store->lo[axis]) * inner + i % inner;
}

static void
run_scan_step(Walk *w, int i, int64_t value)
{
	const Stage *stage = w->program->stages[i];
	const Store *store = NULL;
	for (int k = 0; k < stage->nresult && !store; k++)
		store = stage->results[k] ? stores_get(&w->stores, stage->results[k]) : NULL;
	int64_t at[BLOCK_LANES], count = store->count / store->dims[stage->scan_axis];
	for (int64_t first = 0; first < count; first += BLOCK_LANES) {
		int64_t n = count - first < BLOCK_LANES ? count - first : BLOCK_LANES;
		for (int64_t k = 0; k < n; k++)
			at[k] = in_slice(store, stage->scan_axis, value, first + k);
		interp_run_listed(w->machines[i], n, at, true);
	}
}

static void
run_scan(Walk *w, const Scan *scan, int first)
{
	int64_t lo, hi;
	if (!dim_eval(scan->lo, &w->stores.binding, &lo) ||
	    !dim_eval(scan->hi, &w->stores.binding, &hi))
		fail(NULL, "the range of a scan has no value");
	start_scan(w, scan);
	for (int64_t t = lo; t < hi; t++) {
		int64_t value = scan->reverse ? lo + hi - 1 - t : t;
		for (int s = 0; s < scan->nstep; s++)
			run_scan_step(w, first + s, value);
		for (int k = 0; k < scan->nstate; k++) {
			Store *prev = stores_get(&w->stores, scan->prev[k]);
			const Store *next = stores_get(&w->stores, scan->next[k]);
			int axis = scan->next[k]->stage->scan_axis;
			for (int64_t i = 0; i < prev->count; i++)
				listed_put(prev, i, listed_get(next, in_slice(next, axis, value, i)));
		}
	}
}

static bool
is_float_sum(const Stage *stage)
{
	return stage->kind == STAGE_reduce && stage->reduce == REDUCE_sum && dtype_is_float(stage->acc);
}

/* What map stages add, stages before them may have summed with their terms. */
static void
join_sums(Walk *w)
{
	int64_t most = 0;
	for (int i = 0; i < w->program->nstage; i++) {
		Machine *m = w->machines[i];
		if (m && m->stage->kind == STAGE_map)
			m->joined = (double)most;
		if (m && is_float_sum(m->stage) && m->nterm > most)
			most = m->nterm;
	}
}

static void
walk_forward(Walk *w)
{
	for (int i = 0; i < w->program->nstage; i++) {
		const Stage *stage = w->program->stages[i];
		if (!w->machines[i])
			continue;
		alloc_results(w, stage);
		if (stage->scan && i + 1 < w->program->nstage &&
		    w->program->stages[i + 1]->scan == stage->scan)
			continue; /* with the last of its steps */
		if (stage->scan)
			run_scan(w, stage->scan, first_of_unit(w->program, i));
		else if (stage->kind == STAGE_scatter)
			run_scatter(w, i);
		else
			interp_run_listed(w->machines[i], points_of(w, i), w->listings[i]->at, false);
	}
}

/* ---- entry points ---------------------------------------------------------------------------- */

static void
fill_in(const Walk *w, PointSet *set, const Tensor *tensor)
{
	const Store *store = stores_get(&w->stores, tensor);
	set->type = tensor->type;
	bool is_float = held_type(true, tensor->type) == DT_F64;
	set->value = is_float ? NEW_N(w->arena, double, set->count + 1) : NULL;
	set->bound = is_float ? NEW_N(w->arena, double, set->count + 1) : NULL;
	set->deviation = is_float ? NEW_N(w->arena, double, set->count + 1) : NULL;
	set->integer = is_float ? NULL : NEW_N(w->arena, int64_t, set->count + 1);
	set->undecided = is_float ? NULL : NEW_N(w->arena, uint8_t, set->count + 1);
	for (int64_t i = 0; i < set->count; i++) {
		Element element = listed_get(store, set->at[i]);
		if (is_float) {
			set->value[i] = element.value;
			set->bound[i] = element.bound;
			set->deviation[i] = element.deviation;
		} else {
			set->integer[i] = element.integer;
			set->undecided[i] = element.bound > 0;
		}
	}
}

static void
walk(void *arg)
{
	Walk *w = arg;
	open_inputs(w);
	open_stages(w);
	want_outputs(w);
	w->result.is_done = walk_back(w);
	if (!w->result.is_done)
		return;
	if (w->way.joins_sums)
		join_sums(w);
	walk_forward(w);
	for (int k = 0; k < w->program->noutput; k++)
		if (w->outputs[k] && w->program->outputs[k])
			fill_in(w, w->outputs[k], w->program->outputs[k]);
}

/* With scratch memory that goes whatever happens. */
static void
run_walk(void (*fn)(void *arg), Walk *w)
{
	Failure failure;
	w->scratch = arena_new("points");
	w->stores = (Stores){.arena = w->scratch,
	                     .map = {.arena = w->scratch},
	                     .is_bound = true,
	                     .keeps_halves = w->way.keeps_halves};
	bool is_done = try_run(fn, w, &failure);
	arena_free(w->scratch);
	if (!is_done)
		fail_again(&failure);
}

PointResult
program_eval_points(Arena *arena, const Program *program, const Binding *binding,
                    const PointInput *const *inputs, PointSet *const *outputs, double limit,
                    PointWay way)
{
	Walk w = {.arena = arena,
	          .way = way,
	          .program = program,
	          .binding = binding,
	          .inputs = inputs,
	          .outputs = outputs,
	          .limit = limit};
	run_walk(walk, &w);
	return w.result;
}

typedef struct Shape {
	Walk walk;
	const Tensor *tensor;
	int rank;
	const int64_t *dims;
} Shape;

static void
find_shape(void *arg)
{
	Shape *shape = arg;
	Walk *w = &shape->walk;
	open_inputs(w);
	const Store *store = map_find_ptr(&w->stores.map, shape->tensor);
	if (!store)
		store = stores_shape(&w->stores, shape->tensor);
	shape->rank = store->rank;
	shape->dims = arena_memdup(w->arena, store->dims, (size_t)store->rank * sizeof *store->dims);
}

int
program_output_dims(Arena *arena, const Program *program, const Binding *binding,
                    const PointInput *const *inputs, int output, const int64_t **dims)
{
	Shape shape = {
		.walk = {.arena = arena, .program = program, .binding = binding, .inputs = inputs},
		.tensor = program->outputs[output]};
	run_walk(find_shape, &shape.walk);
	*dims = shape.dims;
	return shape.rank;
}
