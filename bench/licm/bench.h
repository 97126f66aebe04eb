/* What is done with each case, and the data it is done on. */
#ifndef BENCH_LICM_BENCH_H
#define BENCH_LICM_BENCH_H

#include "variants.h"

enum { MAX_ARGS = 16 };

typedef struct Bench {
	const struct Mode *mode;
	Arena *arena;
	const Target *target;
	int wrong;
} Bench;

typedef struct Job Job;

/* What to do with each case. */
typedef struct Mode {
	const char *name;
	void (*run)(Bench *bench, Job *job, Arena *arena);
	bool is_compiled; /* run() wants functions */
	bool is_gpu;
	bool is_small;  /* sizes */
	bool is_judged; /* at the end: how many are wrong */
} Mode;

/* A case on its way: its kernels, and the data of its tensors. */
struct Job {
	const Case *c;
	int number;
	const Program *program;
	Parts parts;
	Map arrays; /* Tensor to Array */
};

Array *bench_array(Arena *arena, const Tensor *tensor);
/* Numbers between -1 and 1, integers of all sizes, truths; the same each time. */
void bench_fill(Array *array);
/* The largest one, over the largest element there is. */
double bench_difference(const Array *seen, const Array *expected);
void bench_report(Bench *bench, const Job *job, int id, const char *what, double error);

/* Modes for GPUs. (blocks.c) */
void cubin_job(Bench *bench, Job *job, Arena *arena);
void blocks_job(Bench *bench, Job *job, Arena *arena);

#endif
