/* program_pick_terms: sums without the terms that a stride leaves out.
 *
 *     sum(r:4 where (p+1-r)%2 == 0, ...) W[r] * X[(p+1-r)/2]
 * =>  sum(r:2 where ...) W[2*r + (p+1)%2] * X[(p+1)/2 - r]
 *
 * One derivation (derive_residue) wherever it applies: fewer terms to test, indices that move with
 * their loops in a line, and no other order of the terms.
 *
 * needs    nothing
 * keeps    the order of the terms, so the bits of every result
 * breaks   nothing
 */
#include "program/derive.h"
#include "program/forms.h"
#include "program/unit.h"

const Program *
program_pick_terms(const Program *program)
{
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
			const Program *picked = derive_residue(program, program->stages[s], i, NULL);
			program = picked ? picked : program;
		}
	}
	return program;
}

bool
pass_PickTerms(ProgramUnit *unit, PassContext *context)
{
	return unit_take_nest(unit, program_pick_terms(unit->program), context);
}
