/* Finding cases, and deciding from tables what is skipped.
 *
 * Skipped: what the importer has no row for (operators, types), nodes that nothing computes yet,
 * inputs and outputs that are not tensors, values whose rank nothing decides, data that holds bf16
 * as u16. Everything else must pass.
 */
#include "cases.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "driver/obstacles.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "onnx/onnx.h"

/* ---- finding ---- */

static bool
has_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);
	return length > tail && strcmp(text + length - tail, suffix) == 0;
}

static void
add_case(Arena *arena, CaseVec *cases, const char *folder, const char *glob)
{
	Case c = {.name = file_base(folder), .folder = folder};
	c.model = arena_printf(arena, "%s/model.onnx", folder);
	while (file_is_folder(arena_printf(arena, "%s/test_data_set_%d", folder, c.nset)))
		c.nset++;
	if (!glob || fnmatch(glob, c.name, 0) == 0)
		vec_push(arena, cases, c);
}

static void
add_light(Arena *arena, CaseVec *cases, const char *folder, const char *file, const char *glob)
{
	char *name = arena_strndup(arena, file, strlen(file) - strlen(".onnx"));
	const char *expected = arena_printf(arena, "%s/%s_output_0.pb", folder, name);
	Case c = {.name = name, .folder = folder, .is_light = true, .nset = 1};
	c.model = arena_printf(arena, "%s/%s", folder, file);
	if (file_exists(expected) && (!glob || fnmatch(glob, name, 0) == 0))
		vec_push(arena, cases, c);
}

static void
find_in(Arena *arena, CaseVec *cases, const char *folder, const char *glob)
{
	struct dirent **entries;
	if (file_exists(arena_printf(arena, "%s/model.onnx", folder))) {
		add_case(arena, cases, folder, glob);
		return;
	}
	int count = scandir(folder, &entries, NULL, alphasort);
	if (count < 0)
		fail_environment(NULL, "cannot read folder %s", folder);
	for (int i = 0; i < count; i++) {
		const char *name = arena_strdup(arena, entries[i]->d_name);
		const char *path = arena_printf(arena, "%s/%s", folder, name);
		free(entries[i]);
		if (name[0] == '.')
			continue;
		if (file_is_folder(path))
			find_in(arena, cases, path, glob);
		else if (has_suffix(name, ".onnx"))
			add_light(arena, cases, folder, name, glob);
	}
	free(entries);
}

CaseVec
cases_find(Arena *arena, const char *folder, const char *glob)
{
	CaseVec cases = {0};
	find_in(arena, &cases, folder, glob);
	return cases;
}

/* ---- data ---- */

/* The one float input of a light model: arange(n)/n. */
static Data
light_input(Arena *arena, const Type *type)
{
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &dims[d]))
			dims[d] = 1;
	Array *array = array_new(arena, type->dtype, type->rank, dims);
	int64_t count = array_count(array);
	for (int64_t i = 0; i < count; i++)
		dtype_store_f64(array->type, array->data, i, (double)((float)i / (float)count));
	return (Data){.kind = TYPE_TENSOR, .tensor = array, .name = ""};
}

Data
case_input(Arena *arena, const Case *c, const CaseModel *model, int set, int index)
{
	if (c->is_light)
		return light_input(arena, &model->types[index]);
	const char *path =
		arena_printf(arena, "%s/test_data_set_%d/input_%d.pb", c->folder, set, index);
	if (!file_exists(path))
		return (Data){.kind = TYPE_UNKNOWN};
	return data_read(arena, path, model->types[index].kind);
}

bool
case_output(Arena *arena, const Case *c, const CaseModel *model, int set, int index, Data *data)
{
	const char *path =
		c->is_light
			? arena_printf(arena, "%s/%s_output_%d.pb", c->folder, c->name, index)
			: arena_printf(arena, "%s/test_data_set_%d/output_%d.pb", c->folder, set, index);
	if (!file_exists(path))
		return false;
	*data = data_read(arena, path, model->graph->body->results[index]->type.kind);
	return true;
}

/* ---- shape-deciding inputs ----
 *
 * An input decides shapes when a symbol is an element of it, or when somebody needs its numbers to
 * know what to do and does not read them as data: axes, pads, scales. Such an operand is one that
 * the reader's program does not read, or without whose numbers there is no program at all.
 */

/* Through small tensors only: what is computed from a shape depends on no data. */
static bool
depends_on(const Value *value, const Value *input, int depth)
{
	enum { MAX_DEPTH = 32 };
	if (value == input)
		return true;
	if (!value->def || depth > MAX_DEPTH || value->type.rank > 1)
		return false;
	for (int i = 0; i < value->def->ninput; i++)
		if (value->def->inputs[i] && depends_on(value->def->inputs[i], input, depth + 1))
			return true;
	return false;
}

static bool
is_known(const Value *value)
{
	if (value_fixed(value))
		return true;
	for (int i = 0; value->known && i < value->known->count; i++)
		if (!value->known->value[i])
			return false;
	return value->known != NULL;
}

typedef struct Reads {
	Graph *graph;
	Node *node;
	Program *program;
	const Tensor *tensor;
	bool found;
} Reads;

/* Inference itself waits for some operands (a float Range, whatever extent the model declares). */
static void
make_program(void *arg)
{
	Reads *reads = arg;
	node_infer(reads->graph, reads->node);
	reads->program = node_meaning(reads->graph, reads->node);
}

static void
note_read(const Tensor *tensor, void *arg)
{
	Reads *reads = arg;
	reads->found |= tensor == reads->tensor;
}

/* Whether the node's program takes elements of this operand as data. */
static bool
reads_data(Arena *arena, Graph *graph, Node *node, const Value *operand)
{
	Reads reads = {.graph = graph, .node = node};
	Failure failure;
	for (int k = 0; k < node->noutput; k++)
		if (node->outputs[k] && value_is_unknown(node->outputs[k]))
			return false;
	if (!node_has_meaning(node))
		return true;
	if (!try_run(make_program, &reads, &failure))
		return false;
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, inputs);
	for (int i = 0; i < count; i++) {
		if (inputs[i] != operand)
			continue;
		reads.tensor = reads.program->inputs[i];
		for (int s = 0; s < reads.program->nstage; s++)
			stage_visit_reads(reads.program->stages[s], note_read, &reads);
		for (int k = 0; k < reads.program->noutput; k++)
			reads.found |= reads.program->outputs[k] == reads.tensor;
	}
	return reads.found;
}

static bool
is_waited_for(Arena *arena, Graph *graph, const Region *region, const Value *input)
{
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->ninput; i++) {
			const Value *operand = node->inputs[i];
			if (operand && operand->type.rank <= 1 && !is_known(operand) &&
			    depends_on(operand, input, 0) && !reads_data(arena, graph, node, operand))
				return true;
		}
		for (int i = 0; i < node->nregion; i++)
			if (is_waited_for(arena, graph, node->regions[i], input))
				return true;
	}
	return false;
}

static bool
decides_shapes(Arena *arena, Graph *graph, const Value *input)
{
	if (input->type.kind != TYPE_TENSOR || input->type.rank > 1)
		return false;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (def->source == SYMBOL_ELEMENT && def->value && depends_on(def->value, input, 0))
			return true;
	}
	return is_waited_for(arena, graph, graph->body, input);
}

/* ---- reading ---- */

typedef struct ReadJob {
	Arena *arena;
	const char *path;
	const OnnxReadOptions *options;
	Graph *graph;
} ReadJob;

static void
read_model(void *arg)
{
	ReadJob *job = arg;
	job->graph = onnx_read(job->arena, job->path, job->options);
}

/* Fix what decides shapes, and read again where there was something. */
static void
fix_inputs(Arena *arena, const Case *c, CaseModel *model)
{
	OnnxFixed *fixed = NEW_N(arena, OnnxFixed, model->ninput + 1);
	OnnxReadOptions options = {.fixed = fixed};
	for (int i = 0; i < model->ninput; i++) {
		const Value *input = graph_find_value(model->graph, model->names[i]);
		if (!input || input->type.kind != TYPE_TENSOR ||
		    !decides_shapes(arena, model->graph, input))
			continue;
		Data data = case_input(arena, c, model, 0, i);
		if (data.kind != TYPE_TENSOR)
			continue;
		model->is_fixed[i] = true;
		fixed[options.nfixed++] = (OnnxFixed){model->names[i], data.tensor, NULL};
	}
	if (options.nfixed)
		model->graph = onnx_read(arena, c->model, &options);
}

/* Old releases of ONNX (1.12) wrote bf16 as u16, cut instead of rounded: no data for this model.
 * Other types that differ are failures. */
static const char *
skip_element(Arena *arena, const char *what, int index, const Data *data, const Type *type)
{
	if (data->kind != TYPE_TENSOR || type->kind != TYPE_TENSOR || type->dtype != DT_BF16 ||
	    data->tensor->type != DT_U16)
		return NULL;
	return arena_printf(arena, "the data of %s %d is u16, the model says bf16", what, index);
}

static const char *
skip_data(Arena *arena, const Case *c, const CaseModel *model)
{
	const Region *body = model->graph->body;
	const char *reason = NULL;
	for (int set = 0; set < c->nset && !reason; set++) {
		for (int i = 0; i < model->ninput && !reason; i++) {
			Data data = case_input(arena, c, model, set, i);
			reason = skip_element(arena, "input", i, &data, &model->types[i]);
		}
		for (int i = 0; i < body->nresult && !reason; i++) {
			Data data;
			if (case_output(arena, c, model, set, i, &data))
				reason = skip_element(arena, "output", i, &data, &body->results[i]->type);
		}
	}
	return reason;
}

static void
infer(void *arg)
{
	graph_infer(arg);
}

/* Why inference refuses the model, where that is no fault: reading leaves such a node for later. */
static const char *
skip_inference(Arena *arena, const CaseModel *model)
{
	Failure failure;
	if (try_run(infer, model->graph, &failure))
		return NULL;
	if (failure.kind != FAIL_UNSUPPORTED)
		fail_again(&failure);
	return arena_strdup(arena, failure.text);
}

bool
case_read(Arena *arena, const Case *c, bool is_compiled, CaseModel *model, const char **reason)
{
	ReadJob job = {arena, c->model, NULL, NULL};
	Failure failure;
	if (!try_run(read_model, &job, &failure)) {
		if (failure.kind != FAIL_UNSUPPORTED)
			fail_again(&failure);
		*reason = arena_strdup(arena, failure.text + strlen(c->model) + 2);
		return false;
	}
	const Region *body = job.graph->body;
	const char **names = NEW_N(arena, const char *, body->nparam + 1);
	Type *types = NEW_N(arena, Type, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++) {
		names[i] = body->params[i]->name;
		types[i] = body->params[i]->type;
	}
	*model =
		(CaseModel){job.graph, body->nparam, names, types, NEW_N(arena, bool, body->nparam + 1)};
	fix_inputs(arena, c, model);
	ObstacleVec obstacles = graph_obstacles(arena, model->graph, is_compiled);
	const Obstacle *first = obstacles.count ? &obstacles.data[0] : NULL;
	const char *refused = first ? NULL : skip_inference(arena, model);
	*reason = refused       ? refused
	          : !first      ? skip_data(arena, c, model)
	          : first->node ? arena_printf(arena, "%s: %s", first->node->op->name, first->text)
	                        : first->text;
	return *reason == NULL;
}
