#include "passes/scalar_laws.h"

#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"

typedef enum LawTypes { LAW_any, LAW_float, LAW_int, LAW_bool } LawTypes;

static const struct LawRow {
	LawTypes types;
	const char *before, *after;
} rows[] = {
#define LAW(types, before, after) {LAW_##types, before, after},
#include "passes/graph_rules.def"
#undef LAW
};

enum { LAWS = sizeof rows / sizeof *rows };

/* ---- reading them ---- */

static bool
is_for(LawTypes types, DType type)
{
	switch (types) {
	case LAW_any:
		return dtype_is_float(type) || dtype_is_integer(type);
	case LAW_float:
		return dtype_is_float(type);
	case LAW_int:
		return dtype_is_integer(type);
	default:
		return type == DT_BOOL;
	}
}

static const Expr *
read_side(ExprCtx *ctx, const Map *names, const char *text, DType type)
{
	Scanner scan;
	TextScope scope = {.names = names};
	scan_open(&scan, expr_ctx_arena(ctx), "graph_rules.def", text);
	return expr_parse_in(ctx, &scan, &scope, type);
}

const ScalarLaw *
scalar_law(ExprCtx *ctx, DType type, int number)
{
	for (int i = 0; i < LAWS; i++) {
		if (!is_for(rows[i].types, type) || number-- > 0)
			continue;
		Arena *arena = expr_ctx_arena(ctx);
		ScalarLaw *law = NEW(arena, ScalarLaw);
		law->x = expr_var(ctx, var_new(ctx, "x", type, NULL, NULL));
		law->y = expr_var(ctx, var_new(ctx, "y", type, NULL, NULL));
		Map names = {.arena = arena};
		map_set(&names, "x", (void *)(uintptr_t)law->x);
		map_set(&names, "y", (void *)(uintptr_t)law->y);
		map_set(&names, "T", (void *)(uintptr_t)law->x);
		law->before = read_side(ctx, &names, rows[i].before, type);
		law->after = read_side(ctx, &names, rows[i].after, type);
		return law;
	}
	return NULL;
}

/* ---- applying them ---- */

struct ScalarLaws {
	Arena *arena;
	ExprCtx *ctx;
	const ScalarLaw **of[DT_COUNT]; /* NULL behind the last */
	const Program *program;         /* at work */
	Value *const *values;
};

ScalarLaws *
laws_new(Arena *arena, ExprCtx *ctx)
{
	ScalarLaws *laws = NEW(arena, ScalarLaws);
	*laws = (ScalarLaws){.arena = arena, .ctx = ctx};
	return laws;
}

static const ScalarLaw *const *
laws_of(ScalarLaws *laws, DType type)
{
	if (!laws->of[type]) {
		laws->of[type] = NEW_N(laws->arena, const ScalarLaw *, LAWS + 1);
		for (int i = 0; i < LAWS && (laws->of[type][i] = scalar_law(laws->ctx, type, i));)
			i++;
	}
	return laws->of[type];
}

/* What stands for the variables of the pattern where it is e. */
typedef struct Bound {
	const ScalarLaw *law;
	const Expr *x, *y;
} Bound;

static bool
fits(Bound *bound, const Expr *pattern, const Expr *e)
{
	if (pattern->op == EX_var) {
		const Expr **is = pattern == bound->law->x ? &bound->x : &bound->y;
		if (!*is)
			*is = e;
		return *is == e;
	}
	if (pattern->op != e->op || pattern->type != e->type || pattern->argc != e->argc)
		return false;
	if (pattern->argc == 0)
		return pattern == e;
	for (int i = 0; i < pattern->argc; i++)
		if (!fits(bound, pattern->arg[i], e->arg[i]))
			return false;
	return true;
}

static const Expr *
by_law(ScalarLaws *laws, const Expr *e)
{
	const ScalarLaw *const *law = laws_of(laws, (DType)e->type);
	for (; *law; law++) {
		Bound bound = {.law = *law};
		if (!fits(&bound, (*law)->before, e))
			continue;
		const Expr *after = expr_replace(laws->ctx, (*law)->after, (*law)->x, bound.x);
		return bound.y ? expr_replace(laws->ctx, after, (*law)->y, bound.y) : after;
	}
	return e;
}

/* Bits of the largest number below which all integers are numbers of the type. */
static int
digits_of(DType type)
{
	bool has_sign = dtype_class(type) == DC_I;
	return dtype_is_float(type) ? dtype_float_range(type).digits : dtype_bits(type) - has_sign;
}

/* Whether each number of the one type is one of the other, so that a cast loses nothing. */
static bool
holds_all(DType type, DType of)
{
	if (!dtype_is_arithmetic(type) || !dtype_is_arithmetic(of) || type == DT_BOOL)
		return false;
	if (of == DT_BOOL)
		return true;
	if (dtype_is_float(of))
		return dtype_is_float(type) && digits_of(type) >= digits_of(of) && type != DT_F16;
	bool has_signs = dtype_is_signed(type) || !dtype_is_signed(of);
	return has_signs && digits_of(type) >= digits_of(of);
}

/* A cast of what a wider type held. Integers of floats saturate, those of integers wrap. */
static const Expr *
straight_cast(ExprCtx *ctx, const Expr *e)
{
	const Expr *inner = e->arg[0], *x = inner->op == EX_cast ? inner->arg[0] : NULL;
	if (!x || e->flags || inner->flags || !holds_all((DType)inner->type, (DType)x->type))
		return e;
	bool wraps = dtype_is_float((DType)inner->type) && dtype_is_integer((DType)x->type) &&
	             dtype_is_integer((DType)e->type) && !holds_all((DType)e->type, (DType)x->type);
	return wraps ? e : expr_cast(ctx, (DType)e->type, x);
}

/* The number that all elements of a constant are; NULL: they differ. */
static const Expr *
one_number(ExprCtx *ctx, const Array *array)
{
	int64_t count = array ? array_count(array) : 0;
	if (count == 0 || !dtype_is_arithmetic(array->type) || dtype_bits(array->type) % 8)
		return NULL;
	size_t size = (size_t)dtype_bits(array->type) / 8;
	const char *data = array->data;
	if (memcmp(data, data + size, (size_t)(count - 1) * size) != 0)
		return NULL;
	if (dtype_is_float(array->type))
		return expr_number(ctx, array->type, dtype_load_f64(array->type, data, 0));
	return expr_const(ctx, array->type, (Scalar){.i64 = dtype_load_i64(array->type, data, 0)});
}

static const Expr *
number_of_read(ScalarLaws *laws, ExprCtx *ctx, const Expr *e)
{
	const Program *p = laws->program;
	const Expr *number = NULL;
	for (int i = 0; i < p->ninput && !number; i++)
		if (p->inputs[i] == e->tensor && value_fixed(laws->values[i]))
			number = one_number(ctx, value_fixed(laws->values[i]));
	return number ? number : e;
}

static const Expr *
applied(ExprCtx *ctx, const Expr *e, ScalarLaws *laws)
{
	if (e->op == EX_read)
		return number_of_read(laws, ctx, e);
	if (e->argc == 0 || !dtype_is_arithmetic((DType)e->type))
		return e;
	return e->op == EX_cast ? straight_cast(ctx, e) : by_law(laws, e);
}

/* A bad index is reported whatever stands at the others: a table of equal numbers is read still. */
static const Expr *
apply(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Expr *made = applied(ctx, e, arg);
	return e->has_check && !made->has_check ? e : made;
}

const Program *
laws_apply(ScalarLaws *laws, const Program *program, Value *const *values)
{
	laws->program = program;
	laws->values = values;
	return program_rewrite(program, apply, laws);
}

const Expr *
laws_rewrite(ScalarLaws *laws, const Expr *e)
{
	laws->program = NULL;
	return expr_rewrite(laws->ctx, e, apply, laws);
}
