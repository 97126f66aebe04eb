/* Canonical programs and fingerprints: stage by stage, each result counting as what computes it,
 * and inputs by position and type.
 */
#include "expr/index/facts.h"
#include "expr/stage/hash.h"

/* Hashes of tensors, and what replaces them, on the way through a program. */
typedef struct Canon {
	ExprCtx *ctx;
	Map hashes;   /* Tensor (old and new) to Hash128 * */
	Map replaced; /* Tensor to its canonical one */
	Hasher hasher;
} Canon;

static void
set_hash(Canon *c, const Tensor *tensor, Hash128 hash)
{
	map_set_ptr(&c->hashes, tensor, arena_memdup(c->ctx->arena, &hash, sizeof hash));
}

static const Expr *
replace_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Tensor *tensor = e->op == EX_read ? map_find_ptr(arg, e->tensor) : NULL;
	return tensor ? expr_read(ctx, tensor, e->arg) : e;
}

static const Expr *
replace_reads(Canon *c, const Expr *e)
{
	return e && e->has_read ? expr_rewrite(c->ctx, e, replace_read, &c->replaced) : e;
}

/* A canonical copy whose reads are canonical too. */
static Stage *
copy_stage(Canon *c, const Stage *stage)
{
	Stage copy = *stage;
	const Expr **body = NEW_N(c->ctx->arena, const Expr *, stage->nbody);
	for (int i = 0; i < stage->nbody; i++)
		body[i] = replace_reads(c, stage->body[i]);
	copy.body = body;
	if (stage->kind == STAGE_scatter) {
		const Expr **target = NEW_N(c->ctx->arena, const Expr *, stage->init->rank + 1);
		for (int i = 0; i < stage->init->rank; i++)
			target[i] = replace_reads(c, stage->target[i]);
		const Tensor *init = map_find_ptr(&c->replaced, stage->init);
		copy.target = target;
		copy.init = init ? init : stage->init;
	}
	Stage *canon = canon_stage(&c->hasher, &copy);
	for (int i = 0; i < stage->nresult; i++)
		map_set_ptr(&c->replaced, stage->results[i], canon->results[i]);
	return canon;
}

static void
hash_results(Canon *c, const Stage *stage, Hash128 extra)
{
	hasher_forget(&c->hasher);
	Hash128 hash = hash128_combine(hash_stage(&c->hasher, stage), extra);
	for (int i = 0; i < stage->nresult; i++)
		set_hash(c, stage->results[i], hash128_combine(hash, hash_word((uint64_t)i)));
}

/* States count by their place in the scan; when the steps are done the whole scan is part of the
 * hash of every step. */
static void
canon_scan(Canon *c, const Scan *old)
{
	Arena *arena = c->ctx->arena;
	Scan *scan = arena_memdup(arena, old, sizeof *old);
	const Stage **steps = NEW_N(arena, const Stage *, old->nstep);
	const Tensor **ends = NEW_N(arena, const Tensor *, 2 * old->nstate + 1);
	Hash128 all = hash_word(old->reverse ? 2 : 1);
	for (int k = 0; k < old->nstate; k++) {
		const Tensor *init = old->init[k], *found = init ? map_find_ptr(&c->replaced, init) : NULL;
		ends[k] = found ? found : init;
		const Hash128 *hash = ends[k] ? map_find_ptr(&c->hashes, ends[k]) : NULL;
		Hash128 identity = hash_word(ends[k] ? 3 + (uint64_t)ends[k]->id : 0);
		all = hash128_combine(all, hash ? *hash : identity);
		Hash128 place = hash_word((uint64_t)k);
		set_hash(c, old->prev[k], hash128_combine(hash_word(UINT64_C(1) << 44), place));
	}
	for (int i = 0; i < old->nstep; i++) {
		Stage *step = copy_stage(c, old->steps[i]);
		step->scan = scan;
		steps[i] = step;
		hash_results(c, step, hash_word(0));
	}
	for (int k = 0; k < old->nstate; k++) {
		ends[old->nstate + k] = map_find_ptr(&c->replaced, old->next[k]);
		const Hash128 *hash = map_find_ptr(&c->hashes, ends[old->nstate + k]);
		all = hash128_combine(all, *hash);
	}
	scan->steps = steps;
	scan->init = ends;
	scan->next = ends + old->nstate;
	for (int i = 0; i < old->nstep; i++)
		for (int k = 0; k < steps[i]->nresult; k++) {
			const Hash128 *own = map_find_ptr(&c->hashes, steps[i]->results[k]);
			set_hash(c, steps[i]->results[k], hash128_combine(*own, all));
		}
}

static void
open_canon(Canon *c, ExprCtx *ctx)
{
	*c = (Canon){.ctx = ctx, .hashes = {.arena = ctx->arena}, .replaced = {.arena = ctx->arena}};
	hasher_open(&c->hasher, ctx, &c->hashes);
}

static void
canon_stages(Canon *c, const Program *program)
{
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		if (stage->scan && stage->scan->steps[0] == stage)
			canon_scan(c, stage->scan);
		else if (!stage->scan)
			hash_results(c, copy_stage(c, stage), hash_word(0));
	}
}

static void
hash_input(Canon *c, const Tensor *input, int position)
{
	Hash128 hash = hash128_combine(hash_word(UINT64_C(1) << 45), hash_word((uint64_t)position));
	hash = hash128_combine(hash, hash_word(input->type));
	for (int i = 0; i < input->rank; i++)
		hash = hash128_combine(hash, hash_scalar(&c->hasher, input->hi[i]));
	set_hash(c, input, hash);
}

static void
open_program(Canon *c, const Program *program)
{
	open_canon(c, program->ctx);
	for (int i = 0; i < program->ninput; i++)
		hash_input(c, program->inputs[i], i);
	canon_stages(c, program);
}

static const Tensor *
canon_tensor(const Canon *c, const Tensor *tensor)
{
	const Tensor *found = tensor ? map_find_ptr(&c->replaced, tensor) : NULL;
	return found ? found : tensor;
}

Program *
program_canon(const Program *program)
{
	Canon c;
	open_program(&c, program);
	const Tensor **outputs = NEW_N(c.ctx->arena, const Tensor *, program->noutput + 1);
	for (int i = 0; i < program->noutput; i++)
		outputs[i] = canon_tensor(&c, program->outputs[i]);
	hasher_close(&c.hasher);
	return program_new(c.ctx, NULL, program->ninput, program->inputs, program->noutput, outputs);
}

Hash128
program_fingerprint(const Program *program)
{
	Canon c;
	open_program(&c, program);
	Hash128 hash = hash_word((uint64_t)program->ninput);
	for (int i = 0; i < program->ninput; i++) {
		const Hash128 *input = map_find_ptr(&c.hashes, program->inputs[i]);
		hash = hash128_combine(hash, *input);
	}
	for (int i = 0; i < program->noutput; i++) {
		const Tensor *output = canon_tensor(&c, program->outputs[i]);
		const Hash128 *known = output ? map_find_ptr(&c.hashes, output) : NULL;
		hash = hash128_combine(hash, known ? *known : hash_word(0));
	}
	hasher_close(&c.hasher);
	return hash;
}

/* Producers count by what they compute, other tensors by identity. */
Hash128
stage_fingerprint(const Stage *stage)
{
	Canon c;
	ExprCtx *ctx = stage->body[0]->ctx;
	const Tensor *const *results = (const Tensor *const *)stage->results;
	Program *program = program_new(ctx, NULL, 0, NULL, stage->nresult, results);
	open_canon(&c, ctx);
	canon_stages(&c, program);
	const Hash128 *hash = map_find_ptr(&c.hashes, canon_tensor(&c, results[0]));
	hasher_close(&c.hasher);
	return *hash;
}
