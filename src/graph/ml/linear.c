/* LinearRegressor and LinearClassifier of ai.onnx.ml.
 *
 *     %label, %scores = ai.onnx.ml.LinearClassifier(%x) {coefficients=[…], …}
 *     =>
 *     %s = Gemm(%x, {…}, {…}) {transB=1}
 *     %label = Gather({0, 1, 2}, ArgMax(%s)), %scores = Softmax(%s)
 */
#include "graph/ml/ml.h"

void
infer_LinearRegressor(Infer *infer)
{
	int64_t targets = attr_int(infer->node, "targets");
	int64_t count = ml_count(infer->node, "coefficients");
	int64_t width = targets > 0 ? count / targets : 0;
	if (width < 1 || count != width * targets)
		infer_fail(infer, "%lld coefficients are no rows for %lld targets", (long long)count,
		           (long long)targets);
	const Dim *rows = infer_ml_rows(infer, width);
	infer_set(infer, 0, DT_F32, 2, (const Dim *[]){rows, dim_const(infer->ctx, targets)});
}

void
expand_LinearRegressor(Node *node)
{
	Expander m = {node->parent, node, node};
	int64_t targets = attr_int(node, "targets");
	MlTransform transform = ml_transform(node);
	ml_refuse_transform(node, targets == 1 && transform != ML_NONE && transform != ML_PROBIT);
	Value *y = ml_linear(&m, ml_rows(&m, DT_F32), targets, "coefficients", "intercepts");
	node_become(node, ml_transformed(&m, y));
}

/* ---- LinearClassifier ------------------------------------------------------------------------ */

/* Sets of weights: as many as labels, or one for two. */
static int64_t
score_count(const Node *node)
{
	int64_t biases = ml_count(node, "intercepts"), labels = ml_label_count(node);
	int64_t scores = biases > 0 ? biases : labels, count = ml_count(node, "coefficients");
	if (scores < 1 || count < 1 || count % scores != 0)
		fail(&node->loc, "%lld coefficients are no rows for %lld scores", (long long)count,
		     (long long)scores);
	if (scores > 1 ? labels != scores : labels > 2)
		fail(&node->loc, "%lld labels for %lld scores", (long long)labels, (long long)scores);
	return scores;
}

void
infer_LinearClassifier(Infer *infer)
{
	int64_t scores = score_count(infer->node), labels = ml_label_count(infer->node);
	const Dim *rows = infer_ml_rows(infer, ml_count(infer->node, "coefficients") / scores);
	infer_ml_classes(infer, rows, scores == 1 && labels == 2 ? 2 : scores);
}

void
expand_LinearClassifier(Node *node)
{
	Expander m = {node->parent, node, node};
	int64_t scores = score_count(node);
	Value *y = ml_linear(&m, ml_rows(&m, DT_F32), scores, "coefficients", "intercepts");
	if (scores > 1) {
		ml_become(&m, ml_largest(&m, y), ml_transformed(&m, y));
		return;
	}
	MlTransform transform = ml_transform(node);
	Value *all = y;
	ml_refuse_transform(node, transform != ML_NONE && transform != ML_LOGISTIC);
	if (ml_label_count(node) == 2)
		all = ml_both(&m, y, transform == ML_NONE ? 1 : 0);
	ml_become(&m, ml_above(&m, y, 0), ml_transformed(&m, all));
}
