/* Outputs are read from the session. What lies between inputs and outputs is seen by a run of its
 * own, under the names that the model gives it (cli/measure/tensors.h).
 */
#include "cli/verbs/results.h"

#include <stdio.h>

#include "cli/measure/tensors.h"
#include "cli/report/report.h"
#include "driver/files.h"
#include "driver/proof/compare.h"
#include "driver/sizes/npy.h"

static void
write_outputs(const Options *options, Session *session)
{
	Arena *arena = session->arena;
	file_make_folder(options->result_dir);
	for (int i = 0; i < session->noutput; i++) {
		Array output = session_output(session, i);
		const char *name = tw_output(session->bundle, i)->name;
		npy_write(arena, npy_path(arena, options->result_dir, name), &output);
	}
}

/* ---- values inside of the model ---- */

/* A run and what it had in memory, by the model's names; that is looked at when it is asked for. */
typedef struct Results {
	const Options *options;
	Session *session;
	ModelTensors *values; /* NULL: nobody has asked */
} Results;

static const ModelTensors *
all_values(Results *results, const char *option)
{
	const Options *options = results->options;
	Arena *arena = results->session->arena;
	const char *model = options->args.data[0];
	if (file_kind(model, file_map(arena, model)) != FILE_ONNX)
		fail_as(FAIL_USAGE, NULL,
		        "%s: only an ONNX file says what its values are called, and %s is none", option,
		        model);
	if (!results->values) {
		Subject subject = {.text = results->session->name,
		                   .file = model,
		                   .options = *options,
		                   .session = results->session};
		results->values = NEW(arena, ModelTensors);
		*results->values = tensors_of(&subject, arena, outline_read(arena, model), NULL);
	}
	return results->values;
}

static void
write_values(Results *results, const char *folder)
{
	Arena *arena = results->session->arena;
	const ModelTensors *values = all_values(results, "--all-outputs");
	int count = 0;
	file_make_folder(folder);
	for (int i = 0; i < values->list.count; i++) {
		const ModelTensor *value = &values->list.data[i];
		if (!value->name || value->array.type == DT_STRING)
			continue;
		npy_write(arena, npy_path(arena, folder, value->name), &value->array);
		count++;
	}
	report_say(results->options, "%d values in %s%s\n", count, folder,
	           results->options->level == 0
	               ? ""
	               : "; what is inside of a kernel has no memory of its own: -O0 has all");
}

static const Array *
value_called(Results *results, const char *name)
{
	const char *model = results->options->args.data[0];
	int index = tw_find_output(results->session->bundle, name);
	if (index >= 0) {
		Array output = session_output(results->session, index);
		return arena_memdup(results->session->arena, &output, sizeof output);
	}
	const ModelTensors *values = all_values(results, "--expect");
	const ModelTensor *value = tensors_find(values, name);
	if (!value)
		fail_as(FAIL_USAGE, NULL,
		        "--expect: %s has no value '%s', or it is inside of a kernel: -O0 has all", model,
		        name);
	return &value->array;
}

/* ---- expectations ---- */

static bool
compare_value(Results *results, const char *name, const Array *seen, const Array *expected)
{
	const Options *options = results->options;
	Arena *arena = results->session->arena;
	Comparison exact = compare_arrays(arena, expected, seen, 0, 0);
	Tolerance t = tolerance_given(options, exact.largest);
	Comparison c = compare_arrays(arena, expected, seen, t.rtol, t.atol);
	if (!c.reason && c.wrong == 0) {
		report_say(options, "%s agrees with what was expected; the largest error is %.3g\n", name,
		           c.worst);
		return true;
	}
	fprintf(stderr, "%s: %s\n", name, comparison_text(arena, &c, expected, seen));
	return false;
}

static bool
compare_all(Results *results)
{
	const Options *options = results->options;
	Session *session = results->session;
	Arena *arena = session->arena;
	bool agrees = true;
	for (int i = 0; i < options->expect.count; i++) {
		Setting setting = setting_of(arena, "expect", options->expect.data[i]);
		agrees &= compare_value(results, setting.name, value_called(results, setting.name),
		                        array_of_text(arena, "--expect", setting.value, DT_NONE, -1));
	}
	for (int i = 0; options->data_set && i < session->noutput; i++) {
		const char *path = arena_printf(arena, "%s/output_%d.pb", options->data_set, i);
		if (file_exists(path)) {
			Array seen = session_output(session, i);
			agrees &= compare_value(results, tw_output(session->bundle, i)->name, &seen,
			                        tensor_read(arena, path));
		}
	}
	return agrees;
}

int
give_results(const Options *options, Session *session)
{
	Results results = {options, session, NULL};
	if (options->result_dir)
		write_outputs(options, session);
	if (options->all_outputs)
		write_values(&results, options->all_outputs);
	return compare_all(&results) ? 0 : FAIL_COMPARISON;
}
