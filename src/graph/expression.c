/* Nodes whose meaning is the text of a program: reading, fitting it to the inputs, making such.
 *
 * A text is read once per graph, into a ctx of its own: what it says of its symbols, ranges and
 * assumptions, is then no word about the graph's. While reading, each symbol gets a place where it
 * is found: an input's dim that is `by` times the symbol plus `rest`, of symbols found before.
 *
 *     expr f(A: f32[N,2*M+1], B: f32[N+M]) -> …      N = dim 0 of A, M = (dim 1 of A - 1)/2
 *
 * The remaining dims are then equalities, checked or assumed as those of any operator. Texts come
 * from files that people may have written: nothing in them is our bug.
 */

#include <string.h>

#include "expr/scalar/ctx.h"
#include "graph/inner.h"
#include "graph/meaning.h"

enum { TEXT_MAX = 1 << 20 };

/* Where a symbol is found: dim `axis` of input `input` is by*symbol + rest. */
typedef struct Found {
	const Symbol *symbol;
	int input, axis;
	int64_t by;
	const Dim *rest;
} Found;

typedef struct Expression {
	Arena *arena;
	const char *text;
	const Program *program;
	VEC(Found) found; /* all symbols, in an order in which they can be computed */
} Expression;

/* ---- the text -------------------------------------------------------------------------------- */

static bool
is_found(const Expression *expression, const Symbol *symbol)
{
	for (int i = 0; i < expression->found.count; i++)
		if (expression->found.data[i].symbol == symbol)
			return true;
	return false;
}

/* The only symbol of a dim that is not found yet, or NULL. */
static const Symbol *
only_open_symbol(const Expression *expression, const Dim *dim)
{
	const Symbol *only = NULL;
	int count = 0;
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);)
		if (walk.e->op == EX_symbol && !is_found(expression, walk.e->symbol)) {
			only = walk.e->symbol;
			count++;
		}
	return count == 1 ? only : NULL;
}

typedef struct Replaced {
	const Symbol *symbol;
	int64_t value;
} Replaced;

static const Expr *
replace_symbol(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Replaced *replaced = arg;
	return e->op == EX_symbol && e->symbol == replaced->symbol ? expr_i64(ctx, replaced->value) : e;
}

static const Dim *
dim_at(ExprCtx *ctx, const Dim *dim, const Symbol *symbol, int64_t value)
{
	return dim_from_expr(ctx, expr_rewrite(ctx, dim, replace_symbol, &(Replaced){symbol, value}));
}

/* Whether dim is by*symbol + rest, of a positive number `by` and a rest without the symbol. */
static bool
is_linear(ExprCtx *ctx, const Dim *dim, const Symbol *symbol, Found *found)
{
	found->symbol = symbol;
	found->rest = dim_at(ctx, dim, symbol, 0);
	const Dim *by = dim_sub(ctx, dim_at(ctx, dim, symbol, 1), found->rest);
	if (!dim_is_const(by, &found->by) || found->by < 1)
		return false;
	const Dim *term = dim_mul(ctx, by, expr_symbol(ctx, symbol));
	return dim_add(ctx, term, found->rest) == dim;
}

/* Find one symbol more, by a dim that has it once where there is such a dim. */
static bool
find_symbol(Expression *expression, bool is_simple)
{
	const Program *program = expression->program;
	for (int i = 0; i < program->ninput; i++)
		for (int d = 0; d < program->inputs[i]->rank; d++) {
			const Dim *dim = program->inputs[i]->hi[d];
			const Symbol *symbol = only_open_symbol(expression, dim);
			Found found = {.input = i, .axis = d};
			if (!symbol || !is_linear(program->ctx, dim, symbol, &found) ||
			    (is_simple && (found.by != 1 || !expr_is_zero(found.rest))))
				continue;
			vec_push(expression->arena, &expression->found, found);
			return true;
		}
	return false;
}

/* NULL, or the first that is not found. */
static const Symbol *
find_symbols(Expression *expression)
{
	const ExprCtx *ctx = expression->program->ctx;
	while (find_symbol(expression, true) || find_symbol(expression, false))
		continue;
	for (int i = 0; i < ctx->symbol_list.count; i++)
		if (!is_found(expression, ctx->symbol_list.data[i]))
			return ctx->symbol_list.data[i];
	return NULL;
}

const Symbol *
expression_untold(Arena *arena, const Program *program)
{
	Expression expression = {.arena = arena,
	                         .program = program_import(expr_ctx_new(arena), program, NULL)};
	return find_symbols(&expression);
}

static void
check_element(const Tensor *tensor)
{
	DTypeClass class = dtype_class(tensor->type);
	if (class == DC_X || class == DC_NONE)
		fail(NULL, "'%s' is of type %s, which has no expressions", tensor->name,
		     dtype_name(tensor->type));
}

/* What operators keep beside program_check(): results begin at 0, and are tensors of their own. */
static void
check_program(const Program *program)
{
	for (int i = 0; i < program->ninput; i++)
		check_element(program->inputs[i]);
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		for (int k = 0; k < stage->nresult; k++)
			check_element(stage->results[k]);
		stage_points(program->ctx, stage); /* fails where they are too many to count */
	}
	for (int i = 0; i < program->noutput; i++) {
		const Tensor *output = program->outputs[i];
		if (!output)
			continue;
		for (int d = 0; output->lo && d < output->rank; d++)
			if (!expr_is_zero(output->lo[d]))
				fail(NULL, "output '%s' does not begin at 0", output->name);
		for (int k = 0; k < i; k++)
			if (program->outputs[k] == output)
				fail(NULL, "output '%s' is named twice", output->name);
		for (int k = 0; k < program->ninput; k++)
			if (program->inputs[k] == output)
				fail(NULL, "output '%s' is an input", output->name);
	}
}

static void
read_text(void *arg)
{
	Expression *expression = arg;
	ExprCtx *ctx = expr_ctx_new(expression->arena);
	expression->program = program_parse(ctx, "expr", expression->text);
	program_check(expression->program);
	check_program(expression->program);
	const Symbol *untold = find_symbols(expression);
	if (untold)
		fail(NULL, "no dim of an input tells what symbol %s is", untold->name);
}

/* The node's Expression; texts that were read once are remembered by the graph. */
static const Expression *
node_expression(const Graph *graph, const Node *node)
{
	const Attr *attr = attr_find(node, "expr");
	if (attr->count > TEXT_MAX || (size_t)attr->count != strlen(attr->s))
		fail(&node->loc, "expr is no text of at most %d bytes", TEXT_MAX);
	const Expression *known = map_find(graph->expressions, attr->s);
	if (known)
		return known;
	Failure failure;
	Expression *expression = NEW(graph->arena, Expression);
	*expression = (Expression){.arena = graph->arena, .text = attr->s};
	if (!try_run(read_text, expression, &failure))
		fail(&node->loc, "%s", failure.text);
	map_set(graph->expressions, attr->s, expression);
	return expression;
}

/* ---- the text and the inputs ----------------------------------------------------------------- */

/* What the symbols stand for at inputs of these types, which have the ranks of the text. */
static void
fit_symbols(const Expression *expression, ExprCtx *ctx, const Type *const *types, Map *given)
{
	for (int i = 0; i < expression->found.count; i++) {
		const Found *found = &expression->found.data[i];
		const Dim *seen = types[found->input]->dims[found->axis];
		const Dim *rest = dim_from_expr(ctx, expr_apply(ctx, found->rest, given));
		const Dim *dim = dim_floordiv(ctx, dim_sub(ctx, seen, rest), dim_const(ctx, found->by));
		map_set_ptr(given, found->symbol, (void *)(uintptr_t)dim);
	}
}

static const Dim *
apply(Infer *infer, const Dim *dim, const Map *given)
{
	return dim_from_expr(infer->ctx, expr_apply(infer->ctx, dim, given));
}

static void
check_ranks(Infer *infer, const Program *program)
{
	const Node *node = infer->node;
	if (node->ninput != program->ninput)
		infer_fail(infer, "%d inputs given, expected the %d of the expression", node->ninput,
		           program->ninput);
	if (node->noutput > program->noutput)
		infer_fail(infer, "%d outputs named, expected at most the %d of the expression",
		           node->noutput, program->noutput);
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *expected = program->inputs[i];
		const Type *seen = infer_input(infer, i);
		if (!seen || seen->kind != TYPE_TENSOR)
			infer_fail(infer, "input %d (%s) is no tensor", i, expected->name);
		if (seen->dtype != expected->type || seen->rank != expected->rank)
			infer_fail(infer, "input %d (%s) is %s of rank %d, expected %s of rank %d", i,
			           expected->name, dtype_name(seen->dtype), seen->rank,
			           dtype_name(expected->type), expected->rank);
	}
}

/* The ranges that the text gives its symbols. That a whole dim is not below 0 goes without saying;
 * what any symbol may be at most is no promise of the text. */
static void
check_ranges(Infer *infer, const Expression *expression, const Map *given)
{
	for (int i = 0; i < expression->found.count; i++) {
		const Found *found = &expression->found.data[i];
		const Symbol *symbol = found->symbol;
		const Dim *dim = map_find_ptr(given, symbol);
		bool is_whole = found->by == 1 && expr_is_zero(found->rest);
		bool is_above = (is_whole && symbol->lo <= 0) ||
		                dim_proves_le(infer->ctx, dim_const(infer->ctx, symbol->lo), dim);
		bool is_below = symbol->hi == INT32_MAX ||
		                dim_proves_le(infer->ctx, dim, dim_const(infer->ctx, symbol->hi));
		if (is_above && is_below)
			continue;
		Buf text = {.arena = infer->graph->arena};
		dim_print(&text, dim);
		infer_fail(infer, "symbol %s of the expression is %s, expected %lld..%lld", symbol->name,
		           buf_text(&text), (long long)symbol->lo, (long long)symbol->hi);
	}
}

/* Whether all dims of the inputs are what the text says already. */
static bool
check_dims(Infer *infer, const Program *program, const Map *given)
{
	Arena *arena = infer->graph->arena;
	bool is_same = true;
	for (int i = 0; i < program->ninput; i++)
		for (int d = 0; d < program->inputs[i]->rank; d++) {
			const Dim *expected = apply(infer, program->inputs[i]->hi[d], given);
			const Dim *seen = infer_input(infer, i)->dims[d];
			is_same &= expected == seen;
			infer_equal(
				infer, expected, seen,
				arena_printf(arena, "dim %d of input %d (%s)", d, i, program->inputs[i]->name));
		}
	const ExprCtx *ctx = program->ctx;
	for (int i = 0; i < ctx->zeros.count; i++)
		infer_equal(infer, apply(infer, ctx->zeros.data[i], given), dim_const(infer->ctx, 0),
		            "what the expression assumes");
	return is_same;
}

/* The program of these inputs. */
static Program *
applied(const Expression *expression, ExprCtx *ctx, Map *given, Tensor *const *inputs)
{
	const Program *program = expression->program;
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(given, program->inputs[i], inputs[i]);
	return program_apply(ctx, program, given);
}

static void
check_job(void *program)
{
	program_check(program);
}

/* What is certain of the text is so of these dims, but a proof may not find it where two of them
 * are only assumed to be equal. */
static void
check_proofs(Infer *infer, const Expression *expression, Map *given)
{
	const Program *program = expression->program;
	Tensor **inputs = NEW_N(infer->graph->arena, Tensor *, program->ninput);
	for (int i = 0; i < program->ninput; i++) {
		const Type *type = infer_input(infer, i);
		const char *name = program->inputs[i]->name;
		inputs[i] = tensor_new(infer->ctx, name, type->dtype, type->rank, type->dims);
	}
	Failure failure;
	if (!try_run(check_job, applied(expression, infer->ctx, given, inputs), &failure))
		infer_fail(infer, "%s", failure.text);
}

void
infer_Expression(Infer *infer)
{
	const Expression *expression = node_expression(infer->graph, infer->node);
	const Program *program = expression->program;
	Map given = {.arena = infer->graph->arena};
	check_ranks(infer, program);
	const Type **types = NEW_N(infer->graph->arena, const Type *, program->ninput);
	for (int i = 0; i < program->ninput; i++)
		types[i] = infer_input(infer, i);
	fit_symbols(expression, infer->ctx, types, &given);
	check_ranges(infer, expression, &given);
	if (!check_dims(infer, program, &given))
		check_proofs(infer, expression, &given);
	for (int i = 0; i < infer->node->noutput; i++) {
		const Tensor *output = program->outputs[i];
		const Dim *dims[ARRAY_MAX_RANK];
		if (!infer_wants(infer, i))
			continue;
		if (!output)
			infer_fail(infer, "the expression does not compute output %d", i);
		for (int d = 0; d < output->rank; d++)
			dims[d] = apply(infer, output->hi[d], &given);
		infer_set(infer, i, output->type, output->rank, dims);
	}
}

void
build_Expression(Build *build)
{
	const Expression *expression = node_expression(build->graph, build->node);
	Map given = {.arena = build->graph->arena};
	fit_symbols(expression, build->ctx, build->in_types, &given);
	const Program *made = applied(expression, build->ctx, &given, build->in);
	for (int i = 0; i < build->nout; i++)
		build->out[i] = build->out_types[i] ? made->outputs[i] : NULL;
}

/* ---- making one ------------------------------------------------------------------------------ */

typedef struct InferJob {
	Graph *graph;
	Node *node;
} InferJob;

static void
infer_new(void *arg)
{
	InferJob *job = arg;
	node_infer(job->graph, job->node);
}

static Node *
node_of_text(Region *region, Node *before, const Loc *loc, const Program *program, const char *text,
             Value *const *inputs)
{
	Arena *arena = region->graph->arena;
	const char **outputs = NEW_N(arena, const char *, program->noutput);
	for (int i = 0; i < program->noutput; i++)
		outputs[i] = program->outputs[i] ? "" : NULL;
	Node *node = node_new(region, before, "Expression", loc, program->ninput, inputs,
	                      program->noutput, outputs);
	int64_t length = (int64_t)strlen(text);
	node_add_attr(node, &(Attr){.name = "expr", .kind = ATTR_STRING, .count = length, .s = text});
	return node;
}

static bool
is_quotient(const Expr *e)
{
	return e->op == EX_floordiv || e->op == EX_floormod || e->op == EX_min || e->op == EX_max;
}

/* The program with symbols of their own for quotients in the dims of its inputs:
 *
 *     f(A: f32[N,(H + 1)/2]) -> … (H + 1)/2 …    =>    f(A: f32[N,D1]) -> … D1 … */
static const Program *
with_simple_dims(Arena *arena, const Program *program)
{
	const ExprCtx *from = program->ctx;
	ExprCtx *to = expr_ctx_new(arena);
	Map given = {.arena = arena};
	for (int i = 0; i < from->symbol_list.count; i++) {
		const Symbol *old = from->symbol_list.data[i], *symbol = symbol_get(to, old->name);
		symbol_set_range(symbol, old->lo, old->hi);
		map_set_ptr(&given, old, (void *)(uintptr_t)expr_symbol(to, symbol));
	}
	for (int i = 0; i < program->ninput; i++)
		for (int d = 0; d < program->inputs[i]->rank; d++)
			for (ExprWalk walk = expr_walk(program->inputs[i]->hi[d]); expr_step(&walk);)
				if (is_quotient(walk.e) && !map_find_ptr(&given, walk.e))
					map_set_ptr(&given, walk.e, (void *)(uintptr_t)dim_fresh(to, "D"));
	for (int i = 0; i < from->zeros.count; i++)
		dim_assume_equal(to, dim_from_expr(to, expr_apply(to, from->zeros.data[i], &given)),
		                 dim_const(to, 0));
	return program_apply(to, program, &given);
}

static Node *
try_program(Region *region, Node *before, const Loc *loc, const Program *program,
            Value *const *inputs, Failure *failure)
{
	Buf text = {.arena = region->graph->arena};
	program_print(&text, program);
	Node *node = node_of_text(region, before, loc, program, buf_text(&text), inputs);
	if (try_run(infer_new, &(InferJob){region->graph, node}, failure))
		return node;
	node_remove(node);
	return NULL;
}

Node *
node_new_expression(Region *region, Node *before, const Loc *loc, const Program *program,
                    Value *const *inputs, const char **why)
{
	Arena *arena = region->graph->arena;
	Failure failure, again;
	Node *node = try_program(region, before, loc, program, inputs, &failure);
	if (!node)
		node = try_program(region, before, loc, with_simple_dims(arena, program), inputs, &again);
	if (!node)
		*why = arena_strdup(arena, failure.text);
	return node;
}
