/* FoldExplicitPadding (Relay's name): a window pads what it reads.
 *
 *     %p = Pad(%x, {0,0,1,1,0,0,1,1})
 *     %y = Conv(%p, %w)               =>   %y = Conv(%x, %w) {pads=[1,1,1,1]}
 *
 * Stated on expressions: an operator with the attribute `pads` is made on what was padded, with
 * larger ones, and both meanings are compared. Padding is put into the terms of the sum or maximum,
 * where those that add nothing are left out (stage_tidy()), as they are where the operator pads: so
 * nobody asks for modes, fills, or whether an average counts its padding. What is left out must be
 * nothing: 0 times a weight that is infinite or NaN is not.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */

#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/replace.h"
#include "program/derive.h"
#include "program/forms.h"

/* Elements put before and behind x along each dim. */
typedef struct Padding {
	Value *x;
	int64_t before[ARRAY_MAX_RANK], behind[ARRAY_MAX_RANK];
} Padding;

/* ---- what pads ---- */

/* Elements before index 0 of dim d, where an index is its loop, less these; -1: it is not. */
static int64_t
shift_of(ExprCtx *ctx, const Stage *stage, const Expr *index, int d)
{
	const Dim *steps[ARRAY_MAX_RANK], *start;
	int64_t shift = 1;
	if (!expr_affine(ctx, index, stage->nloop, steps, &start) || !dim_is_const(start, &shift))
		return -1;
	for (int i = 0; i < stage->nloop; i++)
		if (!dim_is(steps[i], i == d))
			return -1;
	return -shift;
}

/* Of a node that is `x else fill`. */
static bool
padding_of(const Node *node, Padding *padding)
{
	const Program *program = node_meaning(node->parent->graph, node);
	const Stage *stage = program->nstage == 1 ? program->stages[0] : NULL;
	const Expr *body = stage && stage->kind == STAGE_map ? stage->body[0] : NULL;
	const Expr *read = body && body->op == EX_select ? body->arg[1] : NULL;
	if (!read || read->op != EX_read || read->tensor != program->inputs[0] ||
	    read->argc != stage->nloop || read->argc > ARRAY_MAX_RANK)
		return false;
	padding->x = node->inputs[0];
	for (int d = 0; d < read->argc; d++) {
		const Dim *more = dim_sub(program->ctx, stage->iters[d].hi, read->tensor->hi[d]);
		int64_t all, before = shift_of(program->ctx, stage, read->arg[d], d);
		if (before < 0 || !dim_is_const(more, &all) || all < before)
			return false;
		padding->before[d] = before;
		padding->behind[d] = all - before;
	}
	return true;
}

/* ---- the window ---- */

/* Other runtimes refuse pools with windows that lie in the padding altogether. */
static bool
is_allowed(const Node *node, int dim, int64_t pad)
{
	int64_t count;
	const int64_t *kernel = attr_find(node, "kernel_shape") && node->ninput == 1
	                            ? attr_ints(node, "kernel_shape", &count)
	                            : NULL;
	return !kernel || pad < kernel[dim];
}

/* The operator on x, which it pads as well; NULL: it cannot say so. */
static Node *
padding_too(Node *node, const Value *padded, const Padding *padding)
{
	Graph *graph = node->parent->graph;
	int count = padded->type.rank - 2;
	int64_t given;
	const int64_t *old = attr_ints(node, "pads", &given);
	if (count < 1 || (given >= 0 && given != 2 * (int64_t)count) || padding->before[0] ||
	    padding->behind[0] || padding->before[1] || padding->behind[1])
		return NULL;
	int64_t *pads = NEW_N(graph->arena, int64_t, 2 * count);
	for (int i = 0; i < 2 * count; i++) {
		int d = i % count;
		pads[i] = (given < 0 ? 0 : old[i]) +
		          (i < count ? padding->before[2 + d] : padding->behind[2 + d]);
		if (!is_allowed(node, d, pads[i]))
			return NULL;
	}
	Node *made = node_reading(node, padded, padding->x);
	node_add_attr(
		made,
		&(Attr){.name = "pads", .kind = ATTR_INTS, .count = 2 * (int64_t)count, .ints = pads});
	return made;
}

/* ---- both are the same ---- */

/* Whether what is read beside `padded` is finite for certain. */
static bool
others_are_finite(const Meaning *m, const Tensor *padded)
{
	for (int i = 0; i < m->program->nstage; i++)
		for (int k = 0; stage_reads(m->program->stages[i], padded) && k < m->program->ninput; k++) {
			const Array *fixed = value_fixed(m->values[k]);
			if (stage_reads(m->program->stages[i], m->program->inputs[k]) &&
			    !(fixed && array_is_finite(fixed)))
				return false;
		}
	return true;
}

/* With the numbers that are known. */
static Meaning
meaning_of(Arena *arena, const Graph *graph, int count, const Node *const *nodes)
{
	Meaning m = meaning_of_nodes(arena, graph, count, nodes);
	const Array **known = NEW_N(arena, const Array *, m.program->ninput + 1);
	for (int i = 0; i < m.program->ninput; i++)
		known[i] = value_fixed(m.values[i]);
	m.program = program_fold_numbers(m.program, known);
	return m;
}

/* Whether `made` is what both are, with the padding put into what reads it. */
static bool
are_same(Arena *arena, const Node *pad, const Node *node, const Node *made)
{
	const Graph *graph = node->parent->graph;
	Meaning both = meaning_of(arena, graph, 2, (const Node *const[]){pad, node});
	Meaning one = meaning_of(arena, graph, 1, (const Node *const[]){made});
	if (!others_are_finite(&both, both.program->stages[0]->results[0]))
		return false;
	both.program = derive_inline(both.program, both.program->stages[0]);
	return meanings_are_same(&both, &one);
}

static bool
fold_node(Arena *arena, PassContext *context, Node *node)
{
	Value *padded = node->ninput ? node->inputs[0] : NULL;
	Node *pad = padded ? padded->def : NULL;
	Padding padding;
	if (!pad || pad->parent != node->parent || padded->uses.count != 1 || node->noutput != 1 ||
	    !op_attr(node->op, "pads") || !node_is_function(node) || !node_is_function(pad) ||
	    !padding_of(pad, &padding))
		return false;
	Node *made = padding_too(node, padded, &padding);
	if (!made)
		return false;
	if (!node_infers_as(made, &node->outputs[0]->type) || !are_same(arena, pad, node, made)) {
		node_remove(made);
		return false;
	}
	node_add_origins(made, pad);
	put_in_place(context, "pads", node, made);
	return true;
}

bool
pass_FoldExplicitPadding(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "FoldExplicitPadding");
	bool changed = false;
	for (Node *node = region_step(graph->body, NULL), *next; node; node = next) {
		next = region_step(graph->body, node);
		changed |= pass_may_rewrite(context) && fold_node(arena, context, node);
	}
	arena_reset(arena);
	return changed;
}
