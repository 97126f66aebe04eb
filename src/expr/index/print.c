/* Scalars as text.
 *
 * The text of a shared node appears wherever it is used, until that gets long: then nodes used more
 * than once are named first, `let t0 = …; …`, so that a text is never much longer than its graph.
 */
#include <math.h>
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"

enum { PREC_TERNARY = 0, PREC_LOWEST = 1, PREC_UNARY = 8, LONG_TEXT = 400, SHORT_NODE = 6 };

typedef struct Printer {
	Buf *buf;
	const TextNames *names;
	Memo *lets;           /* named nodes: number of the let; NULL: none */
	const Expr *defining; /* the node whose let is being written */
} Printer;

static void print_at(Printer *p, const Expr *e, int precedence);

/* ---- constants ------------------------------------------------------------------------------- */

/* Text that reads back as the same number once the type is known. */
static void
print_number(Buf *buf, const Expr *e)
{
	if (e->type == DT_BOOL)
		buf_puts(buf, e->value.u64 ? "true" : "false");
	else if (e->type == DT_F64)
		buf_double(buf, e->value.f64);
	else if (dtype_is_float(e->type))
		buf_float(buf, (float)expr_const_f64(e));
	else if (dtype_is_signed(e->type))
		buf_printf(buf, "%lld", (long long)e->value.i64);
	else
		buf_printf(buf, "%llu", (unsigned long long)e->value.u64);
}

static DType
bits_type(DType type)
{
	return dtype_bits(type) == 64 ? DT_U64 : dtype_bits(type) == 32 ? DT_U32 : DT_U16;
}

/* `nan` reads back as the quiet NaN that numbers convert to; others by their bits. */
static bool
is_odd_nan(const Expr *e)
{
	return dtype_is_float(e->type) && isnan(expr_const_f64(e)) &&
	       e != expr_number(e->ctx, e->type, (double)NAN);
}

static void
print_const(Printer *p, const Expr *e, bool is_typed)
{
	if (is_odd_nan(e)) {
		const Expr *bits = expr_bitcast(e->ctx, bits_type(e->type), e);
		buf_printf(p->buf, "bitcast(%s, ", dtype_name(e->type));
		print_const(p, bits, true);
		buf_putc(p->buf, ')');
	} else if (is_typed && e->type != DT_BOOL) {
		buf_printf(p->buf, "%s(", dtype_name(e->type));
		print_number(p->buf, e);
		buf_putc(p->buf, ')');
	} else {
		print_number(p->buf, e);
	}
}

/* ---- operations ------------------------------------------------------------------------------ */

/* An operand that takes its type from its neighbours `others`, or from `expected`. */
static void
print_operand(Printer *p, const Expr *e, int precedence, bool has_typed_neighbour)
{
	if (e->op == EX_const)
		print_const(p, e, !has_typed_neighbour);
	else
		print_at(p, e, precedence);
}

static bool
any_typed(const Expr *const *args, int count)
{
	for (int i = 0; i < count; i++)
		if (args[i]->op != EX_const || args[i]->type == DT_BOOL || is_odd_nan(args[i]))
			return true;
	return false;
}

/* An index: a bare number is i64. */
static void
print_index(Printer *p, const Expr *e)
{
	if (e->op == EX_const)
		print_const(p, e, e->type != DT_I64);
	else
		print_at(p, e, PREC_TERNARY);
}

static void
print_indices(Printer *p, int count, const Expr *const *index)
{
	buf_putc(p->buf, '[');
	for (int i = 0; i < count; i++) {
		buf_puts(p->buf, i > 0 ? ", " : "");
		print_index(p, index[i]);
	}
	buf_putc(p->buf, ']');
}

/* prev read at every loop but the scan's. */
static bool
is_plain_prev(const TextNames *names, const Expr *e)
{
	if (e->tensor != names->prev)
		return false;
	for (int i = 0; i < e->argc; i++)
		if (e->arg[i]->op != EX_iter || e->arg[i]->iter != i + (i >= names->prev_axis))
			return false;
	return true;
}

static void
print_read(Printer *p, const Expr *e)
{
	const char *name = NULL;
	if (p->names->tensors)
		name = map_find_ptr(p->names->tensors, e->tensor);
	if (!name)
		name = e->tensor->name ? e->tensor->name : "_";
	if (p->names->prev && e->tensor == p->names->prev)
		name = "prev";
	buf_puts(p->buf, name);
	if (!p->names->prev || !is_plain_prev(p->names, e))
		print_indices(p, e->argc, e->arg);
}

static void
print_at_index(Printer *p, const Expr *e)
{
	buf_puts(p->buf, "at(");
	print_index(p, e->arg[0]);
	buf_puts(p->buf, ", 0..");
	print_index(p, e->arg[1]);
	buf_puts(p->buf, e->flags & AT_WRAP ? ", wrap" : "");
	buf_puts(p->buf, e->flags & AT_CHECK ? ", check)" : ")");
}

static void
print_cast(Printer *p, const Expr *e)
{
	buf_printf(p->buf, e->op == EX_bitcast ? "bitcast(%s, " : "%s(", dtype_name(e->type));
	if (e->arg[0]->op == EX_const)
		print_const(p, e->arg[0], true);
	else
		print_at(p, e->arg[0], PREC_TERNARY);
	buf_puts(p->buf, e->flags & CAST_NOSAT ? ", nosat" : "");
	buf_puts(p->buf, e->flags & CAST_ROUND_DOWN ? ", down" : "");
	buf_puts(p->buf, e->flags & CAST_ROUND_NEAREST ? ", nearest" : "");
	buf_putc(p->buf, ')');
}

static void
print_call(Printer *p, const Expr *e, const ScalarInfo *row)
{
	bool typed = any_typed(e->arg, e->argc);
	buf_printf(p->buf, "%s(", row->name);
	for (int i = 0; i < e->argc; i++) {
		buf_puts(p->buf, i > 0 ? ", " : "");
		print_operand(p, e->arg[i], PREC_TERNARY, typed || i > 0);
	}
	buf_putc(p->buf, ')');
}

static void
print_infix(Printer *p, const Expr *e, const ScalarInfo *row)
{
	bool typed = any_typed(e->arg, e->argc);
	bool is_compare = row->rule == RULE_cmp;
	bool is_tight = e->type == DT_I64 && !is_compare;
	if (e->argc == 1) {
		buf_puts(p->buf, row->text);
		print_operand(p, e->arg[0], PREC_UNARY, typed);
		return;
	}
	print_operand(p, e->arg[0], row->precedence + is_compare, typed);
	buf_printf(p->buf, is_tight ? "%s" : " %s ", row->text);
	print_operand(p, e->arg[1], row->precedence + 1, typed);
}

/* select(in range, X[…], fill) as `X[…] else fill`, when the range is what reading says it is. */
static bool
is_read_or(const Printer *p, const Expr *e)
{
	const Expr *read = e->arg[1];
	if (read->op != EX_read || !p->names->facts || (p->lets && e->arg[0]->has_read))
		return false;
	uint64_t unused;
	if (p->lets && (memo_find(p->lets, read, &unused) || memo_find(p->lets, e->arg[0], &unused)))
		return false;
	return read_range(p->names->facts, read->tensor, read->arg) == e->arg[0];
}

static void
print_select(Printer *p, const Expr *e)
{
	if (is_read_or(p, e)) {
		print_read(p, e->arg[1]);
		buf_puts(p->buf, " else ");
		print_operand(p, e->arg[2], PREC_TERNARY, true);
		return;
	}
	bool typed = any_typed(e->arg + 1, 2);
	print_at(p, e->arg[0], PREC_LOWEST);
	buf_puts(p->buf, " ? ");
	print_operand(p, e->arg[1], PREC_LOWEST, typed);
	buf_puts(p->buf, " : ");
	print_operand(p, e->arg[2], PREC_TERNARY, true);
}

static void
print_leaf(Printer *p, const Expr *e)
{
	const TextNames *names = p->names;
	if (e->op == EX_symbol)
		buf_puts(p->buf, e->symbol->name);
	else if (e->op == EX_var)
		buf_puts(p->buf, e->var->name);
	else if (e->op == EX_iter && names->iters && e->iter < names->niter)
		buf_puts(p->buf, names->iters[e->iter]);
	else if (e->op == EX_iter)
		buf_printf(p->buf, "i%d", e->iter);
	else
		print_const(p, e, e->type != DT_I64);
}

static void
print_node(Printer *p, const Expr *e)
{
	const ScalarInfo *row = scalar_info(e->op);
	if (e->op == EX_read)
		print_read(p, e);
	else if (e->op == EX_at)
		print_at_index(p, e);
	else if (e->op == EX_cast || e->op == EX_bitcast)
		print_cast(p, e);
	else if (e->op == EX_select)
		print_select(p, e);
	else if (row && row->text)
		print_infix(p, e, row);
	else if (row)
		print_call(p, e, row);
	else
		print_leaf(p, e);
}

static void
print_at(Printer *p, const Expr *e, int precedence)
{
	uint64_t number;
	if (p->lets && e != p->defining && memo_find(p->lets, e, &number)) {
		buf_printf(p->buf, "$%d", (int)number);
		return;
	}
	const ScalarInfo *row = scalar_info(e->op);
	int own = e->op == EX_select ? PREC_TERNARY : row && row->text ? row->precedence : 9;
	const Expr *defining = p->defining;
	p->defining = NULL;
	buf_puts(p->buf, own < precedence ? "(" : "");
	print_node(p, e);
	buf_puts(p->buf, own < precedence ? ")" : "");
	p->defining = defining;
}

/* ---- names for shared nodes ------------------------------------------------------------------ */

/* Nodes used more than once, with more text than a name; sizes are those of the printed tree, with
 * an end. */
static void
choose_lets(Memo *walk, Memo *lets)
{
	int count = walk->nodes.count;
	for (int i = 0; i < 2 * count; i++) /* sizes, then uses */
		vec_push(walk->arena, &walk->numbers, i < count);
	int64_t *size = walk->numbers.data, *uses = size + count;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < walk->nodes.data[i]->argc; k++) {
			uint64_t at = 0;
			memo_find(walk, walk->nodes.data[i]->arg[k], &at);
			size[i] += size[at];
			size[i] = size[i] < INT32_MAX ? size[i] : INT32_MAX;
			uses[at]++;
		}
	if (size[count - 1] <= LONG_TEXT)
		return;
	for (int i = 0; i < count; i++)
		if (uses[i] > 1 && size[i] >= SHORT_NODE) {
			memo_set(lets, walk->nodes.data[i], (uint64_t)lets->nodes.count);
			vec_push(lets->arena, &lets->nodes, walk->nodes.data[i]);
		}
}

static void
print_lets(Printer *p, const Expr *e)
{
	Memo *walk = memo_take(e->ctx);
	walk_nodes(walk, e, WALK_TO_LEAVES);
	choose_lets(walk, p->lets);
	memo_give(e->ctx, walk);
	for (int i = 0; i < p->lets->nodes.count; i++) {
		const Expr *node = p->lets->nodes.data[i];
		buf_printf(p->buf, "let $%d = ", i);
		p->defining = node;
		print_at(p, node, PREC_TERNARY);
		p->defining = NULL;
		buf_puts(p->buf, "; ");
	}
}

static void
print_root(Buf *buf, const Expr *e, const TextNames *names, DType type, int precedence)
{
	Memo *lets = memo_take(e->ctx);
	Printer p = {.buf = buf, .names = names, .lets = lets};
	print_lets(&p, e);
	if (e->op == EX_const)
		print_const(&p, e, type != e->type);
	else
		print_at(&p, e, precedence);
	memo_give(e->ctx, lets);
}

void
expr_print_in(Buf *buf, const Expr *e, const TextNames *names, DType type)
{
	print_root(buf, e, names, type, PREC_TERNARY);
}

void
expr_print_list(Buf *buf, const Expr *conjunction, const TextNames *names)
{
	VEC(const Expr *) terms = {0};
	const Expr *e = conjunction;
	while (e->op == EX_and) {
		vec_push(buf->arena, &terms, e->arg[1]);
		e = e->arg[0];
	}
	print_root(buf, e, names, DT_BOOL, PREC_TERNARY);
	for (int i = terms.count - 1; i >= 0; i--) {
		buf_puts(buf, ", ");
		print_root(buf, terms.data[i], names, DT_BOOL, PREC_TERNARY);
	}
}

void
expr_print(Buf *buf, const Expr *e)
{
	expr_print_in(buf, e, &(TextNames){.niter = 0}, DT_I64);
}
