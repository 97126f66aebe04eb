/* What an ensemble of trees says, the same for the three operators that hold one. */
#ifndef GRAPH_ML_FOREST_H
#define GRAPH_ML_FOREST_H

#include "graph/ml/ml.h"

/* How a node compares a feature with its split; numbers of TreeEnsemble's nodes_modes. */
typedef enum TreeMode {
	TREE_LEQ,
	TREE_LT,
	TREE_GTE,
	TREE_GT,
	TREE_EQ,
	TREE_NEQ,
	TREE_MEMBER,
	TREE_LEAF,
} TreeMode;

typedef struct TreeNode {
	TreeMode mode;
	int64_t feature;
	double split;
	int64_t yes, no;       /* nodes that follow */
	bool missing_is_yes;   /* where the feature is NaN, besides what comparing says */
	const double *members; /* that it is compared with, rising */
	int64_t nmember;
	int64_t tree; /* its number, from 0 */
	int64_t leaf; /* its number, from 0 */
	int height;   /* comparisons down to the deepest leaf */
} TreeNode;

/* What a leaf adds to a target. */
typedef struct TreeWeight {
	int64_t leaf, target;
	double weight;
} TreeWeight;

typedef struct Forest {
	const Node *node;
	Arena *arena;
	DType split_type, weight_type; /* f32 or f64 */
	int64_t count, leaves, targets;
	TreeNode *nodes;
	VEC(int64_t) roots;
	VEC(TreeWeight) weights;
} Forest;

/* Everything in range, and no way without an end; weights are of node lists WHAT_treeids … */
Forest forest_read(const Node *node, const char *what, int64_t targets);
/* Comparisons that stand for one of this node. */
int tree_node_height(const TreeNode *node);

#endif
