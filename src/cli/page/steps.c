/* A plan as data of the page: its steps, the memory they live in, the texts of its kernels. */
#include <math.h>
#include <string.h>

#include "bundle/json.h"
#include "cli/measure/profile.h"
#include "cli/page/page.h"
#include "cli/report/report.h"

enum { SOURCE_MOST = 40000, SOURCES_MOST = 1500000 }; /* bytes of a function, and of all */

static void
write_step(Buf *json, const Plan *plan, const char *at, const PlanStep *step, double seconds)
{
	json_put(json, "{'at':%s,'kind':%s,'name':%s,'from':%s,'row':%s,'library':%s,'result':%s", at,
	         plan_step_words[step->kind], step->name, step->origins, step->row, step->library,
	         result_text(json->arena, plan, step));
	json_put(json, ",'flops':%g,'bytes':%g,'units':%s", step->flops, step->bytes, step->units);
	if (step->kernel >= 0 && (step->kind == PT_KERNEL || step->kind == PT_VENDOR))
		json_put(json, ",'kernel':%s", plan->kernels[step->kernel]);
	if (step->is_beside)
		json_put(json, ",'beside':1");
	if (!isnan(seconds))
		json_put(json, ",'seconds':%g", seconds);
	buf_puts(json, "}");
}

static void
write_steps(Buf *json, const Plan *plan, const Profile *profile, const char *prefix)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		const char *at = arena_printf(json->arena, "%s%d", prefix, i);
		buf_puts(json, json->data[json->size - 1] == '[' ? "\n" : ",\n");
		write_step(json, plan, at, step,
		           profile ? profile_seconds(profile, plan->nesting, i, step->name, NULL) : NAN);
		for (int k = 0; k < step->nbody; k++)
			write_steps(json, step->bodies[k], profile, arena_printf(json->arena, "%s.", at));
	}
}

void
steps_write(Buf *json, const Plan *plan, const Profile *profile)
{
	buf_puts(json, "[");
	write_steps(json, plan, profile, "");
	buf_puts(json, "]");
}

void
memory_write(Buf *json, const Plan *plan, const int64_t *symbols)
{
	double *live = NEW_N(json->arena, double, plan->nstep + 1);
	for (int b = 0; b < plan->nbuffer; b++) {
		const PlanBuffer *buffer = &plan->buffers[b];
		int64_t bytes = 0;
		if (buffer->kind != PB_TEMP || !plan_dim_eval(plan, buffer->size_dim, symbols, &bytes))
			continue;
		for (int i = buffer->first; i <= buffer->last && i < plan->nstep; i++)
			live[i] += i >= 0 ? (double)bytes : 0;
	}
	buf_puts(json, "[");
	for (int i = 0; i < plan->nstep; i++)
		json_put(json, i ? ",%g" : "%g", live[i]);
	buf_puts(json, "]");
}

/* ---- kernels' texts ---- */

/* Where the function of this name is defined: at the begin of a line, which is the second one of a
 * definition; NULL: it is not there. */
static const char *
find_function(const char *text, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + length, name))
		if (at > text && at[-1] == '\n' && at[length] == '(')
			return at;
	return NULL;
}

/* From the begin of the line before the name to the } that stands alone. */
static const char *
function_text(Arena *arena, const char *text, const char *at)
{
	const char *end = strstr(at, "\n}\n"), *begin = at - 1;
	while (begin > text && begin[-1] != '\n')
		begin--;
	size_t size = end ? (size_t)(end + 3 - begin) : strlen(begin);
	bool is_long = size > SOURCE_MOST;
	return arena_printf(arena, "%.*s%s", is_long ? SOURCE_MOST : (int)size, begin,
	                    is_long ? "\n…\n" : "");
}

const char *
kernel_source(Arena *arena, const char *text, const char *name)
{
	const char *at = find_function(text, name);
	return at ? function_text(arena, text, at) : NULL;
}

void
sources_write(Buf *json, const Plan *plan, const char *text)
{
	size_t begin = json->size;
	Map seen = {.arena = json->arena};
	const char *from = text; /* they stand there in their order */
	buf_puts(json, "{");
	for (int k = 0; k < plan->nkernel && json->size - begin < SOURCES_MOST; k++) {
		const char *name = plan->kernels[k], *at = find_function(from, name);
		if (!at || map_find(&seen, name))
			continue;
		map_set(&seen, name, &seen);
		from = at;
		json_put(json, seen.count > 1 ? ",\n%s:%s" : "\n%s:%s", name,
		         function_text(json->arena, text, at));
	}
	buf_puts(json, "}");
}
