/* What the harnesses of tests/fuzz share.
 *
 * A harness is one file tests/fuzz/NAME.c with LLVMFuzzerTestOneInput(), and may have a mutator of
 * its own. `make fuzz` links it with libFuzzer (clang); any compiler links it with plain/main.c,
 * which replays files and makes mutants of them by the same functions (tests/fuzz.sh).
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/fail.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed);

/* Memory a case may hold at once: what a model of a few kilobytes may ever need, and a good deal
 * more. Only sanitizers count it. */
enum { FUZZ_MEMORY_MB = 256 };

/* One case: fn() in an arena of its own that ends with it. True when it did not fail; what fails
 * must say so in one line, and must not call itself our bug: else, as for too much memory, the
 * process ends with a word on standard error, which is the finding. */
typedef struct FuzzCase {
	Arena *arena;
	const uint8_t *data;
	size_t size;
	void *more;
} FuzzCase;

bool fuzz_case(void (*fn)(void *fuzz_case), const uint8_t *data, size_t size, void *more);

/* Say what is wrong and end the process. */
_Noreturn void fuzz_found(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text harness in one line: parse(print(x)) prints the same. `print` parses the text (a C
 * string), checks what was read, and gives its text, all in the arena. */
typedef const char *FuzzPrint(Arena *arena, const char *text);
void fuzz_text(FuzzPrint *print, const uint8_t *data, size_t size);

/* The next random number of a state: deterministic on every machine. */
uint32_t fuzz_random(uint64_t *state);

/* One change to plain bytes, in place; returns the new size. */
size_t fuzz_change_bytes(unsigned char *data, size_t size, uint64_t *state);

#endif
