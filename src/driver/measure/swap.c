/* swap_open, swap_run: a backend in front of the CPU's, which sees every launch and call. */
#include "driver/measure/swap.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "driver/proof/session.h"
#include "runtime/cpu/cpu.h"
#include "runtime/handle.h"

/* What a launch finds its way back by: a backend is told nothing of who runs it. */
typedef struct Watch {
	Swap *swap;
	Backend backend;
	double (*clock)(void);
	int own;             /* functions of the bundle */
	TwKernel **table;    /* these, then the candidates' */
	BackendCode *others; /* NULL: none */
	const MStep **steps; /* by their numbers in the session */
	bool *is_left_out;   /* too; NULL: all run */
	void *flush;         /* read and written before a partial run */
} Watch;

/* What is left out of a run would have gone through the caches. */
enum { FLUSH_BYTES = 4 << 20 };

static Watch *watching;

static Contest *
contest_of(int step)
{
	const MStep *seen = watching->steps[step];
	return seen ? map_find_ptr(&watching->swap->of_step, seen) : NULL;
}

static bool
has_sizes(const Contest *contest, const BackendLaunch *launch)
{
	bool is_same = launch->extent == contest->extent &&
	               launch->nsymbol == contest->step->kernel->symbols.count;
	for (int i = 0; is_same && i < launch->nsymbol; i++)
		is_same = launch->symbols[i] == contest->symbols[i];
	return is_same;
}

static bool
launch_picked(Stream *stream, const BackendLaunch *given, BackendReport *report)
{
	Contest *contest = contest_of(given->step);
	BackendLaunch launch = *given;
	if (watching->is_left_out && watching->is_left_out[given->step])
		return true;
	int pick = watching->swap->pick;
	if (contest && pick > 0 && pick <= contest->ncandidate && has_sizes(contest, given)) {
		launch.kernel = watching->own + contest->first + pick - 1;
		launch.extent = contest->extents[pick];
	}
	double start = watching->clock();
	bool is_done = cpu_launch(stream, &launch, report);
	if (contest)
		contest->now += watching->clock() - start;
	return is_done;
}

static bool
call_seen(Stream *stream, const BackendCall *call, BackendReport *report)
{
	Contest *contest = contest_of(call->step);
	if (watching->is_left_out && watching->is_left_out[call->step])
		return true;
	double start = watching->clock();
	bool is_done = cpu_call(stream, call, report);
	if (contest)
		contest->now += watching->clock() - start;
	return is_done;
}

/* Plans have the steps of their modules, in order; numbers go to the steps of a frame, then … as
 * exec_open() gives them: they are found by the plan's steps. */
static void
number_steps(const Exec *exec, const Plan *plan, const Module *module)
{
	for (int i = 0; i < plan->nstep && i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		for (int n = 0; n < exec->nnamed; n++)
			if (exec->named[n] == &plan->steps[i])
				watching->steps[n] = step;
		for (int k = 0; k < plan->steps[i].nbody && k < step->plan.nbody; k++)
			number_steps(exec, plan->steps[i].bodies[k], step->bodies[k]);
	}
}

/* The bundle's functions and the candidates' in one table. */
static bool
extend_code(CpuCode *code)
{
	char error[256];
	const Bytes object = watching->swap->object;
	watching->own = code->head.count;
	if (object.size == 0)
		return true;
	if (cpu_load(object, "candidates", NULL, &watching->others, error, sizeof error) != TW_OK)
		return false;
	const CpuCode *others = (const CpuCode *)watching->others;
	watching->table = calloc((size_t)(code->head.count + others->head.count), sizeof(TwKernel *));
	if (!watching->table)
		return false;
	memcpy(watching->table, code->table, (size_t)code->head.count * sizeof(TwKernel *));
	memcpy(watching->table + code->head.count, others->table,
	       (size_t)others->head.count * sizeof(TwKernel *));
	code->table = watching->table;
	code->head.count += others->head.count;
	return true;
}

/* ---- partial runs ---- */

bool
swap_may_be_partial(const Module *module)
{
	for (int i = 0; i < module->steps.count; i++) {
		PlanStepKind kind = module->steps.data[i]->plan.kind;
		if (kind != PT_KERNEL && kind != PT_VENDOR && kind != PT_COPY)
			return false;
	}
	for (int i = 0; i < module->buffers.count; i++)
		if (module->buffers.data[i]->is_data_sized)
			return false;
	return true;
}

/* Tables of indices are read unchecked. */
static bool
has_integers(const MStep *step)
{
	for (int i = 0; step && i < step->plan.narg; i++) {
		const MBuffer *arg = step->args[i];
		bool is_computed = arg && arg->kind != PB_INPUT && arg->kind != PB_WEIGHT;
		if (is_computed && !dtype_is_float(arg->type))
			return true;
	}
	return false;
}

/* The steps of contests with candidates, those before them, and what computes integers, stay. */
static void
leave_out(Arena *arena, int nstep)
{
	bool *is_left_out = NEW_N(arena, bool, nstep + 1), is_next_run = false;
	for (int n = nstep - 1; n >= 0; n--) {
		const Contest *contest = contest_of(n);
		bool is_run = contest && contest->ncandidate > 0;
		is_left_out[n] = !is_run && !is_next_run && !has_integers(watching->steps[n]);
		is_next_run = is_run;
	}
	watching->is_left_out = is_left_out;
	watching->flush = arena_alloc(arena, FLUSH_BYTES);
}

/* Memory that steps left out would have written: small floats. */
static void *
filled(void *context, size_t bytes, size_t alignment)
{
	enum { FILL = 0x3c }; /* floats of about 0.01: no overflow, no denormal numbers */
	(void)context;
	void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
	return memory ? memset(memory, FILL, bytes) : NULL;
}

static void
release_filled(void *context, void *memory, size_t bytes)
{
	(void)context;
	(void)bytes;
	free(memory);
}

/* ---- sessions ---- */

/* Before the session is closed, which happens later: it was opened earlier. */
static void
stop_watching(void *handle)
{
	Watch *watch = handle;
	cpu_unload(watch->others);
	free(watch->table);
	watching = NULL;
}

/* Steps run one after the other where somebody looks on. */
static void
look_on(void *context, const TwStep *step)
{
	(void)context;
	(void)step;
}

Session *
swap_open(Arena *arena, Swap *swap, bool has_library, int threads)
{
	Options options = *swap->options;
	options.quiet = true;
	options.no_vendor = !has_library;
	const TwSessionOptions settings = {.size = sizeof settings,
	                                   .threads = threads,
	                                   .profile = look_on,
	                                   .allocate = swap->is_partial ? filled : NULL,
	                                   .release = swap->is_partial ? release_filled : NULL};
	Session *session = session_open(arena, swap->bundle, "tuning", &options, &settings);
	session_expect_end(session);
	ExecModel *model = &session->bundle->model;
	Exec *exec = &session->session->exec;
	if (model->backend != &backend_cpu || !session->bundle->code)
		return NULL;
	watching = NEW(arena, Watch);
	*watching = (Watch){.swap = swap,
	                    .backend = *model->backend,
	                    .clock = threads == 1 ? thread_seconds : now_seconds,
	                    .steps = NEW_N(arena, const MStep *, exec->nnamed + 1)};
	arena_defer(arena, stop_watching, watching);
	number_steps(exec, model->plan, swap->module);
	if (swap->is_partial)
		leave_out(arena, exec->nnamed);
	watching->backend.launch = launch_picked;
	watching->backend.call = call_seen;
	if (!extend_code((CpuCode *)session->bundle->code))
		return NULL;
	model->backend = &watching->backend;
	session_inputs(session, &options);
	bool is_reserved = cpu_reserve(exec->stream, (size_t)swap->scratch);
	return is_reserved ? session : NULL;
}

void
swap_run(Swap *swap, Session *session)
{
	for (int i = 0; i < swap->count; i++)
		swap->contests[i].now = 0;
	if (watching->flush)
		memset(watching->flush, swap->pick, FLUSH_BYTES);
	double start = watching->clock();
	session_run(session);
	swap->run = watching->clock() - start;
}
