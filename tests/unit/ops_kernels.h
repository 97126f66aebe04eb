/* A kernel for every operation of scalar.def on every type it takes, and for every cast: in a plain
 * and in a @vector loop. Lengths are no multiples of a vector, so that masked tails take part.
 */
#ifndef UNIT_OPS_KERNELS_H
#define UNIT_OPS_KERNELS_H

#include "codegen_run.h"

enum { POINTS = 203 };

static const DType TYPES[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,  DT_I16, DT_I32,
                              DT_I64, DT_U8,  DT_U16, DT_U32,  DT_U64, DT_BOOL};
static const DType STORAGE[] = {DT_F8E4M3FN, DT_F8E4M3FNUZ, DT_F8E5M2, DT_F8E5M2FNUZ, DT_U4,
                                DT_I4,       DT_F4E2M1,     DT_F8E8M0, DT_U2,         DT_I2};

typedef struct Suite1 {
	Arena *arena;
	ExprCtx *ctx;
	VEC(Kernel *) kernels;
	VEC(const Expr *) bodies; /* over variables a, b, c of the operands' types */
	VEC(Array **) data;
	const Var *vars[3];
} Suite1;

/* Values where operations have corners, then random bits. */
static inline void
fill_edges(Array *array, uint64_t *state)
{
	static const double floats[] = {
		0,     -0.0,   1,        -1,        0.5,   -0.5,         1.5,           2.5,    -2.5,  3,
		1e-40, -1e-40, 1e30,     -1e30,     65504, 65520,        1e-8,          0.7,    -0.7,  100,
		88.8,  -104,   INFINITY, -INFINITY, NAN,   2147483648.0, -2147483649.0, 9.3e18, 255.5, 256};
	static const int64_t integers[] = {
		0,   1,     -1,     2,     -2,        3,         7,         8,        15,
		16,  31,    32,     63,    64,        127,       -128,      128,      255,
		256, 32767, -32768, 65535, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
	int64_t count = array_count(array);
	bool is_float = dtype_is_float(array->type);
	fill_random(array, state);
	for (int64_t i = 0; i < count; i++) {
		uint64_t r = next_random(state);
		if (r & 1)
			continue;
		if (is_float)
			dtype_store_f64(array->type, array->data, i, floats[(r >> 8) % countof(floats)]);
		else if (array->type == DT_BOOL)
			dtype_store_i64(array->type, array->data, i, (int64_t)(r >> 8 & 1));
		else if (dtype_is_integer(array->type))
			dtype_store_i64(array->type, array->data, i, integers[(r >> 8) % countof(integers)]);
	}
}

/* kernel (A, B, C, Y, V): Y[i] = body in a plain loop, V[i] = body in a @vector loop. */
static inline void
add_kernel(Suite1 *suite, const char *name, int count, const DType *types, DType result,
           const Expr *(*build)(Suite1 *suite, const Expr *const *args, const void *what),
           const void *what)
{
	ExprCtx *ctx = suite->ctx;
	Arena *arena = suite->arena;
	Kernel *kernel = kernel_new(arena, ctx, name, NULL);
	const Dim *n = dim_const(ctx, POINTS);
	static const char *const names[] = {"A", "B", "C"};
	Buffer *in[3], *out[2];
	for (int k = 0; k < count; k++)
		in[k] = kernel_param(kernel, names[k], types[k], 1, &n, false);
	for (int k = 0; k < 2; k++) {
		out[k] = kernel_param(kernel, k ? "V" : "Y", result, 1, &n, true);
		Var *var = var_new(ctx, k ? "v" : "y", DT_I64, expr_i64(ctx, 0), n);
		const Expr *index = expr_var(ctx, var), *args[3];
		for (int j = 0; j < count; j++)
			args[j] = expr_read(ctx, &in[j]->tensor, &index);
		Stmt *store = stmt_store(kernel, out[k], &index, STORE_SET, build(suite, args, what));
		Stmt *loop = stmt_for(kernel, var, NULL, n, k ? BIND_VECTOR : BIND_SERIAL, store);
		kernel->body = stmt_append(kernel->body, loop);
	}
	kernel_finish(kernel);
	kernel_check(kernel);
	vec_push(arena, &suite->kernels, kernel);
}

typedef struct Operation {
	ExprOp op;
} Operation;

static inline const Expr *
build_operation(Suite1 *suite, const Expr *const *args, const void *what)
{
	const Operation *operation = what;
	return expr_op(suite->ctx, operation->op, args);
}

static inline const Expr *
build_cast(Suite1 *suite, const Expr *const *args, const void *what)
{
	return expr_cast(suite->ctx, *(const DType *)what, args[0]);
}

static inline void
add_operations(Suite1 *suite, const DType *types, size_t ntype)
{
	for (size_t t = 0; t < ntype; t++)
		for (int op = 0; op < EX_COUNT; op++) {
			const ScalarInfo *row = scalar_info(op);
			DType args[3] = {types[t], types[t], types[t]};
			if (!row)
				continue;
			if (row->rule == RULE_select)
				args[0] = DT_BOOL;
			DType result = scalar_result_type(op, args);
			if (result == DT_NONE)
				continue;
			Operation *operation = NEW(suite->arena, Operation);
			operation->op = (ExprOp)op;
			char *name = arena_printf(suite->arena, "%s_%s", row->name, dtype_name(types[t]));
			add_kernel(suite, name, row->arity, args, result, build_operation, operation);
		}
}

static inline void
add_floats(Suite1 *suite)
{
	add_operations(suite, TYPES, 2);
}

static inline void
add_short_floats(Suite1 *suite)
{
	add_operations(suite, TYPES + 2, 2);
}

static inline void
add_integers(Suite1 *suite)
{
	static const DType types[] = {DT_I8, DT_I32, DT_I64, DT_U16, DT_U64, DT_BOOL};
	add_operations(suite, types, countof(types));
}

static inline void
add_cast_kernel(Suite1 *suite, const DType *from, const DType *to)
{
	char *name = arena_printf(suite->arena, "%s_of_%s", dtype_name(*to), dtype_name(*from));
	add_kernel(suite, name, 1, from, *to, build_cast, to);
}

static inline void
add_casts(Suite1 *suite)
{
	for (size_t i = 0; i < countof(TYPES); i++)
		for (size_t k = 0; k < countof(TYPES); k++)
			if (i != k)
				add_cast_kernel(suite, &TYPES[i], &TYPES[k]);
}

static inline void
add_storage_casts(Suite1 *suite)
{
	static const DType wide[] = {DT_F32, DT_I32};
	for (size_t i = 0; i < countof(STORAGE); i++) {
		bool is_float = dtype_name(STORAGE[i])[0] == 'f';
		for (size_t k = 0; k < (is_float ? 1 : countof(wide)); k++) {
			add_cast_kernel(suite, &STORAGE[i], &wide[k]);
			add_cast_kernel(suite, &wide[k], &STORAGE[i]);
		}
	}
}

#endif
