/* Operations of threads side by side: the rows of warp.def. */
#ifndef TARGET_WARP_H
#define TARGET_WARP_H

#include "base/dtype.h"

enum { WARP_LANES = 32, WARP_ARGS = 3 };

/* A matrix in the registers of a warp. */
typedef struct Fragment {
	int rows, cols;
	int count; /* elements per lane */
	int (*row)(int lane, int i), (*col)(int lane, int i);
	const char *row_text, *col_text; /* the same over l and i */
} Fragment;

typedef enum WarpOpKind {
	WARP_SHUFFLE,
	WARP_LOAD,
	WARP_MMA,
	WARP_COPY,
	WARP_COMMIT,
	WARP_WAIT,
	WARP_HINT,
} WarpOpKind;

/* A row: the fields are explained in warp.def. */
typedef struct WarpOp {
	const char *name;
	WarpOpKind kind;
	int capability, nargs;
	int (*lane)(int lane, int by); /* SHUFFLE */
	DType types[2], sum;           /* MMA: of the factors, of the result */
	int fraction;                  /* MMA */
	const Fragment *d, *a, *b;     /* MMA; LOAD: d */
	const char *doc;
} WarpOp;

int warp_op_count(void);
const WarpOp *warp_op_at(int index);
const WarpOp *warp_op_find(const char *name); /* NULL: none */
/* Whether operand `arg` is a place in memory rather than a number; its type, where that of the
 * result is known, DT_NONE: any. Whether there is a result. */
bool warp_op_takes_place(const WarpOp *op, int arg);
DType warp_op_operand_type(const WarpOp *op, int arg, DType result);
bool warp_op_has_result(const WarpOp *op);
bool warp_op_is_of_warp(const WarpOp *op); /* all lanes of a warp must be there */

#endif
