/* Calls of vendor libraries and their post-ops, by row (vendor.def). */
#ifndef TARGET_VENDOR_H
#define TARGET_VENDOR_H

#include "base/pass.h"
#include "target/target.h"

enum { VENDOR_OPERANDS = 2 };

/* How the tensors of a call may lie. */
enum {
	STORAGE_blocked = 1, /* in blocks of channels, dim 1 */
	STORAGE_blocks = 2,  /* and the result should */
	STORAGE_strides = 4, /* operands through strides, one of the last two dims dense: as fast */
	STORAGE_joined = 8,  /* best with dims joined that are always used together */
	STORAGE_last = 16,   /* channels, dim 1, last: of weights, too, and so the result should */
};

/* Which dims of a result keep a library's vectors busy, for costs that nobody measures. */
typedef enum VendorFill {
	FILL_any,
	FILL_lanes, /* dim 1 is cut into lanes */
	FILL_tiles, /* the last two are cut into register tiles */
} VendorFill;

/* What a call, or a post-op, does otherwise than the row's text says. */
enum {
	LOSES_nothing = 0,
	LOSES_nan = 1,      /* a NaN becomes a number, or a number a NaN */
	LOSES_infinity = 2, /* an infinity another number, or a number that */
	LOSES_zero = 4,     /* -0 becomes 0, or 0 that */
	LOSES_padding = 8,  /* terms that the stage omits are products of weights and zeros: NaN, where
	                       the weight is infinite or NaN */
	LOSES_nan_zero = LOSES_nan | LOSES_zero,
	LOSES_numbers = LOSES_nan | LOSES_infinity | LOSES_zero,
};

/* A row: the fields are explained in vendor.def. */
typedef struct VendorRow {
	const char *library, *name; /* library NULL: no call, but a kernel of ours */
	int least, most;
	const char *stage, *program, *numbers, *limits, *told;
	const char *kind, *bias, *epilogue, *terms, *choices, *passes;
	const char *swapped[VENDOR_OPERANDS];
	const char *operands[VENDOR_OPERANDS], *sum, *result; /* lists of types: "u8|i8" */
	unsigned storage, loses;
	VendorFill fill;
	bool has_rows, is_copy, rounds_once;
} VendorRow;

/* What calls, and post-ops behind them, may lose in a compilation. */
typedef struct VendorLosses {
	unsigned calls, posts;
} VendorLosses;

extern const VendorLosses vendor_loses_any; /* for who makes no calls */
VendorLosses vendor_losses(const PassContext *context);

extern const VendorRow vendor_rows[];
extern const int vendor_row_count;

int vendor_count(void);
const VendorRow *vendor_at(int index);
bool vendor_calls(const Target *target); /* calls of some library can be made */
/* Some library whose calls can be made has a row that is a program. */
bool vendor_calls_programs(const Target *target);
/* Some library whose calls can be made has channels of this type last (STORAGE_last). */
bool vendor_wants_last(const Target *target, DType type);
bool vendor_has(const char *name); /* some library has a row of this name */

typedef enum PostError { POST_exact, POST_near } PostError;

typedef struct PostRow {
	const char *library;
	PostKind kind;
	PostError error;
	unsigned loses;
	const char *numbers, *pattern;
} PostRow;

const PostRow *vendor_post_at(int index); /* NULL behind the last */

#endif
