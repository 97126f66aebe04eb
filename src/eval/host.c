/* Host operators: the node's attributes and values for a function of src/host. */
#include "host/host.h"

#include <math.h>
#include <string.h>

#include "eval/inner.h"

typedef struct Outputs {
	Arena *memory, *scratch;
	Array *array[16];
} Outputs;

typedef struct HostJob {
	Eval *eval;
	const Node *node;
	const HostInfo *row;
	Outputs outputs;
	const char *error;
	bool is_inexact; /* bound mode: an operand is not known exactly */
	char text[256];
} HostJob;

static Array *
make_output(void *context, int index, DType type, int rank, const int64_t *dims)
{
	Outputs *outputs = context;
	return outputs->array[index] = array_new(outputs->memory, type, rank, dims);
}

static void *
make_scratch(void *context, size_t bytes)
{
	return arena_alloc(((Outputs *)context)->scratch, bytes);
}

static bool
is_inexact(const BoundArray *b)
{
	int64_t count = b ? dims_count(b->rank, b->dims) : 0;
	for (int64_t i = 0; i < count; i++)
		if ((b->bound && b->bound[i] > 0) || (b->undecided && b->undecided[i]))
			return true;
	return false;
}

/* Whether data decides how large an output is. */
static bool
decides_dims(const Eval *eval, const Node *node)
{
	for (int i = 0; i < eval->graph->symbols.count; i++) {
		const SymbolDef *def = &eval->graph->symbols.data[i];
		if (def->source == SYMBOL_DIM && def->value->def == node)
			return true;
	}
	return false;
}

static void
run_host(void *arg)
{
	HostJob *job = arg;
	const Node *node = job->node;
	Arena *scratch = job->outputs.scratch;
	const Array **inputs = NEW_N(scratch, const Array *, node->ninput + 1);
	bool *is_wanted = NEW_N(scratch, bool, node->noutput + 1);
	StepAttr *attrs = NEW_N(scratch, StepAttr, node->nattr + 1);
	for (int i = 0; i < node->ninput; i++) {
		if (!node->inputs[i])
			continue;
		inputs[i] = eval_array(job->eval, node->inputs[i]);
		job->is_inexact |= is_inexact(eval_bounds(job->eval, node->inputs[i]));
		if (!inputs[i])
			fail_as(FAIL_BUG, &node->loc, "%%%s has not been computed", node->inputs[i]->name);
	}
	for (int i = 0; i < node->noutput; i++)
		is_wanted[i] = node->outputs[i] != NULL;
	int nattr = 0;
	for (int i = 0; i < node->nattr; i++)
		nattr += attr_for_step(&node->attrs[i], &attrs[nattr]);
	HostCall call = {.ninput = node->ninput,
	                 .noutput = node->noutput,
	                 .inputs = inputs,
	                 .is_wanted = is_wanted,
	                 .nattr = nattr,
	                 .attrs = attrs,
	                 .context = &job->outputs,
	                 .output = make_output,
	                 .scratch = make_scratch};
	if (job->is_inexact && decides_dims(job->eval, node))
		fail_unsupported(&node->loc, "numbers that are not exact decide how large its results are");
	const char *error = job->row->run(&call);
	if (error)
		fail(&node->loc, "%s", error);
}

/* A decision made on values that are not exact may be another one. */
static const BoundArray *
bounds_of(Arena *memory, const Array *array, bool is_inexact_input)
{
	BoundArray *b = bound_from_array(memory, array);
	int64_t count = array_count(array);
	if (!is_inexact_input)
		return b;
	if (b->value)
		b->bound = NEW_N(memory, double, count + 1);
	else
		b->undecided = NEW_N(memory, uint8_t, count + 1);
	for (int64_t i = 0; i < count; i++)
		if (b->value)
			b->bound[i] = INFINITY;
		else
			b->undecided[i] = 1;
	return b;
}

void
eval_host(Eval *eval, const Node *node)
{
	HostJob job = {.eval = eval, .node = node, .row = host_find(node->op->name)};
	if (node->noutput > (int)countof(job.outputs.array))
		fail_unsupported(&node->loc, "%d outputs of a host operator", node->noutput);
	job.outputs.memory = arena_new("results");
	job.outputs.scratch = arena_new("host");
	Failure failure;
	bool is_done = try_run(run_host, &job, &failure);
	arena_free(job.outputs.scratch);
	for (int k = 0; is_done && k < node->noutput; k++) {
		const Array *made = job.outputs.array[k];
		if (!node->outputs[k] || !made)
			continue;
		Cell cell = {.memory = arena_new("result")};
		if (eval->mode == EVAL_bound)
			cell.bounds = bounds_of(cell.memory, made, job.is_inexact);
		else
			cell.array = array_from(cell.memory, made->type, made->rank, made->dims, made->data);
		/* bounds keep a pointer to the dims of what they were made from */
		if (cell.bounds)
			((BoundArray *)(uintptr_t)cell.bounds)->dims =
				arena_memdup(cell.memory, made->dims, (size_t)made->rank * sizeof(int64_t));
		eval_set_cell(eval, node->outputs[k], cell);
	}
	arena_free(job.outputs.memory);
	if (!is_done)
		fail_again(&failure);
}

const char *
eval_check_host_rows(const OpTable *table)
{
	for (int i = 0; i < host_count(); i++) {
		const OpInfo *op = op_find(table, "", host_row(i)->name);
		if (!op || op->meaning != MEANING_HOST)
			return host_row(i)->name;
	}
	for (int code = 1; code < OP_COUNT; code++) {
		const OpInfo *op = op_row(table, (OpCode)code);
		if (op->meaning == MEANING_HOST && !host_find(op->name))
			return op->name;
	}
	return NULL;
}
