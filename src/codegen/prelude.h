/* The texts that emitted kernels begin with: the files of src/codegen/prelude/, kept in the
 * compiler as strings (tools/prelude.awk makes them while building).
 */
#ifndef CODEGEN_PRELUDE_H
#define CODEGEN_PRELUDE_H

typedef struct PreludeText {
	const char *name; /* the file's name, without folders */
	const char *text;
} PreludeText;

extern const PreludeText prelude_texts[];
extern const int prelude_count;

#endif
