/* Reading models, and turning options into a pass context. */
#include "driver/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cpu.h"
#include "codegen/common/codegen.h"
#include "driver/choices.h"
#include "driver/measure/oracle.h"
#include "driver/precision.h"
#include "driver/sizes/npy.h"
#include "driver/sizes/sizes.h"
#include "driver/texts.h"
#include "driver/verify.h"
#include "onnx/onnx.h"

/* DIR/012-FuseOps.txt, or 040-Vectorize-k3_relu.txt of a kernel. */
static void
dump_file(PassContext *context, const char *pass, const char *subject, const char *text)
{
	char *name = arena_printf(context->arena, "%03d-%s%s%.80s.txt", ++context->dumped, pass,
	                          subject ? "-" : "", subject ? subject : "");
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '_' : *c;
	if (context->dumped == 1)
		file_make_folder(context->dump_to);
	file_write(context->arena, arena_printf(context->arena, "%s/%s", context->dump_to, name), text,
	           strlen(text));
}

static void
dump(PassContext *context, const char *pass, const char *subject, const char *text)
{
	if (context->dump_to && text)
		dump_file(context, pass, subject, text);
	if (context->dump_to)
		return;
	fprintf(stderr, "# after %s%s%s%s\n%s", pass, subject ? ": " : "", subject ? subject : "",
	        text ? "" : " (unchanged)", text ? text : "");
}

PassContext *
pipeline_new(const Options *options, Arena *arena, int level)
{
	PassContext *context = NEW(arena, PassContext);
	*context = (PassContext){
		.arena = arena,
		.run = run_passes,
		.level = options->level >= 0 ? (int)options->level : level,
		.is_strict = options->accuracy && strcmp(options->accuracy, "strict") == 0,
		.values = !options->values                      ? VALUES_usual
	              : strcmp(options->values, "all") == 0 ? VALUES_all
	                                                    : VALUES_finite,
		.required = options->require,
		.disabled = options->disable,
		.only = options->passes,
		.config = {.arena = arena},
		.taken = NEW(arena, Map),
		.first_out = options->rewrites >= 0 ? (int)options->rewrites + 1 : 0,
		.recorded = {.arena = arena},
		.dump_after = options->dump_after,
		.dump = dump,
		.dump_to = options->dump_to,
		.verify_arg = (void *)(uintptr_t)options,
	};
	context->taken->arena = arena;
	if (options->dump_to && !options->dump_after)
		fail_as(FAIL_USAGE, NULL, "--dump-to: expected --dump-after with it, which says what");
	if (options->level > 3)
		fail_as(FAIL_USAGE, NULL, "-O%lld: levels are 0 to 3", (long long)options->level);
	if (options->fold_limit >= 0)
		map_set(&context->config, "FoldConstant.limit",
		        arena_printf(arena, "%lld", (long long)options->fold_limit));
	precision_ask(options, context);
	for (int i = 0; i < options->config.count; i++) {
		Setting setting = setting_of(arena, "config", options->config.data[i]);
		map_set(&context->config, setting.name, (void *)(uintptr_t)setting.value);
	}
	for (int i = 0; i < options->given_schedules.count; i++) {
		Setting setting = setting_of(arena, "schedule", options->given_schedules.data[i]);
		const char *key = arena_printf(arena, "ApplySchedule.%s", setting.name);
		map_set(&context->config, key, (void *)(uintptr_t)setting.value);
	}
	if (options->verify && strcmp(options->verify, "each") == 0)
		context->verify_each = verify_rewrite;
	else if (options->verify && strcmp(options->verify, "texts") == 0)
		context->verify_each = verify_texts;
	context->verify = options->verify && context->verify_each != verify_texts;
	if (options->choices)
		choices_read(arena, options->choices, "chosen", &context->recorded);
	pass_context_expand(context);
	pass_context_check(context);
	return context;
}

const char *
pipeline_text(Arena *arena, const PassContext *context)
{
	Buf buf = {.arena = arena};
	buf_printf(&buf, "O%d", context->level);
	for (int i = 0; i < context->disabled.count; i++)
		buf_printf(&buf, ",-%s", context->disabled.data[i]);
	for (int i = 0; i < context->required.count; i++)
		buf_printf(&buf, ",+%s", context->required.data[i]);
	if (context->is_strict)
		buf_puts(&buf, ",strict");
	if (context->values != VALUES_usual)
		buf_printf(&buf, ",values=%s", context->values == VALUES_all ? "all" : "finite");
	if (context->first_out)
		buf_printf(&buf, ",rewrites=%d", context->first_out - 1);
	for (int i = 0; i < context->only.count; i++)
		buf_printf(&buf, "%s%s", i ? "," : ":", context->only.data[i]);
	return buf_text(&buf);
}

/* What is said of a kernel or a tensor must have found it. */
static void
check_named(const PassContext *context)
{
	for (int i = 0; i < context->config.count; i++) {
		const MapEntry *entry = &context->config.entries[i];
		const PassSetting *setting = pass_setting_find(entry->name);
		const char *name = strchr(entry->name, '.') + 1;
		if (!pass_setting_is_named(setting) || map_find_ptr(context->taken, entry->value))
			continue;
		if (strcmp(setting->key, "KERNEL") == 0)
			fail_as(FAIL_USAGE, NULL,
			        "--schedule: no kernel is called '%s'; `tilewright print --schedule` with the "
			        "same options shows them all",
			        name);
		if (strcmp(setting->key, "NODE") == 0)
			fail_as(FAIL_USAGE, NULL,
			        "--keep-fp32: no node is called '%s' where ToMixedPrecision runs; `tilewright "
			        "print` shows their names",
			        name);
		fail_as(FAIL_USAGE, NULL, "--config %s: %s met no tensor '%s' whose %s is open",
		        entry->name, setting->pass, name,
		        strcmp(setting->value, "NUMBER") == 0 ? "value" : "storage");
	}
}

/* A pass whose result shall be shown must have run. */
static void
check_dumped(const PassContext *context)
{
	const char *pass = context->dump_after;
	for (int i = 0; i < context->timings.count; i++)
		if (pass && strcasecmp(context->timings.data[i].pass, pass) == 0)
			return;
	if (pass && strcmp(pass, "all") != 0)
		warn(NULL, "--dump-after %s shows nothing, because that pass was not run", pass);
}

void
pipeline_report(const Options *options, const PassContext *context)
{
	check_named(context);
	check_dumped(context);
	for (int i = 0; options->log && i < context->log.count; i++) {
		const PassEvent *event = &context->log.data[i];
		fprintf(stderr, "%s: %s: %s%s%s%s\n", event->pass, event->rule, event->nodes,
		        event->made ? " -> " : "", event->made ? event->made : "",
		        event->reason ? arena_printf(context->arena, " not applied: %s", event->reason)
		                      : "");
	}
	for (int i = 0; options->timings && i < context->timings.count; i++) {
		const PassTiming *timing = &context->timings.data[i];
		PassIr ir = pass_find(timing->pass)->ir;
		const char *sizes = "";
		if (ir != IR_loop)
			sizes = arena_printf(context->arena, "  %5d -> %d %s", timing->nodes_before,
			                     timing->nodes_after, ir == IR_graph ? "nodes" : "stages");
		fprintf(stderr, "%-24s %8.2f ms%s%s\n", timing->pass, timing->seconds * 1e3, sizes,
		        timing->changed ? "" : "  (unchanged)");
	}
}
