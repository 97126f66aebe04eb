/* Bound mode: how far a correct kernel's result may be from the value computed in double.
 *
 * Each operation propagates its operands' bounds and adds its own error: ulp by scalar.def, of the
 * type the kernel computes in. Monotone operations, and conversions with all their rounding and
 * saturation, are evaluated at both ends of the interval instead. A bound of infinity says that
 * nothing is known. Of integers and bools: 0 is decided, else how far another right value may be.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "expr/interp/listed.h"
#include "expr/scalar/math.h"

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct Format {
	double unit; /* half an ulp, relative */
	double tiny; /* half of the least subnormal */
	double most; /* largest finite value */
} Format;

static Format
format_of(DType type)
{
	FloatRange range = dtype_float_range(type);
	double unit = ldexp(1, -range.digits);
	return (Format){unit, fmax(range.least * unit, 0x1p-1074), range.most};
}

/* The value a conversion to `type` gives, as a double. */
static double
quantise(DType type, int flags, double x)
{
	switch (type) {
	case DT_F64:
		return x;
	case DT_F32:
		return (double)(float)x;
	case DT_F16:
		return tw_f64_of_f16(tw_f16_of_f64(x));
	case DT_BF16:
		return tw_f64_of_bf16(tw_bf16_of_f64(x));
	default:
		break;
	}
	BlockCast steps[BLOCK_CAST_MAX], back[BLOCK_CAST_MAX];
	double cell[2] = {x};
	int count = block_cast_steps(type, DT_F64, flags, steps), at = 0;
	for (int i = 0; i < count; i++, at ^= 1)
		steps[i].fn(1, &cell[at ^ 1], &(Operand){&cell[at], 0});
	count = block_cast_steps(DT_F64, type, 0, back);
	for (int i = 0; i < count; i++, at ^= 1)
		back[i].fn(1, &cell[at ^ 1], &(Operand){&cell[at], 0});
	return cell[at];
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static double
value_at(const Reg *r, int i)
{
	if (r->type == DT_F64)
		return ((const double *)r->data)[i];
	if (dtype_bits(r->type) >= 8)
		return dtype_load_f64(r->type, r->data, i);
	/* a code in a byte of its own */
	return dtype_load_f64(r->type, (const unsigned char *)r->data + i, 0);
}

Lane
reg_lane(const Machine *m, int reg, int i)
{
	const Reg *r = &m->regs.data[reg];
	int lane = r->is_uniform ? 0 : i;
	return (Lane){value_at(r, lane), r->bound ? r->bound[lane] : 0};
}

static bool
has_bounds(const Machine *m, const Instr *in)
{
	for (int k = 0; k < in->narg; k++)
		if (m->regs.data[in->arg[k]].bound)
			return true;
	return false;
}

/* What overflows in the kernel's type is infinite there; what may or may not is not known. An
 * infinity or NaN is right or wrong, without a bound. */
static double
settle(const Format *format, double *value, double bound)
{
	double size = fabs(*value);
	if (size <= format->most && bound == bound)
		return size + bound <= format->most ? bound : INFINITY;
	if (*value != *value || size == INFINITY)
		return bound == INFINITY ? bound : 0;
	if (size - bound > format->most * (1 + format->unit)) {
		*value = copysign(INFINITY, *value);
		return 0;
	}
	return INFINITY;
}

/* ---- how bounds propagate -------------------------------------------------------------------- */

typedef double (*Propagate)(const Lane *x, double y);

static double
of_add(const Lane *x, double y)
{
	(void)y;
	return x[0].bound + x[1].bound;
}

static double
of_mul(const Lane *x, double y)
{
	(void)y;
	return fabs(x[0].value) * x[1].bound + fabs(x[1].value) * x[0].bound + x[0].bound * x[1].bound;
}

/* A library multiplies by the reciprocal, and makes 0 of that below twice the least normal f32. */
static double
of_div(const Lane *x, double y)
{
	if (x[0].bound == 0 && x[1].bound == 0)
		return 0;
	double least = fabs(x[1].value) - x[1].bound, lost = least > 0x1p125 ? fabs(y) : 0;
	return least > 0 ? (x[0].bound + fabs(y) * x[1].bound) / least + lost : INFINITY;
}

static double
of_one(const Lane *x, double y)
{
	(void)y;
	return x[0].bound;
}

static double
of_larger(const Lane *x, double y)
{
	(void)y;
	return fmax(x[0].bound, x[1].bound);
}

static double
of_fma(const Lane *x, double y)
{
	return of_mul(x, y) + x[2].bound;
}

/* fmod jumps where the quotient passes an integer. */
static double
of_rem(const Lane *x, double y)
{
	double a = x[0].bound, b = x[1].bound, size = fabs(x[1].value) - b;
	if (a == 0 && b == 0)
		return 0;
	if (!(size > 0) || a == INFINITY)
		return INFINITY;
	double least = trunc((fabs(x[0].value) - a) / (size + 2 * b));
	double most = trunc((fabs(x[0].value) + a) / size);
	(void)y;
	return least == most ? a + most * b : size + 2 * b;
}

static double
of_sine(const Lane *x, double y)
{
	(void)y;
	return x[0].bound == INFINITY ? x[0].bound : fmin(x[0].bound, 2);
}

static double
of_tan(const Lane *x, double y)
{
	double a = x[0].bound, to_pole = fabs(asin(cos(x[0].value)));
	if (a == 0)
		return 0;
	if (!(a < to_pole))
		return INFINITY;
	return fmax(fabs(tan(x[0].value + a) - y), fabs(tan(x[0].value - a) - y));
}

static double
of_cosh(const Lane *x, double y)
{
	return x[0].bound == 0 ? 0 : cosh(fabs(x[0].value) + x[0].bound) - y;
}

/* The corners of the box; zero is a corner too where the base may pass it. */
static double
of_pow(const Lane *x, double y)
{
	double worst = 0;
	if (x[0].bound == 0 && x[1].bound == 0)
		return 0;
	if (!(x[0].value - x[0].bound >= 0) && (x[1].bound > 0 || x[1].value != floor(x[1].value)))
		return INFINITY;
	bool passes_zero = fabs(x[0].value) <= x[0].bound;
	for (int i = 0; i < 4; i++) {
		double base = x[0].value + (i & 1 ? x[0].bound : -x[0].bound);
		double power = x[1].value + (i & 2 ? x[1].bound : -x[1].bound);
		worst = fmax(worst, fabs(pow(base, power) - y));
		if (passes_zero)
			worst = power < 0 ? INFINITY : fmax(worst, fabs(pow(0, power) - y));
	}
	return worst == worst ? worst : INFINITY;
}

#define MONOTONE(name, low, high) \
	static double of_##name(const Lane *x, double y) \
	{ \
		double a = x[0].bound; \
		if (a == 0) \
			return 0; \
		if (a == INFINITY || x[0].value - a < low || x[0].value + a > high) \
			return INFINITY; \
		double below = tw_##name##_f64(x[0].value - a), above = tw_##name##_f64(x[0].value + a); \
		return fmax(fabs(above - y), fabs(y - below)); \
	}
MONOTONE(sign, -INFINITY, INFINITY)
MONOTONE(floor, -INFINITY, INFINITY)
MONOTONE(ceil, -INFINITY, INFINITY)
MONOTONE(trunc, -INFINITY, INFINITY)
MONOTONE(round, -INFINITY, INFINITY)
MONOTONE(sqrt, 0, INFINITY)
MONOTONE(exp, -INFINITY, INFINITY)
MONOTONE(log, 0, INFINITY)
MONOTONE(log1p, -1, INFINITY)
MONOTONE(expm1, -INFINITY, INFINITY)
MONOTONE(asin, -1, 1)
MONOTONE(acos, -1, 1)
MONOTONE(atan, -INFINITY, INFINITY)
MONOTONE(sinh, -INFINITY, INFINITY)
MONOTONE(tanh, -INFINITY, INFINITY)
MONOTONE(asinh, -INFINITY, INFINITY)
MONOTONE(acosh, 1, INFINITY)
MONOTONE(atanh, -1, 1)
MONOTONE(erf, -INFINITY, INFINITY)

/* `rounds`: the operation adds an error of its own, scalar.def's ulp or, where 0, half of one. */
static const struct {
	Propagate propagate;
	bool rounds;
} rules[EX_COUNT] = {
	[EX_add] = {of_add, true},      [EX_sub] = {of_add, true},      [EX_mul] = {of_mul, true},
	[EX_div] = {of_div, true},      [EX_fma] = {of_fma, true},      [EX_rem] = {of_rem, false},
	[EX_neg] = {of_one, false},     [EX_abs] = {of_one, false},     [EX_min] = {of_larger, false},
	[EX_max] = {of_larger, false},  [EX_sin] = {of_sine, true},     [EX_cos] = {of_sine, true},
	[EX_tan] = {of_tan, true},      [EX_cosh] = {of_cosh, true},    [EX_pow] = {of_pow, true},
	[EX_sign] = {of_sign, false},   [EX_floor] = {of_floor, false}, [EX_ceil] = {of_ceil, false},
	[EX_trunc] = {of_trunc, false}, [EX_round] = {of_round, false}, [EX_sqrt] = {of_sqrt, true},
	[EX_exp] = {of_exp, true},      [EX_log] = {of_log, true},      [EX_log1p] = {of_log1p, true},
	[EX_expm1] = {of_expm1, true},  [EX_asin] = {of_asin, true},    [EX_acos] = {of_acos, true},
	[EX_atan] = {of_atan, true},    [EX_sinh] = {of_sinh, true},    [EX_tanh] = {of_tanh, true},
	[EX_asinh] = {of_asinh, true},  [EX_acosh] = {of_acosh, true},  [EX_atanh] = {of_atanh, true},
	[EX_erf] = {of_erf, true},
};

bool
bound_propagates(ExprOp op)
{
	static const bool jumps[EX_COUNT] = {
		[EX_rem] = true,  [EX_sign] = true,  [EX_floor] = true,
		[EX_ceil] = true, [EX_trunc] = true, [EX_round] = true,
	};
	return rules[op].propagate && !jumps[op];
}

double
bound_propagate(ExprOp op, const Lane *x, double y)
{
	return rules[op].propagate(x, y);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Error of the operation itself, relative: the kernel's, and ours in double. */
static double
own_error(ExprOp op, const Format *format)
{
	int ulp = scalar_info(op)->ulp;
	return rules[op].rounds ? (ulp ? 2 * ulp : 1) * (format->unit + 0x1p-53) : 0;
}

static void
settle_lanes(const Format *format, double *y, double *bound, int n)
{
	int is_wild = 0;
	for (int i = 0; i < n; i++)
		is_wild |= !(fabs(y[i]) + bound[i] <= format->most);
	for (int i = 0; is_wild && i < n; i++)
		bound[i] = settle(format, &y[i], bound[i]);
}

/* Products of exact values are most of the work: vectors of doubles. What +, *, / and sqrt make of
 * them shows whether it was rounded: a number of the type was not. */
static void
bound_exact(const double *restrict y, double *restrict bound, double own, double tiny, bool shows,
            int n)
{
	for (int i = 0; i < n; i++)
		bound[i] = shows && (double)(float)y[i] == y[i] ? 0 : fabs(y[i]) * own + tiny;
}

/* Positions and the like, made of iterators, symbols and constants: a kernel computes them as they
 * stand, so one rounding of what double says (of +, -, *, / and sqrt it is the same) is all. */
static bool
bound_given(Reg *out, const Instr *in, int n)
{
	double *y = out->own;
	if (!out->is_given || out->logical != DT_F32 || in->op == EX_fma ||
	    scalar_info(in->op)->ulp != 0)
		return false;
	for (int i = 0; i < n; i++)
		y[i] = (double)(float)y[i];
	return true;
}

static void
bound_float(Machine *m, const Instr *in, int n)
{
	Reg *out = &m->regs.data[in->out];
	Format format = format_of(out->logical);
	bool is_sum = in->op == EX_add || in->op == EX_sub;
	bool shows = out->logical == DT_F32 && scalar_info(in->op)->ulp == 0;
	double own = own_error(in->op, &format), *y = out->own;
	double tiny = own > 0 && !is_sum ? format.tiny : 0;
	bool are_exact = !has_bounds(m, in);
	if (are_exact && (own == 0 || bound_given(out, in, n)))
		return;
	double *bound = out->bound = out->own_bound;
	if (are_exact)
		bound_exact(y, bound, own, tiny, shows, n);
	for (int i = 0; !are_exact && i < n; i++) {
		Lane x[3];
		bool is_exact = shows && (double)(float)y[i] == y[i];
		for (int k = 0; k < in->narg; k++) {
			x[k] = reg_lane(m, in->arg[k], i);
			is_exact &= x[k].bound == 0;
		}
		bound[i] = rules[in->op].propagate(x, y[i]);
		if (!is_exact && fabs(y[i]) < (double)INFINITY) /* NaN: bound stays */
			bound[i] += fabs(y[i]) * own + tiny;
	}
	settle_lanes(&format, y, bound, n);
}

/* Integers: sums and products are followed, of everything else we know nothing: NaN is a product
 * with nothing known. */
static void
bound_integer(Machine *m, const Instr *in, int n)
{
	static const bool is_followed[EX_COUNT] = {
		[EX_add] = true, [EX_sub] = true, [EX_mul] = true, [EX_neg] = true,
		[EX_abs] = true, [EX_min] = true, [EX_max] = true,
	};
	double *bound = reg_bounds(m, in->out);
	for (int i = 0; i < n; i++) {
		Lane x[3];
		bool is_exact = true;
		for (int k = 0; k < in->narg; k++) {
			x[k] = reg_lane(m, in->arg[k], i);
			is_exact &= x[k].bound == 0;
		}
		double followed = is_followed[in->op] ? rules[in->op].propagate(x, 0) : (double)INFINITY;
		bound[i] = is_exact ? 0 : followed == followed ? followed : (double)INFINITY;
	}
}

static bool
is_undecided(Lane a, Lane b)
{
	double doubt = a.bound + b.bound;
	if (a.value != a.value || b.value != b.value)
		return doubt == INFINITY;
	return doubt > 0 && !(fabs(a.value - b.value) > doubt);
}

/* What is compared with itself, as x != x does for NaN, is the same whatever it is. */
static void
bound_compare_lanes(Machine *m, const Instr *in, int n)
{
	for (int i = 0; i < n; i++) {
		Lane a = reg_lane(m, in->arg[0], i), b = reg_lane(m, in->arg[1], i);
		reg_bounds(m, in->out)[i] = in->arg[0] == in->arg[1] ? isinf(a.bound) : is_undecided(a, b);
	}
}

/* An operand that decides the result alone makes the other one's doubt harmless. */
static void
bound_logic(Machine *m, const Instr *in, int n)
{
	double *bound = reg_bounds(m, in->out), decides = in->op == EX_or;
	for (int i = 0; i < n; i++) {
		Lane a = reg_lane(m, in->arg[0], i), b = in->narg > 1 ? reg_lane(m, in->arg[1], i) : a;
		bool is_open = a.bound > 0 || b.bound > 0;
		if (in->op == EX_and || in->op == EX_or)
			is_open &=
				!(a.bound == 0 && a.value == decides) && !(b.bound == 0 && b.value == decides);
		bound[i] = is_open;
	}
}

static void
bound_test(Machine *m, const Instr *in, int n)
{
	for (int i = 0; i < n; i++)
		reg_bounds(m, in->out)[i] = reg_lane(m, in->arg[0], i).bound == INFINITY;
}

/* Where the condition is open either arm is right: the bound reaches from one to the other. */
static void
bound_select(Machine *m, const Instr *in, int n)
{
	if (!has_bounds(m, in))
		return;
	double *bound = reg_bounds(m, in->out);
	for (int i = 0; i < n; i++) {
		Lane c = reg_lane(m, in->arg[0], i);
		Lane a = reg_lane(m, in->arg[1], i), b = reg_lane(m, in->arg[2], i);
		Lane taken = c.value != 0 ? a : b, other = c.value != 0 ? b : a;
		bound[i] = taken.bound;
		if (c.bound == 0)
			continue;
		double gap = fabs(taken.value - other.value) + other.bound;
		bool is_same = taken.value == other.value || (taken.value != taken.value && gap != gap);
		bound[i] = is_same      ? fmax(taken.bound, other.bound)
		           : gap == gap ? fmax(taken.bound, gap)
		                        : (double)INFINITY;
	}
}

static void
bound_any(Machine *m, const Instr *in, int n)
{
	const Reg *out = &m->regs.data[in->out];
	int rule = scalar_info(in->op)->rule;
	if (out->type == DT_F64)
		bound_float(m, in, n);
	else if (!has_bounds(m, in))
		return;
	else if (rule == RULE_cmp && m->regs.data[in->arg[0]].logical != DT_BOOL)
		bound_compare_lanes(m, in, n);
	else if (out->logical == DT_BOOL && rule != RULE_test)
		bound_logic(m, in, n);
	else if (rule == RULE_test)
		bound_test(m, in, n);
	else
		bound_integer(m, in, n);
}

BoundFn
bound_op(ExprOp op)
{
	return op == EX_select ? bound_select : bound_any;
}

/* ---- conversions and reads ------------------------------------------------------------------- */

/* arg[1] is the operand before the first step; the result is a number of type in->to. */
/* The bound of a value that may be rounded to the format or not; beyond it may be infinite. */
static double
unrounded(const Format *format, const Lane *x)
{
	double size = fabs(x->value) + x->bound;
	return size <= format->most ? x->bound + size * format->unit + format->tiny : INFINITY;
}

void
bound_cast(Machine *m, const Instr *in, int n)
{
	Reg *out = &m->regs.data[in->out];
	const Reg *from = &m->regs.data[in->arg[1]];
	bool is_float = out->type == DT_F64;
	if (!from->bound && (!is_float || from->logical == DT_BOOL))
		return;
	bool keeps_value = m->keeps_halves && (in->to == DT_F16 || in->to == DT_BF16);
	double *bound = from->bound || keeps_value ? reg_bounds(m, in->out) : NULL, *y = out->own;
	Format format = format_of((DType)in->to);
	for (int i = 0; i < n; i++) {
		Lane x = reg_lane(m, in->arg[1], i);
		double value = quantise(in->to, in->flags, x.value);
		if (keeps_value) {
			y[i] = x.value;
			bound[i] = unrounded(&format, &x);
			continue;
		}
		if (is_float)
			y[i] = value;
		if (!bound)
			continue;
		double below = quantise(in->to, in->flags, x.value - x.bound);
		double above = quantise(in->to, in->flags, x.value + x.bound);
		bound[i] = x.bound == 0 ? 0 : fmax(fabs(above - value), fabs(value - below));
		if (in->to == DT_BOOL && x.bound > 0 && fabs(x.value) <= x.bound)
			bound[i] = 1; /* true on both sides of 0 */
		if (x.bound == INFINITY || bound[i] != bound[i])
			bound[i] = INFINITY;
	}
}

static bool
are_zero(const double *bound, int n)
{
	int any = 0;
	for (int i = 0; i < n; i++)
		any |= bound[i] != 0;
	return !any;
}

void
bound_read(Machine *m, const Instr *in, int n)
{
	const ReadInfo *info = in->read;
	bool is_known = true;
	for (int k = 0; k < info->nreg; k++)
		is_known &= !m->regs.data[info->regs[k].which].bound;
	if (!info->store->bound && is_known)
		return;
	Reg *out = &m->regs.data[in->out];
	int64_t first;
	if (is_stretch(m, info, n, &first)) {
		out->bound = are_zero(info->store->bound + first, n) ? NULL : info->store->bound + first;
		return;
	}
	const unsigned char *mask = NULL;
	if (in->mask != NO_MASK && m->regs.data[in->mask].state == MASK_mixed && n > 1)
		mask = m->regs.data[in->mask].data;
	address_lanes(m, info, mask, n);
	double *bound = m->regs.data[in->out].bound = m->regs.data[in->out].own_bound, sum = 0;
	for (int i = 0; i < n; i++) {
		bound[i] = info->store->bound ? info->store->bound[m->index[i]] : 0;
		for (int k = 0; k < info->nreg; k++)
			if (reg_lane(m, info->regs[k].which, i).bound > 0)
				bound[i] = INFINITY;
		sum += bound[i];
	}
	if (sum == 0)
		m->regs.data[in->out].bound = NULL;
}

/* The same doubt as the index has, or its neighbours'. */
void
bound_at(Machine *m, const Instr *in, int n)
{
	if (!has_bounds(m, in))
		return;
	double *bound = reg_bounds(m, in->out);
	for (int i = 0; i < n; i++)
		bound[i] = reg_lane(m, in->arg[0], i).bound;
}

void
bound_bitcast(Machine *m, const Instr *in, int n)
{
	if (!has_bounds(m, in))
		return;
	double *bound = reg_bounds(m, in->out);
	for (int i = 0; i < n; i++)
		bound[i] = reg_lane(m, in->arg[0], i).bound > 0 ? (double)INFINITY : 0;
}

void
bound_own_error(ExprOp op, DType type, double *own, double *tiny)
{
	Format format = format_of(type);
	*own = own_error(op, &format);
	*tiny = *own > 0 && op != EX_add && op != EX_sub ? format.tiny : 0;
}

/* The own error of a product in f32, for products that are summed as they are made. */
void
bound_product_error(double *own, double *tiny)
{
	bound_own_error(EX_mul, DT_F32, own, tiny);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* n terms in any order: n-1 roundings of partial sums, each at most the sum of magnitudes. */
bool
bound_sum_finish(Machine *m)
{
	bool are_sure = true;
	Reg *acc = &m->regs.data[m->acc[0]];
	Format format = format_of(acc->logical);
	double count = m->nterm > 1 ? (double)(m->nterm - 1) : 0;
	double *sum = acc->own, *bound = acc->bound = acc->own_bound;
	int n = acc->is_uniform ? 1 : m->n;
	for (int i = 0; i < n; i++) {
		bound[i] = m->sum_bound[i] + count * (format.unit + 0x1p-53) * m->sum_abs[i];
		bool is_sure = m->sum_abs[i] + bound[i] <= format.most;
		bound[i] = is_sure ? bound[i] : settle(&format, &sum[i], bound[i]);
		are_sure &= is_sure;
	}
	return are_sure;
}
