/* The rows of vendor.def. vendor_epilogue: match an epilogue against them, outermost operation
 * first.
 *
 *     max(R + B[f], 0.0)      max(x, 0.0) with x = R + B[f]      -> relu
 *                             x + z with x = R, z = B[f]         -> add of z
 *
 * A pattern is matched by one walk of both scalars. x binds to the part that holds the main result;
 * it occurs several times in some rows and must then be the same node, which interning makes a
 * comparison of pointers.
 */
#include "target/vendor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr/index/text.h"

typedef struct PostRow {
	const char *library;
	PostKind kind;
	const char *numbers, *pattern;
} PostRow;

#define CALL(...)
#define POST(library, kind, numbers, pattern) {library, POST_##kind, numbers, pattern},
static const PostRow rows[] = {
#include "target/vendor.def"
};
#undef CALL
#undef POST

int
vendor_count(void)
{
	return vendor_row_count;
}

const VendorRow *
vendor_at(int index)
{
	return &vendor_rows[index];
}

bool
vendor_has(const char *name)
{
	int i = 0;
	while (i < vendor_row_count && strcmp(vendor_rows[i].name, name) != 0)
		i++;
	return i < vendor_row_count;
}

bool
vendor_calls(const Target *target)
{
	for (int i = 0; i < vendor_count(); i++)
		if (target_calls(target, vendor_rows[i].library))
			return true;
	return false;
}

typedef struct Matcher {
	ExprCtx *ctx;
	const Expr *main;
	const Expr *x, *a, *b, *z; /* the pattern's leaves */
	const Expr *bound_x, *bound_a, *bound_b, *bound_z;
} Matcher;

static const double CONSTANT_TOLERANCE = 1e-6;

static bool
holds_main(const Matcher *m, const Expr *e)
{
	return expr_reads(e, m->main->tensor);
}

static bool
bind(const Expr **slot, const Expr *e)
{
	if (*slot)
		return *slot == e;
	*slot = e;
	return true;
}

static bool
same_number(const Expr *pattern, const Expr *e)
{
	double p = expr_const_f64(pattern), v = expr_const_f64(e);
	return fabs(p - v) <= CONSTANT_TOLERANCE * fabs(p); /* 0 is exactly 0: a bound, not a number */
}

static bool match(Matcher *m, const Expr *pattern, const Expr *e);

static bool
match_args(Matcher *m, const Expr *pattern, const Expr *e, bool swapped)
{
	for (int i = 0; i < pattern->argc; i++) {
		int k = swapped ? pattern->argc - 1 - i : i;
		if (!match(m, pattern->arg[i], e->arg[k]))
			return false;
	}
	return true;
}

static bool
is_commutative(const Expr *e)
{
	return e->op == EX_add || e->op == EX_mul || e->op == EX_max || e->op == EX_min;
}

static bool
match(Matcher *m, const Expr *pattern, const Expr *e)
{
	if (pattern == m->x)
		return holds_main(m, e) && bind(&m->bound_x, e);
	if (pattern == m->a)
		return expr_is_const(e) && bind(&m->bound_a, e);
	if (pattern == m->b)
		return expr_is_const(e) && bind(&m->bound_b, e);
	if (pattern == m->z)
		return e->op == EX_read && !holds_main(m, e) && bind(&m->bound_z, e);
	if (expr_is_const(pattern))
		return expr_is_const(e) && pattern->type == e->type && same_number(pattern, e);
	if (pattern->op != e->op || pattern->argc != e->argc || pattern->type != e->type)
		return false;
	Matcher saved = *m;
	if (match_args(m, pattern, e, false))
		return true;
	*m = saved;
	return is_commutative(e) && match_args(m, pattern, e, true);
}

/* Bounds the wrong way round are taken in one order by a pattern, in another by a library. */
static bool
in_order(const Matcher *m)
{
	return !m->bound_a || !m->bound_b || expr_const_f64(m->bound_a) <= expr_const_f64(m->bound_b);
}

/* The numbers of a row: "a, 0". */
static void
fill_in(const Matcher *m, const char *text, double numbers[POST_NUMBERS])
{
	for (int i = 0; *text && i < POST_NUMBERS; i++) {
		const Expr *bound = *text == 'a' ? m->bound_a : *text == 'b' ? m->bound_b : NULL;
		numbers[i] = bound ? expr_const_f64(bound) : strtod(text, NULL);
		text += strcspn(text, ",");
		text += strspn(text, ", ");
	}
}

static const Expr *
parse_pattern(ExprCtx *ctx, Arena *arena, const char *text, const Map *names)
{
	Scanner scan;
	scan_open(&scan, arena, "vendor.def", text);
	return expr_parse(ctx, &scan, names);
}

int
vendor_epilogue(ExprCtx *ctx, Arena *arena, const char *library, const Expr *body, const Expr *main,
                PostOp post[POST_MAX])
{
	Matcher blank = {.ctx = ctx, .main = main};
	Map names = {.arena = arena};
	const char *const leaves[] = {"x", "a", "b", "z"};
	const Expr **slots[] = {&blank.x, &blank.a, &blank.b, &blank.z};
	for (int i = 0; i < 4; i++) {
		*slots[i] = expr_var(ctx, var_new(ctx, leaves[i], DT_F32, NULL, NULL));
		map_set(&names, leaves[i], (void *)(uintptr_t)*slots[i]);
	}
	PostOp found[POST_MAX];
	int count = 0;
	while (body->op != EX_read || body->tensor != main->tensor) {
		size_t r = 0;
		Matcher m = blank;
		for (; r < countof(rows); r++) {
			m = blank;
			if (strcmp(rows[r].library, library) != 0)
				continue;
			if (match(&m, parse_pattern(ctx, arena, rows[r].pattern, &names), body) && in_order(&m))
				break;
		}
		if (r == countof(rows) || count == POST_MAX)
			return -1;
		found[count] = (PostOp){.post = {.kind = rows[r].kind}, .operand = m.bound_z};
		fill_in(&m, rows[r].numbers, found[count++].post.numbers);
		body = m.bound_x;
	}
	for (int i = 0; i < count; i++)
		post[i] = found[count - 1 - i];
	return count;
}
