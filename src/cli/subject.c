/* A subject is opened in two ways: by our library, or by ONNX Runtime with the inputs that our
 * importer finds in the model. */
#include "cli/sizes.h"
#include "cli/subject.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compile.h"
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

/* Lists grow in place: a copy of the options needs its own. */
static StrVec
copy_list(Arena *arena, const StrVec *list)
{
	StrVec copy = {0};
	for (int i = 0; i < list->count; i++)
		vec_push(arena, &copy, list->data[i]);
	return copy;
}

/* Behind a colon are the only passes. */
void
subject_pipeline(Options *options, Arena *arena, const char *text)
{
	bool is_only = false;
	options->disable = copy_list(arena, &options->disable);
	options->require = copy_list(arena, &options->require);
	options->passes = copy_list(arena, &options->passes);
	while (*text) {
		size_t length = strcspn(text, is_only ? "," : ",:");
		const char *word = arena_strndup(arena, text, length);
		if (is_only)
			vec_push(arena, &options->passes, word);
		else if (strcmp(word, "none") == 0)
			options->level = 0;
		else if (word[0] == 'O' && word[1])
			options->level = number_of("pipeline O", word + 1);
		else if (word[0] == '-' && word[1])
			vec_push(arena, &options->disable, word + 1);
		else if (word[0] == '+' && word[1])
			vec_push(arena, &options->require, word + 1);
		else
			fail_as(FAIL_USAGE, NULL, "pipeline: expected none, O3, -PASS or +PASS, saw '%s'",
			        word);
		is_only |= text[length] == ':';
		text += length + (text[length] != 0);
	}
}

Subject *
subject_new(const Options *options, Arena *arena, const char *text)
{
	Subject *subject = NEW(arena, Subject);
	*subject = (Subject){.text = text, .options = *options};
	if (subject->options.threads == 0)
		subject->options.threads = pool_cores(); /* both runtimes get the same number */
	char *file = arena_strdup(arena, text), *slash = strrchr(file, '/');
	if (slash && (strcmp(slash, "/ort") == 0 || strcmp(slash, "/ours") == 0)) {
		subject->is_ort = strcmp(slash, "/ort") == 0;
		*slash = 0;
	}
	char *at = strrchr(file, '@');
	if (at) {
		*at = 0;
		if (subject->is_ort || is_compiled(arena, file))
			fail_as(FAIL_USAGE, NULL, "%s: '@%s' says how to compile a model, and %s", text, at + 1,
			        subject->is_ort ? "ONNX Runtime does not ask"
			                        : arena_printf(arena, "%s is compiled already", file));
		subject_pipeline(&subject->options, arena, at + 1);
	}
	subject->file = file;
	if (!subject->is_ort)
		subject->bundle = bundle_of(&subject->options, arena, file);
	return subject;
}

/* ---- inputs of ONNX Runtime ---- */

static void
bind_ort(Subject *subject, Arena *arena)
{
	const Options *options = &subject->options;
	VEC(const char *) names = {0};
	VEC(Array *) inputs = {0};
	for (int i = 0; options->rounds <= 0 && i < options->input.count; i++) {
		Setting setting = setting_of(arena, "input", options->input.data[i]);
		vec_push(arena, &names, setting.name);
		vec_push(arena, &inputs, input_given(options, arena, i, setting.name));
	}
	if (options->rounds > 0) { /* else all inputs are given */
		const Graph *graph = model_read(options, arena, subject->file);
		Learnt learnt = demands_learn(arena, graph, sizes_asked(options, arena, graph));
		const Binding *probe = sizes_typical(options, arena, graph, &learnt);
		InputRanges ranges = input_ranges(arena, graph, probe, &learnt.runs[0].values);
		for (int i = 0; i < graph->body->nparam; i++) {
			const Value *input = graph->body->params[i];
			Array *array = input_given(options, arena, i, input->name);
			if (!array && value_default(input))
				continue;
			if (!array)
				array = input_make_for(arena, (uint64_t)options->seed, &ranges, input, probe);
			vec_push(arena, &names, input->name);
			vec_push(arena, &inputs, array);
		}
	}
	subject->ninput = names.count;
	subject->names = names.data;
	subject->inputs = inputs.data;
	ort_bind(subject->ort, names.count, names.data, inputs.data);
}

/* ---- either way ---- */

void
subject_open(Subject *subject, Arena *arena)
{
	if (subject->is_ort) {
		subject->ort = ort_open(arena, subject->file, (int)subject->options.threads);
		bind_ort(subject, arena);
	} else {
		subject->session =
			session_open(arena, subject->bundle, subject->file, &subject->options, NULL);
		session_inputs(subject->session, &subject->options);
		subject->ninput = subject->session->ninput;
		subject->inputs = subject->session->inputs;
		const char **names = NEW_N(arena, const char *, subject->ninput + 1);
		for (int i = 0; i < subject->ninput; i++)
			names[i] = tw_input(subject->session->bundle, i)->name;
		subject->names = names;
	}
}

void
subject_run(Subject *subject)
{
	if (subject->is_ort)
		ort_run(subject->ort);
	else
		session_run(subject->session);
}

int
subject_output_count(const Subject *subject)
{
	return subject->is_ort ? ort_output_count(subject->ort) : subject->session->noutput;
}

Array
subject_output(Subject *subject, int index)
{
	return subject->is_ort ? *ort_output(subject->ort, index)
	                       : session_output(subject->session, index);
}
