/* LICM: what each iteration of a loop computes alike is computed before it, once.
 *
 *     for n in N @parallel              for n in N @parallel {
 *       for c in 3                        let h0 = n*W
 *         for i in 8             =>       for c in 3 {
 *           Y[n*W+c*5+i] = …                let h1 = h0+c*5
 *                                           for i in 8
 *                                             Y[h1+i] = …
 *                                         }
 *                                       }
 *
 * Normalize has put together what changes alike, so the largest parts of a scalar that are of a
 * lower rank than where it stands are what leaves loops: each goes before the outermost loop that
 * it does not change in. An expression met again finds the let that is there. Loops that are bound
 * to workers, blocks or threads are left by nothing: they are cut among these.
 *
 * Reads, and divisions by what varies, leave only loops that are sure to run them: not from under a
 * condition, nor from a loop that may have no iteration, nor where something may be written
 * between; a select takes its reads along. What differs between the lanes of a vector stays, and so
 * does a product that is added up: machines do both at once.
 *
 * A value that costs less than LICM.least additions (1) stays where it is, nothing leaves a loop of
 * at most LICM.small iterations (0), which a C compiler unrolls. Where a loop would have more
 * values alive across it than a machine has registers, the cheapest of its own go back, as long as
 * computing them is cheaper than loading what was stored for want of a register.
 *
 * needs    Normalize
 * keeps    values, the order in which places are written
 * breaks   scalars that stand where they are used
 * settings LICM.least, LICM.small; to compare with, LICM.registers=0: nothing goes back, and
 *          LICM.costs=halide: what Halide's pass takes out
 */
#include <string.h>

#include "tir/loops/loops.h"
#include "tir/loops/motion.h"
#include "tir/rewrite.h"

enum { INTS_MOST = 12, BOOLS_MOST = 4, RELOAD_COST = 4 };

/* Values of which a machine keeps so many: numbers for addresses, conditions. */
typedef enum Bank { BANK_INTS, BANK_BOOLS, BANK_COUNT } Bank;

/* A value that was moved. */
typedef struct Moved {
	Stmt *let;
	int cost;
	bool is_back;
} Moved;

typedef VEC(const Expr *) Exprs;
typedef VEC(Moved *) Moves;

/* A loop around, with what belongs to it. */
typedef struct Nest {
	Stmt *loop, **link; /* where it hangs */
	Exprs *list;        /* what the lets before it hold: known to the end of its list */
	Exprs reads;        /* the same of lets that read: known to its own end */
	bool is_small;
	Moves own;             /* lets made before it */
	Map alive;             /* lets of loops around that it uses */
	int count[BANK_COUNT]; /* of these */
	int floor;             /* as it was outside */
} Nest;

/* What has become of an expression of the statement: as used behind `at` loops, from where it is
 * conditional or not. */
typedef struct Done {
	int at;
	bool is_conditional;
	const Expr *result;
} Done;

typedef struct Licm {
	Kernel *kernel;
	ExprCtx *ctx;
	Arena *arena;
	Ranks ranks;
	Traits traits;
	int64_t least, small;
	bool keeps_all; /* whatever is alive */
	VEC(Nest *) nests;
	int bound;   /* loops around that nothing leaves */
	int floor;   /* loops around that reads do not leave */
	Map at_hand; /* Expr to the Moved that holds it */
	Map renamed; /* Var of a let that is gone to what it stands for */
	Map done;    /* of the statement: Expr to Done; with these in `scratch` */
	Arena *scratch;
	ArenaMark empty; /* of scratch */
	Moves all;
} Licm;

/* ---- where to -------------------------------------------------------------------------------- */

/* How many of the loops around must stay around e. */
static int
level_of(Licm *m, const Expr *e, bool is_conditional)
{
	const Trait *trait = trait_of(&m->traits, e);
	int depth = m->nests.count, level = ranks_of(&m->ranks, e);
	int least = trait->has_effect || (trait->is_unsafe && is_conditional) ? depth
	            : trait->is_unsafe && m->floor > m->bound                 ? m->floor
	                                                                      : m->bound;
	level = level > least ? level : least;
	while (level < depth && m->nests.data[level]->is_small)
		level++;
	return level;
}

static Bank
bank_of(DType type)
{
	return type == DT_BOOL ? BANK_BOOLS : dtype_is_integer(type) ? BANK_INTS : BANK_COUNT;
}

/* The loops between a let and its use keep it alive. */
static void
note_use(Licm *m, const Moved *moved, int level)
{
	Bank bank = bank_of(moved->let->var->type);
	for (int i = level; i < m->nests.count && bank < BANK_COUNT; i++) {
		Nest *nest = m->nests.data[i];
		if (map_find_ptr(&nest->alive, moved))
			continue;
		map_set_ptr(&nest->alive, moved, (void *)(uintptr_t)1);
		nest->count[bank]++;
	}
}

static Moved *
move(Licm *m, const Expr *e, int level)
{
	Nest *nest = m->nests.data[level];
	const char *name = arena_printf(m->kernel->arena, "h%d", m->all.count);
	Moved *moved = NEW(m->arena, Moved);
	moved->let = stmt_let(m->kernel, var_new(m->ctx, name, e->type, NULL, NULL), e);
	moved->cost = trait_of(&m->traits, e)->cost;
	moved->let->next = *nest->link;
	*nest->link = moved->let;
	nest->link = &moved->let->next;
	ranks_let(&m->ranks, moved->let->var, level);
	map_set_ptr(&m->at_hand, e, moved);
	vec_push(m->arena, e->has_read ? &nest->reads : nest->list, e);
	vec_push(m->arena, &nest->own, moved);
	vec_push(m->arena, &m->all, moved);
	return moved;
}

static void
forget(Licm *m, const Exprs *list)
{
	for (int i = 0; i < list->count; i++)
		map_set_ptr(&m->at_hand, list->data[i], NULL);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static const Expr *visit(Licm *m, const Expr *e, int at, bool is_conditional);

static const Expr *
visit_args(Licm *m, const Expr *e, int at, bool is_conditional)
{
	const Expr *local[8];
	const Expr **args = e->argc <= 8 ? local : NEW_N(m->arena, const Expr *, e->argc);
	bool changed = false, is_lazy = e->op == EX_select || e->op == EX_and || e->op == EX_or;
	for (int i = 0; i < e->argc; i++) {
		args[i] = visit(m, e->arg[i], at, is_conditional || (is_lazy && i > 0));
		changed |= args[i] != e->arg[i];
	}
	return changed ? expr_with_args(m->ctx, e, args) : e;
}

/* The let of an expression that leaves loops; itself where that is not worth it, or where it is
 * part of another that leaves them and has no let yet. */
static const Expr *
take_out(Licm *m, const Expr *e, int level, bool is_whole)
{
	if (e->op == EX_var || e->op == EX_const)
		return e;
	Moved *moved = map_find_ptr(&m->at_hand, e);
	if (!moved && (!is_whole || trait_of(&m->traits, e)->cost < m->least))
		return e;
	moved = moved ? moved : move(m, e, level);
	note_use(m, moved, level);
	return expr_var(m->ctx, moved->let->var);
}

/* e as it is used behind `at` of the loops around. */
static const Expr *
visit(Licm *m, const Expr *e, int at, bool is_conditional)
{
	if (e->op == EX_var) {
		const Expr *value = map_find_ptr(&m->renamed, e->var);
		return value ? value : e;
	}
	if (e->argc == 0 && e->op != EX_read)
		return e;
	Done *done = map_find_ptr(&m->done, e);
	if (done && done->at == at && done->is_conditional == is_conditional)
		return done->result;
	int level = level_of(m, e, is_conditional);
	const Expr *result = visit_args(m, e, level < at ? level : at, is_conditional);
	if (level < at || (level == at && at < m->nests.count))
		result = take_out(m, result, level, level < at);
	done = NEW(m->scratch, Done);
	*done = (Done){at, is_conditional, result};
	map_set_ptr(&m->done, e, done);
	return result;
}

static const Expr *
licm_scalar(Licm *m, const Expr *e)
{
	return e ? visit(m, e, m->nests.count, false) : NULL;
}

/* What machines do in one operation stays beside its sum. */
static const Expr *
licm_stored(Licm *m, const Stmt *stmt)
{
	const Expr *e = stmt->value;
	bool is_added = stmt->op == REDUCE_sum && e->op == EX_mul && dtype_is_float(e->type);
	return is_added ? visit_args(m, e, m->nests.count, false) : licm_scalar(m, e);
}

/* ---- registers ------------------------------------------------------------------------------- */

/* Mark what goes back, the cheapest first; of those of one cost the first made. */
static void
choose_back(Nest *nest)
{
	static const int most[BANK_COUNT] = {[BANK_INTS] = INTS_MOST, [BANK_BOOLS] = BOOLS_MOST};
	for (int cost = 0; cost < RELOAD_COST; cost++)
		for (int i = 0; i < nest->own.count; i++) {
			Moved *moved = nest->own.data[i];
			Bank bank = bank_of(moved->let->var->type);
			if (moved->cost != cost || bank == BANK_COUNT || nest->count[bank] <= most[bank])
				continue;
			moved->is_back = true;
			nest->count[bank]--;
		}
}

/* Where more is alive across the loop than there are registers, the cheapest values go back. */
static void
put_back(Licm *m, Nest *nest)
{
	Map values = {.arena = m->arena};
	if (m->keeps_all)
		return;
	choose_back(nest);
	for (int i = 0; i < nest->own.count; i++) {
		const Stmt *let = nest->own.data[i]->let;
		if (nest->own.data[i]->is_back)
			map_set_ptr(&values, let->var, (void *)expr_replace_vars(let->value, &values));
	}
	if (values.count > 0)
		stmt_replace_vars(m->kernel, nest->loop->body, &values);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void licm_list(Licm *m, Stmt **link);

static void
licm_arm(Licm *m, Stmt **link)
{
	int floor = m->floor;
	m->floor = m->nests.count;
	licm_list(m, link);
	m->floor = floor;
}

/* Whether the loop runs at least once, as its bounds say; and how often at most. */
static bool
is_certain(const Stmt *loop, int64_t *count)
{
	int64_t lo, hi;
	*count = INT64_MAX;
	if (!expr_as_i64(loop->lo, &lo) || !expr_as_i64(loop->hi, &hi) ||
	    __builtin_sub_overflow(hi, lo, count))
		return false;
	return *count > 0;
}

/* Code for it needs its indices whole. */
static bool
is_turned(const Licm *m, const Stmt *loop)
{
	const Stmt *outer = m->nests.count > 0 ? m->nests.data[m->nests.count - 1]->loop : loop;
	return loop->bind == BIND_TURN || outer->bind == BIND_TURN;
}

/* The loop, and the place where it hangs then. */
static Stmt **
licm_loop(Licm *m, Stmt **link, Exprs *list)
{
	int64_t count;
	Stmt *loop = *link;
	int bound = m->bound;
	Nest *nest = NEW(m->arena, Nest);
	*nest = (Nest){.loop = loop, .link = link, .list = list, .floor = m->floor};
	nest->alive.arena = m->arena;
	if (!is_certain(loop, &count))
		m->floor = m->nests.count + 1;
	nest->is_small = (count <= m->small && !loop->lanes) || is_turned(m, loop);
	ranks_enter(&m->ranks, loop);
	vec_push(m->arena, &m->nests, nest);
	m->bound = loop_is_bound(loop) ? m->nests.count : m->bound;
	licm_list(m, &loop->body);
	m->nests.count--;
	ranks_leave(&m->ranks);
	m->floor = nest->floor;
	m->bound = bound;
	forget(m, &nest->reads);
	put_back(m, nest);
	return nest->link;
}

/* A let that may go is one of those moved; one that names nothing new is that. */
static bool
licm_let(Licm *m, Stmt *let)
{
	const Expr *value = licm_scalar(m, let->value);
	let->value = value;
	if (value->argc > 0 || value->op == EX_read) {
		bool is_lane = ranks_of(&m->ranks, value) == RANK_LANES;
		ranks_let(&m->ranks, let->var, is_lane ? RANK_LANES : m->nests.count);
		return true;
	}
	ranks_let(&m->ranks, let->var, ranks_of(&m->ranks, value));
	map_set_ptr(&m->renamed, let->var, (void *)value);
	return false;
}

static const Expr *const *
licm_index(Licm *m, const Stmt *stmt)
{
	int rank = stmt->index ? stmt->buffer->tensor.rank : 0;
	const Expr **index = NEW_N(m->kernel->arena, const Expr *, rank + 1);
	for (int d = 0; d < rank; d++)
		index[d] = licm_scalar(m, stmt->index[d]);
	return stmt->index ? index : NULL;
}

/* Operands that are places stay reads. */
static const Expr *const *
licm_args(Licm *m, const Stmt *stmt)
{
	const Expr **args = NEW_N(m->kernel->arena, const Expr *, stmt->warp_op->nargs + 1);
	for (int i = 0; i < stmt->warp_op->nargs; i++) {
		bool is_place = warp_op_takes_place(stmt->warp_op, i);
		args[i] = is_place ? visit_args(m, stmt->args[i], m->nests.count, false)
		                   : licm_scalar(m, stmt->args[i]);
	}
	return args;
}

/* What the statement computes; false when nothing is left of it. */
static bool
licm_stmt(Licm *m, Stmt *stmt)
{
	arena_release(m->scratch, m->empty); /* the same memory for each: it stays in caches */
	m->done = (Map){.arena = m->scratch};
	switch (stmt->kind) {
	case STMT_FOR:
		if (!loop_is_bound(stmt)) {
			stmt->lo = licm_scalar(m, stmt->lo);
			stmt->hi = licm_scalar(m, stmt->hi);
		}
		break;
	case STMT_STORE:
		stmt->index = licm_index(m, stmt);
		stmt->value = licm_stored(m, stmt);
		break;
	case STMT_WARP_OP:
		stmt->index = licm_index(m, stmt);
		stmt->args = licm_args(m, stmt);
		break;
	case STMT_IF:
		stmt->condition = licm_scalar(m, stmt->condition);
		break;
	case STMT_LET:
		return licm_let(m, stmt);
	case STMT_ALLOC:
		stmt->value = licm_scalar(m, stmt->value);
		break;
	case STMT_SYNC:
		break;
	}
	return true;
}

static void
licm_list(Licm *m, Stmt **link)
{
	Exprs known = {0};
	while (*link) {
		Stmt *stmt = *link;
		if (!licm_stmt(m, stmt)) {
			*link = stmt->next;
			continue;
		}
		if (stmt->kind == STMT_IF) {
			licm_arm(m, &stmt->body);
			licm_arm(m, &stmt->other);
		}
		if (stmt->kind == STMT_FOR)
			link = licm_loop(m, link, &known);
		link = &(*link)->next;
	}
	forget(m, &known);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void
count_vars(Map *uses, const Expr *e, int by)
{
	for (ExprWalk walk = expr_walk(e && e->has_var ? e : NULL); expr_step(&walk);)
		if (walk.e->op == EX_var) {
			intptr_t count = (intptr_t)map_find_ptr(uses, walk.e->var) + by;
			map_set_ptr(uses, walk.e->var, (void *)count);
		}
}

static Map
count_uses(const Licm *m)
{
	Map uses = {.arena = m->arena};
	for (StmtWalk walk = stmt_walk(m->arena, m->kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		const Expr *fields[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
		for (size_t i = 0; i < countof(fields); i++)
			count_vars(&uses, fields[i], 1);
		for (int d = 0; stmt->index && d < stmt->buffer->tensor.rank; d++)
			count_vars(&uses, stmt->index[d], 1);
		for (int i = 0; stmt->args && i < stmt->warp_op->nargs; i++)
			count_vars(&uses, stmt->args[i], 1);
	}
	return uses;
}

static void
drop_lets(Stmt **link, const Map *gone)
{
	while (*link) {
		Stmt *stmt = *link;
		if (stmt->kind == STMT_LET && map_find_ptr(gone, stmt)) {
			*link = stmt->next;
			continue;
		}
		drop_lets(&stmt->body, gone);
		drop_lets(&stmt->other, gone);
		link = &stmt->next;
	}
}

/* Lets that were put back wherever they were used go; a let uses only those made before it. */
static void
drop_unused(const Licm *m)
{
	Map uses = count_uses(m), gone = {.arena = m->arena};
	for (int i = m->all.count - 1; i >= 0; i--) {
		const Stmt *let = m->all.data[i]->let;
		if (map_find_ptr(&uses, let->var))
			continue;
		count_vars(&uses, let->value, -1);
		map_set_ptr(&gone, let, (void *)(uintptr_t)1);
	}
	if (gone.count > 0)
		drop_lets(&m->kernel->body, &gone);
}

bool
pass_LICM(Kernel *kernel, PassContext *context)
{
	Arena *arena = arena_new_in(kernel->arena, "LICM");
	Licm m = {.kernel = kernel, .ctx = kernel->ctx, .arena = arena};
	m.scratch = arena_new_in(arena, "statement");
	m.empty = arena_mark(m.scratch);
	m.ranks = ranks_new(arena, kernel);
	const char *costs = pass_config_text(context, "LICM.costs", "machine");
	m.traits = (Traits){arena, {.arena = arena}, strcmp(costs, "halide") == 0};
	m.at_hand.arena = m.renamed.arena = arena;
	m.least = pass_config_int(context, "LICM.least", 1);
	m.small = pass_config_int(context, "LICM.small", 0);
	m.keeps_all = pass_config_int(context, "LICM.registers", 1) == 0;
	licm_list(&m, &kernel->body);
	drop_unused(&m);
	bool changed = m.all.count > 0 || m.renamed.count > 0;
	arena_reset(arena);
	return changed;
}
