/* program_lift_tables: what depends on few of a stage's loops is computed once, as a table.
 *
 *     Y[c:C,p:P] = X[c, i64(floor((f32(p) + 0.5) * 0.3))]
 * =>  T[p:P]     = i64(floor((f32(p) + 0.5) * 0.3))
 *     Y[c:C,p:P] = X[c, T[p]]
 *
 * Positions of Resize, sines of an encoding, windows of a transform: floating-point arithmetic on
 * iterators alone, the same again in every channel. Arithmetic on integers alone stays: the passes
 * on dims and loops take it apart.
 *
 * needs    nothing
 * keeps    values
 * breaks   nothing
 */
#include "expr/stage/build.h"
#include "program/derive_inner.h"
#include "program/forms.h"
#include "program/group.h"
#include "program/unit.h"

enum {
	LEAST_COST = 4,       /* less is computed as fast as a load */
	LEAST_WORK = 1 << 16, /* operations saved; a step of its own costs a microsecond */
	MOST_ELEMENTS = 1 << 16,
	NARROWED_COST = 2, /* what may stay behind for a table over fewer loops */
};

typedef struct Tables {
	Arena *arena;
	ExprCtx *ctx;
	const Target *target;
	const Stage *stage;
	int64_t points;  /* of the stage, at the sizes chosen for */
	Map replacement; /* Expr to the read of its table */
	Map asked;       /* Expr: neither it nor what is in it still has to be looked at */
} Tables;

static int
count_iters(const Tables *tables, const Expr *e)
{
	int count = 0;
	for (int i = 0; i < tables->stage->nloop + tables->stage->nreduce; i++)
		count += expr_uses_iter(e, i);
	return count;
}

/* Whether it is arithmetic on iterators, with floating-point numbers in it. Not with indices: what
 * keeps one in range stays where it is read. */
static bool
is_arithmetic(const Expr *e)
{
	bool has_float = false, is_free = true;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		has_float |= walk.e->type != DT_BOOL && dtype_is_float((DType)walk.e->type);
		is_free &= walk.e->op != EX_at;
	}
	return has_float && is_free;
}

/* Elements of a table of e; INT64_MAX where it would have more than one open side. */
static int64_t
elements_of(const Tables *tables, const Expr *e)
{
	int64_t elements = 1, extent;
	int open = 0;
	for (int i = 0; i < tables->stage->nloop + tables->stage->nreduce; i++) {
		const Iter *iter = &tables->stage->iters[i];
		if (!expr_uses_iter(e, i))
			continue;
		elements = probe_times(elements, probe_dim(tables->target, iter->hi));
		open += !dim_is_const(iter->hi, &extent);
		if (!dim_is(iter->lo, 0) || open > 1)
			return INT64_MAX;
	}
	return elements;
}

/* Whether a table of e is small enough, and it reads nothing: asked first, as it needs no walk. */
static bool
may_be_table(const Tables *tables, const Expr *e)
{
	if (e->has_read || !e->iters)
		return false;
	int64_t elements = elements_of(tables, e);
	return elements <= MOST_ELEMENTS && tables->points / TABLE_USES >= elements;
}

/* Whether computing e is worth a table; what is in it costs no more. */
static bool
is_costly(const Tables *tables, const Expr *e)
{
	int cost = expr_cost(e);
	return cost >= LEAST_COST && probe_times(tables->points, cost) >= LEAST_WORK;
}

static bool
wants_table(const Tables *tables, const Expr *e)
{
	return may_be_table(tables, e) && is_costly(tables, e) && is_arithmetic(e);
}

/* An operand over fewer loops that costs nearly as much. */
static const Expr *
narrowed(const Tables *tables, const Expr *e)
{
	for (int i = 0; i < e->argc; i++)
		if (expr_cost(e->arg[i]) >= expr_cost(e) - NARROWED_COST &&
		    wants_table(tables, e->arg[i]) &&
		    count_iters(tables, e->arg[i]) < count_iters(tables, e))
			return narrowed(tables, e->arg[i]);
	return e;
}

static const Expr *
make_table(Tables *tables, const Expr *e)
{
	const Stage *stage = tables->stage;
	const Dim *dims[ARRAY_MAX_RANK] = {NULL};
	const Expr *map[ARRAY_MAX_RANK] = {NULL}, *index[ARRAY_MAX_RANK];
	int positions[ARRAY_MAX_RANK], rank = 0;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (expr_uses_iter(e, i)) {
			positions[rank] = i;
			index[rank] = expr_iter(tables->ctx, i);
			dims[rank++] = stage->iters[i].hi;
		}
	StageBuilder *table = stage_open(tables->ctx, "table", rank, dims);
	for (int k = 0; k < rank; k++)
		map[positions[k]] = stage_iter(table, k);
	const Expr *body = expr_substitute(tables->ctx, e, stage->nloop + stage->nreduce, map);
	return expr_read(tables->ctx, stage_map(table, (DType)e->type, body), index);
}

/* The largest parts of e that want a table get one. */
static void
find_tables(Tables *tables, const Expr *e)
{
	if (e->argc == 0 || map_find_ptr(&tables->asked, e))
		return;
	map_set_ptr(&tables->asked, e, tables);
	bool may_be = may_be_table(tables, e);
	if (may_be && !is_costly(tables, e))
		return;
	if (may_be && is_arithmetic(e)) {
		e = narrowed(tables, e);
		if (!map_find_ptr(&tables->replacement, e))
			map_set_ptr(&tables->replacement, e, (void *)(uintptr_t)make_table(tables, e));
		return;
	}
	for (int i = 0; i < e->argc; i++)
		find_tables(tables, e->arg[i]);
}

static const Expr *
read_table(ExprCtx *ctx, const Expr *e, void *arg)
{
	(void)ctx;
	const Expr *read = map_find_ptr(&((Tables *)arg)->replacement, e);
	return read ? read : e;
}

/* The stage with tables; NULL: it needs none. */
static const Stage *
with_tables(Tables *tables)
{
	const Stage *stage = tables->stage;
	if (stage->scan || stage->kind == STAGE_scatter ||
	    stage->nloop + stage->nreduce > ARRAY_MAX_RANK)
		return NULL;
	for (int b = 0; b < stage->nbody; b++)
		find_tables(tables, stage->body[b]);
	if (tables->replacement.count == 0)
		return NULL;
	Stage *clone = stage_clone(tables->ctx, stage);
	const Expr **body = NEW_N(tables->arena, const Expr *, stage->nbody);
	for (int b = 0; b < stage->nbody; b++)
		body[b] = expr_rewrite(tables->ctx, stage->body[b], read_table, tables);
	clone->body = body;
	return clone;
}

/* The stage with tables; NULL: it wants none. */
static const Stage *
lifted_stage(Arena *arena, const Program *program, const Target *target, const Stage *stage)
{
	Tables tables = {.arena = arena, .ctx = program->ctx, .target = target, .stage = stage};
	tables.replacement.arena = tables.asked.arena = arena;
	tables.points = probe_dim(target, stage_points(program->ctx, stage));
	return with_tables(&tables);
}

const Program *
program_lift_tables(Arena *arena, const Program *program, const Target *target)
{
	for (int s = 0, asked = 0; asked < program->nstage; asked++, s++) {
		s = s < program->nstage ? s : 0;
		const Stage *stage = program->stages[s];
		const Stage *lifted = lifted_stage(arena, program, target, stage);
		if (lifted) { /* stages may stand in another order now */
			program = derive_replace(program, stage, lifted);
			asked = -1;
		}
	}
	return program;
}

bool
pass_LiftTables(ProgramUnit *unit, PassContext *context)
{
	(void)context;
	return unit_take(unit, program_lift_tables(unit->arena, unit->program, unit->target));
}
