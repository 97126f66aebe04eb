/* Sums of features: linear models and support vector machines. */
#include "random.h"

#include <string.h>

static const int64_t LABELS[] = {7, -1, 3, 40, 5};

static void
add_floats(Trial *t, const char *name, int64_t count, double lo, double hi)
{
	float *values = NEW_N(t->arena, float, count + 1);
	for (int64_t i = 0; i < count; i++)
		values[i] = (float)uniform(t, lo, hi);
	trial_floats(t, name, count, values);
}

static Value *
rows_of(Trial *t, int64_t width)
{
	DType type = (DType)PICK(t, DT_F32, DT_F32, DT_F64, DT_I64, DT_I32);
	const int64_t dims[] = {roll(t, 1, 20), width};
	return trial_input(t, "x", trial_array(t, type, 2, dims, -2, 2), true);
}

void
trial_linear(Trial *t, int64_t width)
{
	static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
	int64_t scores = roll(t, 1, 5);
	const char *transform = scores > 1 ? words[roll(t, 0, 4)] : words[2 * roll(t, 0, 1)];
	double size = strcmp(transform, "PROBIT") == 0 ? 0.02 : 1; /* of what lies in 0..1 */
	add_floats(t, "coefficients", scores * width, -size, size);
	add_floats(t, "intercepts", scores, 0.5 - size, 0.5 + size);
	trial_ints(t, "classlabels_ints", scores == 1 ? 2 : (int)scores, LABELS);
	trial_string(t, "post_transform", transform);
}

void
try_LinearClassifier(Trial *t)
{
	int64_t width = roll(t, 1, 9);
	Value *x = rows_of(t, width);
	trial_linear(t, width);
	t->ort_share = 1e-5;
	trial_finish(t, 2, trial_node(t, "ai.onnx.ml.LinearClassifier", 1, &x, 2));
}

static void
add_kernel(Trial *t)
{
	static const char *const kinds[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
	const float params[] = {(float)uniform(t, 0.05, 0.5), (float)uniform(t, -1, 1),
	                        (float)roll(t, 1, 4)};
	trial_floats(t, "kernel_params", 3, params);
	trial_string(t, "kernel_type", kinds[roll(t, 0, 3)]);
}

void
trial_machine(Trial *t, int64_t width)
{
	int64_t classes = roll(t, 2, 4), pairs = classes * (classes - 1) / 2, counts[4], vectors = 0;
	bool has_vectors = chance(t, 80);
	for (int64_t i = 0; i < classes; i++)
		vectors += counts[i] = roll(t, 1, 4);
	if (has_vectors) {
		trial_ints(t, "vectors_per_class", (int)classes, counts);
		add_floats(t, "support_vectors", vectors * width, -2, 2);
		add_kernel(t);
	}
	/* Near enough soon: of more than two classes bounds grow with the steps, and many points are
	 * undecided, which say nothing. */
	if (has_vectors && chance(t, classes > 2 ? 6 : 40)) {
		add_floats(t, "prob_a", pairs, -0.2, -0.05);
		add_floats(t, "prob_b", pairs, -0.02, 0.02);
	}
	add_floats(t, "coefficients", has_vectors ? (classes - 1) * vectors : classes * width, -1, 1);
	add_floats(t, "rho", has_vectors ? pairs : 1, -1, 1);
	trial_ints(t, "classlabels_ints", (int)classes, LABELS);
}

void
try_SVMClassifier(Trial *t)
{
	int64_t width = roll(t, 1, 6);
	Value *x = rows_of(t, width);
	trial_machine(t, width);
	t->ort_share = 1e-4;
	trial_finish(t, 2, trial_node(t, "ai.onnx.ml.SVMClassifier", 1, &x, 2));
}

void
trial_machine_regressor(Trial *t, int64_t width)
{
	int64_t vectors = chance(t, 80) ? roll(t, 1, 9) : 0;
	trial_int(t, "n_supports", vectors);
	trial_int(t, "one_class", chance(t, 30));
	if (vectors > 0) {
		add_floats(t, "support_vectors", vectors * width, -2, 2);
		add_kernel(t);
	}
	add_floats(t, "coefficients", vectors > 0 ? vectors : width, -1, 1);
	add_floats(t, "rho", 1, -1, 1);
}
