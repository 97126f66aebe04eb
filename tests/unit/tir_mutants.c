/* Mistakes made mechanically in kernels for GPUs: how many the interpreter finds.
 *
 * A barrier is dropped, an index of shared memory or of a result is one too large, a copy goes to
 * the other half, the operands of a product of matrices change places, a condition is left out. A
 * mistake is found when the kernel fails, or computes something else.
 */
#include <stdio.h>
#include <string.h>

#include "thread_scripts.h"
#include "tir/rewrite.h"
#include "unit.h"

typedef enum Mistake {
	MISTAKE_BARRIER,
	MISTAKE_INDEX,
	MISTAKE_STAGE,
	MISTAKE_OPERANDS,
	MISTAKE_GUARD,
	MISTAKES
} Mistake;

static const char *const names[] = {"barrier", "index", "stage", "operands", "guard"};

/* Of each kind in each kernel: enough for a hundred, in seconds. */
enum { MOST_SITES = 6, LEAST_FOUND = 95 };

typedef struct Mutation {
	Kernel *kernel;
	Mistake mistake;
	int site, seen; /* the number of the place, and how many have been passed */
	bool is_done;
} Mutation;

static bool
is_here(Mutation *m)
{
	bool is_it = m->seen++ == m->site && !m->is_done;
	m->is_done |= is_it;
	return is_it;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static const Expr *
further(ExprCtx *context, const Expr *e)
{
	return expr_add(context, e, expr_i64(context, 1));
}

/* A read of shared memory one further on; k % 2 for the other half. */
static const Expr *
mutate(ExprCtx *context, const Expr *e, void *arg)
{
	Mutation *m = arg;
	int64_t two;
	if (m->mistake == MISTAKE_INDEX && e->op == EX_read && e->argc > 0 &&
	    ((const Buffer *)e->tensor)->scope == SCOPE_SHARED && is_here(m)) {
		const Expr **index = NEW_N(arena, const Expr *, e->argc);
		memcpy(index, e->arg, (size_t)e->argc * sizeof *index);
		index[e->argc - 1] = further(context, index[e->argc - 1]);
		return expr_read(context, e->tensor, index);
	}
	if (m->mistake == MISTAKE_STAGE && e->op == EX_floormod && expr_as_i64(e->arg[1], &two) &&
	    two == 2 && is_here(m))
		return expr_floormod(context, further(context, e->arg[0]), e->arg[1]);
	return e;
}

static void
mutate_scalars(Mutation *m, Stmt *stmt)
{
	ExprCtx *context = m->kernel->ctx;
	const Buffer *to = stmt->index ? stmt->buffer : NULL;
	int rank = to ? to->tensor.rank : 0;
	const Expr **index = NEW_N(arena, const Expr *, rank + 1);
	for (int d = 0; d < rank; d++)
		index[d] = expr_rewrite(context, stmt->index[d], mutate, m);
	if (m->mistake == MISTAKE_INDEX && rank > 0 && to->scope != SCOPE_REG && is_here(m))
		index[rank - 1] = further(context, index[rank - 1]);
	if (rank > 0)
		stmt->index = index;
	if (stmt->value && stmt->kind != STMT_ALLOC)
		stmt->value = expr_rewrite(context, stmt->value, mutate, m);
	if (!stmt->args)
		return;
	int count = stmt->warp_op->nargs;
	const Expr **args = NEW_N(arena, const Expr *, count + 1);
	for (int i = 0; i < count; i++)
		args[i] = expr_rewrite(context, stmt->args[i], mutate, m);
	stmt->args = args;
}

/* ---- statements ------------------------------------------------------------------------------ */

static Stmt *
mutate_list(Mutation *m, Stmt *list)
{
	StmtList kept = {0};
	for (Stmt *stmt = list, *next; stmt; stmt = next) {
		next = stmt->next;
		stmt->next = NULL;
		bool is_sync = stmt->kind == STMT_SYNC, is_if = stmt->kind == STMT_IF && !stmt->other;
		if (m->mistake == MISTAKE_BARRIER && is_sync && is_here(m))
			continue;
		if (m->mistake == MISTAKE_OPERANDS && stmt->kind == STMT_WARP_OP &&
		    stmt->warp_op->kind == WARP_MMA && is_here(m)) {
			const Expr **args = NEW_N(arena, const Expr *, 2);
			args[0] = stmt->args[1];
			args[1] = stmt->args[1];
			stmt->args = args;
		}
		mutate_scalars(m, stmt);
		stmt->body = mutate_list(m, stmt->body);
		stmt->other = mutate_list(m, stmt->other);
		if (m->mistake == MISTAKE_GUARD && is_if && is_here(m))
			stmt = stmt->body;
		stmt_list_add(&kept, stmt);
	}
	return kept.first;
}

/* ---- who finds them -------------------------------------------------------------------------- */

typedef struct Run {
	Kernel *kernel;
	const Array *seen;
} Run;

static void
run(void *arg)
{
	Run *r = arg;
	kernel_finish(r->kernel);
	r->seen = evaluated(r->kernel);
}

static bool
is_found(Kernel *kernel, const Array *expected)
{
	Failure failure;
	Run r = {kernel, NULL};
	if (!try_run(run, &r, &failure))
		return true;
	return memcmp(r.seen->data, expected->data, array_bytes(expected)) != 0;
}

static Kernel *
fresh(const ThreadScript *script)
{
	Kernel *kernel = scheduled(script);
	tir_simplify(kernel);
	return kernel;
}

START_TEST(test_mutants)
{
	int made[MISTAKES] = {0}, found[MISTAKES] = {0}, all = 0, all_found = 0;
	for (size_t i = 0; i < countof(thread_scripts); i++) {
		const ThreadScript *script = &thread_scripts[i];
		const Array *expected = evaluated(fresh(script));
		for (int mistake = 0; mistake < MISTAKES; mistake++)
			for (int site = 0; site < MOST_SITES; site++) {
				Mutation m = {fresh(script), (Mistake)mistake, site, 0, false};
				m.kernel->body = mutate_list(&m, m.kernel->body);
				if (!m.is_done)
					break;
				bool is_seen = is_found(m.kernel, expected);
				made[mistake]++;
				found[mistake] += is_seen;
				if (!is_seen)
					printf("not found: %s %d of\n%s", names[mistake], site, printed(m.kernel));
			}
	}
	for (int mistake = 0; mistake < MISTAKES; mistake++) {
		printf("%s: %d of %d\n", names[mistake], found[mistake], made[mistake]);
		all += made[mistake];
		all_found += found[mistake];
	}
	ck_assert_int_ge(all, 100);
	ck_assert_msg(all_found * 100 >= all * LEAST_FOUND, "%d of %d mistakes are found", all_found,
	              all);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("mutants");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_mutants);
	return unit_run(tests);
}
