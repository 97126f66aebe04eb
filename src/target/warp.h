/* Operations of threads side by side: the rows of warp.def. */
#ifndef TARGET_WARP_H
#define TARGET_WARP_H

#include "base/dtype.h"

enum { WARP_LANES = 32, INTRIN_ARGS = 3 };

/* A matrix in the registers of a warp. */
typedef struct Fragment {
	int rows, cols;
	int count; /* elements per lane */
	int (*row)(int lane, int i), (*col)(int lane, int i);
} Fragment;

typedef enum IntrinKind {
	INTRIN_SHUFFLE,
	INTRIN_LOAD,
	INTRIN_MMA,
	INTRIN_COPY,
	INTRIN_COMMIT,
	INTRIN_WAIT,
} IntrinKind;

/* A row: the fields are explained in warp.def. */
typedef struct Intrin {
	const char *name;
	IntrinKind kind;
	int capability, nargs;
	int (*lane)(int lane, int by); /* SHUFFLE */
	DType type;                    /* MMA: of the factors */
	int fraction;                  /* MMA */
	const Fragment *d, *a, *b;     /* MMA; LOAD: d */
	const char *doc;
} Intrin;

int intrin_count(void);
const Intrin *intrin_at(int index);
const Intrin *intrin_find(const char *name); /* NULL: none */
/* Whether operand `arg` is a place in memory rather than a number; its type, where that of the
 * result is known. Whether there is a result. */
bool intrin_takes_place(const Intrin *intrin, int arg);
DType intrin_operand_type(const Intrin *intrin, int arg, DType result);
bool intrin_has_result(const Intrin *intrin);
bool intrin_is_of_warp(const Intrin *intrin); /* all lanes of a warp must be there */

#endif
