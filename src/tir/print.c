/* Kernels as text (the form at the head of stmt.h); parse.c reads it back.
 *
 * Scalars print by the names of their variables, so a name that is already visible where a variable
 * is defined gets a number: the printed kernel is first given unique names, which stay.
 */
#include "expr/index/text.h"
#include "tir/script.h"
#include "tir/text.h"

#include <string.h>

static const char *const BIND_NAMES[BIND_COUNT] = {
	[BIND_PARALLEL] = "parallel", [BIND_VECTOR] = "vector",     [BIND_UNROLL] = "unroll",
	[BIND_TURN] = "turn",         [BIND_BLOCK_X] = "block.x",   [BIND_BLOCK_Y] = "block.y",
	[BIND_BLOCK_Z] = "block.z",   [BIND_THREAD_X] = "thread.x", [BIND_THREAD_Y] = "thread.y",
	[BIND_THREAD_Z] = "thread.z",
};

static const char *const SCOPE_NAMES[] = {
	[SCOPE_REG] = "reg",
	[SCOPE_STACK] = "stack",
	[SCOPE_SCRATCH] = "scratch",
	[SCOPE_SHARED] = "shared",
};

const char *
bind_name(Bind bind)
{
	return BIND_NAMES[bind];
}

Bind
bind_find(const char *name)
{
	for (int bind = 0; bind < BIND_COUNT; bind++)
		if (BIND_NAMES[bind] && strcmp(BIND_NAMES[bind], name) == 0)
			return (Bind)bind;
	return BIND_COUNT;
}

const char *
scope_name(Scope scope)
{
	return SCOPE_NAMES[scope];
}

int
scope_by_name(const char *name)
{
	for (int scope = SCOPE_REG; scope < (int)countof(SCOPE_NAMES); scope++)
		if (strcmp(SCOPE_NAMES[scope], name) == 0)
			return scope;
	return -1;
}

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct Names {
	const Kernel *kernel;
	Map taken;   /* name to its owner */
	Map numbers; /* name to the last number behind it; those below are taken */
} Names;

/* Give *name's owner a name nobody else in the kernel has. */
static void
claim(Names *names, const char **name, const void *owner)
{
	const char *base = *name && **name ? *name : "v";
	const void *holder = map_find(&names->taken, base);
	if (holder == owner)
		return;
	uintptr_t number = (uintptr_t)map_find(&names->numbers, base);
	while (holder) {
		const char *other = arena_printf(names->kernel->arena, "%s_%zu", base, (size_t)++number);
		holder = map_find(&names->taken, other);
		if (!holder || holder == owner)
			*name = other;
		if (holder == owner)
			return;
		map_set(&names->numbers, base, (void *)number);
	}
	map_set(&names->taken, *name, (void *)owner);
}

Map
kernel_name_apart(const Kernel *kernel)
{
	Names names = {
		.kernel = kernel, .taken = {.arena = kernel->arena}, .numbers = {.arena = kernel->arena}};
	for (int i = 0; i < kernel->symbols.count; i++)
		map_set(&names.taken, kernel->symbols.data[i]->name, (void *)kernel->symbols.data[i]);
	for (int i = 0; i < kernel->buffers.count; i++)
		claim(&names, &kernel->buffers.data[i]->tensor.name, kernel->buffers.data[i]);
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->var)
			claim(&names, (const char **)&((Var *)stmt->var)->name, stmt->var);
		if (stmt->kind == STMT_ALLOC)
			claim(&names, (const char **)&((Buffer *)stmt->buffer)->tensor.name, stmt->buffer);
	}
	return names.taken;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Constants of the expected type are printed bare. */
static void
print_scalar(Buf *buf, const Expr *e, DType type)
{
	expr_print_in(buf, e, &(TextNames){0}, type);
}

static void
print_indent(Buf *buf, int depth)
{
	for (int i = 0; i < depth; i++)
		buf_puts(buf, "  ");
}

static void
print_type(Buf *buf, const Buffer *buffer)
{
	const Tensor *tensor = &buffer->tensor;
	buf_puts(buf, dtype_name(tensor->type));
	for (int d = 0; d < tensor->rank; d++) {
		buf_puts(buf, d ? "," : "[");
		dim_print(buf, tensor->hi[d]);
	}
	buf_puts(buf, tensor->rank ? "]" : "");
	for (int d = 0; buffer->stride && d < tensor->rank; d++) {
		buf_puts(buf, d ? ", " : " strides(");
		dim_print(buf, buffer->stride[d]);
	}
	buf_puts(buf, buffer->stride && tensor->rank ? ")" : "");
}

static void
print_range(Buf *buf, const Stmt *loop)
{
	int64_t lo;
	buf_printf(buf, "%s in ", loop->var->name);
	if (!expr_as_i64(loop->lo, &lo) || lo != 0) {
		print_scalar(buf, loop->lo, DT_I64);
		buf_puts(buf, "..");
	}
	print_scalar(buf, loop->hi, DT_I64);
}

static void print_list(Buf *buf, const Stmt *list, int depth);

/* The statements under a header: one on its own line, several (or none) in braces. */
static void
print_block(Buf *buf, const Stmt *list, int depth, bool in_braces)
{
	if (list && !list->next && !in_braces) {
		buf_putc(buf, '\n');
		print_list(buf, list, depth + 1);
		return;
	}
	buf_puts(buf, " {\n");
	print_list(buf, list, depth + 1);
	print_indent(buf, depth);
	buf_puts(buf, "}\n");
}

static bool
is_serial(const Stmt *stmt)
{
	return stmt && stmt->kind == STMT_FOR && stmt->bind == BIND_SERIAL;
}

/* Serial loops that nest perfectly share a line. */
static void
print_for(Buf *buf, const Stmt *stmt, int depth)
{
	buf_puts(buf, "for ");
	print_range(buf, stmt);
	while (is_serial(stmt) && is_serial(stmt->body) && !stmt->body->next) {
		stmt = stmt->body;
		buf_puts(buf, ", ");
		print_range(buf, stmt);
	}
	if (bind_name(stmt->bind))
		buf_printf(buf, " @%s", bind_name(stmt->bind));
	if (stmt->lanes)
		buf_printf(buf, "(i%dx%d)", stmt->lane_bytes * 8, stmt->lanes);
	print_block(buf, stmt->body, depth, false);
}

/* Y[i, j] += */
static void
print_target(Buf *buf, const Stmt *stmt)
{
	int rank = stmt->buffer->tensor.rank;
	buf_printf(buf, "%s[", stmt->buffer->tensor.name);
	for (int d = 0; d < rank; d++) {
		buf_puts(buf, d ? ", " : "");
		print_scalar(buf, stmt->index[d], DT_I64);
	}
	buf_puts(buf, "] ");
	if (stmt->op == REDUCE_sum || stmt->op == REDUCE_prod)
		buf_puts(buf, stmt->op == REDUCE_sum ? "+" : "*");
	else if (stmt->op != STORE_SET)
		buf_puts(buf, reduce_info(stmt->op)->text);
	buf_puts(buf, "= ");
}

static void
print_store(Buf *buf, const Stmt *stmt)
{
	print_target(buf, stmt);
	print_scalar(buf, stmt->value, stmt->buffer->tensor.type);
	buf_putc(buf, '\n');
}

static void
print_warp_op(Buf *buf, const Stmt *stmt)
{
	DType result = stmt->buffer ? stmt->buffer->tensor.type : DT_NONE;
	if (stmt->buffer)
		print_target(buf, stmt);
	buf_printf(buf, "%s(", stmt->warp_op->name);
	for (int i = 0; i < stmt->warp_op->nargs; i++) {
		buf_puts(buf, i ? ", " : "");
		print_scalar(buf, stmt->args[i], warp_op_operand_type(stmt->warp_op, i, result));
	}
	buf_puts(buf, ")\n");
}

static void
print_if(Buf *buf, const Stmt *stmt, int depth)
{
	buf_puts(buf, "if (");
	print_scalar(buf, stmt->condition, DT_BOOL);
	buf_puts(buf, ")");
	print_block(buf, stmt->body, depth, stmt->other != NULL);
	if (!stmt->other)
		return;
	print_indent(buf, depth);
	buf_puts(buf, "else");
	print_block(buf, stmt->other, depth, true);
}

static void
print_alloc(Buf *buf, const Stmt *stmt)
{
	buf_printf(buf, "%s: ", stmt->buffer->tensor.name);
	print_type(buf, stmt->buffer);
	buf_printf(buf, " @%s", scope_name(stmt->buffer->scope));
	if (stmt->buffer->lanes)
		buf_printf(buf, "(%d)", stmt->buffer->lanes);
	if (stmt->value) {
		buf_puts(buf, " = ");
		print_scalar(buf, stmt->value, stmt->buffer->tensor.type);
	}
	buf_putc(buf, '\n');
}

static void
print_stmt(Buf *buf, const Stmt *stmt, int depth)
{
	print_indent(buf, depth);
	switch (stmt->kind) {
	case STMT_FOR:
		print_for(buf, stmt, depth);
		break;
	case STMT_STORE:
		print_store(buf, stmt);
		break;
	case STMT_IF:
		print_if(buf, stmt, depth);
		break;
	case STMT_LET:
		buf_printf(buf, "let %s = ", stmt->var->name);
		print_scalar(buf, stmt->value, DT_NONE);
		buf_putc(buf, '\n');
		break;
	case STMT_ALLOC:
		print_alloc(buf, stmt);
		break;
	case STMT_SYNC:
		buf_puts(buf, "sync\n");
		break;
	case STMT_WARP_OP:
		print_warp_op(buf, stmt);
		break;
	}
}

static void
print_list(Buf *buf, const Stmt *list, int depth)
{
	for (; list; list = list->next)
		print_stmt(buf, list, depth);
}

/* ---- kernels --------------------------------------------------------------------------------- */

void
stmt_print(Buf *buf, const Stmt *list)
{
	print_list(buf, list, 0);
}

static void
print_symbol(Buf *buf, const Symbol *symbol)
{
	buf_puts(buf, symbol->name);
	if (symbol->lo != 0 || symbol->hi != INT32_MAX)
		buf_printf(buf, " in %lld..%lld", (long long)symbol->lo, (long long)symbol->hi);
}

void
kernel_print(Buf *buf, const Kernel *kernel)
{
	kernel_name_apart(kernel);
	buf_printf(buf, "kernel %s(", kernel->name);
	for (int i = 0; i < kernel->symbols.count; i++) {
		buf_puts(buf, i ? ", " : "");
		print_symbol(buf, kernel->symbols.data[i]);
	}
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Buffer *buffer = kernel->buffers.data[i];
		buf_puts(buf, i || kernel->symbols.count ? ", " : "");
		buf_printf(buf, "%s: ", buffer->tensor.name);
		buf_puts(buf, buffer->is_output ? "out " : "");
		buf_puts(buf, buffer->may_alias ? "alias " : "");
		print_type(buf, buffer);
	}
	buf_puts(buf, kernel->is_flat ? ") flat" : ")");
	if (kernel->ancestry) {
		buf_putc(buf, ' ');
		buf_quote(buf, kernel->ancestry);
	}
	buf_puts(buf, " {\n");
	print_list(buf, kernel->body, 1);
	buf_puts(buf, "}\n");
	if (!kernel->script)
		return;
	buf_puts(buf, "schedule {\n");
	script_print(buf, kernel->script, "  ");
	buf_puts(buf, "}\n");
}
