/* Reading ensembles of trees from attributes. TreeEnsembleRegressor and TreeEnsembleClassifier name
 * nodes by a tree and a number in it; TreeEnsemble has nodes and leaves in lists of their own and
 * names them by their places there. Nothing of it can be trusted. */
#include "graph/ml/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

/* A list of `count` elements. */
static const Array *
list_of(const Forest *f, const char *name, int64_t count)
{
	const Array *list = ml_list(f->node, name);
	if (array_count(list) != count)
		fail(&f->node->loc, "%s has %lld elements, expected %lld", name,
		     (long long)array_count(list), (long long)count);
	return list;
}

static int64_t
integer(const Array *list, int64_t i)
{
	return dtype_load_i64(list->type, list->data, i);
}

static double
number(const Array *list, int64_t i)
{
	return dtype_load_f64(list->type, list->data, i);
}

/* The type in which numbers of a list are compared, or added, with features of x's. */
static DType
type_with(const Forest *f, const Array *list)
{
	bool is_wide = f->node->inputs[0]->type.dtype == DT_F64 || list->type == DT_F64;
	return is_wide ? DT_F64 : DT_F32;
}

static void
add_weight(Forest *f, int64_t leaf, int64_t target, double weight)
{
	if (target < 0 || target >= f->targets)
		fail(&f->node->loc, "a leaf has a weight for target %lld, and there are %lld",
		     (long long)target, (long long)f->targets);
	vec_push(f->arena, &f->weights, ((TreeWeight){leaf, target, weight}));
}

/* Fill in features, splits and what is done with NaN of the first `count` nodes. */
static void
read_splits(Forest *f, int64_t count, const char *splits)
{
	const Array *features = list_of(f, "nodes_featureids", count);
	const Array *split = list_of(f, splits, count);
	const Array *missing = ml_list(f->node, "nodes_missing_value_tracks_true");
	if (array_count(missing) > 0)
		list_of(f, "nodes_missing_value_tracks_true", count);
	f->split_type = type_with(f, split);
	for (int64_t i = 0; i < count; i++) {
		TreeNode *node = &f->nodes[i];
		node->feature = integer(features, i);
		node->split = number(split, i);
		node->missing_is_yes = array_count(missing) > 0 && integer(missing, i) != 0;
	}
}

/* ---- nodes by tree and number ---------------------------------------------------------------- */

typedef struct Key {
	int64_t tree, number, place;
} Key;

static int
compare_keys(const void *left, const void *right)
{
	const Key *a = left, *b = right;
	if (a->tree != b->tree)
		return a->tree < b->tree ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int64_t
find_node(const Forest *f, const Key *keys, int64_t tree, int64_t number)
{
	const Key wanted = {tree, number, 0};
	const Key *key = bsearch(&wanted, keys, (size_t)f->count, sizeof *keys, compare_keys);
	if (!key)
		fail(&f->node->loc, "tree %lld has no node %lld", (long long)tree, (long long)number);
	return key->place;
}

/* Keys in order. The root of a tree is its first node in the lists. */
static const Key *
read_keys(Forest *f)
{
	const Array *trees = list_of(f, "nodes_treeids", f->count);
	const Array *numbers = ml_list(f->node, "nodes_nodeids");
	Key *keys = NEW_N(f->arena, Key, f->count);
	for (int64_t i = 0; i < f->count; i++)
		keys[i] = (Key){integer(trees, i), integer(numbers, i), i};
	qsort(keys, (size_t)f->count, sizeof *keys, compare_keys);
	for (int64_t i = 0; i < f->count; i++) {
		if (i > 0 && compare_keys(&keys[i - 1], &keys[i]) == 0)
			fail(&f->node->loc, "tree %lld has two nodes %lld", (long long)keys[i].tree,
			     (long long)keys[i].number);
		if (i == 0 || keys[i - 1].tree != keys[i].tree)
			vec_push(f->arena, &f->roots, keys[i].place);
		int64_t *root = &f->roots.data[f->roots.count - 1];
		*root = keys[i].place < *root ? keys[i].place : *root;
		f->nodes[keys[i].place].tree = f->roots.count - 1;
	}
	return keys;
}

static TreeMode
mode_of(const Forest *f, const char *word)
{
	static const char *const words[] = {
		[TREE_LEQ] = "BRANCH_LEQ", [TREE_LT] = "BRANCH_LT", [TREE_GTE] = "BRANCH_GTE",
		[TREE_GT] = "BRANCH_GT",   [TREE_EQ] = "BRANCH_EQ", [TREE_NEQ] = "BRANCH_NEQ",
		[TREE_LEAF] = "LEAF"};
	for (int i = 0; i <= TREE_LEAF; i++)
		if (words[i] && strcmp(word, words[i]) == 0)
			return (TreeMode)i;
	fail(&f->node->loc,
	     "nodes_modes has \"%s\", expected LEAF or BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ", word);
}

static void
read_weights(Forest *f, const Key *keys, const char *what)
{
	const Array *lists[4];
	static const char *const names[] = {"weights", "treeids", "nodeids", "ids"};
	for (int i = 0; i < 4; i++) {
		const char *name = arena_printf(f->arena, "%s_%s", what, names[i]);
		lists[i] = i ? list_of(f, name, array_count(lists[0])) : ml_list(f->node, name);
	}
	f->weight_type = type_with(f, lists[0]);
	for (int64_t i = 0; i < array_count(lists[0]); i++) {
		int64_t place = find_node(f, keys, integer(lists[1], i), integer(lists[2], i));
		if (f->nodes[place].mode != TREE_LEAF)
			fail(&f->node->loc, "node %lld of tree %lld has a weight, and is no leaf",
			     (long long)integer(lists[2], i), (long long)integer(lists[1], i));
		add_weight(f, f->nodes[place].leaf, integer(lists[3], i), number(lists[0], i));
	}
}

static void
read_by_key(Forest *f, const char *what)
{
	const Attr *modes = attr_find(f->node, "nodes_modes");
	f->count = ml_count(f->node, "nodes_nodeids");
	f->nodes = NEW_N(f->arena, TreeNode, f->count);
	if (f->count < 1 || !modes || modes->count != f->count)
		fail(&f->node->loc, "nodes_modes and nodes_nodeids have %lld and %lld elements",
		     (long long)(modes ? modes->count : 0), (long long)f->count);
	const Array *yes = list_of(f, "nodes_truenodeids", f->count);
	const Array *no = list_of(f, "nodes_falsenodeids", f->count);
	const Array *trees = list_of(f, "nodes_treeids", f->count);
	const Key *keys = read_keys(f);
	read_splits(f, f->count, "nodes_values");
	for (int64_t i = 0; i < f->count; i++) {
		TreeNode *node = &f->nodes[i];
		node->mode = mode_of(f, modes->strings[i]);
		if (node->mode == TREE_LEAF) {
			node->leaf = f->leaves++;
			continue;
		}
		node->yes = find_node(f, keys, integer(trees, i), integer(yes, i));
		node->no = find_node(f, keys, integer(trees, i), integer(no, i));
	}
	read_weights(f, keys, what);
}

/* ---- nodes and leaves by place --------------------------------------------------------------- */

static int
compare_numbers(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

/* Members of all nodes that have some, in order, NaN behind those of each. */
static void
read_members(Forest *f, int64_t count)
{
	const Attr *attr = attr_find(f->node, "membership_values");
	int64_t at = 0, all = attr ? array_count(attr->tensor) : 0;
	double *members = NEW_N(f->arena, double, all + 1);
	for (int64_t i = 0; i < all; i++)
		members[i] = number(attr->tensor, i);
	for (int64_t i = 0; i < count; i++) {
		TreeNode *node = &f->nodes[i];
		if (node->mode != TREE_MEMBER)
			continue;
		node->members = members + at;
		while (at < all && !isnan(members[at++]))
			node->nmember++;
		if (at == 0 || !isnan(members[at - 1]) || node->members + node->nmember >= members + at)
			fail(&f->node->loc, "membership_values has no NaN behind the members of node %lld",
			     (long long)i);
		qsort(members + (at - 1 - node->nmember), (size_t)node->nmember, sizeof *members,
		      compare_numbers);
	}
	if (at < all)
		fail(&f->node->loc, "membership_values has members for more nodes than there are");
}

/* The node that a list names at a place: one of `count`, or a leaf behind these. */
static int64_t
place_of(const Forest *f, int64_t count, const Array *ids, const Array *is_leaf, int64_t i)
{
	int64_t id = integer(ids, i), first = integer(is_leaf, i) ? count : 0;
	int64_t most = first ? f->leaves : count;
	if (id < 0 || id >= most)
		fail(&f->node->loc, "node %lld leads to %s %lld, and there are %lld", (long long)i,
		     first ? "leaf" : "node", (long long)id, (long long)most);
	return first + id;
}

static void
read_by_place(Forest *f)
{
	const Array *modes = ml_list(f->node, "nodes_modes"), *roots = ml_list(f->node, "tree_roots");
	const Array *weights = ml_list(f->node, "leaf_weights");
	int64_t count = array_count(modes);
	f->leaves = array_count(weights);
	f->count = count + f->leaves;
	f->nodes = NEW_N(f->arena, TreeNode, f->count);
	f->weight_type = type_with(f, weights);
	const Array *yes = list_of(f, "nodes_truenodeids", count);
	const Array *no = list_of(f, "nodes_falsenodeids", count);
	const Array *yes_leaf = list_of(f, "nodes_trueleafs", count);
	const Array *no_leaf = list_of(f, "nodes_falseleafs", count);
	const Array *targets = list_of(f, "leaf_targetids", f->leaves);
	read_splits(f, count, "nodes_splits");
	for (int64_t i = 0; i < count; i++) {
		int64_t mode = integer(modes, i);
		if (mode < TREE_LEQ || mode > TREE_MEMBER)
			fail(&f->node->loc, "nodes_modes has %lld, expected 0 to 6", (long long)mode);
		f->nodes[i].mode = (TreeMode)mode;
		f->nodes[i].yes = place_of(f, count, yes, yes_leaf, i);
		f->nodes[i].no = place_of(f, count, no, no_leaf, i);
	}
	read_members(f, count);
	for (int64_t i = 0; i < f->leaves; i++) {
		f->nodes[count + i].mode = TREE_LEAF;
		f->nodes[count + i].leaf = i;
		add_weight(f, i, integer(targets, i), number(weights, i));
	}
	for (int64_t i = 0; i < array_count(roots); i++) {
		int64_t root = integer(roots, i);
		if (root < 0 || root >= count)
			fail(&f->node->loc, "tree_roots has %lld, and there are %lld nodes", (long long)root,
			     (long long)count);
		vec_push(f->arena, &f->roots, root);
	}
}

/* ---- heights --------------------------------------------------------------------------------- */

int
tree_node_height(const TreeNode *node)
{
	int height = node->mode == TREE_EQ || node->mode == TREE_NEQ || node->nmember > 0 ? 2 : 1;
	for (int64_t most = 1; most < node->nmember; most *= 2)
		height++;
	return node->mode == TREE_LEAF ? 0 : height;
}

enum { UNSEEN = 0, OPEN = -1 };

/* Heights below a root, without recursion: trees may be as deep as they have nodes. Heights are 1
 * more until the end, 0 for what was not seen yet. */
static void
measure(Forest *f, int64_t root)
{
	VEC(int64_t) stack = {0};
	vec_push(f->arena, &stack, root);
	while (stack.count > 0) {
		TreeNode *node = &f->nodes[stack.data[stack.count - 1]];
		const TreeNode *next[] = {&f->nodes[node->yes], &f->nodes[node->no]};
		if (node->height > 0 || node->mode == TREE_LEAF) {
			node->height = node->mode == TREE_LEAF ? 1 : node->height;
			stack.count--;
		} else if (node->height == OPEN) {
			int more = next[0]->height > next[1]->height ? next[0]->height : next[1]->height;
			node->height = more + tree_node_height(node);
		} else {
			node->height = OPEN;
			for (int i = 0; i < 2; i++) {
				if (next[i]->height == OPEN)
					fail(&f->node->loc, "nodes of a tree lead back to where they came from");
				vec_push(f->arena, &stack, next[i] - f->nodes);
			}
		}
	}
}

Forest
forest_read(const Node *node, const char *what, int64_t targets)
{
	Forest f = {.node = node, .arena = node->parent->graph->arena, .targets = targets};
	if (what)
		read_by_key(&f, what);
	else
		read_by_place(&f);
	if (f.roots.count == 0 || f.leaves == 0)
		fail(&node->loc, "there is no tree, or no leaf");
	for (int i = 0; i < f.roots.count; i++)
		measure(&f, f.roots.data[i]);
	for (int64_t i = 0; i < f.count; i++)
		f.nodes[i].height -= f.nodes[i].height > 0;
	return f;
}
