/* Made-up inputs, and those given by hand.
 *
 * Where an integer input selects elements, its meaning says so: X[at(I[i], 0..D, …)]. The search
 * follows the input through nodes that only move or convert it, and takes the least such D. What
 * something is divided by is not 0.
 */
#include "driver/sizes/inputs.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "bundle/json.h"
#include "driver/sizes/npy.h"
#include "graph/expand.h"
#include "graph/meaning.h"

/* ---- ranges ---- */

typedef struct Search {
	Arena *arena;
	const Graph *graph;
	const Binding *probe;
	/* one node */
	const Node *node;
	const Tensor *tensor;
	Program *program;
	Graph *expanded; /* of a node that others stand for */
	int64_t extent;  /* found so far; INT64_MAX: none */
	const Dim *dim;  /* the same */
	bool divides;
} Search;

static void
make_program(void *arg)
{
	Search *search = arg;
	search->program = node_meaning(search->graph, search->node);
}

/* An index that is an element of the tensor, perhaps converted. */
static bool
is_element(const Expr *e, const Tensor *tensor)
{
	while (e->op == EX_cast)
		e = e->arg[0];
	return e->op == EX_read && e->tensor == tensor;
}

/* How many places an element may choose, as D in at(I[i], 0..D), or D - T + 1 in at(I[i] + t, 0..D)
 * with a loop t of extent T; NULL: this is no such index. */
static const Dim *
places(const Search *search, const Stage *stage, const Expr *at)
{
	const Expr *index = at->op == EX_at ? at->arg[0] : NULL;
	if (!index || is_element(index, search->tensor))
		return index ? at->arg[1] : NULL;
	for (int k = 0; k < 2 && index->op == EX_add; k++) {
		const Expr *other = index->arg[1 - k];
		if (!is_element(index->arg[k], search->tensor) || other->op != EX_iter)
			continue;
		ExprCtx *ctx = search->graph->ctx;
		return dim_add_i64(ctx, dim_sub(ctx, at->arg[1], stage->iters[other->iter].hi), 1);
	}
	return NULL;
}

static bool
is_quotient(const Expr *e)
{
	return e->op == EX_div || e->op == EX_floordiv || e->op == EX_floormod || e->op == EX_rem;
}

static void
search_stage(Search *search, const Stage *stage)
{
	int64_t extent;
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);) {
		const Dim *dim = places(search, stage, walk.e);
		search->divides |= is_quotient(walk.e) && is_element(walk.e->arg[1], search->tensor);
		if (dim && dim_eval(dim, search->probe, &extent) && extent > 0 && extent < search->extent) {
			search->extent = extent;
			search->dim = dim;
		}
	}
}

static void search_value(Search *search, const Value *value, int depth);

/* What a node stands for, at the sizes of the probe. */
static void
make_expanded(void *arg)
{
	Search *search = arg;
	const Node *node = search->node;
	Array *like = NEW_N(search->arena, Array, node->ninput + 1);
	for (int i = 0; i < node->ninput; i++) {
		const Type *type = node->inputs[i] ? &node->inputs[i]->type : NULL;
		int rank = type && type->rank > 0 ? type->rank : 0;
		int64_t *dims = NEW_N(search->arena, int64_t, rank);
		for (int d = 0; d < rank; d++)
			if (!dim_eval(type->dims[d], search->probe, &dims[d]))
				fail(&node->loc, "a dim of input %d is not known", i);
		like[i] = (Array){type ? type->dtype : DT_NONE, rank, dims, NULL};
	}
	search->expanded = node_expanded(search->arena, node, like);
}

static void
search_expansion(Search *search, const Value *value)
{
	Failure failure;
	const Node *node = search->node;
	if (!try_run(make_expanded, search, &failure))
		return;
	Search inner = *search;
	inner.graph = search->expanded;
	int param = 0;
	for (int i = 0; i < node->ninput; i++) {
		if (node->inputs[i] == value)
			search_value(&inner, inner.graph->body->params[param], 1);
		param += node->inputs[i] && !value_fixed(node->inputs[i]);
	}
	search->divides |= inner.divides;
	if (inner.extent >= search->extent)
		return;
	search->extent = inner.extent;
	search->dim = dim_const(search->graph->ctx, inner.extent);
}

/* Sizes that suit any dim: Expand gives way to a 1, and for Reshape 0 is the dim itself. */
static void
search_shape(Search *search, const Node *node, const Value *value)
{
	OpCode code = node->op->code;
	if (node->ninput < 2 || node->inputs[1] != value || (code != OP_Expand && code != OP_Reshape))
		return;
	search->divides |= code == OP_Expand;
	search->extent = code == OP_Expand ? 2 : 1;
	search->dim = NULL;
}

static void
search_use(Search *search, const Node *node, const Value *value, int depth)
{
	Failure failure;
	search->node = node;
	search_shape(search, node, value);
	if (node->op->meaning == MEANING_NODES) {
		search_expansion(search, value);
		return;
	}
	if (!node_has_meaning(node) || !try_run(make_program, search, &failure))
		return;
	const Program *program = search->program;
	Value **inputs = NEW_N(search->arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, inputs);
	search->tensor = NULL;
	for (int k = 0; k < count && k < program->ninput; k++)
		if (inputs[k] == value)
			search->tensor = program->inputs[k];
	if (!search->tensor)
		return;
	for (int s = 0; s < program->nstage; s++)
		search_stage(search, program->stages[s]);
	const Stage *only = program->nstage == 1 ? program->stages[0] : NULL;
	bool is_move = only && only->kind == STAGE_map && is_element(only->body[0], search->tensor);
	if ((is_move || program->nstage == 0) && node->noutput > 0 && node->outputs[0])
		search_value(search, node->outputs[0], depth + 1);
}

static void
search_value(Search *search, const Value *value, int depth)
{
	enum { MAX_DEPTH = 16 };
	for (int i = 0; depth < MAX_DEPTH && i < value->uses.count; i++)
		if (value->uses.data[i].node)
			search_use(search, value->uses.data[i].node, value, depth);
}

InputRanges
input_ranges(Arena *arena, const Graph *graph, const Binding *probe, const InputRanges *known)
{
	InputRanges ranges = {0};
	for (int i = 0; i < graph->body->nparam; i++) {
		const Value *input = graph->body->params[i];
		if (input->type.kind != TYPE_TENSOR || !dtype_is_integer(input->type.dtype))
			continue;
		Search search = {.arena = arena, .graph = graph, .probe = probe, .extent = INT64_MAX};
		search_value(&search, input, 0);
		int64_t low = search.divides, most = search.extent;
		if (most != INT64_MAX || low)
			vec_push(
				arena, &ranges,
				(InputRange){input->name, most == INT64_MAX ? low + 2 : most, search.dim, low});
	}
	if (known)
		input_ranges_add(arena, &ranges, known);
	return ranges;
}

void
input_ranges_add(Arena *arena, InputRanges *ranges, const InputRanges *more)
{
	for (int i = 0; i < more->count; i++) {
		int at = 0;
		while (at < ranges->count && strcmp(ranges->data[at].name, more->data[i].name) != 0)
			at++;
		if (at == ranges->count)
			vec_push(arena, ranges, more->data[i]);
		else
			ranges->data[at] = more->data[i];
	}
}

const char *
input_ranges_text(Arena *arena, const InputRanges *ranges)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < ranges->count; i++) {
		const InputRange *range = &ranges->data[i];
		buf_puts(&buf, i ? ", " : "{");
		if (range->low)
			json_put(&buf, "%s: [%lld, %lld]", range->name, (long long)range->low,
			         (long long)range->extent);
		else
			json_put(&buf, "%s: %lld", range->name, (long long)range->extent);
	}
	buf_puts(&buf, ranges->count ? "}\n" : "{}\n");
	return buf_text(&buf);
}

static int64_t
whole_number(const Json *item)
{
	const double most = 9e15; /* all below are exact */
	bool is_number = json_is(item, JSON_NUMBER) && item->number > -most && item->number < most;
	return is_number ? (int64_t)item->number : 0;
}

InputRanges
input_ranges_parse(Arena *arena, const char *text, size_t size)
{
	InputRanges ranges = {0};
	Json *json = json_read(text, size);
	const Json *item = json_is(json, JSON_OBJECT) ? json->child : NULL;
	for (; item; item = item->next) {
		bool is_pair = json_is(item, JSON_ARRAY) && item->child && item->child->next;
		InputRange range = {.low = is_pair ? whole_number(item->child) : 0};
		range.extent = whole_number(is_pair ? item->child->next : item);
		range.name = arena_strdup(arena, item->name);
		if (range.extent > range.low)
			vec_push(arena, &ranges, range);
	}
	json_free(json);
	return ranges;
}

bool
input_range_at(const InputRanges *ranges, const char *name, const Binding *sizes, InputRange *range)
{
	for (int i = 0; ranges && i < ranges->count; i++) {
		if (strcmp(ranges->data[i].name, name) != 0)
			continue;
		*range = ranges->data[i];
		if (range->dim && sizes)
			dim_eval(range->dim, sizes, &range->extent);
		range->dim = NULL;
		range->extent = range->extent > range->low ? range->extent : range->low + 1;
		return true;
	}
	return false;
}

/* ---- making ---- */

/* SplitMix64. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Below `range`'s extent; without one 0 and 1, or most of 8-bit numbers. */
static void
fill_integers(Array *array, int64_t count, const InputRange *range, uint64_t *state)
{
	int64_t low = 0, span = 2;
	if (range)
		low = range->low, span = range->extent - range->low;
	else if (array->type == DT_I8)
		low = -64, span = 128;
	else if (array->type == DT_U8)
		span = 256;
	for (int64_t i = 0; i < count; i++)
		dtype_store_i64(array->type, array->data, i,
		                low + (int64_t)(next_random(state) % (uint64_t)span));
}

static void
fill_floats(Array *array, int64_t count, uint64_t *state)
{
	for (int64_t i = 0; i < count; i++) {
		double unit = (double)(next_random(state) >> 40) / (1 << 24); /* exact in f32 */
		dtype_store_f64(array->type, array->data, i, 2 * unit - 1);
	}
}

Array *
input_make(Arena *arena, uint64_t seed, const InputRanges *ranges, const char *name, DType type,
           int rank, const int64_t *dims)
{
	static const char *const strings[] = {"a", "b", "c", "ab", "abc", ""};
	Array *array = array_new(arena, type, rank, dims);
	int64_t count = array_count(array);
	uint64_t state = hash_mix(seed, hash64(name, strlen(name)));
	InputRange range;
	bool has_range = input_range_at(ranges, name, NULL, &range);
	if (type == DT_STRING)
		for (int64_t i = 0; i < count; i++)
			((const char **)array->data)[i] = strings[next_random(&state) % countof(strings)];
	else if (dtype_class(type) == DC_X)
		fail_unsupported(NULL, "input %s: no data can be made up for %s", name, dtype_name(type));
	else if (dtype_is_integer(type) || type == DT_BOOL)
		fill_integers(array, count, has_range ? &range : NULL, &state);
	else
		fill_floats(array, count, &state);
	return array;
}

Array *
input_make_for(Arena *arena, uint64_t seed, const InputRanges *ranges, const Value *input,
               const Binding *sizes)
{
	const Type *type = &input->type;
	int64_t dims[ARRAY_MAX_RANK];
	if (type->kind != TYPE_TENSOR || type->rank < 0)
		fail_unsupported(NULL, "input %s is no tensor of known rank", input->name);
	for (int d = 0; d < type->rank; d++)
		if (!dim_eval(type->dims[d], sizes, &dims[d]))
			dims[d] = 1;
	return input_make(arena, seed, ranges, input->name, type->dtype, type->rank, dims);
}

Array *
input_given(const Options *options, Arena *arena, int index, const char *name, DType type, int rank)
{
	for (int i = 0; i < options->input.count; i++) {
		Setting setting = setting_of(arena, "input", options->input.data[i]);
		if (strcmp(setting.name, name) == 0)
			return array_of_text(arena, arena_printf(arena, "--input %s", name), setting.value,
			                     type, rank);
	}
	if (!options->data_set)
		return NULL;
	const char *path = arena_printf(arena, "%s/input_%d.pb", options->data_set, index);
	return file_exists(path) ? tensor_read(arena, path) : NULL;
}
