/* Proving: what a compiled plan computes is what the graph means.
 *
 * The plan runs once, watched step by step. Each value that has storage is compared, at some points
 * of it, with what the meaning of its node gives for the inputs that lie in memory at that moment:
 *
 *     before the node's first step   its points are evaluated (points.h), from the step's actual
 *                                    inputs, by a way that shares no pass, no kernel and no
 *                                    library with what is proved
 *     behind its last step           the elements at these points are read, through the value's
 *                                    layout and strides, and compared; the whole value is searched
 *                                    for elements that nobody wrote, and hashed
 *     before a step reads it         the hash is taken again: nobody may have changed it
 *
 * A vendor step with a fallback kernel is run by both, and both are compared.
 *
 * Memory is filled with a pattern before it is first written, so that what stays unwritten shows.
 * A wrong value is found where it arises, not where it is noticed: values behind it are compared
 * with what they should be for their wrong input.
 *
 * What this cannot find stands in docs/bundle.md.
 */
#ifndef PROVE_PROVE_H
#define PROVE_PROVE_H

#include "base/buf.h"
#include "bundle/plan.h"
#include "graph/graph.h"
#include "runtime/tilewright.h"

typedef struct Prover Prover;

/* Something that is not as it should be. */
typedef struct ProofFinding {
	const Value *value; /* of the graph */
	PlanStepKind kind;  /* of the step that made it; a view has none: is_view */
	bool is_view;
	bool is_blocked;   /* its storage, or that of something its step reads, is */
	const char *step;  /* name */
	const char *text;  /* a sentence without the names */
	const char *loses; /* what its call is known to lose ("NaN in Relu"); NULL: it's wrong */
} ProofFinding;

/* What became of a value, the least first. */
typedef enum ProofState {
	PROOF_NOT,       /* not compared: see reason */
	PROOF_HOST,      /* made by a host operator: what the operator's function gives once more */
	PROOF_UNDECIDED, /* compared, but at each point two results are as right */
	PROOF_DONE,      /* compared */
} ProofState;

/* A value that has storage, and the best that was seen of it in all runs. */
typedef struct ProofValue {
	const Value *value;
	ProofState state;
	const char *reason; /* PROOF_NOT */
} ProofValue;

/* A kernel of which some blocks were run. */
typedef struct ProofSample {
	const char *step;
	int64_t blocks, of;
} ProofSample;

typedef struct Proof {
	int64_t points, undecided;  /* compared */
	int64_t tried;              /* results of fallback kernels, compared too */
	VEC(ProofFinding) findings; /* at most PROOF_FINDINGS */
	VEC(ProofFinding) losses;   /* as many: NaN or infinities that a call is known to lose */
	VEC(ProofValue) values;
	VEC(ProofSample) samples;
	Map index; /* Value to its place in values + 1 */
} Proof;

enum { PROOF_FINDINGS = 16 };

/* For plans made from `graph`, as it is behind all passes, with its constants. `seed` chooses the
 * points. Everything lives in `arena`. */
Prover *prover_new(Arena *arena, const Graph *graph, uint64_t seed);

/* Of kernels of at least so many operations, on a device that takes long for them, some blocks are
 * run, and points of what these write are compared. */
void prover_sample(Prover *prover, double operations);

/* Watch the runs of a session of such a plan from now on; NULL: no more. */
void prover_watch(Prover *prover, TwSession *session);

/* A value that a step of the plan itself has made, not one of a branch or a loop, as it lies in
 * memory when it is whole. */
typedef struct ProofSeen {
	const Value *value;
	const char *step;  /* name */
	const char *kind;  /* of the step: "kernel" */
	Array array;       /* row-major, valid during the call */
	const char *wrong; /* as of a finding; NULL: nothing */
	int64_t points;    /* compared; 0: none */
	double worst;      /* of these: the largest error, as a share of what roundings may make */
} ProofSeen;
typedef void ProofObserver(void *context, const ProofSeen *seen);

/* Show every such value to `observer`, but texts. */
void prover_show(Prover *prover, ProofObserver *observer, void *context);

/* What has been seen in all runs so far. */
const Proof *prover_proof(const Prover *prover);

/* Take note of what was seen of a value; the best stays. */
void proof_note(Arena *arena, Proof *proof, const Value *value, ProofState state,
                const char *reason);

/* Note each value that a step makes, in branches and loops too, as not seen yet: so that none goes
 * unmentioned. What a body captures was made outside of it. */
void proof_note_all(Arena *arena, Proof *proof, const Graph *graph, const Plan *plan);

/* Whether one of its dims is 0 at any sizes. */
bool value_is_always_empty(const Value *value);

int64_t proof_count(const Proof *proof, ProofState state);

/* "212 values at 13568 points, 3 on the host; not proved: 2 (it has no elements here: %x, %y)". */
const char *proof_summary(Arena *arena, const Proof *proof);

/* The members of an object that say the same (docs/json.md); NULL: nothing was run. */
void proof_put(Buf *json, const Proof *proof);

/* What a kind of step is called: "kernel", "vendor call". */
const char *proof_kind_text(PlanStepKind kind);

/* "value %y (step conv1, node …): element [0,3] is 0.5, expected 0.25 within 1e-6". */
const char *finding_text(Arena *arena, const ProofFinding *finding);

#endif
