/* Reading models, and turning options into a pass context. */
#include "cli/compile/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cpu.h"
#include "cli/compile/choices.h"
#include "cli/compile/precision.h"
#include "cli/measure/npy.h"
#include "cli/measure/oracle.h"
#include "cli/compile/sizes.h"
#include "codegen/common/codegen.h"
#include "onnx/onnx.h"

/* ---- files ---- */

/* The first word behind blanks and comments. */
static const char *
first_word(Bytes bytes, size_t *length)
{
	const char *text = (const char *)bytes.data, *end = text + bytes.size;
	while (text < end && (strchr(" \t\r\n", *text) || *text == '#')) {
		if (*text == '#')
			while (text < end && *text != '\n')
				text++;
		else
			text++;
	}
	const char *word = text;
	while (text < end && ((*text >= 'a' && *text <= 'z') || *text == '_'))
		text++;
	*length = (size_t)(text - word);
	return word;
}

bool
is_named_onnx(const char *path)
{
	size_t suffix = strlen(".onnx"), size = strlen(path);
	return size > suffix && strcmp(path + size - suffix, ".onnx") == 0;
}

FileKind
file_kind(const char *path, Bytes bytes)
{
	static const struct {
		const char *word;
		FileKind kind;
	} words[] = {{"graph", FILE_GRAPH}, {"expr", FILE_EXPR}, {"kernel", FILE_LOOPS}};
	size_t length;
	if (bytes.size >= 4 && memcmp(bytes.data, "PK\3\4", 4) == 0)
		return FILE_BUNDLE;
	if (is_named_onnx(path))
		return FILE_ONNX;
	const char *word = first_word(bytes, &length);
	for (size_t i = 0; i < countof(words); i++)
		if (length == strlen(words[i].word) && strncmp(word, words[i].word, length) == 0)
			return words[i].kind;
	return FILE_ONNX;
}

static OnnxReadOptions
read_options(const Options *options, Arena *arena)
{
	OnnxFixed *fixed = NEW_N(arena, OnnxFixed, options->fix.count + 1);
	for (int i = 0; i < options->fix.count; i++) {
		Setting setting = setting_of(arena, "fix", options->fix.data[i]);
		bool is_file = *setting.value == '@';
		fixed[i] = (OnnxFixed){setting.name, is_file ? tensor_read(arena, setting.value + 1) : NULL,
		                       setting.value};
	}
	return (OnnxReadOptions){.nfixed = options->fix.count, .fixed = fixed};
}

static Graph *
read_model(const OnnxReadOptions *read, Arena *arena, const char *path, Bytes bytes)
{
	switch (file_kind(path, bytes)) {
	case FILE_ONNX:
		return strcmp(path, "-") == 0 ? onnx_read_bytes(arena, path, bytes, read)
		                              : onnx_read(arena, path, read);
	case FILE_GRAPH:
		if (read->nfixed)
			fail_as(FAIL_USAGE, NULL,
			        "--fix has no effect: %s is the text of a graph; write the "
			        "constant into it",
			        path);
		return text_graph(arena, path, arena_strndup(arena, (const char *)bytes.data, bytes.size));
	case FILE_BUNDLE:
		fail_as(FAIL_USAGE, NULL, "%s is a bundle, expected a model", path);
	default:
		fail_as(FAIL_USAGE, NULL, "%s is the text of an expression or a kernel, expected a model",
		        path);
	}
}

Graph *
model_read(const Options *options, Arena *arena, const char *path)
{
	return model_read_bytes(options, arena, path, file_map(arena, path));
}

Graph *
model_read_bytes(const Options *options, Arena *arena, const char *path, Bytes bytes)
{
	OnnxReadOptions read = read_options(options, arena);
	Graph *graph = read_model(&read, arena, path, bytes);
	precision_of_ends(options, graph);
	return sizes_limit(options, arena, graph);
}

Graph *
model_read_open(const Options *options, Arena *arena, const char *path)
{
	OnnxReadOptions read = read_options(options, arena);
	read.is_open = true;
	Graph *graph = read_model(&read, arena, path, file_map(arena, path));
	precision_of_ends(options, graph);
	return graph;
}

/* ---- names ---- */

const char *
model_name(Arena *arena, const char *path)
{
	return strcmp(path, "-") == 0 ? arena_strdup(arena, "stdin") : file_base(path);
}

const char *
bundle_name(Arena *arena, const char *path)
{
	char *name = arena_strdup(arena, model_name(arena, path)), *dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
	return arena_printf(arena, "%s.twb", name);
}

/* ---- passes ---- */

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
	if (context->first_out)
		buf_printf(&buf, ",rewrites=%d", context->first_out - 1);
	for (int i = 0; i < context->only.count; i++)
		buf_printf(&buf, "%s%s", i ? "," : ":", context->only.data[i]);
	return buf_text(&buf);
}

const Device *
known_device(const char *name)
{
	enum { DEVICES = 64 };
	const char *names[DEVICES] = {"cpu:native"};
	int count = 1;
	const Device *device = device_find(name);
	for (int i = 0; i < device_count() && count < DEVICES; i++)
		names[count++] = device_at(i)->name;
	bool is_native = strcmp(name, "cpu:native") == 0 || strcmp(name, "test:native") == 0;
	if (!device && is_native)
		fail_unsupported(NULL,
		                 "kernels are made for no processor as small as this one, %s; for another: "
		                 "--target cpu:x86-64-v3, or what else `tilewright list devices` shows",
		                 cpu_name());
	if (!device)
		fail_unknown(NULL, "device", name, count, names, "list devices");
	return device;
}

const Device *
device_of(const char *name)
{
	const Device *device = known_device(name);
	if (!artefact_of(device))
		fail_unsupported(
			NULL,
			"--target: no code is made for %s: CUDA's compiler begins at sm_75, and its "
			"row is there for tiles and times (tilewright list devices shows all)",
			name);
	return device;
}

void
options_check(const Options *options)
{
	for (int i = 0; i < options->target.count; i++)
		known_device(options->target.data[i]);
	if (options->data_set && !file_is_folder(options->data_set))
		fail_environment(NULL, "--data-set: there is no folder %s", options->data_set);
}

int
target_count(const Options *options)
{
	return options->target.count ? options->target.count : 1;
}

const char *
target_name(const Options *options, int index)
{
	return options->target.count ? options->target.data[index] : "cpu:native";
}

Target *
target_at(const Options *options, Arena *arena, const char *name, const Binding *probe)
{
	const Device *device = device_of(name);
	Target *target = NEW(arena, Target);
	*target = (Target){.device = device, .probe = probe};
	target->oracle = oracle_new(options, arena, target);
	return target;
}

Target *
target_new(const Options *options, Arena *arena, const char *name, const Graph *graph)
{
	Learnt learnt = demands_learn(arena, graph, sizes_asked(options, arena, graph));
	return target_at(options, arena, name, sizes_typical(options, arena, graph, &learnt));
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
