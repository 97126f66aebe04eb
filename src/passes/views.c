#include "passes/views.h"

#include "graph/expand.h"

/* The map that the program is, without stages in between. */
static const Stage *
only_map(const Program *p)
{
	const Stage *stage = p->nstage == 1 && p->noutput == 1 ? p->stages[0] : NULL;
	bool is = stage && stage->kind == STAGE_map && !stage->scan && stage->nbody == 1 &&
	          p->outputs[0] == stage->results[0];
	return is ? stage : NULL;
}

int
view_input(const Program *program)
{
	const Stage *stage = only_map(program);
	const Expr *read = stage ? expr_without_casts(stage->body[0]) : NULL;
	if (!read || read->op != EX_read || stage->body[0]->has_check)
		return -1;
	for (int d = 0; d < read->argc; d++)
		if (read->arg[d]->has_read)
			return -1;
	for (int i = 0; i < program->ninput; i++)
		if (program->inputs[i] == read->tensor)
			return i;
	return -1;
}

/* Which loop each index is; false: some is another, or stands twice. */
static bool
read_loops(const Stage *stage, const Expr *read, int64_t *loops)
{
	uint64_t seen = 0;
	for (int d = 0; d < read->argc; d++) {
		const Expr *index = read->arg[d];
		if (index->op != EX_iter || seen >> index->iter & 1)
			return false;
		seen |= (uint64_t)1 << index->iter;
		loops[d] = index->iter;
	}
	return read->argc == stage->nloop;
}

static bool
has_extents_of(const Stage *stage, const Tensor *tensor, const int64_t *loops)
{
	for (int d = 0; d < tensor->rank; d++)
		if (stage->iters[loops[d]].hi != tensor->hi[d])
			return false;
	return true;
}

/* Every dim of the input is a loop of its own, as long: the elements are those of a transpose. */
static bool
is_permuted(const Stage *stage, const Expr *read, int64_t *loops)
{
	return read_loops(stage, read, loops) && has_extents_of(stage, read->tensor, loops);
}

static bool
is_in_order(const int64_t *loops, int count)
{
	for (int d = 0; d < count; d++)
		if (loops[d] != d)
			return false;
	return true;
}

bool
view_is_same(const Program *program)
{
	const Stage *stage = program->stages[0];
	const Expr *read = stage->body[0];
	int64_t loops[ARRAY_MAX_RANK];
	return read->op == EX_read && is_permuted(stage, read, loops) && is_in_order(loops, read->argc);
}

/* Where an element lies in row-major order. */
static const Expr *
position(ExprCtx *ctx, int rank, const Expr *const *index, const Dim *const *extents)
{
	const Expr *sum = expr_i64(ctx, 0);
	for (int d = 0; d < rank; d++)
		sum = expr_add(ctx, expr_mul(ctx, sum, extents[d]), index[d]);
	return sum;
}

/* Elements stay in row-major order, all of them. */
static bool
keeps_order(const Program *p, const Stage *stage, const Expr *read)
{
	ExprCtx *ctx = p->ctx;
	const Tensor *x = read->tensor, *y = p->outputs[0];
	const Expr *loops[ARRAY_MAX_RANK];
	const Dim *before = dim_const(ctx, 1), *after = before;
	if (x->rank > ARRAY_MAX_RANK || y->rank > ARRAY_MAX_RANK)
		return false;
	for (int d = 0; d < x->rank; d++)
		before = dim_mul(ctx, before, x->hi[d]);
	for (int d = 0; d < y->rank; d++)
		after = dim_mul(ctx, after, y->hi[d]);
	stage_identity(ctx, stage->nloop, loops);
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), stage);
	const Expr *same = expr_eq(ctx, position(ctx, x->rank, read->arg, x->hi),
	                           position(ctx, y->rank, loops, y->hi));
	bool is = before == after && facts_prove(facts, same);
	facts_close(facts);
	return is;
}

/* ---- operators ---- */

static Node *
ints_node(const Expander *m, const char *op, Value *x, const char *name, int count,
          const int64_t *numbers)
{
	Node *made = expander_node(m, op, 1, &x, 1);
	int64_t *kept = arena_memdup(m->region->graph->arena, numbers, (size_t)count * sizeof *kept);
	node_add_attr(made, &(Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = kept});
	return made;
}

Value *
view_shape(Graph *graph, const Value *x, int rank, const Dim *const *dims)
{
	int64_t shape[ARRAY_MAX_RANK] = {0};
	int open = 0, moved = 0;
	for (int d = 0; d < rank; d++) {
		bool is_open = !dim_is_const(dims[d], &shape[d]);
		bool stays = d < x->type.rank && x->type.dims[d] == dims[d];
		if (!is_open && shape[d] == 0)
			return NULL; /* would be "as it was" */
		shape[d] = !is_open ? shape[d] : stays ? 0 : -1;
		open += is_open;
		moved += is_open && !stays;
	}
	if (open > 1 && moved > 0) /* where one that stays is 0, what follows is not known */
		return NULL;
	for (int d = 0; d < rank && open == 1; d++)
		shape[d] = shape[d] == 0 ? -1 : shape[d];
	return graph_constant(graph, graph_fresh_name(graph, "shape"),
	                      array_vector_i64(graph->arena, rank, shape));
}

/* NULL: dims are known only when run. */
static Node *
reshape_node(const Expander *m, Value *x, const Tensor *y)
{
	Value *shape = view_shape(m->region->graph, x, y->rank, y->hi);
	return shape ? expander_node(m, "Reshape", 2, (Value *[]){x, shape}, 1) : NULL;
}

/* What Slice says of one axis. Offsets and ends below 0 count from behind. */
typedef struct Cut {
	int64_t start, end, step;
} Cut;

/* How axis d of the input is cut, whose index must go in steps along loop d alone. */
static bool
cut_of(ExprCtx *ctx, const Stage *stage, const Expr *read, int d, Cut *cut)
{
	const Dim *steps[ARRAY_MAX_RANK], *start, *whole = read->tensor->hi[d];
	int64_t extent;
	if (!expr_affine(ctx, read->arg[d], stage->nloop, steps, &start) ||
	    !dim_is_const(steps[d], &cut->step) || cut->step == 0)
		return false;
	for (int i = 0; i < stage->nloop; i++)
		if (i != d && !dim_is(steps[i], 0))
			return false;
	bool is_from_front = dim_is_const(start, &cut->start);
	if (!is_from_front && !dim_is_const(dim_sub(ctx, start, whole), &cut->start))
		return false;
	cut->end = cut->step > 0 ? INT64_MAX : INT64_MIN;
	if (dim_is_const(stage->iters[d].hi, &extent)) {
		int64_t end = cut->start + cut->step * extent;
		if (is_from_front == (end >= 0)) /* what crosses an end of the axis goes up to it */
			cut->end = end;
	}
	return true;
}

static Node *
slice_by(const Expander *m, Value *x, int64_t numbers[4][ARRAY_MAX_RANK], int count)
{
	Graph *graph = m->region->graph;
	Value *inputs[5] = {x};
	for (int i = 0; i < 4; i++)
		inputs[1 + i] = graph_constant(graph, graph_fresh_name(graph, "cut"),
		                               array_vector_i64(graph->arena, count, numbers[i]));
	return expander_node(m, "Slice", 5, inputs, 1);
}

/* NULL: the elements are no regular part of x. */
static Node *
slice_node(const Expander *m, const Stage *stage, const Expr *read, Value *x)
{
	ExprCtx *ctx = m->region->graph->ctx;
	int64_t numbers[4][ARRAY_MAX_RANK];
	int count = 0;
	if (read->argc != stage->nloop)
		return NULL;
	for (int d = 0; d < read->argc; d++) {
		Cut cut;
		if (!cut_of(ctx, stage, read, d, &cut))
			return NULL;
		if (cut.start == 0 && cut.step == 1 && stage->iters[d].hi == read->tensor->hi[d])
			continue;
		const int64_t row[] = {cut.start, cut.end, d, cut.step};
		for (int i = 0; i < 4; i++)
			numbers[i][count] = row[i];
		count++;
	}
	return slice_by(m, x, numbers, count);
}

/* Adds what a Slice says to the rows of starts, ends, axes, steps; false: some of it is computed,
 * or there are more than a tensor can have dims. */
static bool
add_cuts(const Node *slice, int64_t numbers[4][ARRAY_MAX_RANK], int *count)
{
	const Array *given[4] = {NULL};
	for (int i = 1; i < slice->ninput; i++)
		if (slice->inputs[i] && !(given[i - 1] = value_fixed(slice->inputs[i])))
			return false;
	int64_t more = given[0] ? array_count(given[0]) : ARRAY_MAX_RANK;
	if (*count + more > ARRAY_MAX_RANK)
		return false;
	for (int64_t k = 0; k < more; k++, (*count)++) {
		const int64_t row[] = {0, 0, k, 1}; /* without axes: the first ones; without steps: 1 */
		for (int i = 0; i < 4; i++) {
			const Array *a = given[i];
			numbers[i][*count] = a ? dtype_load_i64(a->type, a->data, k) : row[i];
		}
	}
	return true;
}

Node *
view_joined(Value *x, const Node *first, Node *last)
{
	const Expander m = {last->parent, last, last};
	int64_t numbers[4][ARRAY_MAX_RANK];
	int count = 0;
	bool is = first->op->code == OP_Slice && last->op->code == OP_Slice &&
	          add_cuts(first, numbers, &count) && add_cuts(last, numbers, &count);
	for (int i = 0; i < count; i++) /* an axis has two names */
		numbers[2][i] += numbers[2][i] < 0 ? x->type.rank : 0;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < i; k++)
			is &= numbers[2][i] != numbers[2][k];
	return is ? slice_by(&m, x, numbers, count) : NULL;
}

Node *
view_node(const Program *program, Value *x, Node *node)
{
	const Stage *stage = program->stages[0];
	const Expr *body = stage->body[0], *read = expr_without_casts(body);
	const Expander m = {node->parent, node, node};
	int64_t loops[ARRAY_MAX_RANK], perm[ARRAY_MAX_RANK];
	bool is_permutation = is_permuted(stage, read, loops);
	if (view_is_same(program))
		return expander_node(&m, "Identity", 1, &x, 1);
	if (body != read) { /* a cast in place, not one of a cast */
		bool is_cast = body->op == EX_cast && body->arg[0] == read && body->flags == 0 &&
		               is_permutation && is_in_order(loops, read->argc);
		Node *cast = is_cast ? expander_node(&m, "Cast", 1, &x, 1) : NULL;
		if (cast)
			node_set_int(cast, "to", body->type);
		return cast;
	}
	if (keeps_order(program, stage, read))
		return reshape_node(&m, x, program->outputs[0]);
	if (!is_permutation)
		return slice_node(&m, stage, read, x);
	for (int d = 0; d < read->argc; d++)
		perm[loops[d]] = d;
	return ints_node(&m, "Transpose", x, "perm", read->argc, perm);
}
