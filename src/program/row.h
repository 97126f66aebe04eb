/* The main stage of a vendor row, taken apart for a number of copies of its # items.
 *
 *     "Y[n?, c, p#] = max(r#) X[n?, c, s#*p# + d#*r# - l#]", 1
 *         => result n c p0, iterators n c p0 | r0, reduction max, one operand whose last item has
 *            factors s0 of p0 and d0 of r0, and takes l0 off
 */
#ifndef PROGRAM_ROW_H
#define PROGRAM_ROW_H

#include "target/vendor.h"

enum { ROW_ITERS = 12, ROW_DIMS = 8, ROW_LIST = 16 };

/* An index: what an operand is read at in one dim. */
typedef struct RowItem {
	const char *text;              /* an expression in iterators and numbers */
	bool may_lack, may_stand;      /* n? ~b */
	bool is_linear;                /* has factors, or an offset is subtracted */
	int iter;                      /* it is this iterator alone; else -1 */
	int first;                     /* the iterator that is named first */
	unsigned iters;                /* all of them, as bits */
	const char *factor[ROW_ITERS]; /* of each: a number to solve; NULL: none stands there */
	unsigned minus;                /* those of them that are subtracted, as bits */
	const char *offset;            /* subtracted: a number to solve, or NULL */
	bool is_added;                 /* the offset is added instead */
	const char *over;              /* all of it is divided by this number, or NULL */
	const char *extent;            /* what the row's texts call how much there is: X_c */
} RowItem;

typedef struct RowTensor {
	const char *name;
	int rank;
	RowItem items[ROW_DIMS];
	unsigned moved;  /* iterators of some item, as bits */
	unsigned needed; /* those that move it, if they move at all */
} RowTensor;

typedef struct RowForm {
	const VendorRow *row;
	int copies, nloop, niter, noperand;
	bool has_windows;             /* an index that several iterators move */
	bool is_divided;              /* and one that is divided */
	const char *reduce;           /* "sum", "max" */
	const char *iters[ROW_ITERS]; /* loops, then the reduction's */
	RowTensor result, operands[VENDOR_OPERANDS];
} RowForm;

void row_read(Arena *arena, const VendorRow *row, int copies, RowForm *form);

/* The items of a text, which commas part, those with # as often as there are copies. Gives their
 * number, at most ROW_LIST. */
int row_list(Arena *arena, const char *text, int copies, const char *items[ROW_LIST]);

/* The next "name: list" of a text that semicolons part; false at its end. */
bool row_entry(Arena *arena, const char **text, const char **name, const char **list);

#endif
