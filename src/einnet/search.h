/* Searching for equal programs that cost less: breadth first over interned programs, each met once.
 *
 * A state is a program of which the rules explore the products. When it is met it converges towards
 * the calls of libraries; what comes out are candidates, and the program that was given is one.
 * States whose lower bound exceeds what the best candidate costs, or what is wanted, are not
 * explored. Equal questions
 * have equal answers: nothing depends on time.
 */
#ifndef EINNET_SEARCH_H
#define EINNET_SEARCH_H

#include "einnet/converge.h"
#include "einnet/derivation.h"

enum { DERIVE_DEPTH = 7, DERIVE_STATES = 100000 };

/* What became of a program that was met; for records of a search. */
typedef enum Fate {
	FATE_kept,
	FATE_met,       /* before */
	FATE_too_dear,  /* its bound exceeds the best */
	FATE_candidate, /* converged */
} Fate;

typedef struct Visit {
	int state, parent; /* numbers of states in order of discovery; parent -1: the first */
	int depth;
	const RuleStep *step; /* from the parent; NULL: none */
	Fate fate;
	double seconds; /* the bound, or a candidate's cost */
	const Program *program;
} Visit;

typedef struct SearchOptions {
	const Target *target;
	const bool *constant; /* of inputs; NULL: none is */
	int depth, states;    /* steps to a state, and states kept; 0: the defaults */
	uint32_t disabled;    /* bits of rules */
	bool keeps_dear;      /* explore whatever it costs */
	double most;          /* seconds: what takes more is not wanted; 0: whatever is equal */
	bool merges;          /* what brings products together first */
	void (*visit)(void *arg, const Visit *visit);     /* NULL, or called for each */
	void (*progress)(void *arg, int done, int total); /* NULL, or states explored, of those known */
	void *arg;
} SearchOptions;

typedef struct Candidate {
	const Program *program;
	Cost cost;
	Derivation way;
} Candidate;

typedef struct SearchResult {
	VEC(Candidate) list; /* by cost, the least first; among equals the shorter way */
	int states, met, dear;
	int64_t derivations, refused;
	bool is_cut; /* there were more than the limits allow */
} SearchResult;

/* The programs live in `ctx`, everything else in `arena`. */
SearchResult einnet_search(Arena *arena, ExprCtx *ctx, const Program *program,
                           const SearchOptions *options);

#endif
