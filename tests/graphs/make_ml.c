/* Nodes of ai.onnx.ml. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"

static void
ml_node(Gen *g, const Row *row, int ninput, Value *const *inputs, int noutput)
{
	char name[100];
	snprintf(name, sizeof name, "ai.onnx.ml.%s", row->op);
	gen_node(g, name, ninput, inputs, noutput);
}

/* Rows of features, of a width that is known. */
static Value *
rows_of(Gen *g, int64_t *width)
{
	Value *x = gen_take(g, BIT(DT_F32), 2, 2);
	*width = x ? gen_fixed(x, 1) : 0;
	if (*width < 1 || *width > 100)
		gen_give_up();
	return x;
}

static void
add_floats(Gen *g, const char *name, int64_t count, double lo, double hi)
{
	float *values = NEW_N(g->arena, float, count);
	for (int64_t i = 0; i < count; i++)
		values[i] = (float)uniform(&g->dice, lo, hi);
	trial_floats(&g->dice, name, count, values);
}

/* Operators that take x and give it back scaled, replaced or compared. */
void
make_ml_scaled(Gen *g, const Row *row)
{
	static const char *const norms[] = {"MAX", "L1", "L2"};
	int64_t width;
	Trial *t = &g->dice;
	Value *x = rows_of(g, &width);
	int64_t count = chance(t, 50) ? 1 : width;
	if (row->code == OP_Scaler) {
		add_floats(g, "offset", count, -1, 1);
		add_floats(g, "scale", count, 0.25, 2);
	} else if (row->code == OP_Imputer) {
		add_floats(g, "imputed_value_floats", count, -1, 1);
		trial_float(t, "replaced_value_float", chance(t, 50) ? (double)NAN : 0.5);
	} else if (row->code == OP_Normalizer) {
		trial_string(t, "norm", norms[roll(t, 0, 2)]);
	} else {
		trial_float(t, "threshold", 0.25);
	}
	ml_node(g, row, 1, &x, 1);
}

void
make_ml_columns(Gen *g, const Row *row)
{
	int64_t width, count = roll(&g->dice, 1, 4);
	Value *inputs[] = {rows_of(g, &width), NULL};
	if (row->code == OP_ArrayFeatureExtractor) {
		inputs[1] = gen_ints(g, DT_I64, (int)count, (int64_t[]){width - 1, 0, width / 2, 0});
		ml_node(g, row, 2, inputs, 1);
		return;
	}
	inputs[1] = gen_like(g, inputs[0], DT_I32);
	if (!inputs[1])
		gen_give_up();
	trial_ints(&g->dice, "inputdimensions", 2, (int64_t[]){width, width});
	ml_node(g, row, 2, inputs, 1);
}

void
make_ml_codes(Gen *g, const Row *row)
{
	static const int64_t keys[] = {2, -1, 0, 1, 3};
	Value *x = gen_take(g, BIT(DT_I64), 0, 3);
	int64_t count = roll(&g->dice, 1, 5);
	if (!x)
		gen_give_up();
	bool is_one_hot = row->code == OP_OneHotEncoder;
	trial_ints(&g->dice, is_one_hot ? "cats_int64s" : "keys_int64s", (int)count, keys);
	if (!is_one_hot)
		add_floats(g, "values_floats", count, -1, 1);
	ml_node(g, row, 1, &x, 1);
}

void
make_ml_sums(Gen *g, const Row *row)
{
	const int64_t dims[] = {roll(&g->dice, 1, 9), roll(&g->dice, 1, 6)};
	Value *x = gen_input(g, DT_F32, 2, dims);
	if (row->code == OP_LinearClassifier)
		trial_linear(&g->dice, dims[1]);
	else if (row->code == OP_SVMClassifier)
		trial_machine(&g->dice, dims[1]);
	else if (row->code == OP_SVMRegressor)
		trial_machine_regressor(&g->dice, dims[1]);
	else
		add_floats(g, "coefficients", dims[1], -1, 1);
	ml_node(g, row, 1, &x,
	        row->code == OP_LinearClassifier || row->code == OP_SVMClassifier ? 2 : 1);
}

/* Of what is given: where a feature that was computed is near a split, either side is right. */
void
make_ml_trees(Gen *g, const Row *row)
{
	Value *x = gen_input(g, DT_F32, 2, (int64_t[]){roll(&g->dice, 1, 9), TRIAL_FEATURES});
	if (row->code == OP_TreeEnsemble)
		trial_tree_places(&g->dice, DT_F32);
	else if (row->code == OP_TreeEnsembleRegressor)
		trial_tree_regressor(&g->dice);
	else
		trial_tree_classifier(&g->dice);
	ml_node(g, row, 1, &x, row->code == OP_TreeEnsembleClassifier ? 2 : 1);
}
