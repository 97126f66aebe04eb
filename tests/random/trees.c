/* Ensembles of trees: all comparisons, features that are NaN or a split, numbers of nodes and trees
 * in no order, and now and then a tree so deep that it is a loop. */
#include "random.h"

#include <math.h>
#include <string.h>

enum {
	FEATURES = TRIAL_FEATURES,
	DEEPEST = 4,
	MOST_NODES = 400,
	MOST_WEIGHTS = 5 * MOST_NODES,
	FIRST_TREE = 10
};

typedef struct Trees {
	int count;
	int64_t tree[MOST_NODES], id[MOST_NODES], yes[MOST_NODES], no[MOST_NODES], feature[MOST_NODES];
	int64_t missing[MOST_NODES];
	float split[MOST_NODES];
	const char *mode[MOST_NODES];
	int nweight;
	int64_t weight_tree[MOST_WEIGHTS], weight_id[MOST_WEIGHTS], target[MOST_WEIGHTS];
	float weight[MOST_WEIGHTS];
} Trees;

typedef struct Wish {
	int64_t targets;
	int depth;
	bool is_chain, is_positive, is_mixed;
	bool is_full; /* the first tree has weights for all targets */
	const char *mode;
} Wish;

static const char *const MODES[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

static double
half_number(Trial *t)
{
	return (double)roll(t, -4, 4) / 2;
}

static void
add_weights(Trial *t, Trees *trees, const Wish *w, int node)
{
	for (int64_t target = 0; target < w->targets; target++) {
		if (w->targets > 1 && (!w->is_full || trees->tree[node] != FIRST_TREE) && chance(t, 30))
			continue;
		int i = trees->nweight++;
		trees->weight_tree[i] = trees->tree[node];
		trees->weight_id[i] = trees->id[node];
		trees->target[i] = target;
		trees->weight[i] = (float)uniform(t, w->is_positive ? 0 : -1, 1);
	}
}

static int64_t
grow(Trial *t, Trees *trees, const Wish *w, int64_t tree, int depth)
{
	int i = trees->count++;
	bool is_leaf = depth == 0 || trees->count + 2 * depth + 4 > MOST_NODES ||
	               (!w->is_chain && depth < w->depth && chance(t, 20));
	trees->tree[i] = tree;
	trees->id[i] = i;
	trees->feature[i] = roll(t, 0, FEATURES - 1);
	trees->split[i] = (float)(chance(t, 60) ? half_number(t) : uniform(t, -2, 2));
	trees->missing[i] = chance(t, 30);
	trees->mode[i] = is_leaf ? "LEAF" : w->is_mixed ? MODES[roll(t, 0, 5)] : w->mode;
	if (is_leaf) {
		add_weights(t, trees, w, i);
		return trees->id[i];
	}
	int64_t deep = grow(t, trees, w, tree, depth - 1);
	int64_t other = grow(t, trees, w, tree, w->is_chain ? 0 : depth - 1);
	bool is_turned = chance(t, 50);
	trees->yes[i] = is_turned ? deep : other;
	trees->no[i] = is_turned ? other : deep;
	return trees->id[i];
}

/* Numbers of nodes that fall where places rise, so that a place says nothing. */
static void
turn(int64_t count, int64_t *numbers, int64_t most)
{
	for (int64_t i = 0; i < count; i++)
		numbers[i] = most - numbers[i];
}

static void
add_nodes(Trial *t, Trees *trees)
{
	int64_t last = trees->count - 1;
	turn(trees->count, trees->id, last);
	turn(trees->count, trees->yes, last);
	turn(trees->count, trees->no, last);
	turn(trees->nweight, trees->weight_id, last);
	trial_ints(t, "nodes_treeids", trees->count, trees->tree);
	trial_ints(t, "nodes_nodeids", trees->count, trees->id);
	trial_ints(t, "nodes_featureids", trees->count, trees->feature);
	trial_ints(t, "nodes_truenodeids", trees->count, trees->yes);
	trial_ints(t, "nodes_falsenodeids", trees->count, trees->no);
	trial_strings(t, "nodes_modes", trees->count, trees->mode);
	trial_floats(t, "nodes_values", trees->count, trees->split);
	if (chance(t, 50))
		trial_ints(t, "nodes_missing_value_tracks_true", trees->count, trees->missing);
}

static const Trees *
make_trees(Trial *t, int64_t targets, bool is_positive, bool is_full)
{
	Trees *trees = NEW(t->arena, Trees);
	Wish w = {.targets = targets,
	          .depth = (int)roll(t, 0, 5),
	          .is_positive = is_positive,
	          .is_full = is_full};
	w.mode = MODES[roll(t, 0, 5)];
	w.is_mixed = chance(t, 50);
	int count = (int)roll(t, 1, 8);
	if (chance(t, 5)) {
		w.is_chain = true;
		w.depth = 70;
		count = 2;
	}
	for (int i = 0; i < count; i++)
		grow(t, trees, &w, FIRST_TREE + 3 * i, w.depth);
	add_nodes(t, trees);
	return trees;
}

static Value *
features(Trial *t, DType type)
{
	const int64_t dims[] = {roll(t, 1, 40), FEATURES};
	Array *x = trial_array(t, type, 2, dims, -2, 2);
	for (int64_t i = 0; dtype_is_float(type) && i < array_count(x); i++)
		if (chance(t, 40))
			dtype_store_f64(type, x->data, i, chance(t, 20) ? NAN : half_number(t));
	return trial_input(t, "x", x, true);
}

static const char *
some_transform(Trial *t, bool is_single)
{
	static const char *const words[] = {"NONE", "PROBIT", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"};
	return words[chance(t, 50) ? 0 : roll(t, 0, is_single ? 1 : 4)];
}

static void
add_base(Trial *t, int64_t count)
{
	float base[8];
	for (int64_t i = 0; i < count; i++)
		base[i] = (float)uniform(t, -1, 1);
	if (chance(t, 40))
		trial_floats(t, "base_values", count, base);
}

void
trial_tree_regressor(Trial *t)
{
	static const char *const aggregates[] = {"SUM", "AVERAGE", "MIN", "MAX"};
	int64_t targets = chance(t, 50) ? 1 : roll(t, 2, 4);
	const char *transform = some_transform(t, targets == 1);
	bool is_probit = strcmp(transform, "PROBIT") == 0; /* of what lies in 0..1 */
	/* Of targets without a score ONNX Runtime says 0, whatever their base value is. */
	const Trees *trees = make_trees(t, targets, is_probit, true);
	trial_ints(t, "target_treeids", trees->nweight, trees->weight_tree);
	trial_ints(t, "target_nodeids", trees->nweight, trees->weight_id);
	trial_ints(t, "target_ids", trees->nweight, trees->target);
	trial_floats(t, "target_weights", trees->nweight, trees->weight);
	trial_int(t, "n_targets", targets);
	trial_string(t, "aggregate_function", aggregates[roll(t, is_probit, 3)]);
	trial_string(t, "post_transform", transform);
	if (!is_probit)
		add_base(t, targets);
}

void
try_TreeEnsembleRegressor(Trial *t)
{
	Value *x = features(t, chance(t, 70) ? DT_F32 : DT_F64);
	trial_tree_regressor(t);
	t->ort_share = 1e-5;
	trial_finish(t, 1, trial_node(t, "ai.onnx.ml.TreeEnsembleRegressor", 1, &x, 1));
}

void
trial_tree_classifier(Trial *t)
{
	static const int64_t labels[] = {7, -1, 3, 40, 5};
	static const char *const words[] = {"NONE", "LOGISTIC", "SOFTMAX"};
	int64_t classes = roll(t, 2, 5);
	const Trees *trees = make_trees(t, classes == 2 ? 1 : classes, chance(t, 50), false);
	trial_ints(t, "class_treeids", trees->nweight, trees->weight_tree);
	trial_ints(t, "class_nodeids", trees->nweight, trees->weight_id);
	trial_ints(t, "class_ids", trees->nweight, trees->target);
	trial_floats(t, "class_weights", trees->nweight, trees->weight);
	trial_ints(t, "classlabels_int64s", (int)classes, labels);
	trial_string(t, "post_transform", words[roll(t, 0, classes == 2 ? 1 : 2)]);
	add_base(t, classes == 2 ? 1 : classes);
}

void
try_TreeEnsembleClassifier(Trial *t)
{
	Value *x = features(t, (DType)PICK(t, DT_F32, DT_F32, DT_F64, DT_I64, DT_I32));
	trial_tree_classifier(t);
	t->ort_share = 1e-5;
	trial_finish(t, 2, trial_node(t, "ai.onnx.ml.TreeEnsembleClassifier", 1, &x, 2));
}

/* ---- TreeEnsemble ---------------------------------------------------------------------------- */

typedef struct Places {
	int count, leaves, nmember;
	int64_t feature[MOST_NODES], yes[MOST_NODES], no[MOST_NODES];
	int64_t yes_leaf[MOST_NODES], no_leaf[MOST_NODES], target[MOST_NODES], missing[MOST_NODES];
	double split[MOST_NODES], weight[MOST_NODES], member[MOST_NODES];
	int64_t mode[MOST_NODES];
} Places;

/* Members are in the order of nodes' places; here parents come first. */
static int64_t
plant(Trial *t, Places *p, int64_t targets, int depth, int64_t *is_leaf)
{
	*is_leaf = depth == 0 || (depth < DEEPEST && chance(t, 20));
	if (*is_leaf) {
		p->target[p->leaves] = roll(t, 0, targets - 1);
		p->weight[p->leaves] = (double)(float)uniform(t, -1, 1);
		return p->leaves++;
	}
	int i = p->count++;
	p->feature[i] = roll(t, 0, FEATURES - 1);
	p->split[i] = half_number(t);
	p->mode[i] = roll(t, 0, 6);
	p->missing[i] = chance(t, 30);
	for (int64_t many = roll(t, 1, 5); p->mode[i] == 6 && many >= 0; many--)
		p->member[p->nmember++] =
			many ? (double)roll(t, 1, 3) : NAN; /* as ONNX Runtime takes them */
	p->yes[i] = plant(t, p, targets, depth - 1, &p->yes_leaf[i]);
	p->no[i] = plant(t, p, targets, depth - 1, &p->no_leaf[i]);
	return i;
}

static Array *
tensor_of(Trial *t, DType type, int64_t count, const double *values)
{
	Array *made = array_new(t->arena, type, 1, &count);
	for (int64_t i = 0; i < count; i++)
		dtype_store_f64(type, made->data, i, values[i]);
	return made;
}

void
trial_tree_places(Trial *t, DType type)
{
	Places *p = NEW(t->arena, Places);
	int64_t targets = roll(t, 1, 3), roots[4], is_leaf, count = roll(t, 1, 4);
	for (int i = 0; i < count; i++)
		roots[i] = plant(t, p, targets, DEEPEST, &is_leaf);
	Array *modes = array_new(t->arena, DT_U8, 1, (int64_t[]){p->count});
	for (int i = 0; i < p->count; i++)
		dtype_store_i64(DT_U8, modes->data, i, p->mode[i]);
	trial_ints(t, "tree_roots", (int)count, roots);
	trial_tensor(t, "nodes_modes", modes);
	trial_tensor(t, "nodes_splits", tensor_of(t, type, p->count, p->split));
	trial_ints(t, "nodes_featureids", p->count, p->feature);
	trial_ints(t, "nodes_truenodeids", p->count, p->yes);
	trial_ints(t, "nodes_falsenodeids", p->count, p->no);
	trial_ints(t, "nodes_trueleafs", p->count, p->yes_leaf);
	trial_ints(t, "nodes_falseleafs", p->count, p->no_leaf);
	trial_ints(t, "leaf_targetids", p->leaves, p->target);
	trial_tensor(t, "leaf_weights", tensor_of(t, type, p->leaves, p->weight));
	if (p->nmember > 0)
		trial_tensor(t, "membership_values", tensor_of(t, type, p->nmember, p->member));
	if (chance(t, 50))
		trial_ints(t, "nodes_missing_value_tracks_true", p->count, p->missing);
	trial_int(t, "n_targets", targets);
	trial_int(t, "aggregate_function", roll(t, 0, 3));
}

void
try_TreeEnsemble(Trial *t)
{
	DType type = chance(t, 60) ? DT_F32 : DT_F64;
	Value *x = features(t, type);
	trial_tree_places(t, type);
	t->ort_share = 1e-5;
	trial_finish(t, 1, trial_node(t, "ai.onnx.ml.TreeEnsemble", 1, &x, 1));
}
