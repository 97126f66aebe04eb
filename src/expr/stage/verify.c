/* The verifier of programs: what every builder and transformation must keep.
 *
 * Types fit, uses follow definitions, boxes are the results' dims, guards are conjunctions of
 * comparisons of indices, and every read is in range: for all points of the box at which it happens
 * (under the guard, and in its arm of lazy operations).
 */
#include <stdarg.h>
#include <stdio.h>

#include "expr/index/facts.h"
#include "expr/stage/stage.h"

typedef struct Checker {
	const Program *program;
	Arena *arena;
	Map known; /* tensors that may be read */
	const Stage *stage;
	Facts *facts;
	bool reads_only; /* ask only whether reads are certain, and do not fail */
	bool has_uncertain;
} Checker;

_Noreturn static void fail_check(const Checker *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

_Noreturn static void
fail_check(const Checker *c, const char *format, ...)
{
	char text[600];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	const char *program = c->program->name ? c->program->name : "";
	const char *stage = c->stage && c->stage->name ? c->stage->name : "";
	fail_as(FAIL_BUG, c->stage ? &c->stage->loc : NULL, "expression '%s', stage '%s': %s", program,
	        stage, text);
}

static void
require(const Checker *c, bool holds, const char *what)
{
	if (!holds)
		fail_check(c, "%s", what);
}

static const char *
name_of(const Tensor *tensor)
{
	return tensor->name ? tensor->name : "_";
}

/* ---- reads ----------------------------------------------------------------------------------- */

static const char *
text_of(const Checker *c, const Expr *e)
{
	Buf buf = {.arena = c->arena};
	stage_print_scalar(&buf, c->stage, e);
	return buf_text(&buf);
}

/* The common case at once: numbers around an interval. */
static bool
is_within_numbers(Facts *facts, const Expr *at, const Dim *lo, const Dim *hi)
{
	int64_t first, end;
	if (!expr_as_i64(lo, &first) || !expr_as_i64(hi, &end) || !at->is_tame)
		return false;
	Range range = facts_interval(facts, at);
	return range.lo >= first && range.hi < end;
}

static void
check_read(Checker *c, const Tensor *tensor, int count, const Expr *const *index)
{
	ExprCtx *ctx = c->program->ctx;
	if (!c->reads_only && !map_find_ptr(&c->known, tensor))
		fail_check(c, "reads '%s' before it is defined", name_of(tensor));
	if (count != tensor->rank)
		fail_check(c, "reads '%s' of rank %d with %d indices", name_of(tensor), tensor->rank,
		           count);
	for (int i = 0; i < count; i++) {
		const Expr *lo = tensor->lo ? tensor->lo[i] : expr_i64(ctx, 0);
		const Expr *at = expr_cast(ctx, DT_I64, index[i]);
		if (is_within_numbers(c->facts, at, lo, tensor->hi[i]))
			continue;
		if (facts_prove(c->facts, expr_le(ctx, lo, at)) &&
		    facts_prove(c->facts, expr_lt(ctx, at, tensor->hi[i])))
			continue;
		const Expr *simple = expr_simplify(c->facts, at);
		if (facts_prove(c->facts, expr_le(ctx, lo, simple)) &&
		    facts_prove(c->facts, expr_lt(ctx, simple, tensor->hi[i])))
			continue;
		c->has_uncertain = true;
		if (!c->reads_only)
			fail_check(c, "reads '%s' at %s in dim %d, not certainly in %s..%s", name_of(tensor),
			           text_of(c, at), i, text_of(c, lo), text_of(c, tensor->hi[i]));
	}
}

/* A step may read what earlier steps of its scan made at the same position only. */
static void
check_scan_read(Checker *c, const Expr *e)
{
	const Stage *producer = e->tensor->stage;
	if (!producer || !producer->scan || producer->scan != c->stage->scan)
		return;
	const Expr *at = e->arg[producer->scan_axis];
	if (at->op != EX_iter || at->iter != c->stage->scan_axis)
		fail_check(c, "reads step '%s' of its scan at another position", name_of(e->tensor));
}

static void check_scalar(Checker *c, const Expr *root);

static void
check_under(Checker *c, const Expr *condition, bool holds, const Expr *e)
{
	if (!e->has_read)
		return;
	int mark = facts_mark(c->facts);
	facts_assume(c->facts, holds ? condition : expr_not(c->program->ctx, condition));
	check_scalar(c, e);
	facts_release(c->facts, mark);
}

/* Lazy operations split the walk, where their condition is about indices. */
static bool
check_lazy(Checker *c, const Expr *e)
{
	bool is_lazy = e->op == EX_select || e->op == EX_and || e->op == EX_or;
	if (!is_lazy || !is_index_condition(e->arg[0]) || !budget_take(e->ctx))
		return false;
	check_under(c, e->arg[0], e->op != EX_or, e->arg[1]);
	if (e->op == EX_select)
		check_under(c, e->arg[0], false, e->arg[2]);
	return true;
}

static void
check_node(Checker *c, const Expr *e)
{
	if (e->op == EX_var)
		fail_check(c, "uses a variable of the loop IR");
	if (e->op == EX_iter && e->iter >= c->stage->nloop + c->stage->nreduce)
		fail_check(c, "uses iterator %d of %d", e->iter, c->stage->nloop + c->stage->nreduce);
	if (e->op == EX_read) {
		check_scan_read(c, e);
		check_read(c, e->tensor, e->argc, e->arg);
	}
}

/* Every distinct node below root, with what the facts allow here. */
static void
check_scalar(Checker *c, const Expr *root)
{
	ExprCtx *ctx = c->program->ctx;
	Memo *memo = memo_take(ctx);
	uint64_t seen;
	vec_push(memo->arena, &memo->nodes, root);
	while (memo->nodes.count > 0) {
		const Expr *e = memo->nodes.data[--memo->nodes.count];
		if ((c->reads_only && !e->has_read) || memo_find(memo, e, &seen))
			continue;
		memo_set(memo, e, 1);
		check_node(c, e);
		int count = check_lazy(c, e) ? 1 : e->argc;
		for (int i = 0; i < count; i++)
			vec_push(memo->arena, &memo->nodes, e->arg[i]);
	}
	memo_give(ctx, memo);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void
check_dim(const Checker *c, const Dim *dim)
{
	require(c, dim && dim->type == DT_I64 && !dim->iters && !dim->has_read, "an extent is no dim");
}

static void
check_guard(const Checker *c, const Expr *guard)
{
	while (guard->op == EX_and) {
		check_guard(c, guard->arg[1]);
		guard = guard->arg[0];
	}
	require(c, expr_is_compare(guard) && guard->arg[0]->type == DT_I64 && !guard->has_read,
	        "the guard is not a conjunction of comparisons of indices");
}

static void
check_results(const Checker *c)
{
	const Stage *stage = c->stage;
	ExprCtx *ctx = c->program->ctx;
	for (int k = 0; k < stage->nresult; k++) {
		const Tensor *result = stage->results[k];
		require(c, result->stage == stage && result->result == k, "a result is of another stage");
		if (stage->kind == STAGE_scatter)
			continue;
		require(c, result->rank == stage->nloop, "a result has another rank than the loops");
		for (int i = 0; i < result->rank; i++) {
			const Dim *lo = result->lo ? result->lo[i] : expr_i64(ctx, 0);
			require(c, lo == stage->iters[i].lo && result->hi[i] == stage->iters[i].hi,
			        "a result has other dims than the loops");
		}
	}
}

static void
check_reduce(const Checker *c)
{
	const Stage *stage = c->stage;
	const ReduceInfo *row = reduce_info(stage->reduce);
	require(c, stage->nbody == stage->nresult, "terms and results differ in number");
	require(c, row->states == 0 || row->states == stage->nbody, "the row has other states");
	for (int i = 0; i < stage->nbody; i++)
		require(c, (row->states == 0 && i > 0) || stage->body[i]->type == stage->acc,
		        "a term is not of the accumulator's type");
	if (stage->guard)
		check_guard(c, stage->guard);
}

static void
check_scatter(Checker *c)
{
	const Stage *stage = c->stage;
	const Tensor *result = stage->results[0], *init = stage->init;
	require(c, stage->nresult == 1 && stage->nbody == 1, "a scatter has one result");
	require(c, map_find_ptr(&c->known, init) != NULL, "scatters into what is not defined");
	require(c, result->rank == init->rank && result->type == init->type,
	        "the result is not like what is scattered into");
	for (int i = 0; i < init->rank; i++)
		require(c, result->hi[i] == init->hi[i], "the result has other dims");
	require(c, stage->body[0]->type == init->type, "the update has another type");
	require(c, stage->combine == SCATTER_SET || reduce_info((ReduceOp)stage->combine)->states == 1,
	        "a scatter combines one state");
	check_read(c, init, init->rank, stage->target);
	for (int i = 0; i < init->rank; i++)
		check_scalar(c, stage->target[i]);
}

static void
check_kind(Checker *c)
{
	const Stage *stage = c->stage;
	if (stage->kind == STAGE_reduce) {
		check_reduce(c);
		return;
	}
	require(c, stage->nreduce == 0 && !stage->guard, "only a reduction has terms and a guard");
	if (stage->kind == STAGE_scatter)
		check_scatter(c);
	else
		require(c,
		        stage->nbody == 1 && stage->nresult == 1 &&
		            stage->body[0]->type == stage->results[0]->type,
		        "the body is not of the result's type");
}

static void
check_stage(Checker *c, const Stage *stage)
{
	c->stage = stage;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		check_dim(c, stage->iters[i].lo);
		check_dim(c, stage->iters[i].hi);
	}
	c->facts = facts_of_stage(c->program->ctx, c->arena, stage);
	check_results(c);
	check_kind(c);
	int outside = budget_begin(c->program->ctx, BUDGET_checks);
	if (stage->guard) {
		check_scalar(c, stage->guard);
		facts_assume(c->facts, stage->guard);
	}
	for (int i = 0; i < stage->nbody; i++)
		check_scalar(c, stage->body[i]);
	budget_end(c->program->ctx, outside);
	for (int i = 0; i < stage->nresult; i++)
		map_set_ptr(&c->known, stage->results[i], stage->results[i]);
	facts_close(c->facts);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static bool
are_equal_dims(const Checker *c, const Dim *a, const Dim *b)
{
	ExprCtx *ctx = c->program->ctx;
	return a == b || (dim_proves_le(ctx, a, b) && dim_proves_le(ctx, b, a));
}

static void
check_state(const Checker *c, const Scan *scan, int k)
{
	const Tensor *prev = scan->prev[k], *next = scan->next[k], *init = scan->init[k];
	const Stage *step = next->stage;
	require(c, step && step->scan == scan && step->kind != STAGE_scatter,
	        "a next state is not a result of a step");
	require(c, prev->type == next->type && prev->rank + 1 == next->rank && !prev->stage,
	        "a state is not like its next one");
	for (int i = 0; i < prev->rank; i++)
		require(c, prev->hi[i] == next->hi[i + (i >= step->scan_axis)],
		        "a state has other dims than its next one");
	if (!init)
		return;
	require(c, init->type == prev->type && init->rank == prev->rank,
	        "a state is not like its initial one");
	require(c, map_find_ptr(&c->known, init) != NULL, "an initial state is not defined");
	for (int i = 0; i < prev->rank; i++)
		require(c, are_equal_dims(c, init->hi[i], prev->hi[i]),
		        "a state has other dims than its initial one");
}

static void
open_scan(Checker *c, const Scan *scan)
{
	for (int i = 0; i < scan->nstep; i++) {
		const Stage *step = scan->steps[i];
		require(c,
		        step->scan == scan && step->scan_axis < step->nloop &&
		            step->iters[step->scan_axis].lo == scan->lo &&
		            step->iters[step->scan_axis].hi == scan->hi,
		        "a step does not run over its scan's range");
	}
	for (int k = 0; k < scan->nstate; k++) {
		check_state(c, scan, k);
		map_set_ptr(&c->known, scan->prev[k], scan->prev[k]);
	}
}

static void
close_scan(Checker *c, const Scan *scan)
{
	for (int k = 0; k < scan->nstate; k++)
		map_set_ptr(&c->known, scan->prev[k], NULL);
}

/* What a sum of iterators can be over the stage's box of numbers. */
static Range
box_interval(const Stage *stage, const Expr *e)
{
	int64_t lo, hi;
	if (e->op == EX_const && e->type == DT_I64)
		return (Range){e->value.i64, e->value.i64};
	if (e->op == EX_iter && expr_as_i64(stage->iters[e->iter].lo, &lo) &&
	    expr_as_i64(stage->iters[e->iter].hi, &hi) && hi > lo)
		return (Range){lo, hi - 1};
	if ((e->op != EX_add && e->op != EX_sub && e->op != EX_mul) || !budget_take(e->ctx))
		return range_all;
	Range a = box_interval(stage, e->arg[0]);
	Range b = box_interval(stage, e->arg[1]);
	return e->op == EX_mul   ? range_mul(a, b)
	       : e->op == EX_add ? range_add(a, b)
	                         : range_add(a, range_scale(b, -1));
}

static bool
is_in_box(const Stage *stage, const Expr *read)
{
	const Tensor *tensor = read->tensor;
	bool is_inside = read->argc == tensor->rank;
	for (int d = 0; d < read->argc && is_inside; d++) {
		int64_t lo = 0, hi;
		int outside = budget_begin(read->ctx, BUDGET_box);
		Range range = box_interval(stage, read->arg[d]);
		budget_end(read->ctx, outside);
		is_inside = expr_as_i64(tensor->hi[d], &hi) && range.hi < hi &&
		            (!tensor->lo || expr_as_i64(tensor->lo[d], &lo)) && range.lo >= lo;
	}
	return is_inside;
}

/* Whether the numbers of the box say so, whatever else is known: of most stages they do. */
static bool
reads_are_in_box(const Stage *stage)
{
	bool all = true;
	for (int i = 0; i < stage->nbody; i++)
		for (ExprWalk walk = expr_walk_reads(stage->body[i]); expr_step(&walk);)
			all = all && (walk.e->op != EX_read || is_in_box(stage, walk.e));
	return all;
}

bool
stage_reads_are_certain(ExprCtx *ctx, const Stage *stage)
{
	if (reads_are_in_box(stage))
		return true;
	Program program = {.ctx = ctx};
	Arena *scratch = ctx_scratch(ctx);
	ArenaMark mark = arena_mark(scratch);
	Checker c = {.program = &program, .arena = scratch, .stage = stage, .reads_only = true};
	c.facts = facts_of_stage(ctx, scratch, stage);
	if (stage->guard)
		facts_assume(c.facts, stage->guard);
	int outside = budget_begin(ctx, BUDGET_checks);
	for (int i = 0; i < stage->nbody; i++)
		check_scalar(&c, stage->body[i]);
	budget_end(ctx, outside);
	facts_close(c.facts);
	arena_release(scratch, mark);
	return !c.has_uncertain;
}

void
program_check(const Program *program)
{
	Arena *arena = ctx_scratch(program->ctx);
	ArenaMark mark = arena_mark(arena);
	Checker c = {.program = program, .arena = arena, .known = {.arena = arena}};
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *input = program->inputs[i];
		require(&c, !map_find_ptr(&c.known, input), "an input is listed twice");
		for (int k = 0; k < input->rank; k++)
			check_dim(&c, input->hi[k]);
		map_set_ptr(&c.known, input, program->inputs[i]);
	}
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		c.stage = stage;
		if (stage->scan && stage->scan->steps[0] == stage)
			open_scan(&c, stage->scan);
		check_stage(&c, stage);
		if (stage->scan && stage->scan->steps[stage->scan->nstep - 1] == stage)
			close_scan(&c, stage->scan);
	}
	c.stage = NULL;
	for (int i = 0; i < program->noutput; i++)
		require(&c, !program->outputs[i] || map_find_ptr(&c.known, program->outputs[i]),
		        "an output is not defined");
	arena_release(arena, mark);
}
