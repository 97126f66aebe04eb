/* Proving a bundle before it is put into place: run it on made-up inputs, watched (prove/prove.h),
 * and turn what was found into denials for another compilation. */
#ifndef DRIVER_PROOF_PROOF_H
#define DRIVER_PROOF_PROOF_H

#include "driver/proof/selftest.h"
#include "driver/sizes/demands.h"
#include "prove/prove.h"

typedef struct ProofRun {
	const char *device;    /* for which it was made */
	Session *session;      /* of the bundle, which is not in its place yet; NULL: it cannot run, */
	const char *trouble;   /* and why */
	bool is_stand_in;      /* it stands for one whose device is not here */
	const Graph *compiled; /* behind all passes, as it was lowered */
	const Binding *asked;  /* sizes that must be kept */
	const Learnt *learnt;
	const InputRanges *ranges; /* of integers, at any sizes */
	int64_t weight_bytes;
} ProofRun;

typedef struct ProofResult {
	const char *device;   /* for which the plan was made */
	const Proof *proof;   /* NULL: nothing was tried, see left_out */
	const char *left_out; /* why nothing was run, or only once; NULL: all was done */
	const char *broken;   /* the bundle's own library says that the plan is wrong; or NULL */
	const Binding *sizes; /* of the first run: what the model runs at; NULL: none */
	int runs;             /* bindings of the symbols that were run: 2 where there are symbols */
	const char *target;   /* where that was; NULL: nowhere */
	bool is_simulated;    /* there: by the text of its kernels, not by their machine code, … */
	bool is_accepted;     /* … which the target's compiler made all the same */
} ProofResult;

/* Of a bundle: one for each target, in its order. */
typedef struct Proofs {
	int count;
	ProofResult *data;
} Proofs;

/* Never fails because of the bundle: that is a result. */
ProofResult proof_run(const Options *options, Arena *arena, const ProofRun *run);

/* run --prove: watch one run of an open session with its inputs bound. The graph comes from the
 * bundle, its weights as the plan has them; NULL where the bundle holds no graph. `observer` (NULL:
 * nobody) is shown the values. */
const Proof *proof_session(const Options *options, Arena *arena, Session *session,
                           ProofObserver *observer, void *context);

/* The one that found something else than the model; NULL: none did. */
const ProofResult *proofs_wrong(const Proofs *proofs);

/* Warn of what was found, and say what is done about it: another compilation at this -O where there
 * are new denials, else at -O0. Fails (FAIL_BUG) when that was it. */
void proof_warn(Arena *arena, const char *model, const ProofResult *result, bool is_new, int level);

/* With --prove=require fail (FAIL_UNSUPPORTED) where for a target nothing was run, or a value not
 * proved. */
void proofs_require(const Options *options, Arena *arena, const char *model, const Proofs *proofs);

/* A sentence of its own for each target for which nothing was run, unless that was asked for. */
void proofs_warn_unproved(const Options *options, const char *model, const Proofs *proofs);

/* Add to `denied` (PassContext.recorded) a denial for each finding: of the vendor call, the view,
 * the fusion, the blocked storage, the schedule, whichever comes first and was not denied yet.
 * False when there was nothing left to deny. */
bool proof_deny(Arena *arena, const ProofResult *result, Map *denied);

/* One line: "212 values at 13568 points; not proved: …". */
const char *proof_text(Arena *arena, const ProofResult *result);

/* The part of the bundle, an object (docs/json.md: the proof); and what it says, in a line. */
#define PROOF_ENTRY "proof.json"
const char *proofs_json(Arena *arena, const Proofs *proofs);
const char *proof_read(Arena *arena, const char *path, Bytes text);

#endif
