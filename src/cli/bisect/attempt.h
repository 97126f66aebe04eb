/* One compilation and run of a model, judged, in a process of its own: it may be the compiler or
 * the code that dies.
 *
 *     Suspect suspect = suspect_new(options, arena, "m.onnx");
 *     Attempt a = attempt_take(&suspect, 17);      the first 17 rewrites alone
 *
 * Wrong is what the prover finds in a step, and what differs in a result by more than the bound
 * from that of the same model at -O0 with our kernels alone, or of another runtime.
 */
#ifndef CLI_BISECT_ATTEMPT_H
#define CLI_BISECT_ATTEMPT_H

#include "cli/cli.h"
#include "driver/history.h"

enum { ALL_REWRITES = 1 << 30 };

typedef struct Suspect {
	Options options;     /* pipeline and sizes; seed of the inputs */
	Arena *arena;        /* keeps the folder */
	const char *model;   /* a file */
	const char *choices; /* a file: what was chosen by measuring; NULL: nothing */
	const char *folder;  /* its own: wanted results, and the bundle of the last attempt */
} Suspect;

typedef enum Verdict { VERDICT_right, VERDICT_wrong, VERDICT_none } Verdict;

typedef struct Attempt {
	Verdict verdict;
	char text[2048];    /* what is wrong; or why it cannot be judged */
	char origins[1024]; /* of the first step that the prover finds wrong, joined by ", "; or "" */
} Attempt;

/* Computes the wanted results. Fails where there are none: what is wrong at -O0 is not found by
 * leaving out rewrites. */
Suspect suspect_new(const Options *options, Arena *arena, const char *model);

/* What compiling it chooses by measuring, as a file; NULL: nothing. */
const char *suspect_choices(const Suspect *suspect);

/* The same model and results with these choices; wanted results are those of before. */
Suspect suspect_with(const Suspect *suspect, const char *choices);

Attempt attempt_take(const Suspect *suspect, int rewrites);

/* The bundle that the last attempt left. */
const char *attempt_bundle(const Suspect *suspect);

#endif
