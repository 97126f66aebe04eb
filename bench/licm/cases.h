/* The cases of make bench-licm: rows of cases.csv, each the expression of one call of an operator.
 *
 * cases.csv holds facts: operators and parameters of the test files whose loops the published
 * measurements of loop-invariant code motion ran on (27 files, 511 calls), one row a call.
 */
#ifndef BENCH_LICM_CASES_H
#define BENCH_LICM_CASES_H

#include "expr/stage/stage.h"

enum { MAX_FIELDS = 20 };

typedef struct Case {
	const char *row;      /* the whole line */
	const char *op;       /* "conv2d_nchw", a file */
	const char *function; /* in it; says what the fields are */
	const char *field[MAX_FIELDS];
	int count;
} Case;

typedef VEC(Case) Cases;

Cases cases_read(Arena *arena, const char *path);

/* The program of a case. Small: batches, channels and images are cut, so that it can be interpreted
 * as a whole; windows, strides and borders stay. */
const Program *case_program(ExprCtx *ctx, Arena *arena, const Case *c, bool is_small);

/* Inside: what builds the text of one function's call. */
typedef struct Text {
	Arena *arena;
	const Case *c;
	bool is_small;
	Buf out;
} Text;

#define say(text, ...) buf_printf(&(text)->out, __VA_ARGS__)

const char *field_text(const Text *t, int at);
int64_t field_number(const Text *t, int at, int64_t most); /* most: where small */
/* "3x224x224", as many as there are; one number stands for `count` of them. */
int field_list(const Text *t, int at, int count, int64_t *out);
bool field_is(const Text *t, int at, const char *word);
bool field_true(const Text *t, int at);

void text_convolution(Text *t); /* windows.c */
void text_transposed(Text *t);
void text_back_input(Text *t);
void text_back_weight(Text *t);
void text_deformable(Text *t);
void text_winograd(Text *t); /* winograd.c */
void text_pool(Text *t);     /* pools.c */
void text_pool_grad(Text *t);
void text_global_pool(Text *t);
void text_adaptive_pool(Text *t);

/* A window's reach over an axis. */
typedef struct Axis {
	char letter;
	int64_t in, kernel, stride, before, after, dilation, out;
} Axis;

/* Axes of an image by letters of the layout; gives how many. In: the fields' numbers. */
void axis_pad(Axis *axis, int rank, const Text *t, int at);
/* "0 <= index, index < extent" for an index that may leave; behind what stands already. */
void say_inside(Text *t, bool *is_first, const char *index, int64_t extent);

#endif
