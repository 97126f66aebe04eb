/* The same naive loops for a GPU: those that are pieces for a CPU's workers, one index for all
 * blocks of 256 threads.
 *
 *     for y in A @parallel              for b in (A*B+255)/256 @block.x
 *       for x in B @parallel { S }  =>    for t in 256 @thread.x
 *                                           if (b*256+t < A*B) {
 *                                             let y = (b*256+t)/B
 *                                             let x = (b*256+t)%B
 *                                             S
 *                                           }
 */
#include <stdio.h>
#include <string.h>

#include "tir/rewrite.h"
#include "tir/text.h"
#include "bench.h"

enum { THREADS = 256 };

typedef VEC(Stmt *) Loops;

/* Lets for the counters, but for what one name says; the last loop's is the one that neighbours
 * differ in. */
static Stmt *
take_apart(Kernel *kernel, const Loops *loops, const Expr *index, Facts *facts)
{
	ExprCtx *ctx = kernel->ctx;
	Stmt *list = loops->count ? loops->data[loops->count - 1]->body : kernel->body;
	for (int i = loops->count - 1; i >= 0; i--) {
		const Stmt *loop = loops->data[i];
		must(expr_is_zero(loop->lo));
		const Expr *value = i > 0 ? expr_floormod(ctx, index, loop->hi) : index;
		value = expr_simplify(facts, value);
		index = expr_floordiv(ctx, index, loop->hi);
		if (value->argc == 0)
			stmt_substitute(kernel, list, loop->var, value);
		else
			list = stmt_append(stmt_let(kernel, loop->var, value), list);
	}
	return list;
}

void
bind_blocks(Kernel *kernel)
{
	ExprCtx *ctx = kernel->ctx;
	Loops loops = {0};
	int64_t count = 1, extent;
	for (Stmt *loop = kernel->body; loop && loop->kind == STMT_FOR && loop->bind == BIND_PARALLEL;
	     loop = loop->body) {
		must(expr_as_i64(loop->hi, &extent));
		vec_push(kernel->arena, &loops, loop);
		count *= extent;
	}
	const Expr *zero = expr_i64(ctx, 0), *threads = expr_i64(ctx, THREADS);
	const Expr *blocks = expr_i64(ctx, (count + THREADS - 1) / THREADS);
	const Var *b = var_new(ctx, "b", DT_I64, zero, blocks);
	const Var *t = var_new(ctx, "t", DT_I64, zero, threads);
	const Expr *index = expr_add(ctx, expr_mul(ctx, expr_var(ctx, b), threads), expr_var(ctx, t));
	Facts *facts = facts_new(ctx, kernel->arena);
	facts_var(facts, b, zero, blocks);
	facts_var(facts, t, zero, threads);
	Stmt *list = take_apart(kernel, &loops, index, facts);
	facts_close(facts);
	if (count % THREADS)
		list = stmt_if(kernel, expr_lt(ctx, index, expr_i64(ctx, count)), list, NULL);
	list = stmt_for(kernel, t, zero, threads, BIND_THREAD_X, list);
	kernel->body = stmt_for(kernel, b, zero, blocks, BIND_BLOCK_X, list);
	kernel_name_apart(kernel);
	kernel_finish(kernel);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Where a variant's text is an earlier one's, it has that one's function. Ours is the lightest code
 * of all but Halide's: which loops run how often at once decides more on a GPU than what they do. */
static void
count_cubins(Arena *arena, const Target *target, Part *part)
{
	const char *text[LOWERED];
	const int capability = target->device->gpu->capability;
	Bytes cubin = {0};
	for (int id = 0; id < LOWERED; id++)
		part->kernel[id]->ancestry = "";
	const char *all = codegen_cuda(arena, target, LOWERED, part->kernel);
	cubin = cuda_compile(arena, all, capability);
	for (int id = 0; id < LOWERED; id++) {
		int first = 0;
		text[id] = codegen_cuda(arena, target, 1, &part->kernel[id]);
		while (strcmp(text[first], text[id]) != 0)
			first++;
		const char *name = arena_printf(arena, "k%d_%s", first, part->kernel[id]->name);
		part->cubin[id] = cubin_kernel(arena, cubin, name);
		sass_count(arena, &part->cubin[id], &part->sass[id]);
	}
	int least = VARIANT_NONE;
	for (int id = VARIANT_PAPER; id < LOWERED; id++)
		least = part->sass[id].weighted < part->sass[least].weighted ? id : least;
	part->cubin[VARIANT_OURS] = part->cubin[least];
	part->sass[VARIANT_OURS] = part->sass[least];
}

static long long
weight_of_accesses(const SassCount *count)
{
	int64_t sum = 0;
	for (int i = 0; i < SASS_CODES; i++) {
		const char *name = sass_name(i);
		sum +=
			name && (strcmp(name, "LDG") == 0 || strcmp(name, "STG") == 0) ? count->weight[i] : 0;
	}
	return sum;
}

/* case, operator, variant; of the code: instructions by loops, instructions, registers, branches,
 * and how many of the first are loads and stores */
void
cubin_job(Bench *bench, Job *job, Arena *arena)
{
	for (int p = 0; p < job->parts.count; p++) {
		Part *part = &job->parts.data[p];
		if (!part->kernel[VARIANT_NONE])
			continue;
		count_cubins(arena, bench->target, part);
		for (int id = 0; id < VARIANTS; id++) {
			const SassCount *c = &part->sass[id];
			printf("%d,%s,%s,%lld,%lld,%lld,%lld,%lld\n", job->number, job->c->op,
			       variant_names[id], (long long)c->weighted, (long long)c->instructions,
			       (long long)part->cubin[id].registers, (long long)c->branches,
			       weight_of_accesses(c));
		}
	}
	fflush(stdout);
}

/* The interpreter's results in blocks of threads are those of loops as they come, bit by bit. */
void
blocks_job(Bench *bench, Job *job, Arena *arena)
{
	const Target cpu = {.device = device_find("cpu:x86-64-v3")};
	for (int k = 0; k < job->parts.count; k++) {
		if (!job->parts.data[k].kernel[VARIANT_NONE])
			continue;
		const Program *p = job->parts.data[k].program;
		Array *buffers[MAX_ARGS], *expected[MAX_ARGS];
		for (int i = 0; i < p->ninput + p->noutput; i++) {
			buffers[i] =
				bench_array(arena, i < p->ninput ? p->inputs[i] : p->outputs[i - p->ninput]);
			bench_fill(buffers[i]);
			expected[i] = array_from(arena, buffers[i]->type, buffers[i]->rank, buffers[i]->dims,
			                         buffers[i]->data);
		}
		kernel_eval(lower_variant(arena, &cpu, p, VARIANT_NONE), NULL, expected);
		for (int id = 0; id < LOWERED; id++) {
			for (int o = p->ninput; o < p->ninput + p->noutput; o++)
				memset(buffers[o]->data, 0xA7, array_bytes(buffers[o]));
			kernel_eval(job->parts.data[k].kernel[id], NULL, buffers);
			for (int o = p->ninput; o < p->ninput + p->noutput; o++)
				if (!array_same_bytes(buffers[o], expected[o]))
					bench_report(bench, job, id, "differs in blocks of threads",
					             bench_difference(buffers[o], expected[o]));
		}
	}
}
