/* What the files of this program share. */
#ifndef TESTS_CUDA_H
#define TESTS_CUDA_H

#include <stdbool.h>

#include "runtime/tilewright.h"
#include "../standin/standin.h"

enum { MOST = 16, RUNS = 5, THREADS = 8 };

extern const Standin *standin;
extern int failures;

__attribute__((format(printf, 1, 2))) void lose(const char *format, ...);

typedef struct Model {
	TwBundle *bundle;
	TwSession *session;
	int ninput, noutput, more; /* the last: of each size that is open */
	void *inputs[MOST], *outputs[MOST];
	size_t input_count[MOST], output_bytes[MOST];
} Model;

int64_t extent_of(const TwDim *dim); /* another one for each symbol */
TwCode open_model(Model *m, const char *path, const TwSessionOptions *options, TwError *error);
void close_model(Model *m);
TwCode bind_inputs(Model *m, int seed, TwError *error);

/* Other numbers in the memory that is bound: what was recorded stays. */
void fill_inputs(Model *m, int seed);

/* What outputs hold after a run, kept. */
TwCode take_outputs(Model *m, TwError *error);
bool has_outputs_of(const Model *a, const Model *b);

/* Runs, of which the last of three is replayed; then with other memory, and again. */
TwCode run_opened(Model *m, int seed, TwError *error);

/* From a file to the results of the last run. */
TwCode run_model(Model *m, const char *path, int seed, TwError *error);

/* Reopened, forked, limited, cancelled. (life.c) */
void test_life(char **argv);

#endif
