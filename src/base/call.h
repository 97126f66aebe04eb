/* What a step asks of code that is not generated: its attributes, and a call of a vendor library;
 * and what a model asks of its inputs.
 *
 * One record from the matcher to the library: the compiler asks with it, the plan keeps library,
 * row and attributes, and the runtime asks with it again. The library has a folder with the words.
 *
 *     conv (1x3x8x8, 4x3x3x3 a weight, _, 1x4x8x8@nc16hw) strides=1,1 post=relu
 */
#ifndef BASE_CALL_H
#define BASE_CALL_H

#include "base/buf.h"
#include "base/dtype.h"

/* A named attribute: numbers, or a text. A single number is a list of one. */
typedef struct StepAttr {
	const char *name;
	enum { SA_INTS, SA_FLOATS, SA_STRING } kind;
	int count; /* of ints or floats */
	const int64_t *ints;
	const float *floats;
	const char *string;
} StepAttr;

/* The attribute of this name; NULL: absent. */
const StepAttr *step_attr(int count, const StepAttr *attrs, const char *name);

/* Number `index` of a list of integers. */
int64_t step_attr_int(int count, const StepAttr *attrs, const char *name, int index,
                      int64_t otherwise);

/* What a call does to its result behind the sum. In a plan they are one attribute, "post", which
 * only the two functions below spell: "sum(3);relu", "clip(0,6)". The argument of those that have
 * one stands in parentheses, counted among the step's. */
typedef enum PostKind {
#define POST_KIND(name, numbers, has_argument) POST_##name,
#include "base/post.def"
#undef POST_KIND
	POST_KINDS
} PostKind;

enum { POST_MAX = 8, POST_NUMBERS = 2 };

typedef struct StepPost {
	PostKind kind;
	double numbers[POST_NUMBERS];
	int arg; /* of those that have one */
} StepPost;

void posts_write(Buf *buf, int count, const StepPost *posts);
/* Gives their number; -1, with a sentence, where the text is none of theirs. */
int posts_read(const char *text, StepPost posts[POST_MAX], char *error, size_t error_size);

/* An argument at concrete dims; type DT_NONE: absent. */
typedef struct VendorArg {
	DType type;
	int rank;
	const int64_t *dims;
	const int64_t *strides; /* elements; NULL: dense */
	const char *layout;     /* NULL: row-major */
	const void *constant;   /* a weight's bytes, which never change while the library is open */
	bool is_weight;         /* in a question: a weight whose bytes do not matter */
	int64_t offset;         /* bytes of its address beyond a multiple of 64 */
} VendorArg;

typedef struct VendorCall {
	const char *library, *row; /* "cudnn", "conv" */
	int narg;
	const VendorArg *args; /* the last one is written */
	int nattr;
	const StepAttr *attrs;
} VendorCall;

/* Who wants a dim of an input to be another's, or a number, which is all that the input's type
 * says: 'node "add" (Add): dim 0 of the inputs'. For messages, "" where others must be this one. */
typedef struct InputWish {
	int input, axis;
	const char *what;
	bool may_be_one; /* all the same: the one element is repeated, which gives what ONNX gives */
} InputWish;

#endif
