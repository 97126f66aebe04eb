/* SplitReduction: a long reduction with little to run in parallel becomes two kernels.
 *
 *     y = sum(k:16777216) X[k]  =>  part[b:16] = sum(k:1048576) X[1048576*b + k]     kernel 1
 *                                   y = sum(b:16) part[b]                            kernel 2
 *
 * Two derivations do it: an iterator of the sum is split in two, then the sum is. The number of
 * chunks comes from the shapes, never from the threads, so results do not depend on these. A kernel
 * is made for that and thrown away: its script says how many parts would be best (Script.parts), or
 * nothing; then the pieces are counted in its loops, and there are as many parts as they lack.
 *
 * needs    shapes
 * keeps    values but those of sums, which are joined in another order
 * breaks   one kernel a part: there may be two
 */
#include "expr/stage/build.h"
#include "lower/lower.h"
#include "program/derive.h"
#include "program/forms.h"
#include "program/group.h"
#include "program/layout.h"
#include "target/maker.h"
#include "tir/script.h"

/* Terms below which a second kernel costs more than it brings. */
enum { LONG_WORK = 256 << 10 };

/* Terms of a chunk of a product, where a symbol says how many there are and nobody wishes for
 * parts: since the last one may be shorter, chunks are no products of matrices any more, and take
 * several times as long. */
enum { LEAST_CHUNK = 256 };

/* Terms of a chunk: with fewer it does not pay to write its sum and read it again, however many
 * threads there are. */
enum { SHORT_CHUNK = 64 };

/* Iterator k of the sum as two: chunks of `size`, and the positions within one. */
static void
split_iterator(ExprCtx *ctx, const Stage *stage, int k, int64_t size, Bijection *out)
{
	Arena *arena = expr_ctx_arena(ctx);
	int n = stage->nreduce;
	const Iter *old = &stage->iters[stage->nloop];
	const Expr **forward = NEW_N(arena, const Expr *, n + 1);
	const Expr **inverse = NEW_N(arena, const Expr *, n);
	Iter *iters = NEW_N(arena, Iter, n + 1);
	const Expr *length = expr_i64(ctx, size);
	for (int i = 0; i < n; i++) {
		int to = i <= k ? i : i + 1;
		iters[to] = old[i];
		forward[to] = expr_iter(ctx, i);
		inverse[i] = expr_iter(ctx, to);
	}
	iters[k].hi = dim_ceildiv(ctx, old[k].hi, dim_const(ctx, size));
	iters[k + 1] = (Iter){.name = old[k].name, .lo = old[k].lo, .hi = dim_const(ctx, size)};
	forward[k] = expr_floordiv(ctx, expr_iter(ctx, k), length);
	forward[k + 1] = expr_floormod(ctx, expr_iter(ctx, k), length);
	inverse[k] = expr_add(ctx, expr_mul(ctx, expr_iter(ctx, k), length), expr_iter(ctx, k + 1));
	*out = (Bijection){n, n + 1, forward, inverse, iters};
}

/* Length of each of at least `chunks` chunks: one that leaves no rest if a few more will do. */
static int64_t
chunk_length(int64_t extent, int64_t chunks)
{
	for (int64_t count = chunks; count < 2 * chunks; count++)
		if (extent % count == 0)
			return extent / count;
	return (extent + chunks - 1) / chunks;
}

/* Put `chunks` pieces of the reduction outside: whole outer iterators, and a part of the next.
 * Where a symbol says how long that is, a part of a product has `least` terms. */
static const Program *
chunked(const Program *program, const Stage *stage, const Target *target, int64_t chunks,
        int64_t least)
{
	unsigned outer = 0;
	for (int k = 0; k < stage->nreduce && chunks > 1; k++) {
		const Iter *iter = &stage->iters[stage->nloop + k];
		int64_t extent = probe_dim(target, iter->hi);
		if (!dim_is(iter->lo, 0))
			return NULL;
		if (extent <= chunks) {
			chunks = extent > 0 ? (chunks + extent - 1) / extent : chunks;
			outer |= 1u << k;
			continue;
		}
		Bijection map;
		int64_t length = chunk_length(extent, chunks), fixed;
		if (length < least && stage_summed_product(stage) && !dim_is_const(iter->hi, &fixed))
			return NULL;
		split_iterator(program->ctx, stage, k, length, &map);
		program = derive_substitute_sum(program, stage, &map, NULL);
		if (!program)
			return NULL;
		stage = program->stages[0];
		outer |= 1u << k;
		break;
	}
	return derive_split_sum(program, stage, outer, NULL);
}

/* The program as the passes over nests would leave it. */
static const Program *
nest_of(Arena *arena, const Program *p, const Target *target)
{
	const char *why;
	p = group_form(arena, p, program_squeeze_dims(arena, p, NULL), target, &why);
	p = group_form(arena, p, program_split_dims(arena, p), target, &why);
	p = group_form(arena, p, program_pick_terms(p), target, &why);
	return group_form(arena, p, program_collapse_dims(arena, p, NULL), target, &why);
}

/* The kernel that the program would be, its loops as whoever makes the script wants them. */
static const Kernel *
kernel_of(Arena *arena, const Program *program, const Target *target)
{
	const Loc none = {0};
	program = nest_of(arena, program, target);
	const Dim *const **dense =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	Kernel *kernel = lower_group(arena, program, dense, "", &none, "", target, 0);
	script_apply(kernel, kernel->script);
	return kernel;
}

/* Its parallel pieces. */
static int64_t
pieces_of(const Kernel *kernel, const Target *target)
{
	int64_t pieces = 1;
	for (const Stmt *loop = kernel->body; loop && loop->kind == STMT_FOR; loop = loop->body) {
		if (loop->bind != BIND_PARALLEL && loop->bind < BIND_BLOCK_X)
			break;
		pieces = probe_times(
			pieces, probe_dim(target, dim_from_expr(kernel->ctx,
		                                            expr_sub(kernel->ctx, loop->hi, loop->lo))));
	}
	return pieces;
}

/* As many parts as give the device enough pieces; fewer than 2: they would be too short. */
static int64_t
enough_parts(const Stage *stage, const Target *target, int64_t pieces)
{
	int64_t chunks = (maker_of(target)->most_pieces + pieces - 1) / pieces, terms = 1;
	for (int k = 0; k < stage->nreduce; k++)
		terms = probe_times(terms, probe_dim(target, stage->iters[stage->nloop + k].hi));
	return terms / SHORT_CHUNK < chunks ? terms / SHORT_CHUNK : chunks;
}

/* NULL: nothing to gain. */
static const Program *
split_reduction(Arena *arena, const Program *program, const Target *target)
{
	const Stage *stage = program_reduction(program);
	if (!stage || probe_dim(target, stage_points(program->ctx, stage)) < LONG_WORK)
		return NULL;
	const Kernel *kernel = kernel_of(arena, program, target);
	int64_t pieces = pieces_of(kernel, target), parts = kernel->script->parts;
	if (pieces < 1 || (parts == 0 && pieces >= maker_of(target)->enough_pieces))
		return NULL;
	bool is_wished = parts > 0;
	parts = is_wished ? parts : enough_parts(stage, target, pieces);
	const Program *split =
		parts > 1 ? chunked(program, stage, target, parts, is_wished ? 1 : LEAST_CHUNK) : NULL;
	if (!split)
		return NULL;
	/* A register tile may take the chunks for its rows, so that there are no more pieces. */
	kernel = kernel_of(arena, program_part(arena, split, 0, 1), target);
	bool is_gain = is_wished ? kernel->script->parts > 0 : pieces_of(kernel, target) > pieces;
	return is_gain ? split : NULL;
}

bool
pass_SplitReduction(ProgramUnit *unit, PassContext *context)
{
	(void)context;
	const Program *split = split_reduction(unit->arena, unit->program, unit->target);
	return split && unit_take(unit, split);
}
