/* The pass manager: one table, one loop.
 *
 * A pass is a row of passes.def and a function pass_NAME(); this file finds rows, decides which are
 * enabled (disabled wins, then required, then the level), runs them in the order of the table,
 * checks, dumps and times after each, and keeps the rewrite log.
 */
#include "passes/manager.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/fail.h"
#include "einnet/rules.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "target/maker.h"

#define SUBJECT_graph Graph
#define SUBJECT_program ProgramUnit
#define SUBJECT_part ProgramUnit
#define SUBJECT_nest ProgramUnit
#define SUBJECT_loop Kernel
#define PASS(ir, name, level, portability, numerics, needs, devices, doc) \
	static bool run_##name(void *subject, PassContext *context) \
	{ \
		return pass_##name((SUBJECT_##ir *)subject, context); \
	}
#include "passes/passes.def"
#undef PASS

#define PASS(ir_, name_, level_, portability_, numerics_, needs_, devices_, doc_) \
	{.name = #name_, \
	 .ir = IR_##ir_, \
	 .level = level_, \
	 .portability = PORT_##portability_, \
	 .numerics = NUM_##numerics_, \
	 .needs = NEEDS_##needs_, \
	 .devices = DEVICES_##devices_, \
	 .doc = doc_, \
	 .run = run_##name_},
static const PassInfo passes[] = {
#include "passes/passes.def"
};
#undef PASS

#define ALIAS(name, passes, doc) {#name, passes, doc},
static const PassAlias aliases[] = {
#include "passes/aliases.def"
};
#undef ALIAS

#define SETTING(pass, key, value, doc) {#pass, key, value, doc},
static const PassSetting settings[] = {
#include "passes/settings.def"
};
#undef SETTING

const PassInfo *
pass_at(int index)
{
	return index >= 0 && index < (int)countof(passes) ? &passes[index] : NULL;
}

bool
pass_is_program(const char *name)
{
	static const char prefix[] = "exec:";
	return strncasecmp(name, prefix, strlen(prefix)) == 0 && name[strlen(prefix)];
}

const PassInfo *
pass_find(const char *name)
{
	name = pass_is_program(name) ? "Exec" : name;
	for (size_t i = 0; i < countof(passes); i++)
		if (strcasecmp(passes[i].name, name) == 0)
			return &passes[i];
	return NULL;
}

static bool
list_has(const StrVec *list, const char *name)
{
	for (int i = 0; i < list->count; i++)
		if (strcasecmp(list->data[i], name) == 0)
			return true;
	return false;
}

bool
pass_enabled(const PassContext *context, const PassInfo *pass)
{
	if (list_has(&context->disabled, pass->name))
		return false;
	if (context->only.count > 0)
		return list_has(&context->only, pass->name);
	if (list_has(&context->required, pass->name))
		return true;
	if (pass->numerics == NUM_finite && context->values == VALUES_all)
		return false;
	return pass->level <= context->level && pass->numerics != NUM_approximate;
}

bool
passes_need_target(const PassContext *context, PassIr ir)
{
	for (size_t i = 0; i < countof(passes); i++)
		if (passes[i].ir == ir && passes[i].needs == NEEDS_target &&
		    pass_enabled(context, &passes[i]))
			return true;
	return false;
}

/* ---- what a user says ---- */

static void
check_names(const StrVec *list)
{
	enum { COUNT = countof(passes) + countof(aliases) };
	const char *names[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		names[i] = i < countof(passes) ? passes[i].name : aliases[i - countof(passes)].name;
	for (int i = 0; i < list->count; i++)
		if (!pass_find(list->data[i]))
			fail_unknown(NULL, "pass", list->data[i], COUNT, names, "list passes");
}

const PassAlias *
pass_alias_at(int index)
{
	return index >= 0 && index < (int)countof(aliases) ? &aliases[index] : NULL;
}

static const PassAlias *
alias_find(const char *name)
{
	for (size_t i = 0; i < countof(aliases); i++)
		if (strcasecmp(aliases[i].name, name) == 0)
			return &aliases[i];
	return NULL;
}

static StrVec
without_aliases(Arena *arena, const StrVec *list)
{
	StrVec all = {0};
	for (int i = 0; i < list->count; i++) {
		const PassAlias *alias = alias_find(list->data[i]);
		const char *at = alias ? alias->passes : list->data[i];
		for (size_t length; *at; at += length + (at[length] != 0)) {
			length = strcspn(at, ",");
			vec_push(arena, &all, arena_strndup(arena, at, length));
		}
	}
	return all;
}

/* Where nothing is left of what is to run alone, types are inferred, and no more. */
void
pass_context_expand(PassContext *context)
{
	bool is_only = context->only.count > 0;
	context->required = without_aliases(context->arena, &context->required);
	context->disabled = without_aliases(context->arena, &context->disabled);
	context->only = without_aliases(context->arena, &context->only);
	if (is_only && context->only.count == 0)
		vec_push(context->arena, &context->only, "InferShapes");
}

const PassSetting *
pass_setting_at(int index)
{
	return index >= 0 && index < (int)countof(settings) ? &settings[index] : NULL;
}

bool
pass_setting_is_named(const PassSetting *setting)
{
	return isupper((unsigned char)setting->key[0]);
}

const PassSetting *
pass_setting_find(const char *key)
{
	const char *dot = strchr(key, '.');
	size_t length = dot ? (size_t)(dot - key) : 0;
	for (size_t i = 0; dot && i < countof(settings); i++)
		if (strlen(settings[i].pass) == length && strncmp(settings[i].pass, key, length) == 0 &&
		    (pass_setting_is_named(&settings[i]) || strcmp(settings[i].key, dot + 1) == 0))
			return &settings[i];
	return NULL;
}

static void
check_setting(const PassContext *context, const char *key, const char *text)
{
	const char *names[countof(settings)];
	const PassSetting *setting = pass_setting_find(key);
	for (size_t i = 0; i < countof(settings); i++)
		names[i] = arena_printf(context->arena, "%s.%s", settings[i].pass, settings[i].key);
	if (!setting)
		fail_unknown(NULL, "setting", key, countof(settings), names, "list settings");
	if (strcmp(setting->value, "N") == 0)
		pass_config_int(context, key, 0);
	if (strcmp(setting->value, "RULE,…") == 0)
		rule_bits(context->arena, text);
	if (strchr(setting->value, '|') && !word_among(text, setting->value))
		fail_as(FAIL_USAGE, NULL, "--config %s: expected %s, saw '%s'", key, setting->value, text);
}

static void
refuse_no_program(const StrVec *list)
{
	for (int i = 0; i < list->count; i++)
		if (strcasecmp(list->data[i], "Exec") == 0)
			fail_as(FAIL_USAGE, NULL, "%s: expected exec:PROGRAM, a path or a name in $PATH",
			        list->data[i]);
}

void
pass_context_check(const PassContext *context)
{
	StrVec dumped = {0};
	if (context->dump_after && strcmp(context->dump_after, "all") != 0)
		vec_push(context->arena, &dumped, context->dump_after);
	check_names(&context->required);
	check_names(&context->disabled);
	check_names(&context->only);
	check_names(&dumped);
	refuse_no_program(&context->required);
	refuse_no_program(&context->only);
	for (int i = 0; i < context->config.count; i++)
		check_setting(context, context->config.entries[i].name, context->config.entries[i].value);
}

static bool
dump_wanted(const PassContext *context, const PassInfo *pass)
{
	const char *which = context->dump_after;
	return which && (strcmp(which, "all") == 0 || strcasecmp(which, pass->name) == 0);
}

/* ---- what the outside sees ---- */

typedef struct Signature {
	int ninput, count; /* inputs, then outputs */
	const char **names;
	Type *types;
} Signature;

static Signature
signature_of(Arena *arena, const Graph *graph)
{
	const Region *body = graph->body;
	Signature s = {.ninput = body->nparam, .count = body->nparam + body->nresult};
	s.names = NEW_N(arena, const char *, s.count + 1);
	s.types = NEW_N(arena, Type, s.count + 1);
	for (int i = 0; i < s.count; i++) {
		const Value *value = i < s.ninput ? body->params[i] : body->results[i - s.ninput];
		s.names[i] = value->name;
		s.types[i] = value->type;
	}
	return s;
}

/* Dims may become better known, never others. */
static bool
keeps_type(const Type *before, const Type *after)
{
	int64_t a, b;
	if (before->kind != TYPE_TENSOR || before->dtype == DT_NONE)
		return true;
	if (after->kind != TYPE_TENSOR || after->dtype != before->dtype ||
	    (before->rank >= 0 && after->rank != before->rank))
		return false;
	for (int d = 0; d < before->rank; d++)
		if (dim_is_const(before->dims[d], &a) && (!dim_is_const(after->dims[d], &b) || a != b))
			return false;
	return true;
}

/* Names, order and types of inputs and outputs are the model's, whatever a pass did. */
static void
check_signature(const Graph *graph, PassContext *context, const PassInfo *pass,
                const Signature *before)
{
	Signature after = signature_of(context->arena, graph);
	if (after.ninput != before->ninput || after.count != before->count)
		fail_as(FAIL_BUG, &(Loc){.file = graph->file},
		        "pass %s: %d inputs and %d outputs became %d "
		        "and %d",
		        pass->name, before->ninput, before->count - before->ninput, after.ninput,
		        after.count - after.ninput);
	for (int i = 0; i < after.count; i++) {
		const char *what = i < after.ninput ? "input" : "output";
		if (strcmp(before->names[i], after.names[i]) != 0)
			fail_as(FAIL_BUG, &(Loc){.file = graph->file}, "pass %s: %s '%s' has become '%s'",
			        pass->name, what, before->names[i], after.names[i]);
		if (!keeps_type(&before->types[i], &after.types[i]))
			fail_as(FAIL_BUG, &(Loc){.file = graph->file}, "pass %s: %s '%s' has another type",
			        pass->name, what, before->names[i]);
	}
}

/* ---- what each IR has for the manager ---- */

/* Of a Graph, a Kernel, and for the others a ProgramUnit. */
static const char *
subject_name(PassIr ir, const void *subject)
{
	if (ir == IR_graph)
		return NULL;
	return ir == IR_loop ? ((const Kernel *)subject)->name : ((const ProgramUnit *)subject)->name;
}

static void
subject_print(Buf *buf, PassIr ir, const void *subject)
{
	if (ir == IR_graph)
		graph_print(buf, subject);
	else if (ir == IR_loop)
		kernel_print(buf, subject);
	else
		program_print(buf, ((const ProgramUnit *)subject)->program);
}

static void
subject_check(PassIr ir, const void *subject)
{
	if (ir == IR_graph)
		graph_check(subject);
	else if (ir == IR_loop)
		kernel_check(subject);
	else
		program_check(((const ProgramUnit *)subject)->program);
}

static int
subject_size(PassIr ir, const void *subject)
{
	if (ir == IR_graph)
		return graph_node_count(subject);
	return ir == IR_loop ? 0 : ((const ProgramUnit *)subject)->program->nstage;
}

/* A copy that the pass does not change. */
static const void *
subject_keep(Arena *arena, PassIr ir, const void *subject)
{
	Buf text = {.arena = arena};
	if (ir == IR_graph)
		return graph_clone(arena, subject);
	if (ir != IR_loop) /* programs do not change; a unit gets another one */
		return arena_memdup(arena, subject, sizeof(ProgramUnit));
	kernel_print(&text, subject);
	return kernel_parse(arena, expr_ctx_new(arena), "kernel", buf_text(&text));
}

const char *
pass_ir_name(PassIr ir)
{
	static const char *const names[IR_COUNT] = {
		[IR_graph] = "graph", [IR_program] = "program", [IR_part] = "part",
		[IR_nest] = "nest",   [IR_loop] = "loop",
	};
	return names[ir];
}

/* ---- running ---- */

/* One line per pass, however many programs and kernels it is run on. */
static void
add_timing(PassContext *context, const PassTiming *timing)
{
	for (int i = 0; i < context->timings.count; i++) {
		PassTiming *sum = &context->timings.data[i];
		if (strcmp(sum->pass, timing->pass) != 0)
			continue;
		sum->seconds += timing->seconds;
		sum->changed |= timing->changed;
		sum->nodes_before += timing->nodes_before;
		sum->nodes_after += timing->nodes_after;
		return;
	}
	vec_push(context->arena, &context->timings, *timing);
}

static void
dump(PassContext *context, const PassInfo *pass, const void *subject, bool changed)
{
	Buf buf = {.arena = context->arena};
	if (changed)
		subject_print(&buf, pass->ir, subject);
	context->dump(context, pass->name, subject_name(pass->ir, subject),
	              changed ? buf_text(&buf) : NULL);
}

/* Whether it changed anything. What a pass that can be left out changes without a word is one
 * rewrite. */
static bool
run_logged(void *subject, PassContext *context, const PassInfo *pass)
{
	int rewrites = context->rewrites;
	bool is_changed = pass_may_rewrite(context) && pass->run(subject, context);
	const char *name = subject_name(pass->ir, subject);
	if (is_changed && context->is_optional && context->rewrites == rewrites)
		pass_log(context, pass_ir_name(pass->ir), name ? name : "the model", "", NULL);
	return is_changed;
}

static bool
run_pass(void *subject, PassContext *context, const PassInfo *pass)
{
	const char *outer = context->running;
	bool is_outer_optional = context->is_optional;
	PassTiming timing = {.pass = pass->name, .nodes_before = subject_size(pass->ir, subject)};
	Arena *kept = context->verify_each ? arena_new_in(context->arena, "verify") : NULL;
	const void *before = kept ? subject_keep(kept, pass->ir, subject) : NULL;
	double start = now_seconds();

	context->running = pass->name;
	context->is_optional = pass->level > 0;
	timing.changed = run_logged(subject, context, pass);
	timing.seconds = now_seconds() - start;
	timing.nodes_after = subject_size(pass->ir, subject);
	add_timing(context, &timing);
	if (context->verify)
		subject_check(pass->ir, subject);
	if (before && timing.changed)
		context->verify_each(context, pass->ir, before, subject);
	if (dump_wanted(context, pass) && context->dump)
		dump(context, pass, subject, timing.changed);
	if (kept)
		arena_reset(kept);
	context->running = outer;
	context->is_optional = is_outer_optional;
	return timing.changed;
}

/* A graph's signature stays as it is. */
static bool
run_graph_pass(Graph *graph, PassContext *context, const PassInfo *pass)
{
	Signature signature = signature_of(context->arena, graph);
	Work work = work_begin(&(Loc){.file = graph->file}, pass->name);
	bool changed = run_pass(graph, context, pass);
	check_signature(graph, context, pass, &signature);
	work_end(work);
	return changed;
}

/* `name`: of the row, or of a program. */
static bool
run_row(PassContext *context, void *subject, const PassInfo *row, const char *name)
{
	PassInfo named = *row, *pass = &named;
	named.name = name;
	bool is_plain = pass->ir == IR_loop && ((const Kernel *)subject)->is_plain;
	bool is_for_device = (maker_of(context->target)->passes & pass->devices) == pass->devices;
	if (!pass_enabled(context, pass) || !is_for_device ||
	    (pass->level > 0 && is_plain)) /* loops as they come */
		return false;
	if (pass->needs == NEEDS_target && !(context->target && context->target->device))
		fail_as(FAIL_BUG, NULL, "pass %s was run without the target that it needs", pass->name);
	if (pass->ir == IR_graph && context->progress)
		context->progress(context->progress_arg, pass->name, (int)(row - passes),
		                  (int)countof(passes));
	return pass->ir == IR_graph ? run_graph_pass(subject, context, pass)
	                            : run_pass(subject, context, pass);
}

/* Those of --passes run in the order given, and no others; of --require programs come first. A
 * graph that is only made to be timed is ours. */
bool
run_passes(PassContext *context, PassIr ir, void *subject)
{
	bool changed = false, is_only = context->only.count > 0;
	bool is_trial = context->target && context->target->is_trial;
	const StrVec *named = is_only ? &context->only : &context->required;
	for (int i = 0; i < named->count; i++) {
		const char *name = named->data[i];
		const PassInfo *pass = pass_find(name);
		bool is_program = pass_is_program(name);
		if (pass && pass->ir == ir && (is_program ? !is_trial : is_only))
			changed |= run_row(context, subject, pass, is_program ? name : pass->name);
	}
	for (size_t i = 0; i < countof(passes) && !is_only; i++)
		if (passes[i].ir == ir)
			changed |= run_row(context, subject, &passes[i], passes[i].name);
	return changed;
}

bool
run_graph_passes(Graph *graph, PassContext *context)
{
	graph_infer(graph); /* what every pass needs */
	return run_passes(context, IR_graph, graph);
}

static const char *
text_of(Arena *arena, const Graph *graph)
{
	Buf text = {.arena = arena};
	graph_print(&text, graph);
	return buf_text(&text);
}

/* A pass may say that it changed something that the next one takes back, so texts are compared. */
void
run_graph_passes_to_rest(Graph *graph, PassContext *context)
{
	enum { ROUNDS = 16 };
	Arena *arena = arena_new_in(context->arena, "rounds");
	const char *before = "", *now = "";
	int round = 0;
	while (round < ROUNDS && run_graph_passes(graph, context)) {
		round++;
		now = text_of(arena, graph);
		if (strcmp(before, now) == 0)
			break;
		before = now;
	}
	if (round == ROUNDS)
		warn(&(Loc){.file = graph->file},
		     "passes still change the model after %d rounds: two of them undo what the other does "
		     "(--log shows which)",
		     ROUNDS);
	arena_reset(arena);
}

void
run_loop_passes(const Module *module, PassContext *context)
{
	MStepVec steps = module_steps(context->arena, module);
	for (int i = 0; i < steps.count; i++) {
		Work work = work_begin(&steps.data[i]->loc, "loop passes");
		if (steps.data[i]->kernel)
			run_passes(context, IR_loop, steps.data[i]->kernel);
		work_end(work);
	}
}
