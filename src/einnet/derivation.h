/* Derivations: the way from a program to an equal one, as it is recorded and replayed.
 *
 *     split_sum 0 6; position 0 0 1 1; position 0 0 2 0; converge 0
 */
#ifndef EINNET_DERIVATION_H
#define EINNET_DERIVATION_H

#include "einnet/converge.h"

typedef struct Derivation {
	int nstep; /* exploring steps */
	const RuleStep *steps;
	int converged; /* which of the forms that the last program converges to; -1: as it is */
} Derivation;

/* A step and what converges by itself behind it; NULL, with the reason, where it does not apply.
 * Steps name the stages of canonical programs. `constant[k]`: input k is known; NULL: none is. */
const Program *derivation_step(Arena *arena, const Program *program, const bool *constant,
                               const RuleStep *step, Reason *why);

/* The forms of einnet_converge(), as plain as they come. */
int derivation_converge(Calls *calls, Arena *arena, const Program *program, int stage,
                        const bool *constant, const Program *out[CONVERGED_MAX]);

/* A way has parts: its steps, and at last what it converges to. From the canonical program before
 * part `part` the one behind it, canonical, too; NULL, with the reason, where it does not apply. */
int derivation_parts(const Derivation *way);
const Program *derivation_part(Arena *arena, const Program *program, const bool *constant,
                               const Derivation *way, int part, Reason *why);

/* The program at the end of the way, in canonical form; NULL where a step does not apply. */
const Program *derivation_replay(Arena *arena, const Program *program, const bool *constant,
                                 const Derivation *way);

/* The text above; "as given" where there is no step. Parsing gives false where it is none. */
const char *derivation_text(Arena *arena, const Derivation *way);
const char *derivation_part_text(Arena *arena, const Derivation *way, int part);
bool derivation_parse(Arena *arena, const char *text, Derivation *way);

#endif
