/* The texts that emitted kernels begin with: the files of src/expr/prelude/ and
 * src/codegen/prelude/, kept in the compiler as strings (tools/prelude.awk makes them while
 * building). The scalar operations live here because the interpreter compiles the same text.
 */
#ifndef EXPR_SCALAR_PRELUDE_H
#define EXPR_SCALAR_PRELUDE_H

#include "base/buf.h"

typedef struct PreludeText {
	const char *name; /* the file's name, without folders */
	const char *text;
} PreludeText;

extern const PreludeText prelude_texts[];
extern const int prelude_count;

/* The text of this name; asserts that there is one. */
const char *prelude_text(const char *name);

/* Types, integers, conversions and the scalar functions tw_exp_f32, tw_exp_f64 … */
void prelude_print_scalars(Buf *buf);

/* The functions for vectors of `lanes` f32 (4, 8 or 16) and of lanes/2 f64: tw_exp_f32x16,
 * tw_exp_f64x8 …; after the scalars. Compile with -fno-math-errno -ffp-contract=off. */
void prelude_print_lanes(Buf *buf, int lanes);

#endif
