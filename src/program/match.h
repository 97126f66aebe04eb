/* Which call of a vendor library a group is: its main stage is found on its expression (rows of
 * vendor.def), what follows must be post-ops of that call.
 *
 * A tensor of the call may lie in any order, and dims of 1 may be missing: which dim of the tensor
 * each dim of the call is says its VendorOperand.
 *
 *     sum X[h,w,c] * W[r,s,c,f]   conv, X as n c h w: dims -1 2 0 1, W as f c r s: dims 3 2 0 1
 */
#ifndef PROGRAM_MATCH_H
#define PROGRAM_MATCH_H

#include "expr/index/text.h"
#include "program/group.h"
#include "target/vendor.h"

enum { VENDOR_DIMS = 8, VENDOR_ATTRS = 8, VENDOR_CHOICES = 2 };

/* Operands of a row that is a program: those that are added may be missing, may be f32, and may be
 * broadcast along any dims. */
enum { VENDOR_ADDED = 3, VENDOR_INPUTS = 5 };

/* Dim i of the call is the first extents[i] of dim dims[i] of the tensor; -1: a dim of 1 that it
 * does not have. */
typedef struct VendorOperand {
	const Tensor *tensor; /* NULL: there is none */
	int rank;
	int dims[VENDOR_DIMS];
	const Dim *extents[VENDOR_DIMS];
} VendorOperand;

/* One post-op of an epilogue, in order of application. */
typedef struct PostOp {
	StepPost post;       /* without its argument, */
	const Expr *operand; /* which is this read, or NULL */
	const PostRow *row;
} PostOp;

typedef struct VendorMatch {
	const VendorRow *row;
	const Program *program; /* whose tensors the fields below are: one main stage, one epilogue, or
	                           a row's program */
	VendorOperand operands[VENDOR_INPUTS], result; /* the second one: weights */
	const Tensor *bias;                            /* NULL: none */
	DType rounds_less; /* 16 bits to which only the result is rounded; none: as the program says */
	int npost;
	PostOp post[POST_MAX]; /* without the bias */
	int nattr;
	StepAttr attrs[VENDOR_ATTRS]; /* without algorithm and post-ops */
	int nchoice;
	const char *choices[VENDOR_CHOICES]; /* algorithms */
	const char *passes;                  /* of an implementation's name, or NULL: see vendor.def */
	int64_t serves, window;
} VendorMatch;

/* The texts of rows, read once; they live in their arena. `operators` say what is meant where a
 * post-op names one. NULL: no post-ops are looked for, so that a program of one stage may match.
 * `losses`: what rows may lose that are taken; but padding, which depends on weights. */
typedef struct VendorForms VendorForms;
VendorForms *vendor_forms_new(Arena *arena, const TextOperators *operators, VendorLosses losses);

/* The rows that fit of libraries that can be called (`target` NULL: of any). */
typedef struct VendorFound {
	int count;
	VendorMatch *match; /* a row each; those first for which tensors lie in the order of the row */
	const VendorRow *lossy; /* one that fits, and loses too much; or NULL */
	/* Of a main stage that a row has: what follows that the row's library does not take, as a text
	 * over the result so far, x. NULL: no row got that far. */
	const VendorRow *stopped;
	const char *stop;
} VendorFound;

/* Programs are matched as they come from program_inline_stages(), for some rows after
 * program_collapse_dims() with `fixed` (inputs keep their positions): match->program says which. */
VendorFound vendor_match(VendorForms *forms, Arena *arena, const Program *program,
                         const Target *target, const bool *fixed);

/* The first that fits: of those whose operands are read through windows, or those whose are not;
 * rows without a library, too. */
typedef enum VendorRows { ROWS_all, ROWS_of_windows, ROWS_of_matrices } VendorRows;
bool vendor_match_row(VendorForms *forms, Arena *arena, const Program *program, VendorRows rows,
                      VendorMatch *match);

/* The operand is its whole tensor, dim by dim. */
bool vendor_operand_is_whole(const VendorOperand *operand);

#endif
