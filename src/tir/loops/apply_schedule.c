/* ApplySchedule: naive loops become those that the schedule's script asks for.
 *
 *     for i in N, j in 64 { S } ; schedule { bind i @parallel  bind j @vector }
 *   =>
 *     for i in N @parallel { for j in 64 @vector { S } }
 *
 * needs    names that differ
 * keeps    the meaning; sums may be taken in another order
 * breaks   loops as the meaning has them: names alone say which is which
 * setting  ApplySchedule.KERNEL=FILE: the script of that file instead
 */
#include "base/file.h"
#include "base/map.h"
#include "tir/loops/loops.h"
#include "tir/script.h"
#include "tir/text.h"

/* A user's script for this kernel, or NULL. */
static const Script *
given_script(const Kernel *kernel, PassContext *context)
{
	const char *key = arena_printf(kernel->arena, "ApplySchedule.%s", kernel->name);
	const char *path = pass_config_text(context, key, NULL);
	if (!path)
		return NULL;
	Bytes bytes = file_map(kernel->arena, path);
	Scanner scan;
	scan_open(&scan, kernel->arena, path,
	          arena_strndup(kernel->arena, (const char *)bytes.data, bytes.size));
	const Script *script = script_parse(kernel->arena, &scan);
	if (scan_peek(&scan)->kind != TOK_END)
		scan_fail(&scan, "expected a primitive of the schedule, saw '%s'", scan_peek(&scan)->text);
	pass_log(context, "given", kernel->name, path, NULL);
	return script;
}

static void
check(void *kernel)
{
	kernel_check(kernel);
}

/* Whose mistake wrong loops are depends on who wrote the script. */
static void
check_given(Kernel *kernel)
{
	Failure failure;
	if (try_run(check, kernel, &failure))
		return;
	failure.kind = FAIL_INVALID;
	fail_again(&failure);
}

bool
pass_ApplySchedule(Kernel *kernel, PassContext *context)
{
	const Script *given = given_script(kernel, context), *script = given ? given : kernel->script;
	if (!script)
		return false;
	kernel_name_apart(kernel);
	script_apply(kernel, script);
	kernel->script = NULL;
	if (script->steps.count > 0 && script->steps.data[0].loc.file)
		check_given(kernel);
	return script->steps.count > 0;
}
