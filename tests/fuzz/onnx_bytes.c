/* Fuzzing of the ONNX reader: any bytes are either read, or refused with one sentence.
 *
 * Built by `make fuzz` this is a libFuzzer harness. With -DPLAIN it is a program of its own, for
 * machines without clang:  onnx_bytes [-n ROUNDS] [-s SEED] FILE…  takes each file as a seed,
 * changes it ROUNDS times (bytes, lengths, cuts, copies) and reads what comes out. A crash is the
 * finding.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Job {
	Arena *arena;
	Bytes bytes;
} Job;

static void
read_model(void *arg)
{
	Job *job = arg;
	onnx_read_bytes(job->arena, "fuzz.onnx", job->bytes, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Job job = {arena_new("fuzz"), {data, size}};
	Failure failure;
	bool is_read = try_run(read_model, &job, &failure);
	if (!is_read && (!failure.text[0] || strchr(failure.text, '\n') || failure.kind == FAIL_BUG))
		abort();
	arena_free(job.arena);
	return 0;
}

#ifdef PLAIN

static uint64_t
random_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* One change: a byte, a bit, a run copied over another, a cut, or a varint made huge. */
static size_t
change(unsigned char *data, size_t size, uint64_t *state)
{
	if (size < 16)
		return size;
	size_t at = random_number(state) % size, from = random_number(state) % size;
	size_t length = 1 + random_number(state) % 16;
	if (at + length > size || from + length > size)
		return size;
	switch (random_number(state) % 6) {
	case 0:
		data[at] = (unsigned char)random_number(state);
		return size;
	case 1:
		data[at] ^= (unsigned char)(1 << random_number(state) % 8);
		return size;
	case 2:
		memmove(data + at, data + from, length);
		return size;
	case 3:
		memset(data + at, 0xff, length);
		return size;
	case 4:
		memmove(data + at, data + at + length, size - at - length);
		return size - length;
	default:
		return random_number(state) % 8 == 0 ? at : size;
	}
}

int
main(int argc, char **argv)
{
	long rounds = 100;
	uint64_t state = 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
			rounds = strtol(argv[++i], NULL, 10);
			continue;
		}
		if (strcmp(argv[i], "-s") == 0 && i + 1 < argc) {
			state = strtoull(argv[++i], NULL, 10);
			continue;
		}
		Arena *arena = arena_new("seed");
		Bytes seed = file_map(arena, argv[i]);
		for (long k = 0; k < rounds; k++) {
			unsigned char *copy = malloc(seed.size + 1);
			if (!copy)
				return 1;
			memcpy(copy, seed.data, seed.size);
			size_t size = seed.size;
			for (uint64_t n = 1 + random_number(&state) % 4; n > 0; n--)
				size = change(copy, size, &state);
			LLVMFuzzerTestOneInput(copy, size);
			free(copy);
		}
		arena_free(arena);
	}
	return 0;
}

#endif
