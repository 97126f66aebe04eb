/* Rebuilding programs: what substitution, rewriting, binding and import have in common. */
#include "expr/stage/stage.h"

#include <string.h>

#include "expr/scalar/ctx.h"

/* ---- rebuilding a program -------------------------------------------------------------------- */

/* One engine for substitution, binding and import: `scalar` maps every scalar and `dim` every
 * extent; `tensors` holds what has been replaced so far. A stage in which nothing changes is kept,
 * unless everything has to be new. */
typedef struct Rebuild {
	ExprCtx *to;
	Map tensors;
	const Expr *(*scalar)(struct Rebuild *, const Expr *);
	const Dim *(*dim)(struct Rebuild *, const Dim *);
	const Binding *binding;
	ExprRewrite rewrite; /* program_rewrite(): the caller's */
	void *rewrite_arg;
	bool tidy; /* stages that the caller's rewriting changed, more than what they read */
	bool is_rewritten;
	bool all;
	bool is_same;   /* in another ctx: fingerprints stay */
	Memo *imported; /* scalars; of an import */
	ArenaMark mark; /* of the scratch memory, where `tensors` and lists are; released at the end */
} Rebuild;

static Rebuild
open_rebuild(ExprCtx *to, const Expr *(*scalar)(Rebuild *, const Expr *),
             const Dim *(*dim)(Rebuild *, const Dim *))
{
	Arena *scratch = ctx_scratch(to);
	return (Rebuild){.to = to,
	                 .tensors = {.arena = scratch},
	                 .scalar = scalar,
	                 .dim = dim,
	                 .mark = arena_mark(scratch)};
}

static const Tensor *
new_tensor(const Rebuild *rebuild, const Tensor *tensor)
{
	const Tensor *found = tensor ? map_find_ptr(&rebuild->tensors, tensor) : NULL;
	return found ? found : tensor;
}

static const Expr *
map_scalar(Rebuild *rebuild, const Expr *e, bool *is_changed)
{
	const Expr *mapped = e ? rebuild->scalar(rebuild, e) : NULL;
	*is_changed |= mapped != e;
	return mapped;
}

static Tensor *
map_tensor(Rebuild *rebuild, const Tensor *tensor)
{
	const Dim **ends = NEW_N(rebuild->to->arena, const Dim *, 2 * tensor->rank + 1);
	for (int i = 0; i < tensor->rank; i++) {
		ends[i] = rebuild->dim(rebuild, tensor->hi[i]);
		ends[tensor->rank + i] = tensor->lo ? rebuild->dim(rebuild, tensor->lo[i]) : NULL;
	}
	Tensor *copy = tensor_new(rebuild->to, tensor->name, tensor->type, tensor->rank, ends);
	copy->lo = tensor->lo ? ends + tensor->rank : NULL;
	copy->result = tensor->result;
	if (rebuild->is_same)
		copy->fingerprint = tensor->fingerprint;
	return copy;
}

/* The parts of a stage through the maps; true when any differs. */
static bool
map_parts(Rebuild *rebuild, const Stage *stage, Stage *out)
{
	Arena *arena = rebuild->to->arena;
	bool is_changed = rebuild->all;
	int niter = stage->nloop + stage->nreduce,
		ntarget = stage->target ? stage->results[0]->rank : 0;
	Iter *iters = NEW_N(arena, Iter, niter);
	const Expr **body = NEW_N(arena, const Expr *, stage->nbody + ntarget);
	*out = *stage;
	rebuild->is_rewritten = false;
	for (int i = 0; i < niter; i++)
		iters[i] = (Iter){ctx_name(rebuild->to, stage->iters[i].name),
		                  rebuild->dim(rebuild, stage->iters[i].lo),
		                  rebuild->dim(rebuild, stage->iters[i].hi)};
	for (int i = 0; i < stage->nbody; i++)
		body[i] = map_scalar(rebuild, stage->body[i], &is_changed);
	for (int i = 0; i < ntarget; i++)
		body[stage->nbody + i] = map_scalar(rebuild, stage->target[i], &is_changed);
	out->name = ctx_name(rebuild->to, stage->name);
	out->iters = iters;
	out->body = body;
	out->target = stage->target ? body + stage->nbody : NULL;
	out->guard = map_scalar(rebuild, stage->guard, &is_changed);
	out->init = new_tensor(rebuild, stage->init);
	is_changed |= out->init != stage->init;
	if (rebuild->is_rewritten && rebuild->tidy)
		stage_tidy(rebuild->to, out);
	return is_changed;
}

static Stage *
new_stage(Rebuild *rebuild, const Stage *old, const Stage *parts)
{
	Arena *arena = rebuild->to->arena;
	Stage *stage = arena_memdup(arena, parts, sizeof *parts);
	Tensor **results = NEW_N(arena, Tensor *, old->nresult);
	for (int i = 0; i < old->nresult; i++) {
		results[i] = map_tensor(rebuild, old->results[i]);
		results[i]->stage = stage;
		map_set_ptr(&rebuild->tensors, old->results[i], results[i]);
	}
	stage->results = results;
	return stage;
}

/* Steps of a scan change together: whether any does is tried with the old previous states. */
static bool
scan_changes(Rebuild *rebuild, const Scan *scan)
{
	bool is_changed = rebuild->all;
	for (int i = 0; i < scan->nstate; i++)
		is_changed |= new_tensor(rebuild, scan->init[i]) != scan->init[i];
	for (int i = 0; i < scan->nstep; i++) {
		Stage parts;
		is_changed |= !is_changed && map_parts(rebuild, scan->steps[i], &parts);
	}
	return is_changed;
}

static void
rebuild_scan(Rebuild *rebuild, const Scan *old)
{
	if (!scan_changes(rebuild, old))
		return;
	Arena *arena = rebuild->to->arena;
	Scan *scan = arena_memdup(arena, old, sizeof *old);
	Tensor **prev = NEW_N(arena, Tensor *, old->nstate);
	const Tensor **ends = NEW_N(arena, const Tensor *, 2 * old->nstate);
	const Stage **steps = NEW_N(arena, const Stage *, old->nstep);
	for (int i = 0; i < old->nstate; i++) {
		prev[i] = map_tensor(rebuild, old->prev[i]);
		map_set_ptr(&rebuild->tensors, old->prev[i], prev[i]);
		ends[i] = new_tensor(rebuild, old->init[i]);
	}
	for (int i = 0; i < old->nstep; i++) {
		Stage parts;
		map_parts(rebuild, old->steps[i], &parts);
		parts.scan = scan;
		steps[i] = new_stage(rebuild, old->steps[i], &parts);
	}
	for (int i = 0; i < old->nstate; i++)
		ends[old->nstate + i] = new_tensor(rebuild, old->next[i]);
	scan->lo = rebuild->dim(rebuild, old->lo);
	scan->hi = rebuild->dim(rebuild, old->hi);
	scan->prev = prev;
	scan->init = ends;
	scan->next = ends + old->nstate;
	scan->steps = steps;
}

/* Whether other tensors stand for all that the stage, or its scan, computes. */
static bool
is_replaced(const Rebuild *rebuild, const Stage *stage)
{
	const Stage *const *steps = stage->scan ? stage->scan->steps : &stage;
	int nstep = stage->scan ? stage->scan->nstep : 1;
	for (int i = 0; i < nstep; i++)
		for (int k = 0; k < steps[i]->nresult; k++)
			if (!map_find_ptr(&rebuild->tensors, steps[i]->results[k]))
				return false;
	return true;
}

static Program *
rebuild_program(Rebuild *rebuild, const Program *program, int ninput, Tensor *const *inputs)
{
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		Stage parts;
		if (is_replaced(rebuild, stage))
			continue;
		if (stage->scan && stage->scan->steps[0] == stage)
			rebuild_scan(rebuild, stage->scan);
		else if (!stage->scan && map_parts(rebuild, stage, &parts))
			new_stage(rebuild, stage, &parts);
	}
	const Tensor **outputs = NEW_N(rebuild->tensors.arena, const Tensor *, program->noutput);
	for (int i = 0; i < program->noutput; i++)
		outputs[i] = new_tensor(rebuild, program->outputs[i]);
	Program *rebuilt =
		program_new(rebuild->to, program->name, ninput, inputs, program->noutput, outputs);
	arena_release(rebuild->tensors.arena, rebuild->mark);
	return rebuilt;
}

/* ---- substitution ---------------------------------------------------------------------------- */

static const Expr *
replace_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Rebuild *rebuild = arg;
	if (e->op != EX_read)
		return e;
	const Tensor *tensor = new_tensor(rebuild, e->tensor);
	return tensor == e->tensor ? e : expr_read(ctx, tensor, e->arg);
}

static const Expr *
substitute_scalar(Rebuild *rebuild, const Expr *e)
{
	return walk_rewrite(rebuild->to, e, WALK_TO_READS, replace_read, rebuild);
}

static const Dim *
same_dim(Rebuild *rebuild, const Dim *dim)
{
	(void)rebuild;
	return dim;
}

static void
copy_map(Map *to, const Map *from)
{
	for (int i = 0; i < from->count; i++)
		map_set_ptr(to, from->entries[i].key, from->entries[i].value);
}

/* An input replaced by another input takes its place; one replaced by a result goes. */
Program *
program_substitute(const Program *program, const Map *tensors)
{
	ExprCtx *ctx = program->ctx;
	Rebuild rebuild = open_rebuild(ctx, substitute_scalar, same_dim);
	copy_map(&rebuild.tensors, tensors);
	Tensor **inputs = NEW_N(rebuild.tensors.arena, Tensor *, program->ninput);
	int ninput = 0;
	for (int i = 0; i < program->ninput; i++) {
		Tensor *replaced = map_find_ptr(tensors, program->inputs[i]);
		Tensor *input = replaced ? replaced : program->inputs[i];
		bool is_listed = replaced && replaced->stage;
		for (int k = 0; k < ninput; k++)
			is_listed |= inputs[k] == input;
		if (!is_listed)
			inputs[ninput++] = input;
	}
	return rebuild_program(&rebuild, program, ninput, inputs);
}

static const Expr *
rewrite_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Rebuild *rebuild = arg;
	const Expr *read = replace_read(ctx, e, arg);
	const Expr *other = rebuild->rewrite(ctx, read, rebuild->rewrite_arg);
	rebuild->is_rewritten |= other != read;
	return other;
}

static const Expr *
rewrite_scalar(Rebuild *rebuild, const Expr *e)
{
	WalkEnds ends = rebuild->tidy ? WALK_TO_READS : WALK_TO_LEAVES;
	return walk_rewrite(rebuild->to, e, ends, rewrite_node, rebuild);
}

static Program *
rewrite_all(const Program *program, ExprRewrite rewrite, void *arg, bool tidy)
{
	Rebuild rebuild = open_rebuild(program->ctx, rewrite_scalar, same_dim);
	rebuild.rewrite = rewrite;
	rebuild.rewrite_arg = arg;
	rebuild.tidy = tidy;
	return rebuild_program(&rebuild, program, program->ninput, program->inputs);
}

Program *
program_rewrite(const Program *program, ExprRewrite rewrite, void *arg)
{
	return rewrite_all(program, rewrite, arg, false);
}

Program *
program_rewrite_tidy(const Program *program, ExprRewrite rewrite, void *arg)
{
	return rewrite_all(program, rewrite, arg, true);
}

/* ---- binding and import ---------------------------------------------------------------------- */

static Tensor **
map_inputs(Rebuild *rebuild, const Program *program)
{
	Tensor **inputs = NEW_N(rebuild->tensors.arena, Tensor *, program->ninput);
	for (int i = 0; i < program->ninput; i++) {
		inputs[i] = map_find_ptr(&rebuild->tensors, program->inputs[i]);
		if (!inputs[i])
			inputs[i] = map_tensor(rebuild, program->inputs[i]);
		map_set_ptr(&rebuild->tensors, program->inputs[i], inputs[i]);
	}
	return inputs;
}

static const Expr *
bind_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Rebuild *rebuild = arg;
	const Binding *binding = rebuild->binding;
	if (e->op == EX_symbol && e->symbol->id < binding->count && binding->is_bound[e->symbol->id])
		return expr_i64(ctx, binding->value[e->symbol->id]);
	return replace_read(ctx, e, arg);
}

static const Expr *
bind_scalar(Rebuild *rebuild, const Expr *e)
{
	return expr_rewrite(rebuild->to, e, bind_node, rebuild);
}

static const Dim *
bind_extent(Rebuild *rebuild, const Dim *dim)
{
	return dim_bind(rebuild->to, dim, rebuild->binding);
}

Program *
program_bind(const Program *program, const Binding *binding)
{
	Rebuild rebuild = open_rebuild(program->ctx, bind_scalar, bind_extent);
	rebuild.binding = binding;
	rebuild.all = true;
	Tensor **inputs = map_inputs(&rebuild, program);
	return rebuild_program(&rebuild, program, program->ninput, inputs);
}

static const Expr *
import_scalar(Rebuild *rebuild, const Expr *e)
{
	return walk_import(rebuild->imported, rebuild->to, e, &rebuild->tensors);
}

Program *
program_import(ExprCtx *to, const Program *program, const Map *known)
{
	const ExprCtx *from = program->ctx;
	Rebuild rebuild = open_rebuild(to, import_scalar, import_scalar);
	rebuild.all = rebuild.is_same = true;
	rebuild.imported = memo_take(program->ctx);
	if (known)
		copy_map(&rebuild.tensors, known);
	for (int i = 0; i < from->zeros.count; i++)
		dim_assume_equal(to, import_scalar(&rebuild, from->zeros.data[i]), expr_i64(to, 0));
	Tensor **inputs = map_inputs(&rebuild, program);
	Program *copy = rebuild_program(&rebuild, program, program->ninput, inputs);
	memo_give(program->ctx, rebuild.imported);
	return copy;
}

static const Expr *
apply_scalar(Rebuild *rebuild, const Expr *e)
{
	return expr_apply(rebuild->to, e, &rebuild->tensors);
}

static const Dim *
apply_dim(Rebuild *rebuild, const Dim *dim)
{
	return dim_from_expr(rebuild->to, apply_scalar(rebuild, dim));
}

Program *
program_apply(ExprCtx *to, const Program *program, const Map *given)
{
	Rebuild rebuild = open_rebuild(to, apply_scalar, apply_dim);
	rebuild.all = true;
	copy_map(&rebuild.tensors, given);
	Tensor **inputs = map_inputs(&rebuild, program);
	return rebuild_program(&rebuild, program, program->ninput, inputs);
}

Stage *
stage_import(ExprCtx *to, const Stage *stage, const Map *tensors)
{
	Rebuild rebuild = open_rebuild(to, import_scalar, import_scalar);
	Stage parts;
	ExprCtx *from = stage->body[0]->ctx;
	rebuild.imported = memo_take(from);
	copy_map(&rebuild.tensors, tensors);
	map_parts(&rebuild, stage, &parts);
	Stage *copy = new_stage(&rebuild, stage, &parts);
	memo_give(from, rebuild.imported);
	arena_release(rebuild.tensors.arena, rebuild.mark);
	return copy;
}
