/* What operators of ai.onnx.ml share. Their tables stand in attributes, which are lists; their
 * inputs are rows of features, of which a single one may be a vector; what classifiers give are a
 * label and scores for each row. They become a few nodes of the standard, and Expressions where
 * these say it in fewer. */
#ifndef GRAPH_ML_ML_H
#define GRAPH_ML_ML_H

#include "graph/expand.h"
#include "graph/infer.h"

/* ---- lists ----------------------------------------------------------------------------------- */

/* Attribute NAME, or NAME_as_tensor where the row has that and it is given; absent: no elements. */
const Array *ml_list(const Node *node, const char *name);
int64_t ml_count(const Node *node, const char *name);
/* A list as a constant of this type; fails where it has not as many elements as the dims say. */
Value *ml_constant(const Expander *m, const char *name, DType type, int rank, const int64_t *dims);
_Noreturn void ml_refuse_text(const Node *node, const char *what);

/* ---- rows of features ------------------------------------------------------------------------ */

/* How many rows the first input has; `width`: of each, 0 if any is right. */
const Dim *infer_ml_rows(Infer *infer, int64_t width);
/* The first input as a matrix of this type. */
Value *ml_rows(const Expander *m, DType type);
/* x w' + b of f32: a row of weights for each of the results. `bias`: a list, or NULL. */
Value *ml_linear(const Expander *m, Value *x, int64_t results, const char *weights,
                 const char *bias);
/* What the text of a program says of inputs; @ stands for the type in it. */
Value *ml_expression(const Expander *m, DType type, int ninput, Value *const *inputs,
                     const char *text);
/* The same so many times over, the first input being what was given before. */
Value *ml_repeated(const Expander *m, int64_t times, DType type, int ninput, Value **inputs,
                   const char *text);

/* ---- scores ---------------------------------------------------------------------------------- */

/* As TreeEnsemble numbers them; post_transform of the others is a word. */
typedef enum MlTransform {
	ML_NONE,
	ML_SOFTMAX,
	ML_LOGISTIC,
	ML_SOFTMAX_ZERO,
	ML_PROBIT
} MlTransform;

MlTransform ml_transform(const Node *node);
/* Scores [N,C] after post_transform, as f32 or f64. */
Value *ml_transformed(const Expander *m, Value *scores);
/* Of a single score ONNX Runtime leaves out all but PROBIT, ONNX's text does not: refused. */
void ml_refuse_transform(const Node *node, bool is_refused);

int64_t ml_label_count(const Node *node); /* of numbers or of texts */
/* Outputs of a classifier: labels [N] and `scores` columns for each row. */
void infer_ml_classes(Infer *infer, const Dim *rows, int64_t scores);
/* The label of each row by its place in the list; the node is gone then. */
void ml_become(const Expander *m, Value *place, Value *scores);
Value *ml_largest(const Expander *m, Value *scores); /* its place in each row */
/* 1 where x, [N,1], is above a number, else 0: [N]. */
Value *ml_above(const Expander *m, Value *x, double number);
/* For a single score of two classes: `less` - x beside x. */
Value *ml_both(const Expander *m, Value *x, double less);

#endif
