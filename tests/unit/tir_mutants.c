/* Mistakes made mechanically in kernels for GPUs: how many the interpreter finds.
 *
 * A barrier is dropped, an index of shared memory or of a result is one too large, a copy goes to
 * the other half, the operands of a product of matrices change places, a condition is left out, a
 * grid lacks a block (floor for ceil). A mistake is found when the kernel fails, or computes
 * something else. The kernels are those of scripts, and of each form that the maker of GPUs has.
 */
#include <stdio.h>
#include <string.h>

#include "lower/lower.h"
#include "passes/manager.h"
#include "target/maker.h"
#include "thread_scripts.h"
#include "tir/rewrite.h"
#include "unit.h"

typedef enum Mistake {
	MISTAKE_BARRIER,
	MISTAKE_INDEX,
	MISTAKE_STAGE,
	MISTAKE_OPERANDS,
	MISTAKE_GUARD,
	MISTAKE_GRID,
	MISTAKES
} Mistake;

static const char *const names[] = {"barrier", "index", "stage", "operands", "guard", "grid"};

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

/* ---- kernels --------------------------------------------------------------------------------- */

/* Many threads for one unit of a chip, if not for all of it. */
static const char COLUMNS[] =
	"expr f(X: f32[9,3,20,37], W: f32[3,3,3]) -> Y {\n"
	" Y[n:9, c:3, p:18, q:35]: f32 = sum(r:3, s:3) X[n,c,p+r,q+s] * W[c,r,s]\n}\n";

/* A group for each form (src/lower/gpu). Tiles do not divide sizes where that may be, and sums have
 * three slices: a barrier behind the last turn of two makes no difference. */
static const char *const groups[] = {
	/* matrix: by cp.async, and copied by rows */
	"expr f(A: f16[70,96], B: f16[96,72], C: f32[72]) -> Z {\n"
	" Y[m:70, n:72]: f32 = sum(k:96) f32(A[m,k]) * f32(B[k,n])\n"
	" Z[m:70, n:72]: f32 = max(Y[m,n] + C[n], 0)\n}\n",
	"expr f(A: i8[N,33,200], B: i8[N,200,37]) -> Y {\n"
	" Y[b:N, m:33, n:37]: i32 = sum(k:200) i32(A[b,m,k]) * i32(B[b,k,n])\n}\n",
	/* product: a matrix, a window with borders */
	"expr f(A: f32[N,45,100], B: f32[N,100,68], C: f32[68]) -> Z {\n"
	" Y[b:N, m:45, n:68]: f32 = sum(k:100) A[b,m,k] * B[b,k,n]\n"
	" Z[b:N, m:45, n:68]: f32 = max(Y[b,m,n] + C[n], 0)\n}\n",
	"expr f(X: f32[2,14,11,13], W: f32[18,14,3,3]) -> Y {\n"
	" Y[n:2, f:18, p:11, q:13]: f32 = sum(c:14, r:3, s:3 where 0 <= p+r-1, p+r-1 < 11, "
	"0 <= q+s-1, q+s-1 < 13) X[n,c,p+r-1,q+s-1] * W[f,c,r,s]\n}\n",
	/* tiles: a window by channels, what is turned */
	"expr f(X: f32[2,3,20,37], W: f32[3,3,3]) -> Y {\n"
	" Y[n:2, c:3, p:18, q:35]: f32 = sum(r:3, s:3) X[n,c,p+r,q+s] * W[c,r,s]\n}\n",
	"expr f(X: f32[N,45,70], S: f32[45]) -> Y {\n"
	" Y[n:N, c:70, b:45]: f32 = X[n,b,c] * 2 + S[b]\n}\n",
	/* rows: of a block, and several in one */
	"expr f(X: f32[7,301]) -> Y {\n"
	" m[n:7]: f32 = max(c:301) X[n,c]\n"
	" e[n:7, c:301]: f32 = m[n] - X[n,c]\n"
	" s[n:7]: f32 = sum(c:301) e[n,c]\n"
	" Y[n:7, c:301]: f32 = e[n,c] * 2 - s[n]\n}\n",
	"expr f(X: f32[37,24]) -> Y {\n"
	" m[n:37]: f32 = max(c:24) X[n,c]\n"
	" Y[n:37, c:24]: f32 = m[n] - X[n,c]\n}\n",
	/* maps, and plain */
	"expr f(X: f16[5,130,70], T: f32[130]) -> Y {\n"
	" Y[b:5, c:130, n:70]: f32 = f32(X[b,c,n]) * T[c]\n}\n",
	"expr f(X: f32[N,35], I: i32[9]) -> Y {\n"
	" Y[n:N, i:9]: f32 = X[n, at(I[i], 0..35)] + 1\n}\n",
	COLUMNS,
};

static Kernel *
grouped(const char *text)
{
	static const Loc none = {0};
	Device device = *device_find("cuda:sm_90");
	device.units = text == COLUMNS ? 1 : device.units;
	Target target = {.device = &device, .is_finite = true};
	PassContext context = {.arena = arena, .target = &target};
	const Program *program = program_parse(ctx, "mutants.e", text);
	const Dim *const **dense =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	Kernel *kernel = lower_group(arena, program, dense, "k", &none, "", &target, 0);
	const PassInfo *pass;
	for (int i = 0; (pass = pass_at(i)); i++)
		if (pass->ir == IR_loop &&
		    (maker_of(&target)->passes & pass->devices) == (unsigned)pass->devices)
			pass->run(kernel, &context);
	return kernel;
}

/* Of a number: of scripts, then of groups. */
enum { KERNELS = countof(thread_scripts) + countof(groups) };

static Kernel *
fresh(int number)
{
	int group = number - (int)countof(thread_scripts);
	if (group >= 0)
		return grouped(groups[group]);
	Kernel *kernel = scheduled(&thread_scripts[number]);
	tir_simplify(kernel);
	return kernel;
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
		if (m->mistake == MISTAKE_GRID && stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X &&
		    stmt->bind <= BIND_BLOCK_Z && is_here(m))
			stmt->hi = expr_sub(m->kernel->ctx, stmt->hi, expr_i64(m->kernel->ctx, 1));
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
	Array *arrays[MAX_BUFFERS];
} Run;

static void
run(void *arg)
{
	Run *r = arg;
	Binding binding = batch_binding();
	make_arrays(r->kernel, r->arrays);
	kernel_finish(r->kernel);
	kernel_eval(r->kernel, &binding, r->arrays);
}

static bool
is_found(Kernel *kernel, const Run *right)
{
	Failure failure;
	Run r = {.kernel = kernel};
	if (!try_run(run, &r, &failure))
		return true;
	for (int i = 0; i < kernel->buffers.count; i++)
		if (memcmp(r.arrays[i]->data, right->arrays[i]->data, array_bytes(r.arrays[i])) != 0)
			return true;
	return false;
}

static int made[MISTAKES], found[MISTAKES];

/* Those of a kernel. */
static void
make_mistakes(int number)
{
	Run right = {.kernel = fresh(number)};
	run(&right);
	for (int mistake = 0; mistake < MISTAKES; mistake++)
		for (int site = 0; site < MOST_SITES; site++) {
			Mutation m = {fresh(number), (Mistake)mistake, site, 0, false};
			m.kernel->body = mutate_list(&m, m.kernel->body);
			if (!m.is_done)
				break;
			bool is_seen = is_found(m.kernel, &right);
			made[mistake]++;
			found[mistake] += is_seen;
			if (!is_seen)
				printf("not found: %s %d of\n%s", names[mistake], site, printed(m.kernel));
		}
}

START_TEST(test_mutants)
{
	int all = 0, all_found = 0;
	for (int i = 0; i < KERNELS; i++)
		make_mistakes(i);
	for (int mistake = 0; mistake < MISTAKES; mistake++) {
		printf("%s: %d of %d\n", names[mistake], found[mistake], made[mistake]);
		all += made[mistake];
		all_found += found[mistake];
	}
	printf("all: %d of %d\n", all_found, all);
	ck_assert_int_ge(all, 400);
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
