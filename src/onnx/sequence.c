/* Sequences whose tensors can be named while reading: the tensors stand in their place.
 *
 *     s = SplitToSequence(x) {axis=1, keepdims=0}    s: all of x, axis 1 in front
 *     y = SequenceAt(s, i)                           y = Gather(that, i)
 *
 *     e = SequenceEmpty                              e: nothing
 *     s = Loop(n, _, e) { … SequenceInsert(e, t) }   s: what the Loop collects of t
 *     y = ConcatFromSequence(s) {axis=0}             y = that, its first two dims as one
 *
 * So a sequence is a list of parts: tensors, and stacks, which are any number of tensors of the
 * same dims along a new first dim. No value of the graph is a sequence then, and nothing behind the
 * importer knows of them. Sequences that branches give, that are changed at a place which data
 * says, or that enter or leave the model are none of these.
 */
#include <string.h>

#include "graph/infer.h"
#include "onnx/import.h"

typedef struct Part {
	Value *value;
	bool is_stack;
} Part;

struct Sequence {
	VEC(Part) parts;
};

/* A node of which an operand or the result is a sequence. */
typedef struct Job {
	Draft *draft;
	Scope *scope;
	const Onnx__NodeProto *node;
} Job;

static const Sequence *
operand(const Job *job, size_t index)
{
	const char *name = index < job->node->n_input ? job->node->input[index] : "";
	const Meaning *meaning = *name ? scope_find(job->scope, name) : NULL;
	return meaning ? meaning->sequence : NULL;
}

static Sequence *
sequence_new(const Job *job, const Sequence *begin)
{
	Arena *arena = job->draft->import->arena;
	Sequence *made = NEW(arena, Sequence);
	for (int i = 0; begin && i < begin->parts.count; i++)
		vec_push(arena, &made->parts, begin->parts.data[i]);
	return made;
}

static void
add_part(const Job *job, Sequence *to, Value *value, bool is_stack)
{
	vec_push(job->draft->import->arena, &to->parts, (Part){value, is_stack});
}

/* The node's result is this sequence. */
static bool
give(const Job *job, const Sequence *sequence)
{
	const Meaning meaning = {.sequence = sequence};
	scope_share(job->draft->import, job->scope, job->node->output[0], &meaning, &job->draft->loc);
	return true;
}

static bool
is_stacked(const Sequence *sequence)
{
	for (int i = 0; i < sequence->parts.count; i++)
		if (sequence->parts.data[i].is_stack)
			return true;
	return false;
}

/* ---- nodes in place of the model's ---- */

static Value *
numbers(const Job *job, const char *base, int64_t count, const int64_t *values)
{
	return draft_ints_constant(job->draft, base, count, values);
}

static Value *
unsqueeze(const Job *job, Value *value, int64_t axis)
{
	Value *inputs[] = {value, numbers(job, "axis", 1, &axis)};
	return draft_emit(job->draft, "Unsqueeze", 2, inputs, 0, NULL);
}

static int
rank_of(const Job *job, const Value *value)
{
	if (value->type.kind != TYPE_TENSOR || value->type.rank < 0)
		draft_unsupported(job->draft, "the rank of a tensor of a sequence is not known");
	return value->type.rank;
}

static Value *
move_axis(const Job *job, Value *value, int from, int to)
{
	int64_t perm[ARRAY_MAX_RANK];
	int rank = rank_of(job, value), next = 0;
	if (from == to)
		return value;
	for (int i = 0; i < rank; i++) {
		next += next == from;
		perm[i] = i == to ? from : next++;
	}
	Attr attr = {.name = "perm", .kind = ATTR_INTS, .count = rank};
	attr.ints = arena_memdup(job->draft->import->kept, perm, (size_t)rank * sizeof *perm);
	return draft_emit(job->draft, "Transpose", 1, &value, 1, &attr);
}

/* Dims from..to-1 as a list. */
static Value *
dims_of(const Job *job, Value *value, int from, int to)
{
	Attr attrs[] = {{.name = "start", .kind = ATTR_INT, .i = from},
	                {.name = "end", .kind = ATTR_INT, .i = to}};
	return draft_emit(job->draft, "Shape", 1, &value, 2, attrs);
}

/* [a, n, b, c] as [a, n*b, c]: dims `axis` and the next as one. */
static Value *
merge_dims(const Job *job, Value *value, int axis)
{
	int rank = rank_of(job, value), count = 0;
	Value *both[] = {dims_of(job, value, axis, axis + 1), dims_of(job, value, axis + 1, axis + 2)};
	Value *dims[3];
	if (axis > 0)
		dims[count++] = dims_of(job, value, 0, axis);
	dims[count++] = draft_emit(job->draft, "Mul", 2, both, 0, NULL);
	if (axis + 2 < rank)
		dims[count++] = dims_of(job, value, axis + 2, rank);
	Attr front = {.name = "axis", .kind = ATTR_INT}, zero = {"allowzero", ATTR_INT, .i = 1};
	Value *inputs[] = {value, draft_emit(job->draft, "Concat", count, dims, 1, &front)};
	return draft_emit(job->draft, "Reshape", 2, inputs, 1, &zero);
}

/* The node becomes this one. */
static void
become(const Job *job, const char *op, int ninput, Value *const *inputs)
{
	Draft *draft = job->draft;
	draft->op = op;
	draft->attrs.count = draft->inputs.count = 0;
	for (int i = 0; i < ninput; i++)
		vec_push(draft->import->arena, &draft->inputs, inputs[i]);
}

/* All tensors as one stack, which they are only if their dims are the same. */
static Value *
stack_all(const Job *job, const Sequence *s)
{
	Arena *arena = job->draft->import->arena;
	Value **stacks = NEW_N(arena, Value *, s->parts.count + 1);
	const Type *first = NULL;
	for (int i = 0; i < s->parts.count; i++) {
		const Part *part = &s->parts.data[i];
		stacks[i] = part->is_stack ? part->value : unsqueeze(job, part->value, 0);
		const Type *type = &stacks[i]->type;
		bool is_alike = !first || (type->rank == first->rank && type->dtype == first->dtype);
		for (int d = 1; is_alike && first && d < rank_of(job, stacks[i]); d++)
			is_alike = type->dims[d] == first->dims[d];
		if (!is_alike)
			draft_unsupported(job->draft, "which tensor of a sequence it takes is only known at "
			                              "run time, and their dims differ");
		first = type;
	}
	Attr front = {.name = "axis", .kind = ATTR_INT};
	return s->parts.count == 1
	           ? stacks[0]
	           : draft_emit(job->draft, "Concat", s->parts.count, stacks, 1, &front);
}

/* ---- the operators ---- */

static bool
known_number(const Job *job, int input, int64_t *number)
{
	Value *value = draft_input(job->draft, input);
	const Known *known = value ? value_known(job->draft->import->graph, value) : NULL;
	return known && known->count == 1 && known->value[0] && dim_is_const(known->value[0], number);
}

/* The place that input `index` says; where there is none, `last`. */
static int
known_place(const Job *job, int index, int count, int last)
{
	int64_t place = last;
	if (draft_input(job->draft, index) && !known_number(job, index, &place))
		draft_unsupported(job->draft, "the place in a sequence is only known at run time");
	place += place < 0 ? count : 0;
	if (place < 0 || place > last)
		draft_fail(job->draft, "the place is outside of a sequence of %d tensors", count);
	return (int)place;
}

static bool
import_empty(const Job *job)
{
	return give(job, sequence_new(job, NULL));
}

static bool
import_construct(const Job *job)
{
	Sequence *made = sequence_new(job, NULL);
	for (int i = 0; i < job->draft->inputs.count; i++)
		add_part(job, made, job->draft->inputs.data[i], false);
	return give(job, made);
}

static bool
import_insert(const Job *job)
{
	const Sequence *s = operand(job, 0);
	if (!s || !draft_input(job->draft, 1))
		return false;
	int count = s->parts.count;
	if (is_stacked(s) && draft_input(job->draft, 2))
		draft_unsupported(job->draft, "how many tensors a sequence has is only known at run time");
	int place = known_place(job, 2, count, count);
	Sequence *made = sequence_new(job, NULL);
	for (int i = 0; i <= count; i++) {
		if (i == place)
			add_part(job, made, draft_input(job->draft, 1), false);
		if (i < count)
			add_part(job, made, s->parts.data[i].value, s->parts.data[i].is_stack);
	}
	return give(job, made);
}

static bool
import_erase(const Job *job)
{
	const Sequence *s = operand(job, 0);
	if (!s)
		return false;
	if (is_stacked(s))
		draft_unsupported(job->draft, "how many tensors a sequence has is only known at run time");
	int place = known_place(job, 1, s->parts.count, s->parts.count - 1);
	Sequence *made = sequence_new(job, NULL);
	for (int i = 0; i < s->parts.count; i++)
		if (i != place)
			add_part(job, made, s->parts.data[i].value, false);
	return give(job, made);
}

static bool
import_at(const Job *job)
{
	Draft *draft = job->draft;
	const Sequence *s = operand(job, 0);
	int64_t number;
	if (!s || !draft_input(draft, 1))
		return false;
	if (known_number(job, 1, &number) && !is_stacked(s)) {
		int place = known_place(job, 1, s->parts.count, s->parts.count - 1);
		scope_define(draft->import, job->scope, job->node->output[0], s->parts.data[place].value,
		             &draft->loc);
		return true;
	}
	if (s->parts.count == 0)
		draft_fail(draft, "the sequence has no tensors");
	Value *place = draft_input(draft, 1);
	become(job, "Gather", 2, (Value *[]){stack_all(job, s), place});
	draft_set_int(draft, "axis", 0);
	return false;
}

static bool
import_length(const Job *job)
{
	const Sequence *s = operand(job, 0);
	int64_t count = 0;
	if (!s)
		return false;
	for (int i = 0; i < s->parts.count; i++)
		count += !s->parts.data[i].is_stack;
	Value *sum = numbers(job, "count", 1, &count);
	for (int i = 0; i < s->parts.count; i++)
		if (s->parts.data[i].is_stack) {
			Value *more[] = {sum, dims_of(job, s->parts.data[i].value, 0, 1)};
			sum = draft_emit(job->draft, "Add", 2, more, 0, NULL);
		}
	become(job, "Squeeze", 1, &sum);
	return false;
}

static bool
import_concat(const Job *job)
{
	Draft *draft = job->draft;
	const Sequence *s = operand(job, 0);
	if (!s)
		return false;
	if (s->parts.count == 0)
		draft_fail(draft, "a sequence of no tensors has nothing to concatenate");
	bool is_new = draft_int(draft, "new_axis", 0) != 0;
	const Part *first = &s->parts.data[0];
	int rank = rank_of(job, first->value) - first->is_stack + is_new;
	int64_t axis = draft_int(draft, "axis", 0);
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank)
		draft_fail(draft, "axis %lld is outside -%d..%d", (long long)draft_int(draft, "axis", 0),
		           rank, rank - 1);
	Value **pieces = NEW_N(draft->import->arena, Value *, s->parts.count);
	for (int i = 0; i < s->parts.count; i++) {
		const Part *part = &s->parts.data[i];
		Value *moved = part->is_stack ? move_axis(job, part->value, 0, (int)axis) : part->value;
		pieces[i] = part->is_stack == is_new ? moved
		            : is_new                 ? unsqueeze(job, moved, axis)
		                                     : merge_dims(job, moved, (int)axis);
	}
	become(job, "Concat", s->parts.count, pieces);
	draft_set_int(draft, "axis", axis);
	return false;
}

/* Parts of the sizes that a list of known length says. */
static bool
split_by(const Job *job, Value *sizes, int64_t count, int64_t axis)
{
	Draft *draft = job->draft;
	Arena *arena = draft->import->arena;
	Scope inner = {.outer = job->scope, .meanings = {.arena = arena}};
	const char *name = job->node->output[0];
	become(job, "Split", 2, (Value *[]){draft_input(draft, 0), sizes});
	draft_set_int(draft, "axis", axis);
	draft->outputs.count = 0;
	for (int64_t i = 0; i < count; i++)
		vec_push(arena, &draft->outputs, arena_printf(arena, "%s.%lld", name, (long long)i));
	draft_finish(draft, &inner);
	Sequence *made = sequence_new(job, NULL);
	for (int64_t i = 0; i < count; i++)
		add_part(job, made, scope_find(&inner, draft->outputs.data[i])->value, false);
	return give(job, made);
}

static bool
import_split(const Job *job)
{
	enum { MOST = 1 << 12 };
	Draft *draft = job->draft;
	Value *x = draft_input(draft, 0), *sizes = draft_input(draft, 1);
	int rank = rank_of(job, x);
	int64_t axis = draft_int(draft, "axis", 0), size = 1, extent, count;
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank)
		draft_fail(draft, "axis %lld is outside -%d..%d", (long long)draft_int(draft, "axis", 0),
		           rank, rank - 1);
	if (sizes && draft_rank(draft, 1) == 1 && dim_is_const(sizes->type.dims[0], &count))
		return split_by(job, sizes, count, axis);
	if (sizes && (draft_rank(draft, 1) != 0 || !known_number(job, 1, &size)))
		draft_unsupported(draft, "into how many parts it splits is only known at run time");
	if (size < 1)
		draft_fail(draft, "split is %lld", (long long)size);
	if (size > 1 && (!dim_is_const(x->type.dims[axis], &extent) || extent / size > MOST))
		draft_unsupported(draft, "into how many parts it splits is only known at run time");
	if (size > 1) {
		count = (extent + size - 1) / size;
		int64_t *each = NEW_N(draft->import->arena, int64_t, count + 1);
		for (int64_t i = 0; i < count; i++)
			each[i] = i < count - 1 ? size : extent - size * i;
		return split_by(job, numbers(job, "sizes", count, each), count, axis);
	}
	Sequence *made = sequence_new(job, NULL);
	Value *stack = move_axis(job, x, (int)axis, 0);
	bool keeps = sizes || draft_int(draft, "keepdims", 1);
	add_part(job, made, keeps ? unsqueeze(job, stack, axis + 1) : stack, true);
	return give(job, made);
}

static bool
import_identity(const Job *job)
{
	const Sequence *s = operand(job, 0);
	return s && give(job, s);
}

/* ---- loops ---- */

/* How often nodes of a graph, and of those in it, read a name. */
static int
count_reads(const Onnx__GraphProto *graph, const char *name)
{
	int count = 0;
	for (size_t i = 0; i < graph->n_node; i++) {
		const Onnx__NodeProto *node = graph->node[i];
		for (size_t k = 0; k < node->n_input; k++)
			count += strcmp(node->input[k], name) == 0;
		for (size_t k = 0; k < node->n_attribute; k++) {
			const Onnx__GraphProto *inner = node->attribute[k]->g;
			for (size_t o = 0; inner && o < inner->n_output; o++)
				count += strcmp(text_of(inner->output[o]->name), name) == 0;
			count += inner ? count_reads(inner, name) : 0;
		}
	}
	return count;
}

/* The node of the body that adds a tensor to the end of state `k`, a sequence, and does all that is
 * done with it; its index. */
static size_t
find_insert(const Job *job, const Onnx__GraphProto *body, size_t k)
{
	const char *before = text_of(body->input[2 + k]->name);
	const char *after = text_of(body->output[1 + k]->name);
	for (size_t i = 0; i < body->n_node; i++) {
		const Onnx__NodeProto *node = body->node[i];
		bool is_end = node->n_input == 2 || (node->n_input == 3 && !*node->input[2]);
		if (strcmp(text_of(node->op_type), "SequenceInsert") == 0 && is_end &&
		    node->n_output == 1 && strcmp(node->input[0], before) == 0 &&
		    strcmp(node->output[0], after) == 0 && count_reads(body, before) == 1 &&
		    count_reads(body, after) == 0)
			return i;
	}
	draft_unsupported(job->draft,
	                  "the loop does more with sequence '%s' than to add a tensor to its end",
	                  before);
}

/* A Loop whose states are no sequences: what it would add to them it collects. */
typedef struct Collector {
	Onnx__NodeProto node;
	Onnx__GraphProto body;
	const Onnx__AttributeProto *was; /* of the body */
	Onnx__AttributeProto is;
} Collector;

/* A list of protobuf-c, of pointers of whatever type, with room for more. */
static void *
copy_list(Arena *arena, const void *list, size_t count, size_t more)
{
	static const size_t each = sizeof(void *);
	char *copy = arena_alloc(arena, (count + more + 1) * each);
	if (count > 0)
		memcpy(copy, list, count * each);
	return copy;
}

static void
cut(void *list, size_t *count, size_t index)
{
	void **at = (void **)list + index;
	memmove(at, at + 1, (--*count - index) * sizeof *at);
}

static Collector *
collector_new(const Job *job, size_t states)
{
	Arena *arena = job->draft->import->arena;
	Collector *made = NEW(arena, Collector);
	made->node = *job->node;
	made->node.attribute = copy_list(arena, job->node->attribute, job->node->n_attribute, 0);
	for (size_t i = 0; i < job->node->n_attribute; i++)
		if (strcmp(text_of(job->node->attribute[i]->name), "body") == 0) {
			made->was = job->node->attribute[i];
			made->is = *made->was;
			made->is.g = &made->body;
			made->node.attribute[i] = &made->is;
		}
	if (!made->was || !made->was->g || made->was->g->n_input != states + 2 ||
	    made->was->g->n_output < states + 1)
		draft_fail(job->draft, "the body does not fit %zu states", states);
	const Onnx__GraphProto *body = made->was->g;
	made->body = *body;
	made->node.input = copy_list(arena, job->node->input, job->node->n_input, 0);
	made->node.output = copy_list(arena, job->node->output, job->node->n_output, states);
	made->body.input = copy_list(arena, body->input, body->n_input, 0);
	made->body.output = copy_list(arena, body->output, body->n_output, states);
	made->body.node = copy_list(arena, body->node, body->n_node, 0);
	return made;
}

/* State `k` of those that are left is none any more; the name of what is collected for it. */
static const char *
collect(const Job *job, Collector *to, size_t k)
{
	Arena *arena = job->draft->import->arena;
	size_t insert = find_insert(job, &to->body, k);
	Onnx__ValueInfoProto *tensor = NEW(arena, Onnx__ValueInfoProto);
	onnx__value_info_proto__init(tensor);
	tensor->name = to->body.node[insert]->input[1];
	char *name = arena_printf(arena, "%s.all", to->body.input[2 + k]->name);
	cut(to->body.node, &to->body.n_node, insert);
	cut(to->body.input, &to->body.n_input, 2 + k);
	cut(to->body.output, &to->body.n_output, 1 + k);
	cut(to->node.input, &to->node.n_input, 2 + k);
	if (k < to->node.n_output)
		cut(to->node.output, &to->node.n_output, k);
	to->body.output[to->body.n_output++] = tensor;
	while (to->node.n_output + 1 < to->body.n_output - 1) /* scans that nobody asked for */
		to->node.output[to->node.n_output++] = arena_strdup(arena, "");
	to->node.output[to->node.n_output++] = name;
	return name;
}

/* Each iteration must give the same dims: those that the Loop itself decides may differ. */
static void
check_alike(const Job *job, const Value *stack)
{
	const Graph *graph = job->draft->import->graph;
	for (int d = 1; stack->type.kind == TYPE_TENSOR && d < stack->type.rank; d++) {
		const Dim *dim = stack->type.dims[d];
		const SymbolDef *def = dim->op == EX_symbol ? symbol_def_find(graph, dim->symbol) : NULL;
		if (def && def->source == SYMBOL_DIM && def->value == stack)
			draft_unsupported(job->draft,
			                  "the tensors that the loop adds to a sequence may differ in dim %d",
			                  d - 1);
	}
}

static bool
import_loop(const Job *job)
{
	Import *import = job->draft->import;
	size_t states = job->node->n_input < 2 ? 0 : job->node->n_input - 2, left = 0;
	if (!job->draft->has_sequence)
		return false;
	Collector *loop = collector_new(job, states);
	const char **names = NEW_N(import->arena, const char *, states + 1);
	for (size_t k = 0; k < states; k++)
		if (operand(job, 2 + k))
			names[k] = collect(job, loop, left);
		else
			left++;
	Scope inner = {.outer = job->scope, .meanings = {.arena = import->arena}};
	Onnx__NodeProto *node = &loop->node;
	import_nodes(import, job->draft->region, &inner, 1, &node);
	for (size_t k = 0; k < job->node->n_output; k++) {
		const char *name = job->node->output[k];
		if (!*name)
			continue;
		if (k >= states || !names[k]) {
			scope_share(import, job->scope, name, scope_find(&inner, name), &job->draft->loc);
			continue;
		}
		Value *stack = scope_find(&inner, names[k])->value;
		check_alike(job, stack);
		Sequence *made = sequence_new(job, operand(job, 2 + k));
		add_part(job, made, stack, true);
		const Meaning meaning = {.sequence = made};
		scope_share(import, job->scope, name, &meaning, &job->draft->loc);
	}
	return true;
}

/* ---- all ---- */

/* Whether `import` has read all of the node; false: what is left of the draft is a node. */
static const struct {
	const char *op;
	bool (*import)(const Job *job);
} rows[] = {
	{"SequenceEmpty", import_empty},
	{"SequenceConstruct", import_construct},
	{"SequenceInsert", import_insert},
	{"SequenceErase", import_erase},
	{"SequenceAt", import_at},
	{"SequenceLength", import_length},
	{"ConcatFromSequence", import_concat},
	{"SplitToSequence", import_split},
	{"Identity", import_identity},
	{"Loop", import_loop},
};

bool
sequence_import(Draft *draft, Scope *scope, const Onnx__NodeProto *node)
{
	Job job = {draft, scope, node};
	bool is_open = draft->import->options && draft->import->options->is_open;
	if (*draft->domain || is_open || node->n_output == 0)
		return false;
	for (int i = 0; i < (int)countof(rows); i++)
		if (strcmp(draft->op, rows[i].op) == 0) {
			if (rows[i].import(&job))
				return true;
			draft->has_sequence = draft->has_sequence && strcmp(draft->op, rows[i].op) == 0;
			break;
		}
	if (draft->has_sequence)
		draft_unsupported(draft, "it takes a sequence, of which only tensors can be taken here");
	return false;
}
