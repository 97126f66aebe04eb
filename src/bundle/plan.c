/* Plans: evaluating dims, placing temporaries, small questions. */
#include "bundle/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double
plan_number(int64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static int64_t
float_bits(double value)
{
	int64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static double
apply_float(PlanOp op, double a, double b)
{
	switch (op) {
	case PD_FADD:
		return a + b;
	case PD_FSUB:
		return a - b;
	case PD_FMUL:
		return a * b;
	case PD_FDIV:
		return a / b;
	case PD_FMIN:
		return isnan(a) || a < b ? a : b;
	default:
		return isnan(a) || a > b ? a : b;
	}
}

/* Apply a two-operand operator; false when the result does not exist in 64 bits. */
static bool
apply(PlanOp op, int64_t a, int64_t b, int64_t *result)
{
	switch (op) {
	case PD_ADD:
		return !__builtin_add_overflow(a, b, result);
	case PD_SUB:
		return !__builtin_sub_overflow(a, b, result);
	case PD_MUL:
		return !__builtin_mul_overflow(a, b, result);
	case PD_FLOORDIV:
	case PD_FLOORMOD: {
		if (b == 0 || (a == INT64_MIN && b == -1))
			return false;
		int64_t quotient = a / b, rest = a % b;
		bool is_low = rest != 0 && (rest < 0) != (b < 0);
		*result = op == PD_FLOORDIV ? quotient - is_low : is_low ? rest + b : rest;
		return true;
	}
	case PD_MIN:
		*result = a < b ? a : b;
		return true;
	case PD_MAX:
		*result = a > b ? a : b;
		return true;
	case PD_LESS:
		*result = a < b;
		return true;
	case PD_EQUAL:
		*result = a == b;
		return true;
	default:
		*result = float_bits(apply_float(op, plan_number(a), plan_number(b)));
		return true;
	}
}

/* Apply an operator of one operand. */
static bool
convert(PlanOp op, int64_t a, int64_t *result)
{
	double x = op == PD_FLOAT ? (double)a : plan_number(a);
	if (op == PD_INT) {
		bool fits = x >= -0x1p62 && x <= 0x1p62;
		*result = fits ? (int64_t)x : 0;
		return fits;
	}
	*result = float_bits(op == PD_F32     ? (double)(float)x
	                     : op == PD_FLOOR ? floor(x)
	                     : op == PD_CEIL  ? ceil(x)
	                     : op == PD_ROUND ? nearbyint(x)
	                                      : x);
	return op != PD_FLOAT || (a >= -((int64_t)1 << 53) && a <= (int64_t)1 << 53);
}

/* A value on the stack; operations on what does not exist do not exist. */
typedef struct Cell {
	int64_t value;
	bool exists;
} Cell;

static Cell
operate(PlanOp op, const Cell *operands)
{
	Cell result = {0};
	if (op == PD_SELECT) {
		if (operands[0].exists)
			result = operands[operands[0].value ? 1 : 2];
	} else if (plan_op_arity(op) == 1) {
		if (operands[0].exists)
			result.exists = convert(op, operands[0].value, &result.value);
	} else if (operands[0].exists && operands[1].exists)
		result.exists = apply(op, operands[0].value, operands[1].value, &result.value);
	return result;
}

bool
plan_dim_eval(const Plan *plan, int dim, const int64_t *symbols, int64_t *value)
{
	Cell stack[PLAN_DIM_DEPTH] = {{0}};
	int depth = 0;
	if (dim < 0 || dim >= plan->ndim)
		return false;
	const PlanDim *program = &plan->dims[dim];
	for (int i = 0; i < program->count; i++) {
		const PlanToken *token = &program->tokens[i];
		int arity = plan_op_arity(token->op);
		if (arity == 0) {
			if (depth == PLAN_DIM_DEPTH)
				return false;
			bool is_symbol = token->op == PD_SYMBOL;
			int64_t pushed = is_symbol ? symbols[token->value] : token->value;
			stack[depth++] = (Cell){pushed, !is_symbol || pushed != PLAN_UNBOUND};
			continue;
		}
		if (depth < arity)
			return false;
		depth -= arity - 1;
		stack[depth - 1] = operate(token->op, &stack[depth - 1]);
	}
	*value = stack[0].value;
	return depth == 1 && stack[0].exists;
}

/* A buffer to place, and where it lies. */
typedef struct Place {
	int64_t size, offset;
	int index, first, last;
} Place;

static int
compare_sizes(const void *a, const void *b)
{
	const Place *x = a, *y = b;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->index - y->index;
}

/* Put `place` into the first gap among `placed` (sorted by offset) that is free during its life,
 * and into the list. False on overflow. */
static bool
place_one(Place *placed, int count, Place place)
{
	int64_t at = 0, end;
	for (int i = 0; i < count; i++) {
		const Place *other = &placed[i];
		if (other->first > place.last || other->last < place.first)
			continue;
		if (other->offset >= at && other->offset - at >= place.size)
			break;
		if (other->offset + other->size > at)
			at = other->offset + other->size;
	}
	if (__builtin_add_overflow(at, place.size, &end))
		return false;
	place.offset = at;
	int i = count;
	for (; i > 0 && placed[i - 1].offset > at; i--)
		placed[i] = placed[i - 1];
	placed[i] = place;
	return true;
}

int64_t
plan_place(const Plan *plan, PlanPlace place, const int64_t *size, int64_t *offset)
{
	int count = plan->nbuffer;
	Place *queue = calloc((size_t)count * 2 + 1, sizeof *queue), *placed = queue + count;
	int wanted = 0;
	int64_t total = 0;
	if (!queue)
		return -1;
	for (int i = 0; i < count; i++) {
		const PlanBuffer *b = &plan->buffers[i];
		offset[i] = -1;
		if (size[i] < 0 || b->place != place)
			continue;
		if (size[i] > INT64_MAX - 63) {
			total = -1;
			break;
		}
		queue[wanted++] = (Place){(size[i] + 63) / 64 * 64, 0, i, b->first, b->last};
	}
	qsort(queue, (size_t)wanted, sizeof *queue, compare_sizes);
	for (int i = 0; i < wanted && total >= 0; i++)
		if (!place_one(placed, i, queue[i]))
			total = -1;
	for (int i = 0; i < wanted && total >= 0; i++) {
		offset[placed[i].index] = placed[i].offset;
		if (placed[i].offset + placed[i].size > total)
			total = placed[i].offset + placed[i].size;
	}
	free(queue);
	return total;
}

bool
plan_view_fits(int rank, const int64_t *dims, const int64_t *strides, int64_t offset, int64_t count)
{
	int64_t low = offset, high = offset;
	for (int i = 0; i < rank; i++) {
		int64_t span;
		if (dims[i] == 0)
			return true; /* no element is ever touched */
		if (__builtin_mul_overflow(dims[i] - 1, strides[i], &span) ||
		    __builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high))
			return false;
	}
	return low >= 0 && high < count;
}

void
plan_strides(int rank, const int64_t *dims, int64_t *strides)
{
	int64_t step = 1;
	for (int i = rank - 1; i >= 0; i--) {
		strides[i] = step;
		if (dims[i] > 0 && __builtin_mul_overflow(step, dims[i], &step))
			step = 0; /* another extent is 0: there are no elements */
	}
}

int
plan_root(const Plan *plan, int buffer)
{
	while (plan->buffers[buffer].kind == PB_VIEW)
		buffer = plan->buffers[buffer].base;
	return buffer;
}

const StepAttr *
plan_attr(const PlanStep *step, const char *name)
{
	return step_attr(step->nattr, step->attrs, name);
}

int64_t
plan_attr_int(const PlanStep *step, const char *name, int index, int64_t otherwise)
{
	return step_attr_int(step->nattr, step->attrs, name, index, otherwise);
}
