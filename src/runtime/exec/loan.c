/* Loans: inputs and outputs that the caller binds in memory of the device's, used in place.
 *
 * A plan for a device with memory of its own copies inputs to it and outputs from it:
 *
 *     x (host) --copy--> x' (device) ... y' (device) --copy--> y (host)
 *
 * Where the caller's memory for x or y is the device's, x' or y' lies there for the run, and the
 * copy is left out: if nobody else writes to x', and nobody to y' behind the copy. Where that is
 * not so, the copy is done within the device. What the host itself looks at cannot lie there.
 */
#include "runtime/exec/exec.h"

/* Where kernels may assume that a buffer begins: a multiple of so many bytes. */
enum { LOAN_ALIGN = 16 };

/* The last step that writes to the storage of a buffer, and how many do. */
static int
last_writer(const Plan *plan, int buffer, int *count)
{
	int last = -1;
	*count = 0;
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		for (int k = step->narg - step->noutput; k < step->narg; k++)
			if (step->args[k] >= 0 && plan_root(plan, step->args[k]) == buffer) {
				last = i;
				++*count;
			}
	}
	return last;
}

static bool
is_plain(const PlanBuffer *buffer, PlanBufferKind kind, PlanPlace place)
{
	return buffer->kind == kind && buffer->place == place && !buffer->layout;
}

/* Whether a step is the copy of an input to the device, or of an output from it. */
static bool
find_loan(const Plan *plan, int index, Loan *loan)
{
	const PlanStep *step = &plan->steps[index];
	if (step->kind != PT_COPY)
		return false;
	int from = step->args[0], to = step->args[1], count;
	const PlanBuffer *source = &plan->buffers[from], *target = &plan->buffers[to];
	bool is_input =
		is_plain(source, PB_INPUT, PLACE_HOST) && is_plain(target, PB_TEMP, PLACE_DEVICE);
	bool is_output =
		is_plain(source, PB_TEMP, PLACE_DEVICE) && is_plain(target, PB_OUTPUT, PLACE_HOST);
	*loan = is_input ? (Loan){.port = from, .temp = to, .is_input = true}
	                 : (Loan){.port = to, .temp = from};
	int last = last_writer(plan, loan->temp, &count);
	return (is_input && count == 1) || (is_output && last < index);
}

void
loans_open(Exec *exec)
{
	const Plan *plan = exec->model->plan;
	exec->loans = pile_alloc(&exec->pile, (size_t)plan->nstep, sizeof *exec->loans);
	for (int i = 0; i < plan->nstep && exec->loans && exec->model->backend->reach; i++)
		exec->nloan += find_loan(plan, i, &exec->loans[exec->nloan]);
}

/* What depends on data has no place yet. */
void
loans_bind(Exec *exec)
{
	for (int i = 0; i < exec->nloan; i++) {
		const Slot *temp = &exec->main->slots[exec->loans[i].temp];
		exec->loans[i].own = temp->is_own ? NULL : temp->data;
	}
}

/* ---- What the host looks at ---- */

static bool
is_captured(const Plan *plan, int port)
{
	for (int i = 0; i < plan->nbuffer; i++)
		if (plan->buffers[i].kind == PB_CAPTURE &&
		    plan_root(plan->parent, plan->buffers[i].index) == port)
			return true;
	return false;
}

/* Whether a step, or a plan nested in it, touches an input or output other than by a copy from
 * memory to memory. */
static bool
host_touches(const Plan *plan, const PlanStep *step, int port)
{
	bool is_across = step->kind == PT_COPY &&
	                 plan->buffers[step->args[0]].place != plan->buffers[step->args[1]].place;
	for (int i = 0; i < step->narg; i++)
		if (step->args[i] >= 0 && plan_root(plan, step->args[i]) == port && !is_across)
			return true;
	for (int i = 0; i < step->nbody; i++)
		if (is_captured(step->bodies[i], port))
			return true;
	return false;
}

static bool
host_needs(const Plan *plan, int port)
{
	for (int i = 0; i < plan->nsymbol; i++)
		if (plan->symbols[i].source == PS_ELEMENT &&
		    plan_root(plan, plan->symbols[i].buffer) == port)
			return true;
	for (int i = 0; i < plan->nstep; i++)
		if (host_touches(plan, &plan->steps[i], port))
			return true;
	return false;
}

TwCode
exec_reach(Exec *exec, const void *memory, BackendReach *reach)
{
	const Backend *backend = exec->model->backend;
	BackendReport report;
	*reach = REACH_HOST;
	if (!memory || !backend->reach || backend->reach(memory, reach, &report))
		return TW_OK;
	return exec_report(exec, &report);
}

static TwCode
check_port(Exec *exec, int port, const void *memory, bool is_async)
{
	const Plan *plan = exec->model->plan;
	const char *name = plan->buffers[port].name;
	BackendReach reach;
	TwCode code = exec_reach(exec, memory, &reach);
	if (!code && reach == REACH_DEVICE && host_needs(plan, port))
		return exec_fail(exec, TW_USAGE,
		                 "the host itself reads or writes '%.60s', which is bound to memory of the "
		                 "device's",
		                 name);
	if (!code && is_async && reach == REACH_HOST && exec->main->slots[port].bytes > 0)
		return exec_fail(exec, TW_USAGE,
		                 "'%.60s' is bound neither to memory of the device's nor to pinned memory, "
		                 "as a run that nobody waits for needs",
		                 name);
	return code;
}

TwCode
loans_check(Exec *exec, bool is_async)
{
	const Plan *plan = exec->model->plan;
	const Slot *slots = exec->main->slots;
	TwCode code = TW_OK;
	for (int i = 0; i < plan->ninput && !code; i++)
		code = check_port(exec, plan->inputs[i], slots[plan->inputs[i]].data, is_async);
	for (int i = 0; i < plan->noutput && !code; i++)
		code = check_port(exec, plan->outputs[i], slots[plan->outputs[i]].bound, is_async);
	return code;
}

/* ---- Runs ---- */

/* Whether the caller's memory for an input or output can stand for the buffer on the device. */
static TwCode
find_lent(Exec *exec, const Loan *loan, unsigned char **lent)
{
	const Frame *frame = exec->main;
	const Slot *port = &frame->slots[loan->port];
	unsigned char *memory = loan->is_input ? port->data : port->bound;
	size_t size = loan->is_input ? port->bytes : port->bound_bytes;
	BackendReach reach;
	TwCode code = exec_reach(exec, memory, &reach);
	bool is_fit = reach == REACH_DEVICE && !exec->watch && frame->slots[loan->temp].has_dims &&
	              size >= slot_storage(frame, loan->temp) && (uintptr_t)memory % LOAN_ALIGN == 0;
	*lent = is_fit ? memory : loan->own;
	return code;
}

TwCode
loans_take(Exec *exec)
{
	Frame *frame = exec->main;
	TwCode code = TW_OK;
	for (int i = 0; i < exec->nloan && !code; i++)
		if (exec->loans[i].own)
			code = find_lent(exec, &exec->loans[i], &frame->slots[exec->loans[i].temp].data);
	return code;
}
