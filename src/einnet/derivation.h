/* Derivations: the way from a program to an equal one, as it is recorded and replayed.
 *
 *     split_sum 0 6; position 0 0 1 1; position 0 0 2 0; converge 0
 */
#ifndef EINNET_DERIVATION_H
#define EINNET_DERIVATION_H

#include "einnet/converge.h"
#include "expr/stage/stage.h"

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

/* Whether a derived program computes what the one it was derived from does. */

/* NULL where both agree at points of their outputs (corners, borders, anywhere else) on made-up
 * inputs, else a sentence that says where they do not. Symbols have the values of `binding`. */
const char *einnet_difference(Arena *arena, const Program *given, const Program *derived,
                              const Binding *binding);

/* A way that was found where symbols have values, as a way of the program with symbols.
 *
 * Steps name stages, iterators and factors of canonical programs, whose order depends on sizes:
 * what is called 0 where N is 512 may be called 1 where it is N.
 */

/* The way from `program` whose programs are, at the target's sizes, those of `found`, or cost the
 * same: each step is sought among all that its rule has there. Where none does, the step as it is
 * named, if it applies: what follows is an equal program all the same. Gives the program behind it;
 * NULL, with the reason, where a step does not apply. */
const Program *derivation_generalize(Arena *arena, const Target *target, const Program *program,
                                     const bool *constant, const Derivation *found, Derivation *way,
                                     Reason *why);

#endif
