/* Ensembles of trees of ai.onnx.ml.
 *
 *     %y = ai.onnx.ml.TreeEnsembleRegressor(%x) {…}
 *     =>
 *     %s = Expression(%roots, %features, %splits, %next, %x)     [N,T]: the leaf in each tree
 *     %y = Expression(%s, %weights)                              [N,targets]: sums over the trees
 *
 * All nodes lie in one table, leaves first, with what follows them: where x[feature] <= split,
 * where it is above, where it is NaN. Leaves follow themselves, so that all rows take as many steps
 * as the deepest tree has, or end early; this is Hummingbird's "tree traversal" (OSDI'20). Other
 * comparisons are this one with a smaller split or sides exchanged, or a few of it:
 *
 *     x < t       x <= the number before t
 *     x == t      x <= t, and not x <= the number before t
 *     x in {…}    a search for the last member that is not above x, and x == that
 */
#include <math.h>
#include <string.h>

#include "graph/inner.h"
#include "graph/ml/forest.h"

enum {
	STEPS = 64,          /* in one kernel; deeper trees are a loop */
	AT_ONCE = 2,         /* steps without a look whether it is a leaf */
	TABLE_MAX = 1 << 28, /* elements */
};

/* ---- the table ------------------------------------------------------------------------------- */

enum { BELOW, ABOVE, MISSING, WAYS };

typedef struct Table {
	DType type;
	int64_t rows;
	int64_t *first;   /* row of each node of the forest */
	int64_t *feature; /* of each row */
	double *split;
	int64_t *next; /* WAYS for each row */
	int64_t more;  /* the next free row */
} Table;

/* Of the table's type; nothing is below the least: NaN then, which nothing is below either. */
static double
number_before(const Table *t, double split)
{
	if (isinf(split) && split < 0)
		return (double)NAN;
	return t->type == DT_F64 ? nextafter(split, (double)-INFINITY)
	                         : (double)nextafterf((float)split, -INFINITY);
}

static void
put(Table *t, int64_t row, int64_t feature, double split, int64_t below, int64_t above,
    int64_t missing)
{
	t->feature[row] = feature;
	t->split[row] = split;
	memcpy(&t->next[WAYS * row], (int64_t[]){below, above, missing}, WAYS * sizeof(int64_t));
}

/* Which rows follow a comparison. */
typedef struct Ways {
	int64_t feature, yes, no, missing;
} Ways;

static void
put_equal(Table *t, int64_t row, const Ways *w, double split)
{
	int64_t second = t->more++;
	put(t, row, w->feature, split, second, w->no, w->missing);
	put(t, second, w->feature, number_before(t, split), w->no, w->yes, w->yes);
}

/* Whether x is one of `count` rising members. */
static void
put_members(Table *t, int64_t row, const Ways *w, const double *members, int64_t count)
{
	if (count < 2) {
		put_equal(t, row, w, count ? members[0] : (double)NAN);
		return;
	}
	int64_t half = count / 2, left = t->more++, right = t->more++;
	put(t, row, w->feature, number_before(t, members[half]), left, right,
	    w->missing == w->no ? right : w->missing);
	put_members(t, left, w, members, half);
	put_members(t, right, w, members + half, count - half);
}

static void
put_node(Table *t, const TreeNode *node, int64_t row)
{
	Ways w = {node->feature, t->first[node->yes], t->first[node->no], 0}, turned = w;
	w.missing = node->missing_is_yes ? w.yes : w.no;
	turned.yes = w.no;
	turned.no = w.yes;
	turned.missing = node->missing_is_yes ? w.yes : w.no;
	double before = number_before(t, node->split);
	if (isnan(node->split) && (node->mode == TREE_GT || node->mode == TREE_GTE))
		put(t, row, w.feature, node->split, w.no, w.no, w.missing);
	else if (node->mode == TREE_LEQ || node->mode == TREE_LT)
		put(t, row, w.feature, node->mode == TREE_LT ? before : node->split, w.yes, w.no,
		    w.missing);
	else if (node->mode == TREE_GT || node->mode == TREE_GTE)
		put(t, row, w.feature, node->mode == TREE_GTE ? before : node->split, w.no, w.yes,
		    w.missing);
	else if (node->mode == TREE_EQ)
		put_equal(t, row, &w, node->split);
	else if (node->mode == TREE_MEMBER)
		put_members(t, row, &w, node->members, node->nmember);
	else {
		turned.missing = w.yes; /* NaN differs from all */
		put_equal(t, row, &turned, node->split);
	}
}

static int64_t
rows_of(const TreeNode *node)
{
	if (node->mode == TREE_MEMBER && node->nmember > 0)
		return 3 * node->nmember - 1;
	return node->mode == TREE_EQ || node->mode == TREE_NEQ || node->mode == TREE_MEMBER ? 2 : 1;
}

static Table
table_of(const Forest *f)
{
	Table t = {.type = f->split_type, .more = f->leaves};
	t.first = NEW_N(f->arena, int64_t, f->count);
	for (int64_t i = 0; i < f->count; i++) {
		const TreeNode *node = &f->nodes[i];
		t.first[i] = node->mode == TREE_LEAF ? node->leaf : t.more++;
		t.rows += rows_of(node);
	}
	if (t.rows > TABLE_MAX)
		fail_unsupported(&f->node->loc, "%lld nodes, expected at most %d", (long long)t.rows,
		                 TABLE_MAX);
	t.feature = NEW_N(f->arena, int64_t, t.rows);
	t.split = NEW_N(f->arena, double, t.rows);
	t.next = NEW_N(f->arena, int64_t, WAYS * t.rows);
	for (int64_t i = 0; i < f->count; i++)
		if (f->nodes[i].mode == TREE_LEAF)
			put(&t, t.first[i], 0, (double)NAN, t.first[i], t.first[i], t.first[i]);
		else
			put_node(&t, &f->nodes[i], t.first[i]);
	return t;
}

/* ---- from the roots to the leaves ------------------------------------------------------------ */

/* What a kernel reads: the table, in the least bytes, since each step waits for it. */
typedef struct Walk {
	Value *parts[5]; /* roots, features, splits, what follows, x */
	DType type;
	int64_t leaves;
	int ways; /* 2 where NaN goes where what is above goes */
	bool is_checked;
} Walk;

/* The text of so many steps from `start`, which holds a row of the table for each tree, or for each
 * row of x and each tree. After some steps those who reached a leaf are done. */
static const char *
steps_text(Arena *arena, const Walk *w, const char *start, int steps)
{
	Buf text = {.arena = arena};
	int last = 2 * steps;
	buf_printf(&text,
	           "expr trees(S: i64[%s], F: i32[K], V: @[K], C: i32[%d*K], X: @[N,D]) -> Y {\n"
	           "  Y[n:N, t:T]: i64 = let $0 = S[%s]; ",
	           start, w->ways, strchr(start, 'N') ? "n, t" : "t");
	for (int i = 0; i < last; i += 2) {
		const char *missing = w->ways > MISSING ? " + (isnan($%d) ? 1 : 0)" : "";
		buf_printf(&text, "let $%d = X[n, at(i64(F[at($%d, 0..K)]), 0..D%s)]; ", i + 1, i,
		           w->is_checked ? ", check" : "");
		buf_printf(&text, "let $%d = i64(C[at(%d*$%d + ($%d <= V[at($%d, 0..K)] ? 0 : 1)", i + 2,
		           w->ways, i, i + 1, i);
		buf_printf(&text, missing, i + 1);
		buf_printf(&text, ", 0..%d*K)]); ", w->ways);
	}
	for (int i = 2 * AT_ONCE; i < last; i += 2 * AT_ONCE)
		buf_printf(&text, "$%d < %lld ? $%d : ", i, (long long)w->leaves, i);
	buf_printf(&text, "$%d\n}\n", last);
	return buf_text(&text);
}

static Value *
constant_of(const Expander *m, const char *name, Array *array)
{
	Graph *graph = m->region->graph;
	return graph_constant(graph, graph_fresh_name(graph, name), array);
}

static void
put_table(const Expander *m, const Table *t, Walk *w)
{
	Arena *arena = m->region->graph->arena;
	w->ways = MISSING;
	for (int64_t row = 0; row < t->rows; row++)
		if (t->next[WAYS * row + MISSING] != t->next[WAYS * row + ABOVE])
			w->ways = WAYS;
	const int64_t count = w->ways * t->rows;
	Array *features = array_new(arena, DT_I32, 1, &t->rows);
	Array *splits = array_new(arena, t->type, 1, &t->rows);
	Array *next = array_new(arena, DT_I32, 1, &count);
	for (int64_t row = 0; row < t->rows; row++) {
		dtype_store_i64(DT_I32, features->data, row, t->feature[row]);
		dtype_store_f64(t->type, splits->data, row, t->split[row]);
		for (int way = 0; way < w->ways; way++)
			dtype_store_i64(DT_I32, next->data, w->ways * row + way, t->next[WAYS * row + way]);
	}
	w->parts[1] = constant_of(m, "features", features);
	w->parts[2] = constant_of(m, "splits", splits);
	w->parts[3] = constant_of(m, "next", next);
}

static void
check_features(const Forest *f, const Table *t, int64_t width)
{
	for (int64_t i = f->leaves; i < t->rows; i++)
		if (t->feature[i] < 0 || t->feature[i] >= width)
			fail(&f->node->loc, "a node compares feature %lld, and there are %lld",
			     (long long)t->feature[i], (long long)width);
}

/* The number of the leaf that each row reaches in each tree, [N,T]. */
static Value *
leaves_of(const Expander *m, const Forest *f, Value *x)
{
	Table t = table_of(f);
	Walk w = {.parts = {[4] = x}, .type = t.type, .leaves = f->leaves};
	int64_t width = INT32_MAX, *roots = NEW_N(f->arena, int64_t, f->roots.count);
	int height = 0;
	w.is_checked = !dim_is_const(x->type.dims[1], &width);
	check_features(f, &t, width);
	for (int i = 0; i < f->roots.count; i++) {
		const TreeNode *root = &f->nodes[f->roots.data[i]];
		roots[i] = t.first[f->roots.data[i]];
		height = root->height > height ? root->height : height;
	}
	w.parts[0] = expander_integers(m, f->roots.count, roots);
	put_table(m, &t, &w);
	int steps = height < STEPS ? height : STEPS;
	Value *state = ml_expression(m, t.type, 5, w.parts, steps_text(f->arena, &w, "T", steps));
	if (height <= STEPS)
		return state;
	w.parts[0] = state;
	return ml_repeated(m, (height - 1) / STEPS, t.type, 5, w.parts,
	                   steps_text(f->arena, &w, "N,T", steps));
}

/* ---- from the leaves to scores --------------------------------------------------------------- */

/* What each leaf adds to each target, `none` where it has no weight for it. */
static Array *
weight_table(const Forest *f, DType type, double none, bool is_sum, bool is_least)
{
	if (f->leaves > TABLE_MAX / f->targets)
		fail_unsupported(&f->node->loc, "%lld leaves and %lld targets are too many",
		                 (long long)f->leaves, (long long)f->targets);
	Array *table = array_new(f->arena, type, 2, (const int64_t[]){f->leaves, f->targets});
	for (int64_t i = 0; i < array_count(table); i++)
		dtype_store_f64(type, table->data, i, none);
	for (int i = 0; i < f->weights.count; i++) {
		const TreeWeight *w = &f->weights.data[i];
		int64_t at = w->leaf * f->targets + w->target;
		double old = dtype_load_f64(type, table->data, at);
		bool is_better = is_least ? w->weight < old : w->weight > old;
		dtype_store_f64(type, table->data, at,
		                is_sum      ? old + w->weight
		                : is_better ? w->weight
		                            : old);
	}
	return table;
}

/* Of all trees' leaves: their sum, the least or the largest of a table's numbers, [N,targets]. */
static Value *
combined(const Expander *m, Value *leaves, Array *table, const char *reduce)
{
	Value *parts[] = {leaves, constant_of(m, "weights", table)};
	const char *text = arena_printf(m->region->graph->arena,
	                                "expr scores(S: i64[N,T], W: @[L,M]) -> Y {\n"
	                                "  Y[n:N, m:M]: @ = %s(t:T) W[at(S[n, t], 0..L), m]\n"
	                                "}\n",
	                                reduce);
	return ml_expression(m, table->type, 2, parts, text);
}

/* As TreeEnsemble numbers them. */
static const char *const AGGREGATES[] = {"AVERAGE", "SUM", "MIN", "MAX"};
enum { AVERAGE, SUM, MIN, MAX };

static int
aggregate_of(const Node *node)
{
	const Attr *attr = attr_find(node, "aggregate_function");
	for (int i = 0; i <= MAX; i++)
		if (attr->kind == ATTR_INT ? attr->i == i : strcmp(attr->s, AGGREGATES[i]) == 0)
			return i;
	fail(&node->loc, "aggregate_function is %lld, expected 0 to 3", (long long)attr->i);
}

static Value *
aggregated(const Expander *m, const Forest *f, Value *leaves, int how)
{
	DType type = f->weight_type;
	double none = how == MIN ? INFINITY : how == MAX ? -INFINITY : 0;
	Array *table = weight_table(f, type, none, how < MIN, how == MIN);
	Value *y = combined(m, leaves, table, how == MIN ? "min" : how == MAX ? "max" : "sum");
	if (how == AVERAGE)
		y = expander_binary(m, "Div", y, expander_number(m, type, f->roots.count));
	if (how >= MIN) { /* a target that no leaf has a weight for */
		Value *is = expander_binary(m, "Equal", y, expander_number(m, type, none));
		Value *parts[] = {is, expander_number(m, type, 0), y};
		y = expander_result(m, expander_node(m, "Where", 3, parts, 1));
	}
	return y;
}

static Value *
with_base(const Expander *m, Value *y, int64_t count)
{
	if (ml_count(m->node, "base_values") == 0)
		return y;
	return expander_binary(m, "Add", y, ml_constant(m, "base_values", y->type.dtype, 1, &count));
}

/* ---- regressors ------------------------------------------------------------------------------ */

static void
infer_targets(Infer *infer, DType type)
{
	int64_t targets = attr_int(infer->node, "n_targets");
	if (targets < 1 || targets > TABLE_MAX)
		infer_fail(infer, "n_targets is %lld, expected 1 to %d", (long long)targets, TABLE_MAX);
	const Dim *rows = infer_ml_rows(infer, 0);
	infer_set(infer, 0, type, 2, (const Dim *[]){rows, dim_const(infer->ctx, targets)});
}

void
infer_TreeEnsembleRegressor(Infer *infer)
{
	infer_targets(infer, DT_F32);
}

void
infer_TreeEnsemble(Infer *infer)
{
	infer_targets(infer, infer_input(infer, 0)->dtype);
}

static void
expand_regressor(Node *node, const char *what, bool has_base)
{
	Expander m = {node->parent, node, node};
	DType type = node->outputs[0]->type.dtype;
	int64_t targets = attr_int(node, "n_targets");
	MlTransform transform = ml_transform(node);
	ml_refuse_transform(node, targets == 1 && transform != ML_NONE && transform != ML_PROBIT);
	Forest f = forest_read(node, what, targets);
	Value *leaves = leaves_of(&m, &f, ml_rows(&m, f.split_type));
	Value *y = aggregated(&m, &f, leaves, aggregate_of(node));
	if (has_base)
		y = with_base(&m, y, targets);
	y = ml_transformed(&m, expander_cast(&m, y, type == DT_F16 ? DT_F32 : type));
	node_become(node, expander_cast(&m, y, type));
}

void
expand_TreeEnsembleRegressor(Node *node)
{
	expand_regressor(node, "target", true);
}

void
expand_TreeEnsemble(Node *node)
{
	expand_regressor(node, NULL, false);
}

/* ---- classifier ------------------------------------------------------------------------------ */

void
infer_TreeEnsembleClassifier(Infer *infer)
{
	int64_t labels = ml_label_count(infer->node);
	if (labels < 2 || labels > TABLE_MAX)
		fail_unsupported(&infer->node->loc, "%lld labels, expected 2 or more", (long long)labels);
	infer_ml_classes(infer, infer_ml_rows(infer, 0), labels);
}

/* Whether every row has a score for each class: in some tree all leaves have a weight for it. */
static bool
is_full(const Forest *f, const Array *has_weight)
{
	int64_t trees = f->roots.count, *hits = NEW_N(f->arena, int64_t, trees * (f->targets + 1));
	for (int64_t i = 0; i < f->count; i++) {
		const TreeNode *node = &f->nodes[i];
		int64_t *hit = hits + node->tree * (f->targets + 1);
		for (int64_t c = 0; node->mode == TREE_LEAF && c < f->targets; c++)
			hit[c] += dtype_load_i64(DT_I32, has_weight->data, node->leaf * f->targets + c);
		hit[f->targets] += node->mode == TREE_LEAF;
	}
	for (int64_t c = 0; c < f->targets; c++) {
		bool is_always = false;
		for (int64_t t = 0; t < trees; t++) {
			const int64_t *hit = hits + t * (f->targets + 1);
			is_always |= hit[c] == hit[f->targets];
		}
		if (!is_always)
			return false;
	}
	return true;
}

/* The class of the largest score among those that a leaf has a weight for, by ONNX Runtime. */
static Value *
best_class(const Expander *m, const Forest *f, Value *leaves, Value *scores)
{
	Array *has_weight = array_new(f->arena, DT_I32, 2, (const int64_t[]){f->leaves, f->targets});
	for (int i = 0; i < f->weights.count; i++) {
		const TreeWeight *w = &f->weights.data[i];
		dtype_store_i64(DT_I32, has_weight->data, w->leaf * f->targets + w->target, 1);
	}
	if (ml_count(m->node, "base_values") > 0 || is_full(f, has_weight))
		return ml_largest(m, scores);
	Value *has = expander_cast(m, combined(m, leaves, has_weight, "max"), DT_BOOL);
	Value *parts[] = {has, scores, expander_number(m, scores->type.dtype, (double)-INFINITY)};
	return ml_largest(m, expander_result(m, expander_node(m, "Where", 3, parts, 1)));
}

/* Weights for the first of two classes only: they are scores of the second. All positive, they are
 * probabilities. */
static void
become_binary(const Expander *m, const Forest *f, Value *leaves)
{
	bool is_positive = true;
	MlTransform transform = ml_transform(m->node);
	for (int i = 0; i < f->weights.count; i++)
		is_positive &= f->weights.data[i].weight >= 0;
	ml_refuse_transform(m->node, transform != ML_NONE && transform != ML_LOGISTIC);
	Value *y = with_base(m, aggregated(m, f, leaves, SUM), 1);
	Value *place = ml_above(m, y, is_positive ? 0.5 : 0);
	double whole = is_positive && transform == ML_NONE ? 1 : 0;
	ml_become(m, place, ml_transformed(m, ml_both(m, expander_cast(m, y, DT_F32), whole)));
}

void
expand_TreeEnsembleClassifier(Node *node)
{
	Expander m = {node->parent, node, node};
	int64_t labels = ml_label_count(node);
	Forest f = forest_read(node, "class", labels);
	Value *leaves = leaves_of(&m, &f, ml_rows(&m, f.split_type));
	bool uses_first = false, uses_others = false;
	for (int i = 0; i < f.weights.count; i++) {
		uses_first |= f.weights.data[i].target == 0;
		uses_others |= f.weights.data[i].target > 0;
	}
	if (labels == 2 && !uses_others) {
		f.targets = 1;
		become_binary(&m, &f, leaves);
		return;
	}
	if (labels == 2 && !uses_first)
		fail_unsupported(&node->loc, "weights for nothing but the second of two classes are not "
		                             "supported: ONNX does not say what they mean");
	Value *scores = with_base(&m, aggregated(&m, &f, leaves, SUM), labels);
	ml_become(&m, best_class(&m, &f, leaves, scores),
	          ml_transformed(&m, expander_cast(&m, scores, DT_F32)));
}
