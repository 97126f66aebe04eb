/* Deviations: the error one expects of a correct kernel, where the bound is the one it may have.
 *
 * The bound of a sum of n terms grows like n * eps * sum|t|: a kernel that loses one of 4096 terms
 * may well be inside. Roundings do not all point one way, though, so an error of random signs is
 * expected to be much smaller: sqrt(the sum over all additions of (eps * partial sum)^2). Which
 * partial sums there are depends on the order, which kernels choose. Taken together here are
 *
 *     sum of partial^2        of the row-major order itself
 *     n * (sum t)^2           terms of one sign: the sum grows all the way, whatever the order
 *     n * sum t^2             terms of both signs: a random walk; sqrt(n)*eps*||t||
 *
 * Everything else propagates deviations as it does bounds, to first order the same; where a bound
 * comes from a jump (floor, a cast to an integer, an undecided condition) it is the deviation too.
 * A register's deviation is its bound until a sum makes it less.
 */
#include <math.h>
#include <string.h>

#include "expr/interp/listed.h"

double
reg_deviation(const Reg *r, int lane)
{
	int i = r->is_uniform ? 0 : lane;
	if (!r->bound)
		return 0;
	return r->deviation ? r->deviation[i] : r->bound[i];
}

static bool
has_deviations(const Machine *m, const Instr *in)
{
	for (int k = 0; k < in->narg; k++) {
		const Reg *r = &m->regs.data[in->arg[k]];
		if (r->bound && r->deviation)
			return true;
	}
	return false;
}

static double
least_of(double deviation, double bound)
{
	return deviation <= bound ? deviation : bound; /* NaN: the bound */
}

static void
deviate_op(const Machine *m, const Instr *in, int n)
{
	Reg *out = &m->regs.data[in->out];
	const double *y = out->data;
	double own, tiny;
	bound_own_error(in->op, out->logical, &own, &tiny);
	out->deviation = out->own_deviation;
	for (int i = 0; i < n; i++) {
		Lane x[3];
		for (int k = 0; k < in->narg; k++) {
			x[k] = reg_lane(m, in->arg[k], i);
			x[k].bound = reg_deviation(&m->regs.data[in->arg[k]], i);
		}
		double carried = bound_propagate(in->op, x, y[i]);
		out->deviation[i] = least_of(carried + fabs(y[i]) * own + tiny, out->bound[i]);
	}
}

/* Two numbers that differ a little are rounded to numbers that differ by that and a unit. */
static void
deviate_cast(const Machine *m, const Instr *in, int n)
{
	Reg *out = &m->regs.data[in->out];
	const Reg *from = &m->regs.data[in->arg[1]];
	const double *y = out->data;
	double own, tiny;
	if (!dtype_is_float(in->to))
		return;
	bound_own_error(EX_mul, in->to, &own, &tiny);
	out->deviation = out->own_deviation;
	for (int i = 0; i < n; i++)
		out->deviation[i] =
			least_of(reg_deviation(from, i) + fabs(y[i]) * own + tiny, out->bound[i]);
}

static void
deviate_select(const Machine *m, const Instr *in, int n)
{
	Reg *out = &m->regs.data[in->out];
	out->deviation = out->own_deviation;
	for (int i = 0; i < n; i++) {
		Lane c = reg_lane(m, in->arg[0], i);
		double taken = reg_deviation(&m->regs.data[in->arg[c.value != 0 ? 1 : 2]], i);
		out->deviation[i] = c.bound > 0 ? out->bound[i] : least_of(taken, out->bound[i]);
	}
}

void
deviate_run(Machine *m, const Instr *in, int n)
{
	const Reg *out = &m->regs.data[in->out];
	if (!in->bound || !out->bound || out->type != DT_F64 || !has_deviations(m, in))
		return;
	if (in->bound == bound_cast)
		deviate_cast(m, in, n);
	else if (in->op == EX_select)
		deviate_select(m, in, n);
	else if (bound_propagates(in->op))
		deviate_op(m, in, n);
}

/* Each of the sum's partial sums is larger by the operand then, and rounded accordingly. */
void
join_sum(Machine *m, const Instr *in, int n)
{
	Reg *out = &m->regs.data[in->out];
	double own, tiny;
	if ((in->op != EX_add && in->op != EX_sub) || !dtype_is_float(out->logical) || !out->bound)
		return;
	bound_own_error(EX_add, out->logical, &own, &tiny);
	for (int i = 0; i < n; i++) {
		double size =
			fabs(reg_lane(m, in->arg[0], i).value) + fabs(reg_lane(m, in->arg[1], i).value);
		double deviation = reg_deviation(out, i);
		out->bound[i] += m->joined * own * size;
		out->own_deviation[i] = deviation + sqrt(m->joined) * own * size;
	}
	out->deviation = out->own_deviation;
}

void
deviate_merge(Machine *m, int to, int from, const unsigned char *mask)
{
	Reg *a = &m->regs.data[to];
	const Reg *b = &m->regs.data[from];
	if (!(a->bound && a->deviation) && !(b->bound && b->deviation))
		return;
	for (int i = 0, n = reg_lanes(m, to); i < n; i++)
		a->own_deviation[i] = reg_deviation(!mask || mask[i] ? b : a, i);
	a->deviation = a->own_deviation;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void
deviate_sum_start(Machine *m)
{
	memset(m->sums, 0, sizeof *m->sums);
}

/* The term of `lane` comes to the sum at `place`, which is `sum` so far. */
static void
add_term(ListedSums *sums, int place, double sum, double term, double deviation)
{
	sums->count[place] += 1;
	sums->square[place] += term * term;
	sums->partial[place] += (sum + term) * (sum + term);
	sums->carried[place] += deviation;
}

void
deviate_sum_step(Machine *m, const unsigned char *mask)
{
	const Reg *term = &m->regs.data[m->terms[0]];
	const double *t = term->data, *sum = m->regs.data[m->acc[0]].own;
	for (int i = 0; i < m->n; i++)
		if (!mask || mask[i])
			add_term(m->sums, i, sum[i], t[term->is_uniform ? 0 : i], reg_deviation(term, i));
}

void
deviate_sum_fold(Machine *m, const unsigned char *mask)
{
	const Reg *term = &m->regs.data[m->terms[0]];
	const double *t = term->data;
	double sum = *(double *)m->regs.data[m->acc[0]].own;
	for (int i = 0; i < m->n; i++) {
		if (mask && !mask[i])
			continue;
		double x = t[term->is_uniform ? 0 : i];
		add_term(m->sums, 0, sum, x, reg_deviation(term, i));
		sum += x;
	}
}

void
deviate_sum_finish(Machine *m)
{
	Reg *acc = &m->regs.data[m->acc[0]];
	const double *sum = acc->own;
	double own, tiny;
	bound_own_error(EX_add, acc->logical, &own, &tiny);
	acc->deviation = acc->own_deviation;
	for (int i = 0, n = reg_lanes(m, m->acc[0]); i < n; i++) {
		const ListedSums *s = m->sums;
		double walk = s->partial[i] + s->count[i] * (s->square[i] + sum[i] * sum[i]);
		acc->deviation[i] = least_of(s->carried[i] + own * sqrt(walk), acc->bound[i]);
	}
}
