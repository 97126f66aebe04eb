/* The self-test sample of a bundle: what some elements of the outputs should be.
 *
 * The inputs are made up again from the seed (driver/sizes/inputs.h), so only their sizes are
 * stored. It travels as the part selftest.json:
 *
 *     {"oracle": "the interpreter", "seed": 1,
 *      "inputs": [{"name": "x", "type": "f32", "dims": [1, 3, 224, 224]},
 *                 {"name": "ids", "type": "i64", "dims": [1, 5], "low": 1, "end": 99}],
 *      "outputs": [{"name": "y", "type": "f32", "dims": [1, 1000], "tolerance": 0.0034,
 *                   "at": [14, 55], "values": [0.25, -1.5]}]}
 *     {"left_out": "output y is of type string"}
 *
 * A 0 of "low", "end" and "tolerance" is left out. "at" are flat positions; an element agrees when
 * it is no further from its value than the tolerance.
 */
#ifndef DRIVER_PROOF_SELFTEST_H
#define DRIVER_PROOF_SELFTEST_H

#include "bundle/plan.h"
#include "driver/proof/compare.h"
#include "driver/proof/session.h"

#define SELFTEST_ENTRY "selftest.json"

typedef struct TestInput {
	const char *name;
	DType type;
	int rank;
	const int64_t *dims;
	int64_t low, end; /* integers: low <= value < end; both 0: the bundle's range of the input */
} TestInput;

typedef struct TestOutput {
	const char *name;
	DType type;
	int rank;
	const int64_t *dims;
	double tolerance; /* 0: exactly */
	int count;
	const int64_t *at;    /* flat positions */
	int is_exact;         /* a value for each: in `whole`, else */
	const int64_t *whole; /* … */
	const double *real;
} TestOutput;

typedef struct SelfTest {
	const char *left_out; /* why there is no sample; NULL: there is one */
	const char *oracle;   /* who computed it, in words */
	int64_t seed;
	int ninput, noutput;
	TestInput *inputs;
	TestOutput *outputs;
} SelfTest;

/* Inputs for a graph as read, at the probe's sizes and 1 elsewhere; no outputs yet. */
SelfTest *selftest_new(Arena *arena, const Graph *graph, const Binding *probe,
                       const InputRanges *ranges, int64_t seed);

/* Bytes of all inputs; SIZE_MAX: too many to count. */
size_t selftest_bytes(const SelfTest *test);

/* Leave it out where the outputs cannot be compared element by element. */
void selftest_judge(SelfTest *test, Arena *arena, const Plan *plan);

/* Take the sample of the outputs from `arrays`, in the plan's order. Narrow types anywhere in the
 * plan make the tolerances wide. */
void selftest_sample(SelfTest *test, Arena *arena, const Plan *plan, const Array *arrays);

/* The inputs, made in `arena`. */
const Array **selftest_inputs(const SelfTest *test, Arena *arena, const InputRanges *ranges);

/* Bind the inputs, which are made in `arena`. Fails when the bundle has others. */
void selftest_bind(const SelfTest *test, Arena *arena, Session *session);

const char *selftest_text(Arena *arena, const SelfTest *test);
SelfTest *selftest_read(Arena *arena, const char *path, Bytes text);

/* "32 elements of 2 outputs, by the interpreter", or why there is none. */
const char *selftest_summary(Arena *arena, const SelfTest *test);

/* Whether an output of the session's last run is as recorded, and how far it is off; the difference
 * goes to standard error. */
bool selftest_check(Session *session, const TestOutput *output, Comparison *comparison);

#endif
