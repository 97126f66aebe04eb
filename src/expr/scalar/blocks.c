/* Block operations: loops around the prelude's functions, one per operation and C type, and the
 * table that finds them. Light operations have a loop for each step of their operands, so that the
 * compiler makes vectors of them; heavy ones do not care.
 */
#include "expr/scalar/blocks.h"

#include <math.h>
#include <string.h>

#include "expr/scalar/math.h"

#define UNARY(T, R, name, value) \
	static void T##_##name(int n, void *out, const Operand *args) \
	{ \
		const tw_##T *a = args[0].data; \
		R *y = out; \
		for (int i = 0; i < n; i++) { \
			const tw_##T x = a[i * args[0].step]; \
			y[i] = (R)(value); \
		} \
	}

#define BINARY(T, R, name, value) \
	static void T##_##name(int n, void *out, const Operand *args) \
	{ \
		const tw_##T *left = args[0].data, *right = args[1].data; \
		R *y = out; \
		if (args[0].step && args[1].step) { \
			for (int i = 0; i < n; i++) { \
				const tw_##T a = left[i], b = right[i]; \
				y[i] = (R)(value); \
			} \
		} else if (args[0].step) { \
			const tw_##T b = *right; \
			for (int i = 0; i < n; i++) { \
				const tw_##T a = left[i]; \
				y[i] = (R)(value); \
			} \
		} else { \
			const tw_##T a = *left; \
			const int step = args[1].step; \
			for (int i = 0; i < n; i++) { \
				const tw_##T b = right[i * step]; \
				y[i] = (R)(value); \
			} \
		} \
	}

#define SELECT(T) \
	static void T##_select(int n, void *out, const Operand *args) \
	{ \
		const tw_u8 *c = args[0].data; \
		const tw_##T *a = args[1].data, *b = args[2].data; \
		const int sc = args[0].step, sa = args[1].step, sb = args[2].step; \
		tw_##T *y = out; \
		if (sc && sa && sb) { \
			for (int i = 0; i < n; i++) \
				y[i] = c[i] ? a[i] : b[i]; \
			return; \
		} \
		for (int i = 0; i < n; i++) \
			y[i] = c[i * sc] ? a[i * sa] : b[i * sb]; \
	}

#define COMPARE(T) \
	BINARY(T, tw_u8, lt, a < b) \
	BINARY(T, tw_u8, le, a <= b) \
	BINARY(T, tw_u8, gt, a > b) \
	BINARY(T, tw_u8, ge, a >= b) \
	BINARY(T, tw_u8, eq, a == b) \
	BINARY(T, tw_u8, ne, a != b) \
	SELECT(T)

/* clang-format off */
#define FLOAT_CALLS(X, T) \
	X(T, neg) X(T, abs) X(T, sign) X(T, floor) X(T, ceil) X(T, trunc) X(T, round) X(T, sqrt) \
	X(T, exp) X(T, log) X(T, log1p) X(T, expm1) X(T, sin) X(T, cos) X(T, tan) X(T, asin) \
	X(T, acos) X(T, atan) X(T, sinh) X(T, cosh) X(T, tanh) X(T, asinh) X(T, acosh) X(T, atanh) \
	X(T, erf)
#define INT_CALLS(X, T) \
	X(T, add) X(T, sub) X(T, mul) X(T, floordiv) X(T, floormod) X(T, quot) X(T, rem) X(T, min) \
	X(T, max) X(T, pow) X(T, bitand) X(T, bitor) X(T, bitxor) X(T, shl) X(T, shr)
/* clang-format on */
#define FLOAT_CALL(T, name) UNARY(T, tw_##T, name, tw_##name##_##T(x))

#define FLOATS(T, fused) \
	COMPARE(T) \
	BINARY(T, tw_##T, add, a + b) \
	BINARY(T, tw_##T, sub, a - b) \
	BINARY(T, tw_##T, mul, a *b) \
	BINARY(T, tw_##T, div, a / b) \
	BINARY(T, tw_##T, rem, tw_rem_##T(a, b)) \
	BINARY(T, tw_##T, min, tw_min_##T(a, b)) \
	BINARY(T, tw_##T, max, tw_max_##T(a, b)) \
	BINARY(T, tw_##T, pow, tw_pow_##T(a, b)) \
	FLOAT_CALLS(FLOAT_CALL, T) \
	UNARY(T, tw_u8, isnan, tw_isnan_##T(x)) \
	UNARY(T, tw_u8, isinf, tw_isinf_##T(x)) \
	static void T##_fma(int n, void *out, const Operand *args) \
	{ \
		const tw_##T *a = args[0].data, *b = args[1].data, *c = args[2].data; \
		tw_##T *y = out; \
		for (int i = 0; i < n; i++) \
			y[i] = fused(a[i * args[0].step], b[i * args[1].step], c[i * args[2].step]); \
	}

FLOATS(f64, fma)
FLOATS(f32, fmaf)

#define INT_CALL(T, name) BINARY(T, tw_##T, name, tw_##name##_##T(a, b))
#define INTS(T) \
	COMPARE(T) \
	INT_CALLS(INT_CALL, T) \
	UNARY(T, tw_##T, neg, tw_neg_##T(x)) \
	UNARY(T, tw_##T, abs, tw_abs_##T(x)) \
	UNARY(T, tw_##T, sign, tw_sign_##T(x)) \
	UNARY(T, tw_##T, bitnot, tw_bitnot_##T(x))

INTS(i8)
INTS(i16)
INTS(i32)
INTS(i64)
INTS(u8)
INTS(u16)
INTS(u32)
INTS(u64)

/* state[i] = operation of state[i] and a term: in place, which the compiler must be told. */
#define FOLD(T, name, value) \
	static void T##_fold_##name(int n, void *state, Operand term) \
	{ \
		tw_##T *restrict y = state; \
		const tw_##T *restrict x = term.data; \
		if (term.step) { \
			for (int i = 0; i < n; i++) { \
				const tw_##T a = y[i], b = x[i]; \
				y[i] = (tw_##T)(value); \
			} \
		} else { \
			const tw_##T b = *x; \
			for (int i = 0; i < n; i++) { \
				const tw_##T a = y[i]; \
				y[i] = (tw_##T)(value); \
			} \
		} \
	}
#define FOLDS(T) \
	FOLD(T, add, tw_add_##T(a, b)) \
	FOLD(T, mul, tw_mul_##T(a, b)) \
	FOLD(T, min, tw_min_##T(a, b)) \
	FOLD(T, max, tw_max_##T(a, b))
#define tw_add_f32(a, b) ((a) + (b))
#define tw_add_f64(a, b) ((a) + (b))
#define tw_mul_f32(a, b) ((a) * (b))
#define tw_mul_f64(a, b) ((a) * (b))
FOLDS(f32)
FOLDS(f64)
FOLDS(i32)
FOLDS(i64)
FOLDS(u32)
FOLDS(u64)

BlockFold
block_fold(ExprOp op, DType type)
{
	static const struct {
		DType type;
		BlockFold add, mul, min, max;
	} rows[] = {
#define FOLD_ROW(NAME, T) {DT_##NAME, T##_fold_add, T##_fold_mul, T##_fold_min, T##_fold_max},
		FOLD_ROW(F32, f32) FOLD_ROW(F64, f64) FOLD_ROW(I32, i32) FOLD_ROW(I64, i64)
			FOLD_ROW(U32, u32) FOLD_ROW(U64, u64)};
	for (size_t i = 0; i < countof(rows); i++)
		if (rows[i].type == type)
			return op == EX_add   ? rows[i].add
			       : op == EX_mul ? rows[i].mul
			       : op == EX_min ? rows[i].min
			       : op == EX_max ? rows[i].max
			                      : NULL;
	return NULL;
}

/* ---- sums of products ------------------------------------------------------------------------ */

#define FOLD_PRODUCT(T) \
	static void T##_fold_product(int n, void *state, Operand a, Operand b) \
	{ \
		tw_##T *restrict y = state; \
		const tw_##T *left = a.step ? a.data : b.data, *right = a.step ? b.data : a.data; \
		if (a.step && b.step) { \
			for (int i = 0; i < n; i++) \
				y[i] = tw_add_##T(y[i], tw_mul_##T(left[i], right[i])); \
		} else { \
			const tw_##T factor = *right; \
			for (int i = 0; i < n; i++) \
				y[i] = tw_add_##T(y[i], tw_mul_##T(left[i], factor)); \
		} \
	}
FOLD_PRODUCT(f32)
FOLD_PRODUCT(f64)
FOLD_PRODUCT(i32)
FOLD_PRODUCT(i64)

BlockFoldProduct
block_fold_product(DType type)
{
	return type == DT_F32   ? f32_fold_product
	       : type == DT_F64 ? f64_fold_product
	       : type == DT_I32 ? i32_fold_product
	       : type == DT_I64 ? i64_fold_product
	                        : NULL;
}

void
block_add_terms(int n, SumLanes lanes, Operand term, const double *bound)
{
	double *restrict sum = lanes.sum, *restrict size = lanes.size, *restrict doubt = lanes.bound;
	const double *x = term.data;
	if (term.step) {
		for (int i = 0; i < n; i++) {
			sum[i] += x[i];
			size[i] += fabs(x[i]);
		}
	} else {
		for (int i = 0; i < n; i++) {
			sum[i] += *x;
			size[i] += fabs(*x);
		}
	}
	for (int i = 0; bound && i < n; i++)
		doubt[i] += bound[i * term.step];
}

/* Inlined for each kind of factors: `step` is b's, `are_exact` says that there are no bounds. */
static inline __attribute__((always_inline)) void
add_products(int n, SumLanes lanes, const double *a, const double *b, int step,
             const double *const *bounds, bool are_exact, double own, double tiny)
{
	double *restrict sum = lanes.sum, *restrict size = lanes.size, *restrict doubt = lanes.bound;
	for (int i = 0; i < n; i++) {
		double y = a[i] * b[i * step], most = fabs(y), error = most * own + tiny;
		double p = are_exact ? 0 : bounds[0][i], q = are_exact ? 0 : bounds[1][i * step];
		double carried = are_exact ? 0 : fabs(a[i]) * q + fabs(b[i * step]) * p + p * q;
		bool is_exact = ((double)(float)y == y) & (are_exact || ((p == 0) & (q == 0)));
		sum[i] += y;
		size[i] += most;
		doubt[i] += carried + (is_exact ? 0 : error);
	}
}

void
block_add_products(int n, SumLanes lanes, const Operand *factors, const double *const *bounds,
                   double own, double tiny)
{
	static const double zeros[BLOCK_LANES];
	int left = factors[0].step ? 0 : 1, step = factors[1 - left].step;
	const double *a = factors[left].data, *b = factors[1 - left].data;
	const double *both[2] = {bounds[left] ? bounds[left] : zeros,
	                         bounds[1 - left] ? bounds[1 - left] : zeros};
	bool are_exact = !bounds[0] && !bounds[1];
	if (are_exact && step)
		add_products(n, lanes, a, b, 1, both, true, own, tiny);
	else if (are_exact)
		add_products(n, lanes, a, b, 0, both, true, own, tiny);
	else if (step)
		add_products(n, lanes, a, b, 1, both, false, own, tiny);
	else
		add_products(n, lanes, a, b, 0, both, false, own, tiny);
}

/* Bools are 0 or 1: arithmetic on them is that of one bit. */
typedef tw_u8 tw_bool;
BINARY(bool, tw_u8, or, a | b)
BINARY(bool, tw_u8, and, a &b)
BINARY(bool, tw_u8, ne, a ^ b)
BINARY(bool, tw_u8, less, a &(b ^ 1)) /* floordiv, rem and the like of x by 0 give 0 */
BINARY(bool, tw_u8, power, a | (b ^ 1))
BINARY(bool, tw_u8, zero, 0 & a & b)
UNARY(bool, tw_u8, not, x ^ 1)
UNARY(bool, tw_u8, same, x)

BINARY(u32, tw_i32, dotus, tw_dotus_u32(a, b))
BINARY(u32, tw_i32, dotss, tw_dotss_u32(a, b))

#define AT(T, name) [EX_##name] = T##_##name,
#define COMPARE_ROW(T) AT(T, lt) AT(T, le) AT(T, gt) AT(T, ge) AT(T, eq) AT(T, ne) AT(T, select)
#define FLOAT_ROW(NAME, T) \
	[DT_##NAME] = {COMPARE_ROW(T) AT(T, add) AT(T, sub) AT(T, mul) AT(T, div) AT(T, rem) \
	                   AT(T, min) AT(T, max) AT(T, pow) AT(T, fma) FLOAT_CALLS(AT_SWAP, T) \
	                       AT(T, isnan) AT(T, isinf)},
#define AT_SWAP(T, name) AT(T, name)
#define INT_CELLS(T) \
	COMPARE_ROW(T) INT_CALLS(AT_SWAP, T) AT(T, neg) AT(T, abs) AT(T, sign) AT(T, bitnot)
#define INT_ROW(NAME, T) [DT_##NAME] = {INT_CELLS(T)},
#define WORD_ROW(NAME, T) [DT_##NAME] = {INT_CELLS(T) AT(T, dotus) AT(T, dotss)},

/* clang-format off */
static const BlockFn operations[DT_COUNT][EX_COUNT] = {
	FLOAT_ROW(F64, f64)
	FLOAT_ROW(F32, f32)
	INT_ROW(I8, i8)
	INT_ROW(I16, i16)
	INT_ROW(I32, i32)
	INT_ROW(I64, i64)
	INT_ROW(U8, u8)
	INT_ROW(U16, u16)
	WORD_ROW(U32, u32)
	INT_ROW(U64, u64)
	[DT_BOOL] = {
		AT(u8, lt) AT(u8, le) AT(u8, gt) AT(u8, ge) AT(u8, eq) AT(u8, select)
		AT(bool, ne) AT(bool, and) AT(bool, or) AT(bool, not)
		[EX_add] = bool_ne, [EX_sub] = bool_ne, [EX_mul] = bool_and, [EX_neg] = bool_same,
		[EX_min] = bool_and, [EX_max] = bool_or, [EX_abs] = bool_same, [EX_sign] = bool_same,
		[EX_bitand] = bool_and, [EX_bitor] = bool_or, [EX_bitxor] = bool_ne,
		[EX_bitnot] = bool_not, [EX_floordiv] = bool_and, [EX_quot] = bool_and,
		[EX_rem] = bool_zero, [EX_floormod] = bool_zero, [EX_pow] = bool_power,
		[EX_shl] = bool_less, [EX_shr] = bool_less,
	},
};
/* clang-format on */

DType
block_type(DType type)
{
	if (type == DT_F16 || type == DT_BF16)
		return DT_F32;
	return type == DT_BOOL || dtype_class(type) == DC_S ? DT_U8 : type;
}

size_t
block_size(DType type)
{
	return (size_t)dtype_bits(block_type(type)) / 8;
}

bool
block_rounds(DType type)
{
	return type == DT_F16 || type == DT_BF16;
}

BlockFn
block_op(ExprOp op, DType type)
{
	if (op == EX_select)
		return operations[block_type(type)][op];
	return operations[block_rounds(type) ? DT_F32 : type][op];
}
