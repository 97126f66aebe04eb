/* EinsumDecomposition (OpenVINO's name): a sum of products over named axes becomes MatMul.
 *
 *     %y = Einsum(%q, %k) {equation="bihd,bjhd->bhij"}
 *
 *     %a = Transpose(%q) {perm=[0,2,1,3]}
 *     %b = Transpose(%k) {perm=[0,2,3,1]}
 *     %y = MatMul(%a, %b)
 *
 * Letters are of four kinds: of a batch (both operands and the result have them), rows (the left
 * operand and the result), columns (the right one and the result), terms (both operands). Several
 * of a kind are joined by Reshape. Where the result has batch, rows and columns in another order,
 * the node stays: our kernels store a sum in any order, and a Transpose behind them costs more
 * than one kernel does. Where no machine is given, it also stays if an operand that is no constant
 * would need a Transpose: a file that optimize writes would have more nodes, and what runs it knows
 * Einsum as one. Measure: nodes that are no views.
 *
 * needs    shapes, topological order
 * keeps    shapes, order; values but those of sums, which are joined in another order
 * breaks   nothing
 */
#include "graph/einsum.h"

#include "graph/expand.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/replace.h"
#include "passes/views.h"

typedef enum Kind { BATCH, ROWS, COLUMNS, TERMS, KINDS } Kind;

typedef struct Letters {
	int count;
	int label[ARRAY_MAX_RANK];
} Letters;

typedef struct Product {
	Expander m;
	Einsum eq;
	int left; /* the operand that has the rows */
	Letters of[KINDS];
} Product;

/* ---- letters ---- */

/* -1: there is none. */
static int
place_of(const EinsumTerm *term, int label)
{
	int at = term->rank - 1;
	while (at >= 0 && term->label[at] != label)
		at--;
	return at;
}

static void
add(Letters *letters, int label)
{
	letters->label[letters->count++] = label;
}

/* KINDS: it is summed over one operand alone, or stands twice in it. */
static Kind
kind_of(const Product *p, int label)
{
	bool is_left = place_of(&p->eq.in[p->left], label) >= 0;
	bool is_right = place_of(&p->eq.in[!p->left], label) >= 0;
	bool is_out = place_of(&p->eq.out, label) >= 0;
	if (p->eq.uses[label] != is_left + is_right || (is_left != is_right && !is_out))
		return KINDS;
	return !is_out ? TERMS : !is_right ? ROWS : is_left ? BATCH : COLUMNS;
}

/* Without a batch, MatMul takes rows of several dims: all but the last are as if of one. */
static void
lead(Product *p)
{
	Letters *rows = &p->of[ROWS], *batch = &p->of[BATCH];
	for (int i = 0; i + 1 < rows->count; i++)
		add(batch, rows->label[i]);
	if (rows->count > 1)
		*rows = (Letters){1, {rows->label[rows->count - 1]}};
}

/* Letters by kinds, each in the order of the result, terms as the left operand has them. False: the
 * result has another order, or it is no product of matrices. */
static bool
sort_letters(Product *p, int left)
{
	Kind last = BATCH;
	p->left = left;
	for (int k = 0; k < KINDS; k++)
		p->of[k].count = 0;
	for (int i = 0; i < p->eq.out.rank; i++) {
		Kind kind = kind_of(p, p->eq.out.label[i]);
		if (kind == KINDS || kind < last)
			return false;
		last = kind;
		add(&p->of[kind], p->eq.out.label[i]);
	}
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < p->eq.in[side].rank; i++) {
			Kind kind = kind_of(p, p->eq.in[side].label[i]);
			if (kind == KINDS)
				return false;
			if (kind == TERMS && side == left)
				add(&p->of[TERMS], p->eq.in[side].label[i]);
		}
	if (p->of[BATCH].count == 0)
		lead(p);
	return p->of[ROWS].count && p->of[COLUMNS].count && p->of[TERMS].count;
}

/* Those of a kind that the operand has. */
static void
add_all(const Product *p, int side, Letters *letters, Kind kind)
{
	const Letters *more = &p->of[kind];
	for (int i = 0; i < more->count; i++)
		if (place_of(&p->eq.in[side], more->label[i]) >= 0)
			add(letters, more->label[i]);
}

/* ---- nodes ---- */

static const Dim *
extent_of(const Product *p, int side, int label)
{
	return p->m.node->inputs[side]->type.dims[place_of(&p->eq.in[side], label)];
}

/* Einsum broadcasts a term of 1, MatMul does not: joined ones would even be taken for others. */
static bool
terms_are_equal(const Product *p)
{
	const Letters *terms = &p->of[TERMS];
	for (int i = 0; i < terms->count; i++)
		if (extent_of(p, 0, terms->label[i]) != extent_of(p, 1, terms->label[i]))
			return false;
	return true;
}

/* An operand's letters as MatMul wants them: its batch, then first and second. */
static Letters
order_of(const Product *p, int side, Kind first, Kind second)
{
	Letters order = {0};
	add_all(p, side, &order, BATCH);
	add_all(p, side, &order, first);
	add_all(p, side, &order, second);
	return order;
}

static bool
is_ordered(const Product *p, int side, const Letters *order)
{
	for (int i = 0; i < order->count; i++)
		if (place_of(&p->eq.in[side], order->label[i]) != i)
			return false;
	return true;
}

/* Whether a Transpose would be left that nothing folds. */
static bool
leaves_transpose(const Product *p)
{
	const int right = !p->left;
	const Letters a = order_of(p, p->left, ROWS, TERMS), b = order_of(p, right, TERMS, COLUMNS);
	return (!is_ordered(p, p->left, &a) && !value_fixed(p->m.node->inputs[p->left])) ||
	       (!is_ordered(p, right, &b) && !value_fixed(p->m.node->inputs[right]));
}

static Value *
transposed(const Product *p, int side, const Letters *order)
{
	Value *x = p->m.node->inputs[side];
	if (is_ordered(p, side, order))
		return x;
	int64_t *perm = NEW_N(p->m.region->graph->arena, int64_t, order->count);
	for (int i = 0; i < order->count; i++)
		perm[i] = place_of(&p->eq.in[side], order->label[i]);
	Node *made = expander_node(&p->m, "Transpose", 1, &x, 1);
	node_add_attr(made,
	              &(Attr){.name = "perm", .kind = ATTR_INTS, .count = order->count, .ints = perm});
	return expander_result(&p->m, made);
}

/* What was made in vain. */
static void
drop_unread(Value *value)
{
	if (value && value->def && value->uses.count == 0)
		node_drop(value->def);
}

/* x with its first `kept` dims and then these; NULL: Reshape cannot say so. */
static Value *
reshaped(const Product *p, Value *x, int kept, int count, const Dim *const *dims)
{
	const Dim *all[2 * ARRAY_MAX_RANK];
	for (int d = 0; d < kept + count; d++)
		all[d] = d < kept ? x->type.dims[d] : dims[d - kept];
	bool fits = kept + count <= ARRAY_MAX_RANK;
	Value *shape = fits ? view_shape(p->m.region->graph, x, kept + count, all) : NULL;
	return shape ? expander_binary(&p->m, "Reshape", x, shape) : NULL;
}

static const Dim *
joined(const Product *p, int side, const Letters *letters)
{
	ExprCtx *ctx = p->m.region->graph->ctx;
	const Dim *all = dim_const(ctx, 1);
	for (int i = 0; i < letters->count; i++)
		all = dim_mul(ctx, all, extent_of(p, side, letters->label[i]));
	return all;
}

/* The operand as matrices of first x second, behind its batch. */
static Value *
matrices(const Product *p, int side, Kind first, Kind second)
{
	const Letters *a = &p->of[first], *b = &p->of[second];
	const Letters order = order_of(p, side, first, second);
	int kept = order.count - a->count - b->count + (a->count == 1), count = 0;
	Value *x = transposed(p, side, &order);
	if (a->count == 1 && b->count == 1)
		return x;
	const Dim *dims[2];
	if (a->count > 1)
		dims[count++] = joined(p, side, a);
	dims[count++] = joined(p, side, b);
	Value *y = reshaped(p, x, kept, count, dims);
	if (!y)
		drop_unread(x);
	return y;
}

/* The rows and columns of a product as the letters of the result. */
static Value *
taken_apart(const Product *p, Value *y)
{
	const Letters *rows = &p->of[ROWS], *columns = &p->of[COLUMNS];
	const Dim *dims[ARRAY_MAX_RANK];
	int count = 0;
	if (rows->count == 1 && columns->count == 1)
		return y;
	for (int i = 0; rows->count > 1 && i < rows->count; i++)
		dims[count++] = extent_of(p, p->left, rows->label[i]);
	for (int i = 0; i < columns->count; i++)
		dims[count++] = extent_of(p, !p->left, columns->label[i]);
	return reshaped(p, y, p->of[BATCH].count + (rows->count == 1), count, dims);
}

/* NULL: MatMul has not these types, or dims may differ. */
static Value *
product_of(const Product *p)
{
	Value *a = matrices(p, p->left, ROWS, TERMS), *b = matrices(p, !p->left, TERMS, COLUMNS);
	Value *y = NULL;
	if (a && b) {
		Node *made = expander_node(&p->m, "MatMul", 2, (Value *[]){a, b}, 1);
		if (node_try_infer(made))
			y = taken_apart(p, made->outputs[0]);
		if (!y)
			node_remove(made);
	}
	if (!y) {
		drop_unread(a);
		drop_unread(b);
	}
	return y;
}

/* ---- the pass ---- */

static bool
decompose(PassContext *context, Node *node)
{
	Product p = {.m = {node->parent, node, node}};
	if (node->op != op_find(node->parent->graph->ops, "", "Einsum") || node->ninput != 2)
		return false;
	const int ranks[] = {node->inputs[0]->type.rank, node->inputs[1]->type.rank};
	einsum_parse(node, 2, ranks, &p.eq);
	bool is_product = sort_letters(&p, 0) || sort_letters(&p, 1);
	bool has_machine = context->target && context->target->device;
	if (is_product && !has_machine && leaves_transpose(&p))
		return false;
	Value *y = is_product && terms_are_equal(&p) ? product_of(&p) : NULL;
	if (!y)
		return false;
	if (!type_equal(&y->type, &node->outputs[0]->type)) {
		drop_unread(y);
		return false;
	}
	put_in_place(context, "product", node, y->def);
	return true;
}

static bool
decompose_region(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= decompose_region(context, node->regions[i]);
		changed |= pass_may_rewrite(context) && decompose(context, node);
	}
	return changed;
}

bool
pass_EinsumDecomposition(Graph *graph, PassContext *context)
{
	return decompose_region(context, graph->body);
}
