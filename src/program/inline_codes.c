/* program_inline_codes: a product unpacks its weights itself.
 *
 *     D[k,n] = (f32(W[k,n]) - 8.0) * S[k/32,n]            W is of 4 bits
 *     Y[m,n] = sum(k) X[m,k] * D[k,n]
 * =>  Y[m,n] = sum(k) X[m,k] * ((f32(W[k,n]) - 8.0) * S[k/32,n])
 *
 * Only where W and S are constants: then lowering stores them so that unpacking is cheap
 * (lower/codes.c).
 */
#include "program/derive.h"
#include "program/forms.h"

static bool
is_constant_input(const Program *p, const bool *is_constant, const Tensor *tensor)
{
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == tensor)
			return is_constant[i];
	return false;
}

/* Whether the stage makes f32 of constants, of which some are such numbers. */
static bool
unpacks(const Program *p, const bool *is_constant, const Stage *stage)
{
	bool has_codes = false, is_steady = true;
	if (stage->kind != STAGE_map || stage->scan || stage->nresult != 1 ||
	    stage->results[0]->type != DT_F32 || program_gives(p, stage))
		return false;
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
		if (walk.e->op == EX_read) {
			has_codes |= dtype_is_code(walk.e->tensor->type);
			is_steady &= is_constant_input(p, is_constant, walk.e->tensor);
		}
	return has_codes && is_steady;
}

/* Whether one stage reads the tensor: a sum, of which it is a factor. */
static bool
is_factor(const Program *p, const Tensor *tensor)
{
	int readers = 0, factors = 0;
	for (int s = 0; s < p->nstage; s++) {
		const Expr *product = stage_summed_product(p->stages[s]);
		readers += stage_reads(p->stages[s], tensor);
		for (int k = 0; product && k < 2; k++)
			factors += product->arg[k]->op == EX_read && product->arg[k]->tensor == tensor;
	}
	return readers == 1 && factors == 1;
}

const Program *
program_inline_codes(const Program *program, const bool *is_constant)
{
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		if (unpacks(program, is_constant, stage) && is_factor(program, stage->results[0]))
			return program_inline_codes(derive_inline(program, stage), is_constant);
	}
	return program;
}
