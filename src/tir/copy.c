/* Copies and substitutions of statements: what splitting a tail, unrolling and inlining are made
 * of.
 */
#include "tir/rewrite.h"

typedef struct Copy {
	Kernel *kernel;
	Map vars;    /* Var to Expr */
	Map tensors; /* Tensor to Tensor */
} Copy;

static const Expr *
copy_leaf(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Copy *copy = arg;
	if (e->op == EX_var) {
		const Expr *value = map_find_ptr(&copy->vars, e->var);
		return value ? value : e;
	}
	const Tensor *tensor = e->op == EX_read ? map_find_ptr(&copy->tensors, e->tensor) : NULL;
	return tensor ? expr_read(ctx, tensor, e->arg) : e;
}

static const Expr *
copy_expr(Copy *copy, const Expr *e)
{
	return e ? expr_rewrite(copy->kernel->ctx, e, copy_leaf, copy) : NULL;
}

static const Expr *const *
copy_exprs(Copy *copy, int count, const Expr *const *list)
{
	const Expr **made = NEW_N(copy->kernel->arena, const Expr *, count + 1);
	for (int i = 0; i < count; i++)
		made[i] = copy_expr(copy, list[i]);
	return made;
}

/* A loop or let defines a variable: the copy gets its own. */
static void
copy_definition(Copy *copy, const Stmt *from, Stmt *to)
{
	ExprCtx *ctx = copy->kernel->ctx;
	if (from->var) {
		Var *var = var_new(ctx, from->var->name, from->var->type, to->lo, to->hi);
		map_set_ptr(&copy->vars, from->var, (void *)expr_var(ctx, var));
		to->var = var;
	}
	if (from->kind == STMT_ALLOC) {
		const Tensor *old = &from->buffer->tensor;
		Buffer *buffer = kernel_local(copy->kernel, old->name, old->type, old->rank, old->hi,
		                              from->buffer->scope);
		buffer->stride = from->buffer->stride;
		buffer->lanes = from->buffer->lanes;
		map_set_ptr(&copy->tensors, old, &buffer->tensor);
		to->buffer = buffer;
	}
}

static Stmt *copy_list(Copy *copy, const Stmt *list);

static Stmt *
copy_stmt(Copy *copy, const Stmt *from)
{
	Stmt *to = NEW(copy->kernel->arena, Stmt);
	*to = *from;
	to->next = NULL;
	to->lo = copy_expr(copy, from->lo);
	to->hi = copy_expr(copy, from->hi);
	to->condition = copy_expr(copy, from->condition);
	to->value = copy_expr(copy, from->value);
	if (from->args)
		to->args = copy_exprs(copy, from->warp_op->nargs, from->args);
	if (from->index) {
		to->index = copy_exprs(copy, from->buffer->tensor.rank, from->index);
		const Tensor *tensor = map_find_ptr(&copy->tensors, &from->buffer->tensor);
		to->buffer = tensor ? (const Buffer *)tensor : from->buffer;
	}
	copy_definition(copy, from, to);
	to->body = copy_list(copy, from->body);
	to->other = copy_list(copy, from->other);
	return to;
}

static Stmt *
copy_list(Copy *copy, const Stmt *list)
{
	Stmt *first = NULL, **link = &first;
	for (; list; list = list->next) {
		*link = copy_stmt(copy, list);
		link = &(*link)->next;
	}
	return first;
}

Stmt *
stmt_copy(Kernel *kernel, const Stmt *list, const Var *var, const Expr *value)
{
	Copy copy = {
		.kernel = kernel, .vars = {.arena = kernel->arena}, .tensors = {.arena = kernel->arena}};
	if (var)
		map_set_ptr(&copy.vars, var, (void *)value);
	return copy_list(&copy, list);
}

typedef struct Substitution {
	const Var *var;
	const Expr *value;
} Substitution;

static const Expr *
substitute_var(ExprCtx *ctx, const Expr *e, void *arg)
{
	(void)ctx;
	const Substitution *sub = arg;
	return e->op == EX_var && e->var == sub->var ? sub->value : e;
}

const Expr *
expr_replace_var(const Expr *e, const Var *var, const Expr *value)
{
	return expr_rewrite(e->ctx, e, substitute_var, &(Substitution){var, value});
}

static const Expr *
substitute_vars(ExprCtx *ctx, const Expr *e, void *arg)
{
	(void)ctx;
	const Expr *value = e->op == EX_var ? map_find_ptr(arg, e->var) : NULL;
	return value ? value : e;
}

const Expr *
expr_replace_vars(const Expr *e, const Map *values)
{
	return expr_rewrite(e->ctx, e, substitute_vars, (void *)(uintptr_t)values);
}

void
stmt_substitute(Kernel *kernel, Stmt *list, const Var *var, const Expr *value)
{
	stmt_rewrite_exprs(kernel, list, substitute_var, &(Substitution){var, value});
}

void
stmt_replace_vars(Kernel *kernel, Stmt *list, const Map *values)
{
	stmt_rewrite_exprs(kernel, list, substitute_vars, (void *)(uintptr_t)values);
}

bool
expr_uses_var(const Expr *e, const Var *var)
{
	bool is_used = false;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		is_used |= walk.e->op == EX_var && walk.e->var == var;
	return is_used;
}

bool
expr_uses_any(const Expr *e, int count, const Var *const *vars)
{
	for (int i = 0; i < count; i++)
		if (expr_uses_var(e, vars[i]))
			return true;
	return false;
}
