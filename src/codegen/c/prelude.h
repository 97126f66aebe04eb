/* What kernels may begin with: an item for each function, type and block of
 * src/expr/scalar/prelude/ (the scalar operations; the interpreter compiles the same text),
 * src/codegen/c/prelude/ and src/codegen/cuda/prelude/, its macros put in. tools/prelude makes the
 * table while building.
 */
#ifndef CODEGEN_C_PRELUDE_H
#define CODEGEN_C_PRELUDE_H

enum { PRELUDE_CPU = -1, PRELUDE_CUDA = -2 };

typedef struct PreludeItem {
	int x86_bytes;     /* for x86's vectors of this size, 0: not x86; or one of these */
	const char *names; /* that it defines, with spaces between; "": as memcpy, for the compiler */
	const short *uses; /* items before this one; -1: the end */
	const char *text;
} PreludeItem;

extern const PreludeItem prelude_items[];
extern const int prelude_count;

#endif
