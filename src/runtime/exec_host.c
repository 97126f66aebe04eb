/* Steps that run host operators: functions on arrays. */
#include "runtime/exec.h"

TwCode
step_run_host(Frame *frame, int index)
{
	const PlanStep *step = &frame->plan->steps[index];
	return exec_fail(frame->exec, TW_UNSUPPORTED, "there is no host operator '%.60s'", step->row);
}
