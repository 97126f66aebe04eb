/* trial_seconds: a program as a model of its own, compiled in a temporary folder and run. */
#include "cli/trial.h"

#include <stdlib.h>

#include "base/clock.h"
#include "cli/compile.h"
#include "cli/session.h"
#include "graph/infer.h"
#include "passes/derived_nodes.h"

typedef struct Trial {
	Options options;
	Arena *arena;
	const Program *program;
	const bool *constant;
	double seconds;
	bool is_done;
} Trial;

/* Small numbers: denormals would be slow, and zeros say nothing. */
static const Array *
made_up(Arena *arena, const Type *type)
{
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &dims[d]))
			return NULL;
	Array *array = array_new(arena, type->dtype, type->rank, dims);
	for (int64_t k = 0; k < array_count(array); k++)
		dtype_store_f64(array->type, array->data, k, (double)(k * 37 % 101 - 50) / 64);
	return array;
}

Graph *
trial_graph(Arena *arena, const Program *given, const bool *constant)
{
	Graph *graph = graph_new(arena, "derived", "derived");
	const Program *program = program_import(graph->ctx, given, NULL);
	Value **inputs = NEW_N(arena, Value *, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *t = program->inputs[i];
		Type type = type_tensor(t->type, t->rank, t->hi);
		const char *name = graph_fresh_name(graph, t->name);
		const Array *data = made_up(arena, &type);
		if (!data)
			return NULL;
		inputs[i] =
			constant[i] ? graph_constant(graph, name, data) : graph_input(graph, name, &type);
	}
	Loc loc = {.file = "derived", .node = "derived"};
	Place place = {graph->body, NULL, &loc, NULL};
	const char *why;
	Value *result = derived_nodes(graph, &place, program, inputs, constant, &why);
	if (!result)
		return NULL;
	graph_set_outputs(graph, 1, &result);
	return graph;
}

/* The least of a few runs, of each of some rounds; enough to tell what differs by a tenth. */
static double
least_run(Session *session)
{
	static const double BUDGET = 0.06;
	double least = 1e30, spent = 0;
	session_run(session);
	for (int runs = 0; runs < 5 || (spent < BUDGET && runs < 500); runs++) {
		double start = now_seconds();
		session_run(session);
		double seconds = now_seconds() - start;
		least = seconds < least ? seconds : least;
		spent += seconds;
	}
	return least;
}

static void
run_trial(void *arg)
{
	Trial *trial = arg;
	Graph *graph = trial_graph(trial->arena, trial->program, trial->constant);
	if (!graph)
		return;
	const char *folder = file_temporary_folder(trial->arena);
	const char *model = arena_printf(trial->arena, "%s/trial.txt", folder);
	const char *bundle = arena_printf(trial->arena, "%s/trial.twb", folder);
	Buf text = {.arena = trial->arena};
	graph_print(&text, graph);
	file_write(trial->arena, model, text.data, text.size);
	compile_file(&trial->options, trial->arena, model, bundle);
	for (int threads = 1; threads >= 0; threads--) {
		TwSessionOptions settings = {.size = sizeof settings, .threads = threads};
		Session *session = session_open(trial->arena, bundle, "trial", &trial->options, &settings);
		session_inputs(session, &trial->options);
		trial->seconds += least_run(session) / 2;
	}
	trial->is_done = true;
}

bool
trial_seconds(const Options *options, Arena *arena, const Program *program, const bool *constant,
              double *seconds)
{
	Trial trial = {.options = *options,
	               .arena = arena_new_in(arena, "trial"),
	               .program = program,
	               .constant = constant};
	trial.options.arena = trial.arena;
	trial.options.quiet = true;
	trial.options.json = trial.options.log = trial.options.timings = false;
	trial.options.prove = "none";
	trial.options.no_prepack = true;
	trial.options.keep = trial.options.choices = trial.options.dump_after = NULL;
	trial.options.shape = trial.options.fix = (StrVec){0};
	vec_push(trial.arena, &trial.options.disable, "DeriveExpressions");
	Failure failure;
	bool is_run = try_run(run_trial, &trial, &failure);
	arena_reset(trial.arena);
	*seconds = trial.seconds;
	return is_run && trial.is_done;
}
