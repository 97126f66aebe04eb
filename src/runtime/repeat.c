/* Inputs of one element along a dim that is another size in the plan (InputWish.may_be_one): the
 * plan gets a copy in which the element is repeated, made anew before each run. */
#include <string.h>

#include "runtime/handle.h"

bool
plan_may_be_one(const Plan *plan, int input, int axis)
{
	for (int i = 0; i < plan->nwish; i++)
		if (plan->wishes[i].input == input && plan->wishes[i].axis == axis)
			return plan->wishes[i].may_be_one;
	return false;
}

/* The constant or symbol that the dim of an input is in the plan; NULL: a term. */
static const PlanToken *
dim_token(const Plan *plan, int input, int axis)
{
	const PlanDim *dim = &plan->dims[plan->buffers[plan->inputs[input]].dims[axis]];
	return dim->count == 1 ? dim->tokens : NULL;
}

/* The size of a dim that may be 1: what those are that must be the same and may not, or else the
 * first that is not 1. */
static int64_t
size_met(const TwSession *session, int input, int axis)
{
	const Plan *plan = session->bundle->plan;
	const PlanToken *wanted = dim_token(plan, input, axis);
	int64_t size = 1;
	if (!wanted || wanted->op == PD_CONST)
		return wanted ? wanted->value : session->inputs[input].dims[axis];
	for (int i = 0; i < plan->ninput; i++)
		for (int d = 0; d < session->inputs[i].rank; d++) {
			const PlanToken *token = dim_token(plan, i, d);
			if (!token || token->op != PD_SYMBOL || token->value != wanted->value)
				continue;
			if (!plan_may_be_one(plan, i, d))
				return session->inputs[i].dims[d];
			size = size == 1 ? session->inputs[i].dims[d] : size;
		}
	return size;
}

void
session_repeat_dims(TwSession *session)
{
	const Plan *plan = session->bundle->plan;
	memcpy(session->taken, session->inputs, (size_t)plan->ninput * sizeof *session->taken);
	session->is_repeating = false;
	for (int i = 0; i < plan->nwish; i++) {
		int input = plan->wishes[i].input, axis = plan->wishes[i].axis;
		const Array *given = &session->inputs[input];
		if (!plan->wishes[i].may_be_one || axis >= given->rank || given->dims[axis] != 1)
			continue;
		int64_t *dims = session->taken_dims + (size_t)input * PLAN_MAX_RANK;
		if (session->taken[input].dims == given->dims)
			memcpy(dims, given->dims, (size_t)given->rank * sizeof *dims);
		dims[axis] = size_met(session, input, axis);
		session->taken[input].dims = dims;
		session->is_repeating |= dims[axis] != 1;
	}
}

static bool
is_repeated(const TwSession *session, int input)
{
	const Array *given = &session->inputs[input], *taken = &session->taken[input];
	return given->rank &&
	       memcmp(given->dims, taken->dims, (size_t)given->rank * sizeof *given->dims) != 0;
}

TwCode
session_repeat_memory(TwSession *session)
{
	const Plan *plan = session->bundle->plan;
	Exec *exec = &session->exec;
	TwCode code = TW_OK;
	for (int i = 0; i < plan->ninput && session->is_repeating && !code; i++) {
		const Slot *slot = &exec->main->slots[plan->inputs[i]];
		if (!is_repeated(session, i))
			continue;
		if (element_bytes(session->inputs[i].type) == 0)
			return exec_fail(exec, TW_UNSUPPORTED,
			                 "input '%.60s' has one element along a dim, which of several in a "
			                 "byte cannot be repeated",
			                 plan->buffers[plan->inputs[i]].name);
		code = exec_reserve(exec, plan_host(plan), &session->repeated[i], slot->bytes);
		session->taken[i].data = session->repeated[i].data;
	}
	return code;
}

TwCode
session_repeat(TwSession *session)
{
	const Plan *plan = session->bundle->plan;
	Exec *exec = &session->exec;
	TwCode code = TW_OK;
	for (int i = 0; i < plan->ninput && session->is_repeating && !code; i++) {
		const Array *given = &session->inputs[i], *taken = &session->taken[i];
		int64_t strides[PLAN_MAX_RANK];
		BackendReach reach;
		if (!is_repeated(session, i))
			continue;
		code = exec_reach(exec, given->data, &reach);
		if (!code && reach == REACH_DEVICE)
			return exec_fail(exec, TW_USAGE,
			                 "the host repeats the one element of '%.60s' along a dim, which is "
			                 "bound to memory of the device's",
			                 plan->buffers[plan->inputs[i]].name);
		plan_strides(given->rank, given->dims, strides);
		for (int d = 0; d < given->rank; d++)
			strides[d] = given->dims[d] == taken->dims[d] ? strides[d] : 0;
		if (!code)
			copy_strided(element_bytes(given->type), given->rank, taken->dims, given->data, strides,
			             taken->data, NULL);
	}
	return code;
}
