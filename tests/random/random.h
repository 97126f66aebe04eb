/* Random graphs around one operator, for main.c to run in every way there is.
 *
 *     void
 *     try_Softmax(Trial *t)
 *     {
 *         Value *x = trial_data(t, "x", trial_array(t, DT_F32, rank, dims, -2, 2));
 *         trial_int(t, "axis", roll(t, -rank, rank - 1));
 *         trial_finish(t, 1, trial_node(t, "Softmax", 1, &x, 1));
 *     }
 *
 * Everything comes from one generator with a seed: a case is named by operator, seed and number.
 */
#ifndef RANDOM_RANDOM_H
#define RANDOM_RANDOM_H

#include "graph/graph.h"

enum { TRIAL_MAX_RANK = 8, TRIAL_MAX_INPUTS = 12 };

typedef struct Trial {
	Arena *arena;
	uint64_t dice;
	Graph *graph;
	Region *region;     /* where nodes are added; NULL: the graph's body */
	bool is_symbolic;   /* dim 0 of the data is the symbol N */
	const char *no_ort; /* why ONNX Runtime is not asked; NULL: it is */
	double ort_share;   /* of the largest element, by which ONNX Runtime may be beyond the bound */
	VEC(const Array *) inputs;
	VEC(Attr) attrs; /* of the node being made */
} Trial;

#define TRIAL(name, ...) void try_##name(Trial *t);
#include "operators.def"
#undef TRIAL

/* lo..hi, both possible. */
int64_t roll(Trial *t, int64_t lo, int64_t hi);
bool chance(Trial *t, int percent);
double uniform(Trial *t, double lo, double hi);
int64_t pick_of(Trial *t, int count, const int64_t *values);
#define PICK(t, ...) \
	pick_of((t), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
	        (int64_t[]){__VA_ARGS__})

/* Numbers in lo..hi. Floats: any, or (one time in four) multiples of 1/2, which tie. */
Array *trial_array(Trial *t, DType type, int rank, const int64_t *dims, double lo, double hi);
Array *trial_integers(Trial *t, DType type, int rank, const int64_t *dims, int64_t lo, int64_t hi);

/* An input with this data; its dim 0 is N in a symbolic case if `has_batch`. */
Value *trial_input(Trial *t, const char *name, const Array *data, bool has_batch);
Value *trial_constant(Trial *t, const char *name, const Array *data);
/* Input or constant, by chance; a constant in symbolic cases unless it has the batch. */
Value *trial_data(Trial *t, const char *name, const Array *data);

/* Attributes of the next node. */
void trial_int(Trial *t, const char *name, int64_t value);
void trial_float(Trial *t, const char *name, double value);
void trial_string(Trial *t, const char *name, const char *value);
void trial_ints(Trial *t, const char *name, int count, const int64_t *values);
void trial_floats(Trial *t, const char *name, int64_t count, const float *values);
void trial_strings(Trial *t, const char *name, int64_t count, const char *const *values);
void trial_tensor(Trial *t, const char *name, const Array *value);

/* All attributes of an operator of ai.onnx.ml, for rows of `width` features. */
enum { TRIAL_FEATURES = 5 };
void trial_tree_regressor(Trial *t);
void trial_tree_classifier(Trial *t);
void trial_tree_places(Trial *t, DType type);
void trial_linear(Trial *t, int64_t width);
void trial_machine(Trial *t, int64_t width);
void trial_machine_regressor(Trial *t, int64_t width);

Value **trial_node(Trial *t, const char *op, int ninput, Value *const *inputs, int noutput);
void trial_finish(Trial *t, int count, Value *const *outputs);

#endif
