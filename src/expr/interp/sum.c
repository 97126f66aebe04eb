/* Sums: a step adds a block of terms to a block of sums.
 *
 * Most of all work is sums of products, sum(c, r, s where guard) X[...] * W[...]. Their
 * multiplication is taken from the stage's code and done while adding, in the stretches of lanes
 * that the guard takes:
 *
 *     code:  read X; read W; mul        step:  state += mul        becomes
 *     code:  read X; read W             step:  state += X * W
 *
 * In bound mode a product whose magnitude and bound might leave the type makes the whole sum leave
 * it: such a block is computed again carefully, term by term.
 */
#include <math.h>
#include <string.h>

#include "expr/interp/code.h"

/* The stretches of the guard's lanes, of all lanes without a mask; NULL: too many. */
static const Runs *
runs_taken(const Machine *m, const unsigned char *mask, Runs *all)
{
	if (mask)
		return runs_of(m, m->guard);
	all->count = 1;
	all->first[0] = 0;
	all->length[0] = (short)m->n;
	return all;
}

static Operand
operand_from(const Reg *r, int first)
{
	size_t skip = r->is_uniform || first == 0 ? 0 : (size_t)first * block_size(r->type);
	return (Operand){(const char *)r->data + skip, !r->is_uniform};
}

static const double *
bounds_from(const Reg *r, int first)
{
	return r->bound ? r->bound + (r->is_uniform ? 0 : first) : NULL;
}

static SumLanes
lanes_from(const Machine *m, int first)
{
	double *sum = m->regs.data[m->acc[0]].own;
	return (SumLanes){sum + first, m->sum_abs + first, m->sum_bound + first};
}

/* ---- products -------------------------------------------------------------------------------- */

void
sum_find_product(Machine *m)
{
	const InstrVec *code = &m->code[m->nstep];
	Instr *last = code->count ? code->data[code->count - 1] : NULL;
	const Reg *term = &m->regs.data[m->terms[0]];
	if (m->is_folded || m->stage->reduce != REDUCE_sum || !last || last->run != run_op ||
	    last->op != EX_mul || last->out != m->terms[0] || term->is_uniform || term->is_given)
		return;
	m->fold_product = m->is_bound ? NULL : block_fold_product(term->type);
	if (m->is_bound ? !m->sum_abs || term->logical != DT_F32 : !m->fold_product)
		return;
	bound_product_error(&m->product_error, &m->product_tiny);
	m->product = last;
	m->code[m->nstep].count--;
}

bool
sum_product(Machine *m, const unsigned char *mask)
{
	Runs all;
	const Runs *runs = runs_taken(m, mask, &all);
	const Reg *a = &m->regs.data[m->product->arg[0]], *b = &m->regs.data[m->product->arg[1]];
	if (m->is_careful || !runs) {
		run_op(m, m->product);
		return false;
	}
	Reg *acc = &m->regs.data[m->acc[0]];
	size_t size = block_size(acc->type);
	for (int k = 0; k < runs->count; k++) {
		int first = runs->first[k], n = runs->length[k];
		Operand factors[2] = {operand_from(a, first), operand_from(b, first)};
		const double *bounds[2] = {bounds_from(a, first), bounds_from(b, first)};
		if (m->is_bound)
			block_add_products(n, lanes_from(m, first), factors, bounds, m->product_error,
			                   m->product_tiny);
		else
			m->fold_product(n, (char *)acc->own + (size_t)first * size, factors[0], factors[1]);
	}
	return true;
}

/* ---- bound mode ------------------------------------------------------------------------------ */

/* Beside the sum of the terms stand the sum of their magnitudes and of their bounds. */
void
bound_sum_start(Machine *m)
{
	memset(m->sum_abs, 0, BLOCK_LANES * sizeof(double));
	memset(m->sum_bound, 0, BLOCK_LANES * sizeof(double));
}

void
bound_sum_step(Machine *m, const unsigned char *mask)
{
	Runs all;
	const Runs *runs = runs_taken(m, mask, &all);
	const Reg *term = &m->regs.data[m->terms[0]];
	for (int k = 0; runs && k < runs->count; k++) {
		int first = runs->first[k];
		block_add_terms(runs->length[k], lanes_from(m, first), operand_from(term, first),
		                bounds_from(term, first));
	}
	for (int i = 0; !runs && i < m->n; i++)
		if (mask[i])
			block_add_terms(1, lanes_from(m, i), operand_from(term, i), bounds_from(term, i));
}

void
bound_sum_fold(Machine *m, const unsigned char *mask)
{
	const Reg *term = &m->regs.data[m->terms[0]];
	const double *terms = term->data;
	double *sum = m->regs.data[m->acc[0]].own;
	int step = !term->is_uniform;
	for (int i = 0; i < m->n; i++) {
		if (mask && !mask[i])
			continue;
		*sum += terms[i * step];
		*m->sum_abs += fabs(terms[i * step]);
		*m->sum_bound += term->bound ? term->bound[i * step] : 0;
	}
}
