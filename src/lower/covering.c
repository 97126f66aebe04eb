/* lower_covering: one call for what several nodes compute, whose own steps stay in the plan.
 *
 *     kernel   s = q k^T               kernel   s = q k^T        covered
 *     kernel   p = softmax(s)     =>   kernel   p = softmax(s)   covered
 *     vendor   y = p v                 vendor   y = p v          covered
 *                                      vendor   y = attention(q, k, v)
 *
 * Where the call is made the covered steps are not run; where it is not (the library is missing, or
 * takes no such sizes there) they are, and the call is nothing. So a call loses nothing where it is
 * refused, and what is proved of the steps is proved of what stands in its place.
 *
 * Nodes are first looked for as a chain, each read by the next one alone; then whatever these alone
 * read joins them, if the row still is what all compute: a transpose of keys need not be made.
 */
#include "graph/infer.h"
#include "lower/node.h"
#include "lower/vendor.h"

/* Longer programs are no row's. */
enum { MOST_OF_CHAIN = 4, MOST_NODES = 8, MOST_STAGES = 16 };

typedef struct Covered {
	int count;
	const Node *nodes[MOST_NODES]; /* the last one first */
} Covered;

/* ---- which nodes ---- */

static bool
decides_symbol(const Graph *graph, const Value *value)
{
	bool decides = false;
	for (int i = 0; i < graph->symbols.count; i++)
		decides |= graph->symbols.data[i].value == value;
	return decides;
}

static bool
has_node(const Covered *covered, const Node *node)
{
	bool has = false;
	for (int i = 0; i < covered->count; i++)
		has |= covered->nodes[i] == node;
	return has;
}

/* What a group holds reads what the group does. */
static bool
is_reader(const Covered *covered, const Node *user)
{
	return user && (has_node(covered, user) || has_node(covered, user->parent->owner));
}

/* The node that makes operand `i` of a node, if these alone read its one result. */
static const Node *
producer(const Lowering *low, const Covered *covered, const Node *node, int i)
{
	const Value *value = node->inputs[i];
	const Node *def = value ? value->def : NULL;
	if (!def || def->parent != node->parent || has_node(covered, def) || def->noutput != 1 ||
	    !node_has_meaning(def) || def->op->meaning == MEANING_HOST ||
	    decides_symbol(low->graph, value) || node_is_denied(low->context, def, "vendor"))
		return NULL;
	for (int u = 0; u < value->uses.count; u++)
		if (!is_reader(covered, value->uses.data[u].node))
			return NULL;
	return def;
}

/* ---- their steps ---- */

/* What their steps take, by the model of time; -1: one of them cannot be left out. */
static double
steps_seconds(const Lowering *low, const Covered *covered)
{
	const Device *device = low->context->target->device;
	double seconds = 0;
	for (int i = 0; i < low->module->steps.count; i++) {
		const MStep *step = low->module->steps.data[i];
		PlanStepKind kind = step->plan.kind;
		if (!has_node(covered, step->source))
			continue;
		if ((kind != PT_KERNEL && kind != PT_VENDOR && kind != PT_COPY) || step->covered_by)
			return -1;
		seconds += device_step_seconds(device, kind == PT_VENDOR ? WORK_library : WORK_loops,
		                               step->plan.units ? step->plan.units : "", step->plan.flops,
		                               step->plan.bytes);
	}
	return seconds;
}

static bool
has_step(const Lowering *low, const Node *node)
{
	bool has = false;
	for (int i = 0; i < low->module->steps.count; i++)
		has |= low->module->steps.data[i]->source == node;
	return has;
}

/* What is between the nodes lies where nothing else does, or is a view, which nothing writes. */
static bool
are_apart(const Lowering *low, const Covered *covered)
{
	for (int i = 1; i < covered->count; i++) {
		const Node *node = covered->nodes[i];
		const MBuffer *buffer = map_find_ptr(&low->buffers, node->outputs[0]);
		bool is_view = buffer && buffer->kind == PB_VIEW && !has_step(low, node);
		if (!buffer || (buffer->kind != PB_TEMP && !is_view))
			return false;
	}
	return true;
}

static const char *
origins_text(Lowering *low, const Covered *covered)
{
	Buf buf = {.arena = low->arena};
	for (int i = covered->count; i-- > 0;) {
		const Node *node = covered->nodes[i];
		for (int k = 0; k < node->origins.count; k++)
			buf_printf(&buf, "%s%s", buf.size ? ", " : "", node->origins.data[k]);
		if (!node->origins.count && node->loc.node)
			buf_printf(&buf, "%s%s", buf.size ? ", " : "", node->loc.node);
	}
	return buf_text(&buf);
}

/* ---- the call ---- */

/* What the nodes compute, with the buffers of its inputs and of its result. */
typedef struct Whole {
	const Program *program;
	MBuffer **inputs, *output;
} Whole;

/* False where it is more than any row, or lies as no call can have it. */
static bool
read_whole(Lowering *low, const Covered *covered, Whole *whole)
{
	const Node *nodes[MOST_NODES];
	int noperand = 0, count = covered->count;
	for (int i = 0; i < count; i++) {
		nodes[count - 1 - i] = covered->nodes[i];
		noperand += covered->nodes[i]->ninput;
	}
	Value **values = NEW_N(low->arena, Value *, noperand + 1),
		  **results = nodes[count - 1]->outputs;
	const Program *program = nodes_meaning(low->graph, count, nodes, 1, results, values);
	whole->program = program = program_with_values(low->arena, program, values);
	if (program->nstage > MOST_STAGES || !are_apart(low, covered))
		return false;
	whole->inputs = NEW_N(low->arena, MBuffer *, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++)
		whole->inputs[i] = lower_buffer(low, values[i]);
	whole->output = lower_buffer(low, results[0]);
	return true;
}

static bool
is_taken(Lowering *low, const Covered *covered)
{
	Whole whole;
	return read_whole(low, covered, &whole) && steps_seconds(low, covered) > 0 &&
	       lower_vendor_takes(low, covered->nodes[0], whole.program, whole.inputs, &whole.output);
}

/* The nodes, or more by what makes an operand of the first of them. */
static bool
find_chain(Lowering *low, Covered *covered)
{
	const Node *first = covered->nodes[covered->count - 1];
	bool is = is_taken(low, covered);
	for (int i = 0; i < first->ninput && covered->count < MOST_OF_CHAIN && !is; i++) {
		const Node *node = producer(low, covered, first, i);
		if (!node)
			continue;
		covered->nodes[covered->count++] = node;
		is = find_chain(low, covered);
		covered->count -= !is;
	}
	return is;
}

static void
add_producers(Lowering *low, Covered *covered)
{
	for (int n = 0; n < covered->count; n++)
		for (int i = 0; i < covered->nodes[n]->ninput && covered->count < MOST_NODES; i++) {
			const Node *node = producer(low, covered, covered->nodes[n], i);
			if (!node)
				continue;
			covered->nodes[covered->count++] = node;
			covered->count -= !is_taken(low, covered);
		}
}

static void
make_call(Lowering *low, const Covered *covered)
{
	Whole whole;
	int count = low->module->steps.count;
	must(read_whole(low, covered, &whole));
	MStep *call = lower_vendor_whole(low, covered->nodes[0], whole.program, whole.inputs,
	                                 &whole.output, steps_seconds(low, covered));
	if (!call)
		return;
	call->plan.origins = origins_text(low, covered);
	for (int i = 0; i < count; i++)
		if (has_node(covered, low->module->steps.data[i]->source))
			low->module->steps.data[i]->covered_by = call;
}

void
lower_covering(Lowering *low, const Node *node)
{
	const MStepVec *steps = &low->module->steps;
	Covered covered = {1, {node}};
	if (!steps->count || steps->data[steps->count - 1]->source != node || node->noutput != 1 ||
	    !node_has_meaning(node) || node->op->meaning == MEANING_HOST ||
	    node_is_denied(low->context, node, "vendor") ||
	    !vendor_calls_programs(low->context->target) || !find_chain(low, &covered))
		return;
	add_producers(low, &covered);
	make_call(low, &covered);
}
