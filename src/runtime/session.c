/* The public functions of sessions: binding, running, results. What they promise is in
 * tilewright.h. */
#include <stdlib.h>
#include <string.h>

#include "runtime/pool.h"
#include "runtime/handle.h"

enum { SPIN_DEFAULT_US = 50, THREADS_PER_CORE = 4 };

/* Threads take memory each, and many more than there are cores gain nothing: some more are allowed,
 * as cores may be added to the process later. The caller's own threads are not counted. */
static int
threads_of(const TwSession *session, const TwSessionOptions *o)
{
	int cores = pool_cores(), most = THREADS_PER_CORE * cores;
	if (o->threads == 0)
		return cores;
	if (o->parallel_for || o->threads <= most)
		return o->threads < POOL_MOST ? o->threads : POOL_MOST;
	most = most < POOL_MOST ? most : POOL_MOST;
	exec_log(session->exec.model,
	         "%d threads are asked for, and this process may use %d core%s: it runs on %d threads",
	         o->threads, cores, cores == 1 ? "" : "s", most);
	return most;
}

static TwCode
set_options(TwSession *session, const TwSessionOptions *o, TwError *error)
{
	Exec *exec = &session->exec;
	if (!o->allocate != !o->release)
		return handle_fail(error, TW_USAGE,
		                   "only one of allocate and release is given, expected both or none");
	if (o->arena && (uintptr_t)o->arena % MEMORY_ALIGN)
		return handle_fail(error, TW_USAGE,
		                   "the arena's address is no multiple of %d, as it must be", MEMORY_ALIGN);
	if (o->threads < 0)
		return handle_fail(error, TW_USAGE, "threads: %d is negative", o->threads);
	exec->memory = (Memory){.allocate = o->allocate,
	                        .release = o->release,
	                        .context = o->memory_context,
	                        .limit = o->memory_limit};
	exec->workers = (Workers){
		.threads = threads_of(session, o),
		.spin_us = o->spin_us == 0  ? SPIN_DEFAULT_US
	               : o->spin_us < 0 ? 0
	                                : o->spin_us,
		.parallel_for = o->parallel_for,
		.context = o->parallel_context,
	};
	exec->cancel = o->cancel;
	exec->profile = o->profile;
	exec->profile_context = o->profile_context;
	exec->arena = o->arena;
	exec->arena_size = o->arena_size;
	return TW_OK;
}

static void
make_tables(TwSession *session)
{
	const Plan *plan = session->bundle->plan;
	Pile *pile = &session->exec.pile;
	size_t ninput = (size_t)plan->ninput, noutput = (size_t)plan->noutput;
	session->inputs = pile_alloc(pile, ninput, sizeof *session->inputs);
	session->is_input_bound = pile_alloc(pile, ninput, sizeof *session->is_input_bound);
	session->input_dims = pile_alloc(pile, ninput * PLAN_MAX_RANK, sizeof *session->input_dims);
	session->taken = pile_alloc(pile, ninput, sizeof *session->taken);
	session->taken_dims = pile_alloc(pile, ninput * PLAN_MAX_RANK, sizeof *session->taken_dims);
	session->repeated = pile_alloc(pile, ninput, sizeof *session->repeated);
	session->output_data = pile_alloc(pile, noutput, sizeof *session->output_data);
	session->output_bytes = pile_alloc(pile, noutput, sizeof *session->output_bytes);
}

/* Until something else is bound, an input with a default holds that: its dims are numbers. */
static TwCode
bind_defaults(TwSession *session, TwError *error)
{
	const Plan *plan = session->bundle->plan;
	TwCode code = TW_OK;
	for (int i = 0; i < plan->ninput && !code; i++) {
		const PlanBuffer *input = &plan->buffers[plan->inputs[i]];
		int64_t dims[PLAN_MAX_RANK];
		for (int d = 0; d < input->rank && input->bytes >= 0; d++)
			if (!plan_dim_eval(plan, input->dims[d], session->exec.main->symbols, &dims[d]))
				return handle_fail(error, TW_DAMAGED, "input '%.60s' has a default of no size",
				                   input->name);
		if (input->bytes >= 0)
			code = tw_bind_input(session, i, weights_at(&session->bundle->weights, input->offset),
			                     (size_t)input->bytes, input->rank, dims, error);
	}
	return code;
}

TwCode
tw_session_new(TwBundle *bundle, const TwSessionOptions *options, TwSession **session,
               TwError *error)
{
	TwSessionOptions own;
	if (!session)
		return handle_missing(error, "tw_session_new()", "session");
	*session = NULL;
	if (!bundle)
		return handle_missing(error, "tw_session_new()", "bundle");
	if (!handle_options(&own, sizeof own, options))
		return handle_fail(error, TW_USAGE,
		                   "the options of tw_session_new() have the wrong size, or "
		                   "ask for what this version does not know");
	TwSession *s = calloc(1, sizeof *s);
	if (!s)
		return handle_fail(error, TW_MEMORY, "out of memory for a session");
	s->bundle = bundle;
	s->exec.model = &bundle->model;
	s->exec.error = error;
	pool_acquire();
	atomic_fetch_add(&bundle->users, 1);
	TwCode code = set_options(s, &own, error);
	make_tables(s);
	if (!code)
		code = exec_open(&s->exec);
	if (!code)
		code = bind_defaults(s, error);
	if (code) {
		tw_session_free(s);
		return code;
	}
	*session = s;
	return handle_success(error);
}

void
tw_session_free(TwSession *session)
{
	if (!session)
		return;
	TwBundle *bundle = session->bundle;
	for (int i = 0; i < bundle->plan->ninput && session->repeated; i++)
		block_free(&session->repeated[i]);
	exec_close(&session->exec);
	free(session);
	pool_release();
	tw_close(bundle);
}

TwCode
tw_bind_input(TwSession *session, int index, const void *data, size_t bytes, int rank,
              const int64_t *dims, TwError *error)
{
	if (!session)
		return handle_missing(error, "tw_bind_input()", "session");
	const TwTensorInfo *info = tw_input(session->bundle, index);
	size_t needed;
	if (!info)
		return handle_fail(error, TW_USAGE, "there is no input %d", index);
	if (rank != info->rank)
		return handle_fail(error, TW_SHAPE, "input '%.60s' has rank %d; rank %d is needed",
		                   info->name, rank, info->rank);
	if (!dims && rank)
		return handle_missing(error, "tw_bind_input()", "dims");
	const Array given = {.type = (DType)info->type, .rank = rank, .dims = dims};
	session->exec.error = error;
	for (int d = 0; d < rank; d++) /* others are known when all inputs are */
		if (info->dims[d].value >= 0 && dims[d] != info->dims[d].value &&
		    (dims[d] != 1 || !plan_may_be_one(session->bundle->plan, index, d)))
			return frame_refuse_dim(session->exec.main, index, &given, d, info->dims[d].value);
	const PlanBuffer shape = {.type = (DType)info->type, .rank = rank};
	if (!slot_measure(&shape, dims, &needed))
		return handle_fail(error, TW_SHAPE, "the dims of input '%.60s' are negative or too large",
		                   info->name);
	if (bytes < needed || (!data && needed))
		return handle_fail(error, TW_USAGE, "input '%.60s' needs %zu bytes and %zu were given",
		                   info->name, needed, data ? bytes : 0);
	int64_t *own = session->input_dims + (size_t)index * PLAN_MAX_RANK;
	if (rank)
		memcpy(own, dims, (size_t)rank * sizeof *own);
	session->inputs[index] = (Array){(DType)info->type, rank, own, (void *)(uintptr_t)data};
	session->is_input_bound[index] = true;
	session->is_prepared = session->has_run = false;
	return handle_success(error);
}

TwCode
tw_bind_output(TwSession *session, int index, void *data, size_t bytes, TwError *error)
{
	if (!session)
		return handle_missing(error, "tw_bind_output()", "session");
	if (!tw_output(session->bundle, index))
		return handle_fail(error, TW_USAGE, "there is no output %d", index);
	session->output_data[index] = data;
	session->output_bytes[index] = bytes;
	return handle_success(error);
}

TwCode
tw_prepare(TwSession *session, TwError *error)
{
	if (!session)
		return handle_missing(error, "tw_prepare()", "session");
	const Plan *plan = session->bundle->plan;
	Frame *frame = session->exec.main;
	session->exec.error = error;
	session->is_prepared = false;
	for (int i = 0; i < plan->ninput; i++)
		if (!session->is_input_bound[i])
			return handle_fail(error, TW_USAGE, "input '%.60s' is not bound",
			                   session->bundle->inputs[i].name);
	session_repeat_dims(session);
	TwCode code = frame_bind(frame, session->taken);
	if (!code)
		code = session_repeat_memory(session);
	if (code)
		return code;
	for (int i = 0; i < plan->ninput; i++)
		frame->slots[plan->inputs[i]].data = session->taken[i].data;
	session->is_prepared = true;
	return handle_success(error);
}

static bool
overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
	return a && b && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

/* Kernels are made for results that share memory with nothing they read. */
static TwCode
check_outputs(const TwSession *session, TwError *error)
{
	const Plan *plan = session->bundle->plan;
	for (int i = 0; i < plan->noutput; i++) {
		const char *name = session->bundle->outputs[i].name;
		const void *data = session->output_data[i];
		size_t bytes = session->output_bytes[i];
		for (int k = 0; k < plan->ninput; k++)
			if (overlap(data, bytes, session->taken[k].data,
			            session->exec.main->slots[plan->inputs[k]].bytes))
				return handle_fail(error, TW_USAGE,
				                   "the memory of output '%.60s' overlaps that of input '%.60s'",
				                   name, session->bundle->inputs[k].name);
		for (int k = 0; k < i; k++)
			if (overlap(data, bytes, session->output_data[k], session->output_bytes[k]))
				return handle_fail(error, TW_USAGE,
				                   "the memory of output '%.60s' overlaps that of output '%.60s'",
				                   name, session->bundle->outputs[k].name);
	}
	return TW_OK;
}

/* All that is bound is where the run finds it. A run that failed has unbound sizes, whether or not
 * the caller binds something else: with the same memory, its data may be others. */
static TwCode
begin_run(TwSession *session, bool is_async, TwError *error)
{
	const Plan *plan = session->bundle->plan;
	Exec *exec = &session->exec;
	bool is_ready = session->is_prepared && exec->main->is_bound;
	TwCode code = is_ready ? TW_OK : tw_prepare(session, error);
	if (!code)
		code = check_outputs(session, error);
	if (code)
		return code;
	exec->error = error;
	exec->is_async = is_async;
	session->has_run = false;
	code = session_repeat(session);
	if (code)
		return code;
	for (int i = 0; i < plan->noutput; i++) {
		Slot *slot = &exec->main->slots[plan->outputs[i]];
		slot->bound = session->output_data[i];
		slot->bound_bytes = session->output_bytes[i];
	}
	return loans_check(exec, is_async);
}

static TwCode
end_run(TwSession *session, TwCode code, TwError *error)
{
	session->has_run = !code;
	return code ? code : handle_success(error);
}

TwCode
tw_run(TwSession *session, TwError *error)
{
	if (!session)
		return handle_missing(error, "tw_run()", "session");
	TwCode code = begin_run(session, false, error);
	if (code)
		return code;
	code = exec_run(&session->exec);
	workers_rest(&session->exec.workers);
	return end_run(session, code, error);
}

/* Behind what failed, too, the caller's stream waits: some of the run may have been given. */
static TwCode
run_between(Exec *exec, void *stream)
{
	const Backend *backend = exec->model->backend;
	BackendReport report;
	if (!backend->meet(exec->stream, stream, false, &report))
		return exec_report(exec, &report);
	TwCode code = exec_run(exec);
	if (!backend->meet(exec->stream, stream, true, &report) && !code)
		code = exec_report(exec, &report);
	return code;
}

TwCode
tw_run_async(TwSession *session, void *stream, TwError *error)
{
	if (!session)
		return handle_missing(error, "tw_run_async()", "session");
	const Backend *backend = session->bundle->model.backend;
	if (!backend->meet)
		return handle_fail(error, TW_UNSUPPORTED,
		                   "tw_run_async() is for GPUs, and this runs on %.60s",
		                   tw_target(session->bundle));
	if (!session->exec.capture.is_possible)
		return handle_fail(error, TW_UNSUPPORTED,
		                   "the host takes part in each run of this model: tw_run() waits for it");
	TwCode code = begin_run(session, true, error);
	return code ? code : end_run(session, run_between(&session->exec, stream), error);
}

TwCode
tw_wait(TwSession *session, TwError *error)
{
	if (!session)
		return handle_missing(error, "tw_wait()", "session");
	session->exec.error = error;
	TwCode code = exec_finish(&session->exec);
	return code ? code : handle_success(error);
}

TwCode
tw_get_output(TwSession *session, int index, TwTensor *tensor, TwError *error)
{
	if (!tensor)
		return handle_missing(error, "tw_get_output()", "tensor");
	*tensor = (TwTensor){0};
	if (!session)
		return handle_missing(error, "tw_get_output()", "session");
	const TwTensorInfo *info = tw_output(session->bundle, index);
	if (!info)
		return handle_fail(error, TW_USAGE, "there is no output %d", index);
	const Slot *slot = &session->exec.main->slots[session->bundle->plan->outputs[index]];
	if (!session->is_prepared || !slot->has_dims || (slot->is_late && !session->has_run))
		return handle_fail(error, TW_USAGE, "the size of output '%.60s' is not known before %s",
		                   info->name, session->is_prepared ? "tw_run()" : "tw_prepare()");
	void *data = session->has_run ? slot->data : session->output_data[index];
	*tensor = (TwTensor){info->type, info->rank, slot->dims, data, slot->bytes};
	return handle_success(error);
}

size_t
tw_arena_bytes(const TwSession *session)
{
	return session && session->is_prepared ? session->exec.main->arena_bytes : 0;
}

void
tw_memory(const TwSession *session, size_t *now, size_t *most)
{
	if (now)
		*now = session ? session->exec.memory.now : 0;
	if (most)
		*most = session ? session->exec.memory.most : 0;
}
