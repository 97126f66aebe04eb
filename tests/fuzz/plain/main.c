/* A harness without libFuzzer:  NAME [-n ROUNDS] [-s SEED] FILE…
 *
 * Runs each file, then ROUNDS mutants of each, made by the harness's own mutator where it has one.
 * Equal seeds give equal mutants. A crash is the finding; the case that crashed is in the file
 * that $FUZZ_CASE names, if it is set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"

enum { MUTANT_MAX = 1 << 18 };

#pragma weak LLVMFuzzerCustomMutator
#pragma weak LLVMFuzzerInitialize

static size_t
mutate(unsigned char *data, size_t size, uint64_t *state)
{
	if (LLVMFuzzerCustomMutator)
		return LLVMFuzzerCustomMutator(data, size, MUTANT_MAX, fuzz_random(state));
	for (uint32_t n = 1 + fuzz_random(state) % 4; n > 0; n--)
		size = fuzz_change_bytes(data, size, state);
	return size;
}

/* libFuzzer gives each case memory of exactly its size, so that a read behind it is seen. */
static void
run_case(const unsigned char *data, size_t size)
{
	const char *path = getenv("FUZZ_CASE");
	FILE *file = path ? fopen(path, "wb") : NULL;
	if (file) {
		fwrite(data, 1, size, file);
		fclose(file);
	}
	unsigned char *copy = malloc(size ? size : 1);
	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void
run_file(const char *path, long rounds, uint64_t state)
{
	Arena *arena = arena_new("seed");
	Bytes seed = file_map(arena, path);
	run_case(seed.data, seed.size);
	unsigned char *mutant = arena_alloc(arena, MUTANT_MAX);
	for (long k = 0; k < rounds && seed.size <= MUTANT_MAX; k++) {
		memcpy(mutant, seed.data, seed.size);
		run_case(mutant, mutate(mutant, seed.size, &state));
	}
	arena_free(arena);
}

int
main(int argc, char **argv)
{
	long rounds = 0;
	uint64_t seed = 1;
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
			rounds = strtol(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else
			run_file(argv[i], rounds, seed);
	}
	return 0;
}
