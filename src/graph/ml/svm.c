/* Support vector machines of ai.onnx.ml, as libsvm writes them: each row is compared with all
 * vectors, and sums of these values with coefficients decide.
 *
 *     %y = ai.onnx.ml.SVMRegressor(%x) {kernel_type="RBF", n_supports=S, …}
 *     =>
 *     %k = Expression(%x, {…}) {exp(-gamma*sum((x - v)^2))}      [N,S]
 *     %y = Gemm(%k, {…}, {…}) {transB=1}
 *
 * A classifier has a sum for each pair of classes, whose vectors alone count in it. The class that
 * most pairs vote for is the label. Probabilities of pairs are joined as libsvm does it
 * (https://www.csie.ntu.edu.tw/~cjlin/papers/svmprob/svmprob.pdf, algorithm 2): it stops when it is
 * near enough, so that its steps are part of the result.
 */
#include <string.h>

#include "graph/ml/ml.h"

/* How near each row is to each of `count` vectors: [N,count]. */
static Value *
kernel_values(const Expander *m, Value *x, int64_t count)
{
	const char *kind = attr_string(m->node, "kernel_type");
	const Array *given = ml_list(m->node, "kernel_params");
	double params[3] = {0};
	for (int i = 0; i < 3 && array_count(given) == 3; i++)
		params[i] = dtype_load_f64(given->type, given->data, i);
	const int64_t dims[] = {count, ml_count(m->node, "support_vectors") / count};
	Value *gamma = expander_number(m, DT_F32, params[0]);
	if (strcmp(kind, "RBF") == 0) {
		Value *vectors = ml_constant(m, "support_vectors", DT_F32, 2, dims);
		return ml_expression(m, DT_F32, 3, (Value *[]){x, vectors, gamma},
		                     "expr rbf(X: @[N,D], V: @[S,D], G: @[]) -> Y {\n"
		                     "  E[n:N, s:S]: @ = sum(d:D) (X[n, d] - V[s, d])*(X[n, d] - V[s, d])\n"
		                     "  Y[n:N, s:S]: @ = exp(-(G[]*E[n, s]))\n"
		                     "}\n");
	}
	Value *y = ml_linear(m, x, count, "support_vectors", NULL);
	if (strcmp(kind, "LINEAR") == 0)
		return y;
	y = expander_binary(m, "Mul", y, gamma);
	y = expander_binary(m, "Add", y, expander_number(m, DT_F32, params[1]));
	if (strcmp(kind, "SIGMOID") == 0)
		return expander_unary(m, "Tanh", y);
	return expander_binary(m, "Pow", y, expander_number(m, DT_F32, params[2]));
}

/* Features of a row, where `count` vectors are given, or `scores` sets of weights. */
static int64_t
svm_width(const Node *node, int64_t count, int64_t scores)
{
	const char *name = count > 0 ? "support_vectors" : "coefficients";
	int64_t all = ml_count(node, name), rows = count > 0 ? count : scores;
	int64_t params = ml_count(node, "kernel_params");
	if (count < 0 || rows < 1 || all < 1 || all % rows != 0)
		fail(&node->loc, "%s has %lld elements, which are no %lld rows", name, (long long)all,
		     (long long)rows);
	if (params != 0 && params != 3)
		fail(&node->loc, "kernel_params has %lld elements, expected 3", (long long)params);
	return all / rows;
}

void
infer_SVMRegressor(Infer *infer)
{
	int64_t width = svm_width(infer->node, attr_int(infer->node, "n_supports"), 1);
	const Dim *rows = infer_ml_rows(infer, width);
	infer_set(infer, 0, DT_F32, 2, (const Dim *[]){rows, dim_const(infer->ctx, 1)});
}

void
expand_SVMRegressor(Node *node)
{
	Expander m = {node->parent, node, node};
	int64_t count = attr_int(node, "n_supports");
	Value *x = ml_rows(&m, DT_F32);
	if (count > 0)
		x = kernel_values(&m, x, count);
	ml_refuse_transform(node, ml_transform(node) != ML_NONE);
	Value *y = ml_linear(&m, x, 1, "coefficients", "rho");
	if (attr_int(node, "one_class")) {
		Value *is = expander_binary(&m, "Greater", y, expander_number(&m, DT_F32, 0));
		Value *parts[] = {is, expander_number(&m, DT_F32, 1), expander_number(&m, DT_F32, -1)};
		y = expander_result(&m, expander_node(&m, "Where", 3, parts, 1));
	}
	node_become(node, y);
}

/* ---- SVMClassifier --------------------------------------------------------------------------- */

typedef struct Machine {
	int64_t classes, vectors, pairs;
	const int64_t *first; /* vector of each class, and how many there are */
	bool has_probabilities;
} Machine;

static Machine
machine_of(const Node *node)
{
	const Array *counts = ml_list(node, "vectors_per_class");
	int64_t count = array_count(counts);
	int64_t *first = NEW_N(node->parent->graph->arena, int64_t, count + 1);
	Machine s = {.classes = ml_label_count(node), .first = first};
	s.has_probabilities = ml_count(node, "prob_a") > 0;
	for (int64_t i = 0; i < count; i++) {
		int64_t more = dtype_load_i64(DT_I64, counts->data, i);
		if (more < 0 || more > ml_count(node, "support_vectors"))
			fail(&node->loc, "class %lld has %lld vectors", (long long)i, (long long)more);
		first[i + 1] = first[i] + more;
	}
	s.vectors = first[count];
	s.pairs = s.classes * (s.classes - 1) / 2;
	if (s.classes < 2 || s.classes > 4096)
		fail_unsupported(&node->loc, "%lld classes, expected 2 to 4096", (long long)s.classes);
	if (s.vectors > 0 && count != s.classes)
		fail(&node->loc, "vectors_per_class has %lld elements for %lld classes", (long long)count,
		     (long long)s.classes);
	return s;
}

void
infer_SVMClassifier(Infer *infer)
{
	Machine s = machine_of(infer->node);
	const Dim *rows = infer_ml_rows(infer, svm_width(infer->node, s.vectors, s.classes));
	bool is_by_pair = s.vectors > 0 && !s.has_probabilities && s.classes > 2;
	infer_ml_classes(infer, rows, is_by_pair ? s.pairs : s.classes);
}

/* What vector s counts for pair p: the other class of the pair says which of its coefficients. */
static Value *
pair_sums(const Expander *m, const Machine *s, Value *x)
{
	Graph *graph = m->region->graph;
	const Array *given = ml_list(m->node, "coefficients");
	Array *table = array_new(graph->arena, DT_F32, 2, (const int64_t[]){s->vectors, s->pairs});
	if (array_count(given) != (s->classes - 1) * s->vectors)
		fail(&m->node->loc, "coefficients has %lld elements, expected %lld",
		     (long long)array_count(given), (long long)((s->classes - 1) * s->vectors));
	for (int64_t i = 0, p = 0; i < s->classes; i++)
		for (int64_t j = i + 1; j < s->classes; j++, p++)
			for (int64_t v = 0; v < s->vectors; v++) {
				bool is_first = v >= s->first[i] && v < s->first[i + 1];
				bool is_second = v >= s->first[j] && v < s->first[j + 1];
				int64_t from = (is_first ? j - 1 : i) * s->vectors + v;
				if (is_first || is_second)
					dtype_store_f64(DT_F32, table->data, v * s->pairs + p,
					                dtype_load_f64(DT_F32, given->data, from));
			}
	Value *parts[] = {kernel_values(m, x, s->vectors),
	                  graph_constant(graph, graph_fresh_name(graph, "pairs"), table),
	                  ml_constant(m, "rho", DT_F32, 1, &s->pairs)};
	return expander_result(m, expander_node(m, "Gemm", 3, parts, 1));
}

/* [N,C]: how many of its pairs each class wins, a sum above 0 being the first's victory. */
static Value *
votes_of(const Expander *m, const Machine *s, Value *sums)
{
	Graph *graph = m->region->graph;
	Array *table = array_new(graph->arena, DT_I32, 2, (const int64_t[]){s->pairs, s->classes});
	Array *lost = array_new(graph->arena, DT_I32, 1, &s->classes);
	for (int64_t i = 0, p = 0; i < s->classes; i++)
		for (int64_t j = i + 1; j < s->classes; j++, p++) {
			dtype_store_i64(DT_I32, table->data, p * s->classes + i, 1);
			dtype_store_i64(DT_I32, table->data, p * s->classes + j, -1);
			dtype_store_i64(DT_I32, lost->data, j, j);
		}
	Value *is = expander_binary(m, "Greater", sums, expander_number(m, DT_F32, 0));
	Value *won = expander_binary(m, "MatMul", expander_cast(m, is, DT_I32),
	                             graph_constant(graph, graph_fresh_name(graph, "votes"), table));
	return expander_binary(m, "Add", won,
	                       graph_constant(graph, graph_fresh_name(graph, "lost"), lost));
}

/* Without vectors: a set of weights for each class. Of two, the second is it where a score is above
 * 0, or of weights above 0 from 0.5 up. */
static void
by_weights(const Expander *m, const Machine *s, Value *x)
{
	const Array *rho = ml_list(m->node, "rho"), *weights = ml_list(m->node, "coefficients");
	if (array_count(rho) < 1)
		fail(&m->node->loc, "rho is missing");
	Value *y = ml_linear(m, x, s->classes, "coefficients", NULL);
	y = expander_binary(m, "Add", y,
	                    expander_number(m, DT_F32, dtype_load_f64(DT_F32, rho->data, 0)));
	Value *place = ml_largest(m, y);
	bool is_positive = true;
	for (int64_t i = 0; i < array_count(weights); i++)
		is_positive &= dtype_load_f64(DT_F32, weights->data, i) >= 0;
	if (s->classes == 2) {
		Node *most = expander_node(m, "ReduceMax", 2, (Value *[]){y, expander_integer(m, 1, 1)}, 1);
		Value *above = ml_above(m, expander_result(m, most), is_positive ? 0.49999997 : 0);
		place = expander_binary(m, "Max", place, above);
	}
	ml_become(m, place, ml_transformed(m, y));
}

/* ---- probabilities --------------------------------------------------------------------------- */

/* V: that the first of a pair is it; R: the same for any two classes; Q as in the paper. */
static const char OF_PAIRS[] =
	"expr pairs(X: @[N,P], A: @[P], B: @[P], I: i64[C,C]) -> Q {\n"
	"  Z[n:N, p:P]: @ = X[n, p]*A[p] + B[p]\n"
	"  L[n:N, p:P]: @ = 1.0/(1.0 + exp(-abs(Z[n, p])))\n"
	"  U[n:N, p:P]: @ = 1.0 - (Z[n, p] < 0.0 ? 1.0 - L[n, p] : L[n, p])\n"
	"  V[n:N, p:P]: @ = min(max(U[n, p], 0.0000001), 0.9999999)\n"
	"  R[n:N, i:C, j:C]: @ = i < j ? V[n, at(I[i, j], 0..P)] : 1.0 - V[n, at(I[i, j], 0..P)]\n"
	"  D[n:N, i:C]: @ = sum(j:C) (i == j ? 0.0 : R[n, j, i]*R[n, j, i])\n"
	"  Q[n:N, i:C, j:C]: @ = i == j ? D[n, i] : -(R[n, j, i]*R[n, i, j])\n"
	"}\n";

/* A step for all rows, which leaves alone those that are near enough: each class in turn (F: how
 * much more of it), with a = Q p and b = p Q p kept up. */
static const char STEP[] =
	"expr step(P: @[N,C], Q: @[N,C,C]) -> Y {\n"
	"  symbol C in 2..4096\n"
	"  A[n:N, i:C]: @ = sum(j:C) Q[n, i, j]*P[n, j]\n"
	"  B[n:N]: @ = sum(i:C) P[n, i]*A[n, i]\n"
	"  E[n:N]: @ = max(i:C) abs(A[n, i] - B[n])\n"
	"  scan t:C, (p: @[N,C] = PN from P, a: @[N,C] = AN from A, b: @[N] = BN from B) {\n"
	"    F[t:C, n:N]: @ = (b[n] - a[n, t])/Q[n, t, t]\n"
	"    G[t:C, n:N]: @ = b[n] + F[t, n]*(F[t, n]*Q[n, t, t] + 2.0*a[n, t])\n"
	"    BN[t:C, n:N]: @ = G[t, n]/(1.0 + F[t, n])/(1.0 + F[t, n])\n"
	"    AN[t:C, n:N, j:C]: @ = (a[n, j] + F[t, n]*Q[n, t, j])/(1.0 + F[t, n])\n"
	"    PN[t:C, n:N, j:C]: @ = (p[n, j] + (j == t ? F[t, n] : 0.0))/(1.0 + F[t, n])\n"
	"  }\n"
	"  Y[n:N, c:C]: @ = E[n] < 0.005/@(C) ? P[n, c] : PN[C - 1, n, c]\n"
	"}\n";

/* Where the sum for each two classes stands. */
static Value *
pair_places(const Expander *m, const Machine *s)
{
	Graph *graph = m->region->graph;
	Array *table = array_new(graph->arena, DT_I64, 2, (const int64_t[]){s->classes, s->classes});
	for (int64_t i = 0, p = 0; i < s->classes; i++)
		for (int64_t j = i + 1; j < s->classes; j++, p++) {
			dtype_store_i64(DT_I64, table->data, i * s->classes + j, p);
			dtype_store_i64(DT_I64, table->data, j * s->classes + i, p);
		}
	return graph_constant(graph, graph_fresh_name(graph, "places"), table);
}

/* [N,C] after at most 100 steps. */
static Value *
probabilities(const Expander *m, const Machine *s, Value *sums, Value *votes)
{
	Value *parts[] = {sums, ml_constant(m, "prob_a", DT_F32, 1, &s->pairs),
	                  ml_constant(m, "prob_b", DT_F32, 1, &s->pairs), pair_places(m, s)};
	Value *q = ml_expression(m, DT_F32, 4, parts, OF_PAIRS);
	Value *same = expander_number(m, DT_F32, 1.0 / (double)s->classes);
	Value *first = expander_binary(m, "Expand", same, expander_unary(m, "Shape", votes));
	return ml_repeated(m, 100, DT_F32, 2, (Value *[]){first, q}, STEP);
}

void
expand_SVMClassifier(Node *node)
{
	Expander m = {node->parent, node, node};
	Machine s = machine_of(node);
	Value *x = ml_rows(&m, DT_F32);
	if (s.vectors == 0) {
		by_weights(&m, &s, x);
		return;
	}
	Value *sums = pair_sums(&m, &s, x), *votes = votes_of(&m, &s, sums), *scores = sums;
	if (s.has_probabilities)
		scores = probabilities(&m, &s, sums, votes);
	bool is_single = s.pairs == 1 && !s.has_probabilities;
	ml_refuse_transform(node, is_single && ml_transform(node) != ML_NONE);
	scores = is_single ? ml_both(&m, sums, 0) : ml_transformed(&m, scores);
	ml_become(&m, ml_largest(&m, votes), scores);
}
