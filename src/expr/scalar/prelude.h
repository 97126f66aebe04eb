/* The texts that emitted kernels begin with: the files of src/expr/scalar/prelude/ and
 * src/codegen/c/prelude/, kept in the compiler as strings (tools/prelude.awk makes them while
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

#endif
