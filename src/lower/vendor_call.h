/* A row that fits a program, as a call with arguments and attributes. (vendor.c chooses one) */
#ifndef LOWER_VENDOR_CALL_H
#define LOWER_VENDOR_CALL_H

#include "lower/steps.h"

enum { MAX_ARGS = 4 + POST_MAX };

typedef struct VendorStep {
	Lowering *low;
	const Node *node;
	const VendorMatch *match;
	const Program *program; /* the match's */
	MBuffer *const *inputs; /* by the program's inputs */
	int narg;
	MBuffer *args[MAX_ARGS];   /* NULL: absent */
	MBuffer *stored[MAX_ARGS]; /* the same with the dims of its tensor */
	const Tensor *tensors[MAX_ARGS];
	StepPost posts[POST_MAX]; /* the match's, with their arguments */
	int residual;             /* of them the addition that may be a sum; -1: none */
	VEC(StepAttr) attrs;
} VendorStep;

typedef struct Variant {
	VendorStep *step;
	const char *algorithm; /* NULL: the row has none */
	bool by_rows;          /* also cut along rows */
	bool is_sum;           /* the residual is added to what the result's storage holds */
} Variant;

/* Find the arguments. False when one of them cannot be seen as the row needs it. */
bool vendor_gather(VendorStep *v, MBuffer *output);
/* Of the arguments that were found, give constant weights the storage that was asked for. */
void vendor_store_weights(VendorStep *v);
/* Than the row's first, which sums term by term. */
bool vendor_is_other_algorithm(const Variant *variant);

/* Whether it is the stage's meaning also where the call multiplies zeros instead of omitting terms:
 * weights are known to be finite, or need not be. (vendor_losses.c) */
bool vendor_may_pad(const VendorStep *v);
/* What of NaN and infinities is lost: "NaN in Relu, infinities in winograd"; NULL: nothing is. */
const char *vendor_losses_text(const Variant *variant);

/* The step with this variant as a question, which lives in the lowering's arena, and as a text. */
VendorCall vendor_question(const Variant *variant);
const char *vendor_text(Arena *arena, const VendorCall *query);

#endif
