/* Parts are written as models of their own and tried. */
#include "cli/bisect/smallest.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "driver/files.h"
#include "driver/sizes/sizes.h"
#include "graph/infer.h"
#include "onnx/onnx.h"

enum { MOST_ATTEMPTS = 120 };

typedef struct Search {
	const Suspect *suspect;
	Arena *arena;
	const Graph *graph; /* at fixed sizes */
	int count;          /* nodes of the body, … */
	const Node **nodes;
	bool *kept;  /* … and the smallest part that is wrong */
	Map extents; /* "64" -> what inputs have in its place */
	int rewrites, attempts;
	const char *path;
	char text[2048]; /* what is wrong */
	Progress *progress;
} Search;

/* What is tried. */
typedef struct Part {
	const Search *search;
	const bool *kept;
	const Map *extents;
	const char *file; /* where it is written */
} Part;

/* ---- a part as a model ----------------------------------------------------------------------- */

static int64_t
extent_of(const Part *part, const Dim *dim)
{
	int64_t extent = 1;
	dim_is_const(dim, &extent);
	const char *key = arena_printf(part->search->arena, "%lld", (long long)extent);
	intptr_t other = (intptr_t)map_find(part->extents, key);
	return other ? other : extent;
}

static Value *
outside(void *arg, Graph *graph, const Value *value)
{
	const Part *part = arg;
	const Array *known = value_known_array(graph->arena, value);
	if (known)
		return graph_constant(graph, value->name, known);
	if (value->type.kind != TYPE_TENSOR || value->type.rank < 0)
		fail_unsupported(NULL, "no tensor of known rank: %s", value->name);
	const Dim **dims = NEW_N(graph->arena, const Dim *, value->type.rank + 1);
	for (int d = 0; d < value->type.rank; d++)
		dims[d] = dim_const(graph->ctx, extent_of(part, value->type.dims[d]));
	Type type = type_tensor(value->type.dtype, value->type.rank, dims);
	return graph_input(graph, value->name, &type);
}

static void
write_part(void *arg)
{
	Part *part = arg;
	const Search *s = part->search;
	Graph *graph = graph_part(arena_new_in(s->arena, "part"), s->graph,
	                          &(GraphPart){part->kept, outside, part});
	graph_infer(graph);
	graph_check(graph);
	onnx_write(graph, part->file, NULL);
}

/* ---- trying ---------------------------------------------------------------------------------- */

typedef struct Trying {
	const Search *search;
	const char *file;
	Attempt result;
} Trying;

/* What it should compute is asked anew. */
static void
try_part(void *arg)
{
	Trying *t = arg;
	Options options = t->search->suspect->options;
	options.shape = options.fix = options.input = (StrVec){0};
	options.choices = t->search->suspect->choices;
	Suspect part = suspect_new(&options, t->search->arena, t->file);
	t->result = attempt_take(&part, t->search->rewrites);
}

static bool
is_wrong(Search *s, const bool *kept, const Map *extents)
{
	Part part = {s, kept, extents, arena_printf(s->arena, "%s/part.onnx", s->suspect->folder)};
	Trying t = {.search = s, .file = part.file};
	Failure failure;
	if (s->attempts >= MOST_ATTEMPTS)
		return false;
	progress_show(s->progress, "looking for the smallest model", s->attempts++, MOST_ATTEMPTS);
	if (!try_run(write_part, &part, &failure) || !try_run(try_part, &t, &failure) ||
	    t.result.verdict != VERDICT_wrong)
		return false;
	snprintf(s->text, sizeof s->text, "%s", t.result.text);
	Bytes bytes = file_map(s->arena, part.file);
	file_write(s->arena, s->path, bytes.data, bytes.size);
	return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool
is_blamed(const StrVec *blamed, const Node *node)
{
	for (int i = 0; i < blamed->count; i++) {
		if (node->loc.node && strcmp(blamed->data[i], node->loc.node) == 0)
			return true;
		for (int k = 0; k < node->noutput; k++)
			if (node->outputs[k] && strcmp(blamed->data[i], node->outputs[k]->name) == 0)
				return true;
	}
	return false;
}

static bool
reads(const Node *node, const Node *def)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && node->inputs[i]->def == def)
			return true;
	return false;
}

/* Neighbours of what is there; whether there were any. */
static bool
grow(Search *s, bool *kept)
{
	bool *before = arena_memdup(s->arena, kept, (size_t)s->count * sizeof *kept), has_grown = false;
	for (int i = 0; i < s->count; i++)
		for (int k = 0; k < s->count && !kept[i]; k++)
			if (before[k] && (reads(s->nodes[k], s->nodes[i]) || reads(s->nodes[i], s->nodes[k])))
				has_grown = kept[i] = true;
	return has_grown;
}

static bool
find_first(Search *s, const StrVec *blamed)
{
	bool *kept = NEW_N(s->arena, bool, s->count + 1), is_any = false;
	for (int i = 0; i < s->count; i++)
		is_any |= kept[i] = is_blamed(blamed, s->nodes[i]);
	while (is_any && !is_wrong(s, kept, &s->extents))
		is_any = grow(s, kept);
	s->kept = kept;
	return is_any;
}

/* Without `size` of the kept nodes from the `from`th on. */
static bool
is_wrong_without(Search *s, int from, int size)
{
	bool *kept = arena_memdup(s->arena, s->kept, (size_t)s->count * sizeof *kept);
	int left = 0;
	for (int i = 0, number = 0; i < s->count; i++) {
		if (kept[i] && number >= from && number < from + size)
			kept[i] = false;
		number += s->kept[i];
		left += kept[i];
	}
	if (left == 0 || !is_wrong(s, kept, &s->extents))
		return false;
	s->kept = kept;
	return true;
}

static int
kept_count(const Search *s)
{
	int count = 0;
	for (int i = 0; i < s->count; i++)
		count += s->kept[i];
	return count;
}

/* Halves first, then ever fewer, from the end on. */
static void
take_nodes_away(Search *s)
{
	for (int size = kept_count(s) / 2; size > 0; size /= 2)
		for (int from = kept_count(s) - size; from > -size; from -= size)
			is_wrong_without(s, from < 0 ? 0 : from, from < 0 ? from + size : size);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool
is_wrong_with(Search *s, int64_t extent, int64_t other)
{
	Map extents = {.arena = s->arena};
	for (int i = 0; i < s->extents.count; i++)
		map_set(&extents, s->extents.entries[i].name, s->extents.entries[i].value);
	map_set(&extents, arena_printf(s->arena, "%lld", (long long)extent), (void *)(intptr_t)other);
	if (other < 1 || other >= extent || !is_wrong(s, s->kept, &extents))
		return false;
	s->extents = extents;
	return true;
}

static void
shrink_extents(Search *s)
{
	VEC(int64_t) extents = {0};
	const Graph *part = model_read(&s->suspect->options, s->arena, s->path);
	for (int i = 0; i < part->body->nparam; i++) {
		const Type *type = &part->body->params[i]->type;
		for (int d = 0; d < type->rank; d++) {
			int64_t extent;
			bool is_new = dim_is_const(type->dims[d], &extent) && extent > 1;
			for (int k = 0; k < extents.count; k++)
				is_new &= extents.data[k] != extent;
			if (is_new)
				vec_push(s->arena, &extents, extent);
		}
	}
	for (int i = 0; i < extents.count; i++)
		for (int share = 64; share > 1; share /= 4)
			if (is_wrong_with(s, extents.data[i], (extents.data[i] + share - 1) / share))
				break;
}

Smallest
smallest_part(const Suspect *suspect, const StrVec *blamed, int rewrites, const char *path,
              Progress *progress)
{
	Arena *arena = suspect->arena;
	Graph *graph = model_read(&suspect->options, arena, suspect->model);
	graph_infer(graph);
	graph_bind(graph, sizes_typical(&suspect->options, arena, graph, &(Learnt){.nrun = 0}));
	Search s = {.suspect = suspect,
	            .arena = arena,
	            .graph = graph,
	            .extents = {.arena = arena},
	            .rewrites = rewrites,
	            .path = path,
	            .progress = progress};
	for (const Node *node = graph->body->first; node; node = node->next)
		s.count++;
	s.nodes = NEW_N(arena, const Node *, s.count + 1);
	s.count = 0;
	for (const Node *node = graph->body->first; node; node = node->next)
		s.nodes[s.count++] = node;
	if (!find_first(&s, blamed))
		return (Smallest){.nodes = 0};
	take_nodes_away(&s);
	shrink_extents(&s);
	return (Smallest){kept_count(&s), arena_strdup(arena, s.text)};
}
