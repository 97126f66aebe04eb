/* Ours are seen by the prover, which looks at each when it is whole. */
#include "cli/measure/tensors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/proof/proof.h"

const ModelTensor *
tensors_find(const ModelTensors *tensors, const char *name)
{
	uintptr_t place = (uintptr_t)map_find(&tensors->index, name);
	return place ? &tensors->list.data[place - 1] : NULL;
}

static void
add_tensor(Arena *arena, ModelTensors *tensors, ModelTensor tensor)
{
	if (tensor.name && tensors_find(tensors, tensor.name))
		return;
	const Array *seen = &tensor.array;
	tensor.array = *array_from(arena, seen->type, seen->rank, seen->dims, seen->data);
	vec_push(arena, &tensors->list, tensor);
	if (tensor.name)
		map_set(&tensors->index, tensor.name, (void *)(uintptr_t)tensors->list.count);
}

/* ---- which value of the model one of ours is ---- */

static const char *
find(const StrVec *list, const char *name)
{
	for (int i = 0; i < list->count; i++)
		if (strcmp(list->data[i], name) == 0)
			return list->data[i];
	return NULL;
}

static bool
comes_from(const Node *node, const OutlineNode *origin)
{
	for (int i = 0; i < origin->origins.count; i++)
		if (find(&node->origins, origin->origins.data[i]) ||
		    (node->origins.count == 0 && node->loc.node &&
		     strcmp(node->loc.node, origin->origins.data[i]) == 0))
			return true;
	return false;
}

static bool
reads_from(const OutlineNode *node, const OutlineNode *maker)
{
	for (int i = 0; i < maker->outputs.count; i++)
		if (*maker->outputs.data[i] && find(&node->inputs, maker->outputs.data[i]))
			return true;
	return false;
}

typedef VEC(const OutlineNode *) Origins;

/* The last one: none of the others reads it. Of several the one that makes this name, or none. */
static const OutlineNode *
last_of(const Origins *origins, const char *name)
{
	const OutlineNode *last = NULL;
	int count = 0;
	for (int i = 0; i < origins->count; i++) {
		const OutlineNode *node = origins->data[i];
		bool is_read = false;
		for (int k = 0; k < origins->count; k++)
			is_read |= k != i && reads_from(origins->data[k], node);
		if (is_read)
			continue;
		if (find(&node->outputs, name))
			return node;
		last = node;
		count++;
	}
	return count == 1 ? last : NULL;
}

static bool
is_on_the_way(const Value *value, const OutlineNode *origin)
{
	for (int i = 0; i < value->uses.count; i++)
		if (value->uses.data[i].node && comes_from(value->uses.data[i].node, origin))
			return true;
	return false;
}

/* What a group gives is what a node in it gives. */
static const Value *
inside_of(const Value *value)
{
	while (value->def && value->def->op->code == OP_fused)
		value = value->def->regions[0]->results[value->result];
	return value;
}

/* The output of a node of the model; NULL: it is not known which. */
static const char *
output_name(const OutlineNode *node, const Value *outer, const Value *inner)
{
	const char *name = find(&node->outputs, outer->name);
	if (name)
		return name;
	bool is_one = node->outputs.count == 1;
	bool is_same =
		strcmp(inner->def->op->name, node->op) == 0 && inner->result < node->outputs.count;
	return is_one ? node->outputs.data[0] : is_same ? node->outputs.data[inner->result] : NULL;
}

static void
name_tensor(Arena *arena, const Outline *outline, const Value *value, ModelTensor *tensor)
{
	const Value *inner = inside_of(value);
	Origins origins = {0};
	for (int i = 0; inner->def && i < outline->nodes.count; i++)
		if (comes_from(inner->def, &outline->nodes.data[i]))
			vec_push(arena, &origins, &outline->nodes.data[i]);
	const OutlineNode *last = last_of(&origins, value->name);
	if (!last || is_on_the_way(value, last) || is_on_the_way(inner, last))
		return;
	tensor->name = output_name(last, value, inner);
	tensor->node = tensor->name ? last : NULL;
}

/* ---- ours ---- */

typedef struct Watching {
	Arena *arena;
	const Outline *outline;
	ModelTensors *tensors;
} Watching;

static void
note(void *context, const ProofSeen *seen)
{
	Watching *watching = context;
	Arena *arena = watching->arena;
	ModelTensor tensor = {.array = seen->array, .kind = seen->kind, .points = seen->points};
	tensor.worst = seen->worst;
	tensor.step = arena_strdup(arena, seen->step);
	tensor.wrong = seen->wrong ? arena_strdup(arena, seen->wrong) : NULL;
	name_tensor(arena, watching->outline, seen->value, &tensor);
	add_tensor(arena, watching->tensors, tensor);
}

/* ---- others ---- */

/* A copy of the model with these outputs, in a folder where its files of weights are, too: not as
 * symbolic links, which ONNX Runtime follows to no other folder. */
static const char *
exposed_copy(Arena *arena, const Outline *outline, const StrVec *names)
{
	const char *folder = file_temporary_folder(arena);
	const char *from = file_folder(arena, outline->path);
	for (int i = 0; i < outline->external.count; i++) {
		const char *place = outline->external.data[i];
		const char *to = arena_printf(arena, "%s/%s", folder, place);
		file_make_folder(file_folder(arena, to));
		char *target = realpath(arena_printf(arena, "%s/%s", from, place), NULL);
		if (!target)
			fail_environment(NULL, "%s: its weights in %s are not there", outline->path, place);
		if (link(target, to) != 0) { /* on another disk */
			Bytes bytes = file_map(arena, target);
			file_write(arena, to, bytes.data, bytes.size);
		}
		free(target);
	}
	const char *path = arena_printf(arena, "%s/model.onnx", folder);
	outline_expose(arena, outline, names, path);
	return path;
}

/* Values of the model's nodes that are no outputs yet. */
static StrVec
wanted_names(Arena *arena, const Outline *outline, const ModelTensors *wanted)
{
	StrVec names = {0};
	for (int i = 0; i < outline->nodes.count; i++) {
		const StrVec *outputs = &outline->nodes.data[i].outputs;
		for (int k = 0; k < outputs->count; k++) {
			const char *name = outputs->data[k];
			if (*name && !find(&outline->outputs, name) && (!wanted || tensors_find(wanted, name)))
				vec_push(arena, &names, name);
		}
	}
	return names;
}

static void
run_exposed(Subject *subject, Arena *arena, const ModelTensors *wanted, ModelTensors *tensors)
{
	const Executor *executor = subject->executor;
	Arena *scratch = arena_new_in(arena, "exposed model");
	const Outline *outline = outline_read(arena, subject->file); /* it may be another model */
	StrVec names = strings_copy(scratch, &outline->outputs);
	StrVec more = wanted_names(scratch, outline, wanted);
	for (int i = 0; i < more.count; i++)
		vec_push(scratch, &names, more.data[i]);
	void *state = executor->open(scratch, exposed_copy(scratch, outline, &more),
	                             (int)subject->options.threads, false);
	executor->bind(state, subject->ninput, subject->names, subject->inputs);
	executor->run(state);
	if (executor->output_count(state) != names.count)
		fail_unsupported(NULL, "%s: %s gives %d of %d tensors", subject->text, executor->title,
		                 executor->output_count(state), names.count);
	for (int n = 0; n < outline->nodes.count; n++)
		for (int i = 0; i < names.count; i++) {
			const OutlineNode *node = &outline->nodes.data[n];
			if (find(&node->outputs, names.data[i]))
				add_tensor(arena, tensors,
				           (ModelTensor){.name = names.data[i],
				                         .node = node,
				                         .array = *executor->output(state, i)});
		}
	arena_reset(scratch);
}

/* A program's: its outputs. */
static void
take_outputs(Subject *subject, Arena *arena, const Outline *outline, ModelTensors *tensors)
{
	for (int i = 0; i < subject_output_count(subject); i++) {
		const char *name = subject_output_name(subject, i);
		uintptr_t node = (uintptr_t)map_find(&outline->by_output, name);
		if (node)
			add_tensor(arena, tensors,
			           (ModelTensor){.name = name,
			                         .node = &outline->nodes.data[node - 1],
			                         .array = subject_output(subject, i)});
	}
}

ModelTensors
tensors_of(Subject *subject, Arena *arena, const Outline *outline, const ModelTensors *wanted)
{
	ModelTensors tensors = {.index.arena = arena};
	Watching watching = {arena, outline, &tensors};
	if (subject->executor == &executor_command)
		take_outputs(subject, arena, outline, &tensors);
	else if (subject->executor)
		run_exposed(subject, arena, wanted, &tensors);
	else if (!proof_session(&subject->options, arena, subject->session, note, &watching))
		fail_unsupported(NULL, "%s holds no graph: compile the model again", subject->text);
	return tensors;
}
