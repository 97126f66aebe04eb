/* Programs: symbols from shapes, tensors in memory, stages in order, recurrences step by step. */
#include "expr/interp/interp.h"

#include <math.h>
#include <string.h>

#include "expr/interp/code.h"
#include "expr/scalar/ctx.h"

/* ---- tensors in memory ----------------------------------------------------------------------- */

DType
held_type(bool is_bound, DType type)
{
	bool is_code = dtype_class(type) == DC_S && !dtype_is_code_integer(type);
	return is_bound && (dtype_is_float(type) || is_code) ? DT_F64 : type;
}

Store *
stores_get(const Stores *stores, const Tensor *tensor)
{
	Store *store = map_find_ptr(&stores->map, tensor);
	if (!store)
		fail_as(FAIL_BUG, NULL, "tensor %s is read before it is computed", tensor->name);
	return store;
}

Store *
stores_shape(Stores *stores, const Tensor *tensor)
{
	Store *store = NEW(stores->arena, Store);
	int rank = tensor->rank;
	int64_t *dims = NEW_N(stores->arena, int64_t, rank ? 3 * rank : 1);
	int64_t *lo = dims + rank, *stride = lo + rank;
	for (int d = 0; d < rank; d++) {
		if (!dim_eval(tensor->hi[d], &stores->binding, &dims[d]) ||
		    (tensor->lo && !dim_eval(tensor->lo[d], &stores->binding, &lo[d])))
			fail(NULL, "an extent of tensor %s has no value", tensor->name);
		dims[d] = dims[d] > lo[d] ? dims[d] - lo[d] : 0;
	}
	store->count = dims_count(rank, dims);
	if (store->count < 0)
		fail(NULL, "the size of tensor %s overflows", tensor->name);
	int64_t below = 1;
	for (int d = rank - 1; d >= 0; d--) {
		stride[d] = below;
		below *= dims[d] ? dims[d] : 1;
	}
	store->most = store->count - 1;
	store->type = held_type(stores->is_bound, tensor->type);
	store->rank = rank;
	store->dims = dims;
	store->lo = lo;
	store->stride = stride;
	map_set_ptr(&stores->map, tensor, store);
	return store;
}

Store *
stores_new(Stores *stores, const Tensor *tensor)
{
	Store *store = stores_shape(stores, tensor);
	size_t bytes;
	if (!dtype_bytes(store->type, store->count, &bytes))
		fail(NULL, "the size of tensor %s overflows", tensor->name);
	store->data = arena_alloc_aligned(stores->arena, bytes ? bytes : 1, 64);
	if (stores->is_bound)
		store->bound =
			arena_alloc_aligned(stores->arena, ((size_t)store->count + 1) * sizeof(double), 64);
	return store;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void
set_symbol(Stores *stores, const Symbol *symbol, int64_t value, const Tensor *tensor)
{
	int64_t *values = (int64_t *)(uintptr_t)stores->binding.value;
	bool *is_bound = (bool *)(uintptr_t)stores->binding.is_bound;
	if (is_bound[symbol->id] && values[symbol->id] != value)
		fail(NULL, "input %s makes %s = %lld, but it is %lld already", tensor->name, symbol->name,
		     (long long)value, (long long)values[symbol->id]);
	values[symbol->id] = value;
	is_bound[symbol->id] = true;
}

void
stores_bind(Stores *stores, const Program *program, const Binding *given,
            const int64_t *const *dims, const int *ranks)
{
	int count = program->ctx->symbol_list.count;
	int64_t *value = NEW_N(stores->arena, int64_t, count + 1);
	bool *is_bound = NEW_N(stores->arena, bool, count + 1);
	for (int i = 0; given && i < given->count && i < count; i++) {
		value[i] = given->value[i];
		is_bound[i] = given->is_bound[i];
	}
	stores->binding = (Binding){count, value, is_bound};
	for (int k = 0; k < program->ninput; k++) {
		const Tensor *tensor = program->inputs[k];
		if (tensor->rank != ranks[k])
			fail(NULL, "input %s of %s has rank %d, expected %d", tensor->name, program->name,
			     ranks[k], tensor->rank);
		for (int d = 0; d < tensor->rank && dims[k]; d++)
			if (tensor->hi[d]->op == EX_symbol)
				set_symbol(stores, tensor->hi[d]->symbol, dims[k][d], tensor);
	}
}

Store *
stores_input(Stores *stores, const Tensor *tensor, const int64_t *dims)
{
	Store *store = stores_shape(stores, tensor);
	for (int d = 0; d < tensor->rank; d++)
		if (store->dims[d] != dims[d])
			fail(NULL, "input %s has extent %lld in dim %d, expected %lld", tensor->name,
			     (long long)dims[d], d, (long long)store->dims[d]);
	return store;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void
run_scatter(Stores *stores, ExprCtx *ctx, const Stage *stage)
{
	const Store *init = stores_get(stores, stage->init);
	Store *store = stores_get(stores, stage->results[0]);
	size_t bytes = 0;
	dtype_bytes(store->type, store->count, &bytes);
	if (bytes)
		memcpy(store->data, init->data, bytes);
	if (store->bound && init->bound)
		memcpy(store->bound, init->bound, (size_t)store->count * sizeof(double));
	interp_run(interp_compile(stores, ctx, stage, -1));
}

/* Copy the slice of a step's result at `value` along its scan axis into prev, which lacks it. */
static void
copy_slice(Store *prev, const Store *next, int axis, int64_t value)
{
	int64_t inner = next->stride[axis], outer = prev->count / (inner ? inner : 1);
	int64_t span = next->dims[axis] * inner, first = (value - next->lo[axis]) * inner;
	unsigned char block[BLOCK_LANES * 8];
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i += BLOCK_LANES) {
			int n = (int)(inner - i < BLOCK_LANES ? inner - i : BLOCK_LANES);
			block_load_stride(next->type, n, block, next->data, o * span + first + i, 1);
			block_store_stride(prev->type, n, prev->data, o * inner + i, 1, block);
			if (prev->bound && next->bound)
				memcpy(prev->bound + o * inner + i, next->bound + o * span + first + i,
				       (size_t)n * sizeof(double));
		}
}

static void
start_scan(Stores *stores, const Scan *scan)
{
	for (int k = 0; k < scan->nstate; k++) {
		Store *prev = stores_new(stores, scan->prev[k]);
		if (!scan->init[k])
			continue;
		const Store *init = stores_get(stores, scan->init[k]);
		size_t bytes = 0;
		dtype_bytes(prev->type, prev->count, &bytes);
		if (init->count != prev->count || init->type != prev->type)
			fail_as(FAIL_BUG, NULL, "the first state of a scan has another shape than %s",
			        scan->prev[k]->name);
		memcpy(prev->data, init->data, bytes);
		if (init->bound)
			memcpy(prev->bound, init->bound, (size_t)prev->count * sizeof(double));
	}
}

static void
run_scan(Stores *stores, ExprCtx *ctx, const Scan *scan)
{
	int64_t lo, hi;
	if (!dim_eval(scan->lo, &stores->binding, &lo) || !dim_eval(scan->hi, &stores->binding, &hi))
		fail(NULL, "the range of a scan has no value");
	start_scan(stores, scan);
	Machine **steps = NEW_N(stores->arena, Machine *, scan->nstep);
	for (int s = 0; s < scan->nstep; s++) {
		const Stage *stage = scan->steps[s];
		for (int k = 0; k < stage->nresult; k++)
			if (stage->results[k])
				stores_new(stores, stage->results[k]);
	}
	for (int s = 0; s < scan->nstep; s++)
		steps[s] = interp_compile(stores, ctx, scan->steps[s], scan->steps[s]->scan_axis);
	for (int64_t t = lo; t < hi; t++) {
		int64_t at = scan->reverse ? lo + hi - 1 - t : t;
		for (int s = 0; s < scan->nstep; s++) {
			steps[s]->cur[steps[s]->fixed] = at;
			interp_run(steps[s]);
		}
		for (int k = 0; k < scan->nstate; k++)
			copy_slice(stores_get(stores, scan->prev[k]), stores_get(stores, scan->next[k]),
			           scan->next[k]->stage->scan_axis, at);
	}
}

/* Whether a reduction, scatter or scan reads what this stage computes, at once or through maps. */
static bool
is_reduced_again(const Program *program, const Stage *stage)
{
	for (int i = 0; i < program->nstage; i++) {
		const Stage *reader = program->stages[i];
		bool reads = false;
		for (int k = 0; k < stage->nresult; k++)
			reads |= stage->results[k] && stage_reads(reader, stage->results[k]);
		if (reads &&
		    (reader->kind != STAGE_map || reader->scan || is_reduced_again(program, reader)))
			return true;
	}
	return false;
}

/* Compute only some blocks, when all would be too much; the others are unknown. */
static void
sample_stage(const Stores *stores, const Program *program, Machine *m, double limit)
{
	const Stage *stage = m->stage;
	double work = (double)m->nterm;
	for (int i = 0; i < stage->nloop; i++)
		work *= (double)(m->hi[i] - m->lo[i]);
	if (limit <= 0 || work <= limit || stage->kind != STAGE_reduce ||
	    is_reduced_again(program, stage))
		return;
	m->keep = (uint64_t)(limit / work * 0x1p63) * 2 + 1;
	for (int k = 0; k < stage->nresult; k++) {
		Store *store = stage->results[k] ? stores_get(stores, stage->results[k]) : NULL;
		for (int64_t i = 0; store && i < store->count; i++)
			store->bound[i] = INFINITY;
	}
}

static void
run_stages(Stores *stores, const Program *program, double sample, bool *is_sampled)
{
	const Scan *done = NULL;
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		if (stage->scan) {
			if (stage->scan != done)
				run_scan(stores, program->ctx, stage->scan);
			done = stage->scan;
			continue;
		}
		for (int k = 0; k < stage->nresult; k++)
			if (stage->results[k])
				stores_new(stores, stage->results[k]);
		if (stage->kind == STAGE_scatter)
			run_scatter(stores, program->ctx, stage);
		if (stage->kind == STAGE_scatter)
			continue;
		Machine *m = interp_compile(stores, program->ctx, stage, -1);
		sample_stage(stores, program, m, sample);
		*is_sampled |= m->keep != 0;
		interp_run(m);
	}
}

/* ---- entry points ---------------------------------------------------------------------------- */

typedef struct Job {
	Arena *arena, *scratch;
	const Program *program;
	const Binding *binding;
	const Array *const *inputs;
	const BoundArray *const *bound_inputs;
	Array **outputs;
	BoundArray **bound_outputs;
	BoundWay way;
} Job;

static void
eval_exact(void *arg)
{
	Job *job = arg;
	const Program *program = job->program;
	Stores stores = {.arena = job->scratch, .map = {.arena = job->scratch}};
	const int64_t **dims = NEW_N(job->scratch, const int64_t *, program->ninput + 1);
	int *ranks = NEW_N(job->scratch, int, program->ninput + 1);
	for (int k = 0; k < program->ninput; k++) {
		const Tensor *tensor = program->inputs[k];
		if (job->inputs[k]->type != tensor->type)
			fail(NULL, "input %s of %s is %s, expected %s", tensor->name, program->name,
			     dtype_name(job->inputs[k]->type), dtype_name(tensor->type));
		dims[k] = job->inputs[k]->dims;
		ranks[k] = job->inputs[k]->rank;
	}
	stores_bind(&stores, program, job->binding, dims, ranks);
	for (int k = 0; k < program->ninput; k++)
		stores_input(&stores, program->inputs[k], dims[k])->data = job->inputs[k]->data;
	bool is_sampled = false;
	run_stages(&stores, program, 0, &is_sampled);
	for (int k = 0; k < program->noutput; k++) {
		job->outputs[k] = NULL;
		if (!program->outputs[k])
			continue;
		const Store *store = stores_get(&stores, program->outputs[k]);
		job->outputs[k] =
			array_from(job->arena, store->type, store->rank, store->dims, store->data);
	}
}

/* An input or output of bound mode as the interpreter holds it, and back. */
static void
load_bounds(Store *store, Arena *scratch, const BoundArray *array)
{
	int64_t count = store->count;
	store->bound = array->bound;
	if (array->value) {
		store->data = array->value;
		return;
	}
	size_t bytes = 0;
	dtype_bytes(store->type, count, &bytes);
	store->data = arena_alloc_aligned(scratch, bytes ? bytes : 1, 64);
	for (int64_t i = 0; i < count; i++)
		dtype_store_i64(store->type, store->data, i, array->integer[i]);
	if (!array->undecided)
		return;
	store->bound = NEW_N(scratch, double, count + 1);
	for (int64_t i = 0; i < count; i++)
		store->bound[i] = array->undecided[i] ? (double)INFINITY : 0;
}

static BoundArray *
save_bounds(Arena *arena, const Tensor *tensor, const Store *store, bool is_sampled)
{
	BoundArray *array = NEW(arena, BoundArray);
	size_t count = (size_t)store->count, sampled = 0;
	array->type = tensor->type;
	array->rank = store->rank;
	array->dims = arena_memdup(arena, store->dims, (size_t)store->rank * sizeof(int64_t));
	if (store->type == DT_F64) {
		array->value = arena_memdup(arena, store->data, count * sizeof(double));
		array->bound = NEW_N(arena, double, count + 1);
		if (store->bound)
			memcpy(array->bound, store->bound, count * sizeof(double));
		for (size_t i = 0; i < count; i++)
			sampled += array->bound[i] != INFINITY;
	} else {
		array->integer = NEW_N(arena, int64_t, count + 1);
		array->undecided = NEW_N(arena, uint8_t, count + 1);
		for (size_t i = 0; i < count; i++) {
			array->integer[i] = dtype_load_i64(store->type, store->data, (int64_t)i);
			array->undecided[i] = store->bound && store->bound[i] > 0;
			sampled += !array->undecided[i];
		}
	}
	array->sampled = is_sampled ? (int64_t)sampled : -1;
	return array;
}

static void
eval_bound(void *arg)
{
	Job *job = arg;
	const Program *program = job->program;
	Stores stores = {.arena = job->scratch,
	                 .map = {.arena = job->scratch},
	                 .is_bound = true,
	                 .keeps_halves = job->way.keeps_halves};
	const int64_t **dims = NEW_N(job->scratch, const int64_t *, program->ninput + 1);
	int *ranks = NEW_N(job->scratch, int, program->ninput + 1);
	for (int k = 0; k < program->ninput; k++) {
		dims[k] = job->bound_inputs[k]->dims;
		ranks[k] = job->bound_inputs[k]->rank;
	}
	stores_bind(&stores, program, job->binding, dims, ranks);
	for (int k = 0; k < program->ninput; k++)
		load_bounds(stores_input(&stores, program->inputs[k], dims[k]), job->scratch,
		            job->bound_inputs[k]);
	bool is_sampled = false;
	run_stages(&stores, program, job->way.sample, &is_sampled);
	for (int k = 0; k < program->noutput; k++) {
		const Tensor *output = program->outputs[k];
		job->bound_outputs[k] =
			output ? save_bounds(job->arena, output, stores_get(&stores, output), is_sampled)
				   : NULL;
	}
}

/* Run a job with scratch memory that goes whatever happens. */
static void
run_job(void (*fn)(void *arg), Job *job)
{
	Failure failure;
	job->scratch = arena_new("interpreter");
	bool is_done = try_run(fn, job, &failure);
	arena_free(job->scratch);
	if (!is_done)
		fail_again(&failure);
}

void
program_eval(Arena *arena, const Program *program, const Binding *binding,
             const Array *const *inputs, Array **outputs)
{
	Job job = {.arena = arena,
	           .program = program,
	           .binding = binding,
	           .inputs = inputs,
	           .outputs = outputs};
	run_job(eval_exact, &job);
}

void
program_eval_bound(Arena *arena, const Program *program, const Binding *binding,
                   const BoundArray *const *inputs, BoundArray **outputs, BoundWay way)
{
	Job job = {.arena = arena,
	           .program = program,
	           .binding = binding,
	           .bound_inputs = inputs,
	           .bound_outputs = outputs,
	           .way = way};
	run_job(eval_bound, &job);
}
