/* A subject is opened in two ways: by our library, or by another executor with the inputs that our
 * importer finds in the model. */
#include "cli/measure/subject.h"
#include "driver/sizes/sizes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "driver/compile.h"
#include "driver/proof/compare.h"
#include "driver/sizes/learn.h"
#include "driver/sizes/npy.h"
#include "runtime/pool.h"

/* ---- bundles ---- */

static bool
is_compiled(Arena *arena, const char *path)
{
	return file_kind(path, file_map(arena, path)) == FILE_BUNDLE;
}

const char *
bundle_of(const Options *options, Arena *arena, const char *path)
{
	if (is_compiled(arena, path))
		return path;
	const char *output = arena_printf(arena, "%s/model.twb", file_temporary_folder(arena));
	compile_file(options, arena, path, output);
	return output;
}

void
refuse_compiling(const Options *options, Arena *arena, const char *path)
{
	if (is_compiled(arena, path))
		options_refuse(options, OF_BUNDLE,
		               arena_printf(arena,
		                            "%s is a bundle, which is compiled already; compile its "
		                            "model with this option",
		                            path));
}

/* Behind a colon are the only passes. */
void
subject_pipeline(Options *options, Arena *arena, const char *text)
{
	bool is_only = false;
	options->disable = strings_copy(arena, &options->disable);
	options->require = strings_copy(arena, &options->require);
	options->passes = strings_copy(arena, &options->passes);
	while (*text) {
		size_t program = pass_is_program(text + 1) ? strlen("+exec:") : 0; /* its colon is no end */
		size_t length = program + strcspn(text + program, is_only ? "," : ",:");
		const char *word = arena_strndup(arena, text, length);
		if (is_only)
			vec_push(arena, &options->passes, word);
		else if (strcmp(word, "none") == 0)
			options->level = 0;
		else if (word[0] == 'O' && word[1])
			options->level = number_of("pipeline O", word + 1);
		else if (strncmp(word, "rewrites=", 9) == 0)
			options->rewrites = number_of("pipeline rewrites", word + 9);
		else if (strcmp(word, "strict") == 0)
			options->accuracy = word;
		else if (strcmp(word, "values=all") == 0 || strcmp(word, "values=finite") == 0)
			options->values = word + strlen("values=");
		else if (strcmp(word, "-vendor") == 0)
			options->no_vendor = true;
		else if (word[0] == '-' && word[1])
			vec_push(arena, &options->disable, word + 1);
		else if (word[0] == '+' && word[1])
			vec_push(arena, &options->require, word + 1);
		else
			fail_as(FAIL_USAGE, NULL,
			        "pipeline: expected none, O3, strict, values=all, -PASS, +PASS or rewrites=N, "
			        "saw '%s'",
			        word);
		is_only |= text[length] == ':';
		text += length + (text[length] != 0);
	}
}

static const Executor *const executors[] = {&executor_ort, &executor_openvino};

/* Who runs it by its last word, which is cut off; NULL: we do. */
static const Executor *
cut_executor(char *file)
{
	char *slash = strrchr(file, '/');
	const Executor *found = NULL;
	bool is_ours = slash && strcmp(slash, "/ours") == 0;
	for (size_t i = 0; slash && i < countof(executors); i++)
		if (strcmp(slash + 1, executors[i]->word) == 0)
			found = executors[i];
	if (found || is_ours)
		*slash = 0;
	return found;
}

static void
cut_pipeline(Subject *subject, Arena *arena, char *file)
{
	char *at = strrchr(file, '@');
	if (!at)
		return;
	*at = 0;
	const Executor *executor = subject->executor;
	if (executor || is_compiled(arena, file))
		fail_as(FAIL_USAGE, NULL, "%s: '@%s' says how to compile a model, and %s", subject->text,
		        at + 1,
		        executor ? arena_printf(arena, "%s does not ask", executor->title)
		                 : arena_printf(arena, "%s is compiled already", file));
	subject_pipeline(&subject->options, arena, at + 1);
}

Subject *
subject_new(const Options *options, Arena *arena, const char *text)
{
	static const char command[] = "cmd:";
	Subject *subject = NEW(arena, Subject);
	*subject = (Subject){.text = text, .options = *options};
	if (subject->options.threads == 0)
		subject->options.threads = pool_cores(); /* all runtimes get the same number */
	if (strncmp(text, command, strlen(command)) == 0) {
		subject->executor = &executor_command;
		subject->file = text + strlen(command);
		return subject;
	}
	char *file = arena_strdup(arena, text);
	subject->executor = cut_executor(file);
	cut_pipeline(subject, arena, file);
	subject->file = file;
	if (!subject->executor)
		subject->bundle = bundle_of(&subject->options, arena, file);
	return subject;
}

/* ---- inputs of other executors ---- */

typedef struct Inputs {
	VEC(const char *) names;
	VEC(Array *) arrays;
} Inputs;

static void
add_input(Arena *arena, Inputs *inputs, const char *name, Array *array)
{
	vec_push(arena, &inputs->names, name);
	vec_push(arena, &inputs->arrays, array);
}

/* All that are given. */
static void
given_inputs(const Options *options, Arena *arena, Inputs *inputs)
{
	for (int i = 0; i < options->input.count; i++) {
		Setting setting = setting_of(arena, "input", options->input.data[i]);
		add_input(arena, inputs, setting.name,
		          input_given(options, arena, i, setting.name, DT_NONE, -1));
	}
}

/* Those of a model: given, or made up. */
static void
made_inputs(const Subject *subject, Arena *arena, Inputs *inputs)
{
	const Options *options = &subject->options;
	const Graph *graph = model_read(options, arena, subject->file);
	Learnt learnt = demands_learn(arena, graph, sizes_asked(options, arena, graph));
	const Binding *probe = sizes_typical(options, arena, graph, &learnt);
	InputRanges ranges = input_ranges(arena, graph, probe, &learnt.runs[0].values);
	for (int i = 0; i < graph->body->nparam; i++) {
		const Value *input = graph->body->params[i];
		Array *array =
			input_given(options, arena, i, input->name, input->type.dtype, input->type.rank);
		if (!array && value_default(input))
			continue;
		if (!array)
			array = input_make_for(arena, (uint64_t)options->seed, &ranges, input, probe);
		add_input(arena, inputs, input->name, array);
	}
}

static void
bind_executor(Subject *subject, Arena *arena, const Subject *first)
{
	Inputs inputs = {0};
	bool is_command = subject->executor == &executor_command;
	if (is_command && !first && !subject->has_all_inputs)
		fail_as(FAIL_USAGE, NULL,
		        "%s: a command gets the inputs of the first subject: it cannot be the first",
		        subject->text);
	for (int i = 0; is_command && first && i < first->ninput; i++)
		if (first->inputs[i]) /* else its default holds */
			add_input(arena, &inputs, first->names[i], first->inputs[i]);
	if (subject->has_all_inputs)
		given_inputs(&subject->options, arena, &inputs);
	else if (!is_command)
		made_inputs(subject, arena, &inputs);
	subject->ninput = inputs.names.count;
	subject->names = inputs.names.data;
	subject->inputs = inputs.arrays.data;
	subject->executor->bind(subject->state, subject->ninput, subject->names, subject->inputs);
}

/* ---- either way ---- */

static void
open_executor(Subject *subject)
{
	int threads = (int)subject->options.threads;
	subject->state = subject->executor->open(subject->life, subject->file, threads, true);
}

static void
open_session(Subject *subject)
{
	subject->session =
		session_open(subject->life, subject->bundle, subject->file, &subject->options, NULL);
}

/* A session's inputs and their names outlive it. */
static void
keep_inputs(Subject *subject, Arena *arena)
{
	const Session *session = subject->session;
	int count = session->ninput;
	Array **inputs = NEW_N(arena, Array *, count + 1);
	const char **names = NEW_N(arena, const char *, count + 1);
	for (int i = 0; i < count; i++) {
		const Array *x = session->inputs[i];
		inputs[i] = x ? array_from(arena, x->type, x->rank, x->dims, x->data) : NULL;
		names[i] = arena_strdup(arena, tw_input(session->bundle, i)->name);
	}
	subject->ninput = count;
	subject->inputs = inputs;
	subject->names = names;
}

void
subject_open(Subject *subject, Arena *arena, const Subject *first)
{
	subject->life = arena_new_in(arena, "a subject");
	if (subject->executor) {
		open_executor(subject);
		bind_executor(subject, arena, first);
		return;
	}
	open_session(subject);
	session_inputs(subject->session, &subject->options);
	keep_inputs(subject, arena);
}

void
subject_reopen(Subject *subject)
{
	const Executor *executor = subject->executor;
	if (executor && executor->process)
		return;
	arena_reset(subject->life);
	if (executor) {
		open_executor(subject);
		executor->bind(subject->state, subject->ninput, subject->names, subject->inputs);
		return;
	}
	open_session(subject);
	memcpy(subject->session->inputs, subject->inputs,
	       (size_t)subject->ninput * sizeof *subject->inputs);
	session_bind(subject->session);
}

double
subject_run(Subject *subject)
{
	const Executor *executor = subject->executor;
	double start = now_seconds();
	if (executor)
		executor->run(subject->state);
	else
		session_run(subject->session);
	return executor && executor->seconds ? executor->seconds(subject->state)
	                                     : now_seconds() - start;
}

int
subject_output_count(Subject *subject)
{
	return subject->executor ? subject->executor->output_count(subject->state)
	                         : subject->session->noutput;
}

const char *
subject_output_name(Subject *subject, int index)
{
	return subject->executor ? subject->executor->output_name(subject->state, index)
	                         : tw_output(subject->session->bundle, index)->name;
}

Array
subject_output(Subject *subject, int index)
{
	return subject->executor ? *subject->executor->output(subject->state, index)
	                         : session_output(subject->session, index);
}

double
subject_peak(Subject *subject)
{
	const Executor *executor = subject->executor;
	bool is_other = executor && executor->process;
	const char *path = "/proc/self/status";
	char line[256];
	double kilobytes = 0;
	if (is_other)
		path = arena_printf(subject->options.arena, "/proc/%d/status",
		                    (int)executor->process(subject->state));
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kilobytes = strtod(line + 6, NULL);
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

const char *
subject_inputs_text(Arena *arena, const Subject *subject)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < subject->ninput; i++)
		if (subject->inputs[i])
			buf_printf(&buf, "%s%s: %s", buf.size ? ", " : "", subject->names[i],
			           array_type_text(arena, subject->inputs[i]));
	return buf.size ? buf_text(&buf) : "none";
}

/* ---- side by side ---- */

StrVec
subject_inputs(Arena *arena, const Subject *subject)
{
	StrVec words = {0};
	const char *folder = file_temporary_folder(arena);
	for (int i = 0; i < subject->ninput; i++) {
		if (!subject->inputs[i]) /* its default holds */
			continue;
		const char *path = arena_printf(arena, "%s/%d.npy", folder, i);
		npy_write(arena, path, subject->inputs[i]);
		vec_push(arena, &words, arena_printf(arena, "%s=@%s", subject->names[i], path));
	}
	return words;
}

double
subject_difference(Arena *arena, Subject *a, Subject *b)
{
	double worst = 0;
	int count = subject_output_count(a);
	if (subject_output_count(b) != count)
		return INFINITY;
	for (int i = 0; i < count; i++) {
		Array x = subject_output(a, i), y = subject_output(b, i);
		Comparison c = compare_arrays(arena, &x, &y, 0, 0);
		if (c.reason)
			return INFINITY;
		worst = fmax(worst, c.largest > 0 ? c.worst / c.largest : c.worst);
	}
	return worst;
}
