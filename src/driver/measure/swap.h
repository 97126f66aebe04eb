/* Runs of a bundle in which kernels of ours are exchanged for others, without writing it anew.
 *
 *     load      the other kernels as one more object, whose functions stand behind the bundle's
 *     run       with candidate `pick` of each contest that has so many, each in its place in the
 *               model, where it finds in the caches what the step before it left there; of a model
 *               that takes long these steps and those before them alone
 *
 * A candidate computes what the kernel in the plan does, of the same arguments and symbols, but its
 * flat index may end elsewhere: where a step is launched with other sizes than candidates were made
 * for, the plan's own kernel runs.
 */
#ifndef DRIVER_MEASURE_SWAP_H
#define DRIVER_MEASURE_SWAP_H

#include "base/file.h"
#include "base/map.h"
#include "driver/options.h"
#include "tir/module.h"

enum { SWAP_TEAMS = 2, SWAP_ROUNDS = 5, SWAP_CANDIDATES = 32 };

/* Steps whose kernels are alike. */
typedef struct Contest {
	const char *key;              /* of KernelSource */
	const MStep *step;            /* the first of them */
	int count;                    /* steps */
	bool is_call;                 /* they are a library's calls, and the kernels their fallbacks */
	int64_t extent;               /* of the flat index at the sizes of the runs, … */
	const int64_t *symbols;       /* … and these */
	int ncandidate;               /* made for it, from 1 on; */
	int first;                    /* of all that were made, the number of the first; */
	int numbers[SWAP_CANDIDATES]; /* of each, by which its kernel is asked for */
	int64_t extents[SWAP_CANDIDATES];
	double now;     /* seconds in the run that goes on, of all these steps; */
	double library; /* of the library's calls; */
	double least;   /* in the turn that goes on; */
	double turns[SWAP_TEAMS][SWAP_CANDIDATES][SWAP_ROUNDS]; /* in each turn */
} Contest;

typedef struct Swap {
	const Options *options;
	const char *bundle;
	const Module *module;
	int count;
	Contest *contests;
	Map of_step;     /* MStep -> Contest */
	Bytes object;    /* with the candidates' code, a backend's; none: of size 0 */
	int64_t scratch; /* bytes that a candidate wants at most */
	int pick;        /* candidate that runs; 0: the plan's kernels */
	bool is_partial; /* steps that no contest needs are left out of runs */
	double run;      /* seconds of the last run */
} Swap;

typedef struct Session Session;

/* A session with the library or without, one thread or (0) as many as runs have by default, whose
 * kernels swap->pick exchanges; NULL: kernels of this bundle do not run here as functions. One at a
 * time. */
Session *swap_open(Arena *arena, Swap *swap, bool has_library, int threads);
/* Whether steps that compute floats can be left out: no step's time, size or success depends on
 * what such a one left undone. */
bool swap_may_be_partial(const Module *module);
/* One run: swap->run, and `now` of each contest. */
void swap_run(Swap *swap, Session *session);

#endif
