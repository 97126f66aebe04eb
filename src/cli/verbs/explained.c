/* Reading the model beside its bundle, and records of choices. */
#include "cli/verbs/explained.h"

#include <stdlib.h>
#include <string.h>

#include "cli/measure/subject.h"
#include "cli/report/nodes.h"
#include "driver/choices.h"
#include "driver/compile.h"
#include "driver/measure/native.h"
#include "driver/parts.h"
#include "driver/sizes/sizes.h"
#include "graph/infer.h"

static const char PASS[] = "DeriveExpressions";

/* ---- the model ------------------------------------------------------------------------------- */

static bool
is_model_of(Arena *arena, const Bundle *bundle, const char *path)
{
	Bytes bytes = file_map(arena, path);
	const char *sha256 = sha256_hex(arena, bytes.data, bytes.size);
	return strcmp(sha256, bundle->manifest->model_sha256) == 0;
}

/* The file of the manifest's name beside the bundle, or here. */
static const char *
model_beside(const Options *options, Arena *arena, const Bundle *bundle, const char *path)
{
	const char *name = bundle->manifest->model_name;
	const char *beside = arena_printf(arena, "%s/%s", file_folder(arena, path), name);
	const char *places[] = {name, beside};
	bool is_there = false;
	for (size_t i = 0; i < countof(places); i++) {
		bool is_file = !strchr(name, '/') && file_exists(places[i]);
		if (is_file && is_model_of(arena, bundle, places[i]))
			return places[i];
		is_there |= is_file;
	}
	fail_as(FAIL_USAGE, NULL,
	        "%s holds what was chosen, and not the model that the expressions are from; %s%s: "
	        "tilewright %s %s MODEL",
	        path, name, is_there ? " beside it is another one by now" : " is not beside it",
	        options->verb->name, path);
}

const char *
explained_model(const Options *options, Arena *arena, const Bundle *bundle, const char *path)
{
	if (options->args.count < 2)
		return model_beside(options, arena, bundle, path);
	const char *given = options->args.data[1];
	if (!is_model_of(arena, bundle, given))
		fail_as(FAIL_USAGE, NULL,
		        "%s is not the model that %s was compiled from (%s): its SHA-256 is another", given,
		        path, bundle->manifest->model_name);
	return given;
}

/* What a bundle names is not run unless the command line names it, too. */
static void
refuse_programs(const char *path, const StrVec *given, const StrVec *all, int first)
{
	for (int i = first; i < all->count; i++) {
		const char *word = all->data[i];
		bool is_given = !pass_is_program(word);
		for (int k = 0; k < given->count; k++)
			is_given |= strcmp(given->data[k], word) == 0;
		if (!is_given)
			fail_as(FAIL_USAGE, NULL,
			        "%s was compiled with a program, %s, which is run again only with --require %s",
			        path, word, word);
	}
}

static void
read_bundle(Explained *e, const char *path, Bytes bytes)
{
	const Options *given = &e->options;
	e->bundle = bundle_get(e->arena, path, bytes, BUNDLE_VERIFY_CODE);
	if (given->choices)
		fail_as(FAIL_USAGE, NULL, "--choices: %s is a bundle and has its own", path);
	e->path = explained_model(given, e->arena, e->bundle, path);
	const StrVec required = given->require;
	int only = given->passes.count;
	subject_pipeline(&e->options, e->arena, e->bundle->manifest->pipeline);
	refuse_programs(path, &required, &e->options.require, required.count);
	refuse_programs(path, &required, &e->options.passes, only);
	if (!given->target.count && e->bundle->manifest->ntarget > 0)
		vec_push(e->arena, &e->options.target, e->bundle->manifest->targets[0].device);
}

/* The sizes that it was compiled for, where --shape says no others. */
static void
take_sizes(Explained *e, const Graph *graph)
{
	const ZipEntry *sizes = zip_find(&e->bundle->zip, SIZES_ENTRY);
	for (int i = 0; sizes && i < graph->symbols.count; i++) {
		int64_t size;
		const char *name = graph->symbols.data[i].symbol->name;
		if (size_asked(&e->options, e->arena, name, &size))
			continue;
		size = sizes_find((const char *)sizes->data.data, sizes->data.size, name, -1);
		if (size >= 0)
			vec_push(e->arena, &e->options.shape,
			         arena_printf(e->arena, "%s=%lld", name, (long long)size));
	}
}

static void
read_choices(Explained *e)
{
	Map *chosen = &e->context->recorded;
	const char *path = e->options.choices;
	const ZipEntry *part = e->bundle ? zip_find(&e->bundle->zip, "choices.jsonl") : NULL;
	if (path)
		choices_read(e->arena, path, "candidates", &e->measured);
	if (!part)
		return;
	const char *text = arena_strndup(e->arena, (const char *)part->data.data, part->data.size);
	choices_parse(e->arena, part->name, text, "chosen", chosen);
	choices_parse(e->arena, part->name, text, "candidates", &e->measured);
}

static void
read_history(Explained *e)
{
	const ZipEntry *part = e->bundle ? zip_find(&e->bundle->zip, HISTORY_ENTRY) : NULL;
	if (part)
		e->history = history_read(e->arena, e->options.args.data[0], part->data);
}

/* The passes before it; what it would do is not done. */
static void
run_passes_before(Explained *e)
{
	const PassInfo *pass = pass_find(PASS);
	bool is_behind = false;
	e->is_asked = pass_enabled(e->context, pass);
	for (int i = 0; pass_at(i); i++) {
		is_behind |= pass_at(i) == pass;
		if (is_behind && pass_at(i)->ir == IR_graph)
			vec_push(e->arena, &e->context->disabled, pass_at(i)->name);
	}
	run_graph_passes(e->graph, e->context);
}

Explained
explained_open(const Options *options)
{
	Explained e = {.options = *options, .arena = options->arena};
	const char *path = options->args.data[0];
	Bytes bytes = file_map(e.arena, path);
	e.measured = (Map){.arena = e.arena};
	e.options.target = strings_copy(e.arena, &options->target);
	e.options.shape = strings_copy(e.arena, &options->shape);
	e.path = path;
	if (file_kind(path, bytes) == FILE_BUNDLE)
		read_bundle(&e, path, bytes);
	else if (options->args.count > 1)
		fail_as(FAIL_USAGE, NULL, "%s is no bundle: expected one model, or a bundle and its model",
		        path);
	e.graph = e.bundle ? model_read(&e.options, e.arena, e.path)
	                   : model_read_bytes(&e.options, e.arena, path, bytes);
	graph_infer(e.graph);
	node_names(e.arena, e.graph, &e.names);
	e.given = graph_clone(e.arena, e.graph);
	if (e.bundle)
		take_sizes(&e, e.graph);
	const Options *kept = arena_memdup(e.arena, &e.options, sizeof e.options); /* by both */
	e.context = pipeline_new(kept, e.arena, 3);
	Target *target = target_new(kept, e.arena, target_name(kept, 0), e.graph);
	native_correct(kept, e.arena, target_name(kept, 0), e.context->level, target);
	e.context->target = target;
	read_choices(&e);
	read_history(&e);
	return e;
}

Explained
explained_read(const Options *options)
{
	Explained e = explained_open(options);
	run_passes_before(&e);
	e.asked = derive_ask(e.context, e.graph);
	derive_ask_groups(e.context, e.graph, &e.asked);
	return e;
}

const Plan *
explained_plan(const Explained *e)
{
	bool is_there = e->bundle && e->bundle->manifest->ntarget > 0;
	return is_there ? bundle_plan(e->arena, e->bundle, 0) : NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

/* "as given 28.1 us", "converge 4 not measured"; false: something else is said. */
static bool
parse_measured(Arena *arena, const char *text, size_t length, Measured *measured)
{
	static const char unit[] = " us", none[] = " not measured";
	const char *item = arena_strndup(arena, text, length);
	size_t size = sizeof none - 1;
	if (length > size && strcmp(item + length - size, none) == 0) {
		*measured = (Measured){arena_strndup(arena, text, length - size), 0};
		return true;
	}
	size = sizeof unit - 1;
	if (length <= size || strcmp(item + length - size, unit) != 0)
		return false;
	item = arena_strndup(arena, text, length - size);
	const char *number = strrchr(item, ' ');
	if (!number)
		return false;
	*measured = (Measured){arena_strndup(arena, item, (size_t)(number - item)), atof(number)};
	return true;
}

static void
read_measured(Arena *arena, const char *text, Answer *answer)
{
	while (*text) {
		const char *end = strstr(text, ", ");
		size_t length = end ? (size_t)(end - text) : strlen(text);
		Measured item;
		if (!parse_measured(arena, text, length, &item))
			answer->note = arena_strndup(arena, text, length);
		else
			vec_push(arena, &answer->measured, item);
		text += length + (end ? 2 : 0);
	}
}

Answer
answer_of(const Explained *e, const char *key)
{
	Answer answer = {.chosen = e->is_asked ? map_find(&e->context->recorded, key) : NULL};
	const char *measured = map_find(&e->measured, key);
	if (!answer.chosen)
		return answer;
	read_measured(e->arena, measured ? measured : "", &answer);
	for (int i = 0; i < answer.measured.count; i++) {
		const Measured *m = &answer.measured.data[i];
		bool is_given = strcmp(m->way, AS_GIVEN) == 0;
		if (is_given)
			answer.given = m->us;
		else if (m->us > 0 && (answer.least <= 0 || m->us < answer.least))
			answer.least = m->us;
		if (strcmp(m->way, answer.chosen) == 0)
			answer.taken = m->us;
	}
	return answer;
}

const NodeGroup *
merged_with(const Explained *e, const Node *node)
{
	for (int i = 0; i < e->asked.askers.count; i++) {
		const NodeGroup *group = e->asked.askers.data[i].group;
		if (e->asked.askers.data[i].node != node || !group || !group->question)
			continue;
		const char *chosen = answer_of(e, group->question->key).chosen;
		return chosen && strcmp(chosen, AS_GIVEN) != 0 ? group : NULL;
	}
	return NULL;
}
