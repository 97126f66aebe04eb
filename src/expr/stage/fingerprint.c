/* Canonical programs and fingerprints: stage by stage, each result counting as what computes it,
 * and inputs by position and type; stages that compute the same are one. What is canonical already
 * is kept, so that a program that differs from a canonical one by one stage costs one stage; none
 * where a table (intern.h) has met that stage as it is written.
 */
#include "expr/stage/hash.h"
#include "expr/stage/intern.h"

typedef struct Canon {
	ExprCtx *ctx;
	Map replaced; /* Tensor to its canonical one; canonical ones are not in it */
	Hasher hasher;
	VEC(const Stage *) met; /* canonical */
	bool keeps;             /* what is canonical already: its inputs are */
	StageTable *table;      /* of a search; or NULL */
} Canon;

static bool
is_canonical(const Tensor *tensor)
{
	return tensor->fingerprint.low != 0;
}

static const Tensor *
canon_tensor(const Canon *c, const Tensor *tensor)
{
	const Tensor *found = tensor ? map_find_ptr(&c->replaced, tensor) : NULL;
	return found ? found : tensor;
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
	return walk_rewrite(c->ctx, e, WALK_TO_READS, replace_read, &c->replaced);
}

/* The results known by what they compute. */
static void
set_fingerprints(const Stage *stage, Hash128 hash)
{
	for (int i = 0; i < stage->nresult; i++)
		stage->results[i]->fingerprint = hash_result(hash, i);
}

static void
hash_results(Canon *c, const Stage *stage)
{
	Hash128 form = hash_form(&c->hasher, stage);
	set_fingerprints(stage, hash_with_reads(&c->hasher, form));
}

/* The stage with canonical reads. */
static Stage
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
		copy.target = target;
		copy.init = canon_tensor(c, stage->init);
	}
	return copy;
}

static void
note_replaced(Canon *c, const Stage *stage, const Stage *canon)
{
	for (int i = 0; i < stage->nresult; i++)
		map_set_ptr(&c->replaced, stage->results[i], canon->results[i]);
}

/* The canonical stage stands for this one, or what was met before and computes the same. */
static void
note_canonical(Canon *c, const Stage *stage, const Stage *canon)
{
	Hash128 hash = canon->results[0]->fingerprint;
	int same = 0;
	while (same < c->met.count && !hash128_equal(c->met.data[same]->results[0]->fingerprint, hash))
		same++;
	if (same == c->met.count)
		vec_push(c->ctx->arena, &c->met, canon);
	if (c->met.data[same] != stage)
		note_replaced(c, stage, c->met.data[same]);
}

/* A copy of the table's stage, which reads others; the hasher has labels of what this one reads. */
static Stage *
copy_known(Canon *c, const Stage *known)
{
	Map tensors = {.arena = ctx_scratch(c->ctx)};
	ArenaMark mark = arena_mark(tensors.arena);
	Hasher other;
	hasher_open(&other, known->body[0]->ctx);
	hasher_label(&other, known);
	must(other.ntensor == c->hasher.ntensor);
	for (int i = 0; i < other.ntensor; i++)
		map_set_ptr(&tensors, other.tensors[i], (void *)(uintptr_t)c->hasher.tensors[i]);
	hasher_close(&other);
	Stage *copy = stage_import(c->ctx, known, &tensors);
	arena_release(tensors.arena, mark);
	return copy;
}

/* Whether it is known by its text and the tensors with labels alone. */
static bool
is_told(const Hasher *hasher, const Stage *stage)
{
	bool reads = stage->kind == STAGE_scatter;
	for (int i = 0; i < stage->nbody; i++)
		reads |= stage->body[i]->has_read;
	return hasher->ntensor > 0 || !reads;
}

/* One that reads fewer tensors in canonical form is not noted: others would not stand where its
 * labels say. */
static void
canon_stage_in(Canon *c, const Stage *stage)
{
	Stage copy = copy_stage(c, stage);
	Hasher *hasher = &c->hasher;
	Written written = {{0, 0}, {0, 0}, {0, 0}};
	hasher_label(hasher, &copy);
	int count = hasher->ntensor;
	bool is_noted = c->table && is_told(hasher, &copy);
	if (is_noted)
		written.text = hash_written(hasher, &copy);
	const Stage *known = is_noted ? stage_table_find(c->table, written.text, &written.form) : NULL;
	Stage *canon = known ? copy_known(c, known) : canon_stage(hasher, &copy);
	if (!known)
		written.form = hash_form(hasher, canon);
	written.hash = hash_with_reads(hasher, written.form);
	set_fingerprints(canon, written.hash);
	if (!known && is_noted && hasher->ntensor == count)
		stage_table_note(c->table, &written);
	note_canonical(c, stage, canon);
}

static Tensor *
copy_tensor(ExprCtx *ctx, const Tensor *tensor, Hash128 fingerprint)
{
	Tensor *copy = tensor_new(ctx, tensor->name, tensor->type, tensor->rank, tensor->hi);
	copy->fingerprint = fingerprint;
	return copy;
}

/* States count by their place in the scan; when the steps are done the whole scan is part of the
 * fingerprint of every step. */
static void
canon_scan(Canon *c, const Scan *old)
{
	Arena *arena = c->ctx->arena;
	Scan *scan = arena_memdup(arena, old, sizeof *old);
	const Stage **steps = NEW_N(arena, const Stage *, old->nstep);
	Tensor **prev = NEW_N(arena, Tensor *, old->nstate + 1);
	const Tensor **ends = NEW_N(arena, const Tensor *, 2 * old->nstate + 1);
	Hash128 all = hash_word(old->reverse ? 2 : 1);
	for (int k = 0; k < old->nstate; k++) {
		const Tensor *init = ends[k] = canon_tensor(c, old->init[k]);
		all = hash128_combine(all, init ? hash_tensor(init) : hash_word(0));
		prev[k] = copy_tensor(c->ctx, old->prev[k], hash_word(UINT64_C(1) << 44 | (uint64_t)k));
		map_set_ptr(&c->replaced, old->prev[k], prev[k]);
	}
	for (int i = 0; i < old->nstep; i++) {
		Stage copy = copy_stage(c, old->steps[i]);
		Stage *step = canon_stage(&c->hasher, &copy);
		note_replaced(c, old->steps[i], step);
		step->scan = scan;
		steps[i] = step;
		hash_results(c, step);
	}
	for (int k = 0; k < old->nstate; k++) {
		ends[old->nstate + k] = canon_tensor(c, old->next[k]);
		all = hash128_combine(all, ends[old->nstate + k]->fingerprint);
	}
	scan->steps = steps;
	scan->prev = prev;
	scan->init = ends;
	scan->next = ends + old->nstate;
	for (int i = 0; i < old->nstep; i++)
		for (int k = 0; k < steps[i]->nresult; k++) {
			Tensor *result = steps[i]->results[k];
			result->fingerprint = hash128_combine(result->fingerprint, all);
		}
}

/* ---- programs -------------------------------------------------------------------------------- */

static Hash128
hash_input(Hasher *hasher, const Tensor *input, int position)
{
	uint64_t head[] = {UINT64_C(1) << 45, (uint64_t)position, input->type, (uint64_t)input->rank};
	Hash128 hash = hash128(head, sizeof head);
	for (int i = 0; i < input->rank; i++)
		hash = hash128_combine(hash, hash_scalar(hasher, input->hi[i]));
	return hash;
}

/* An input of a canonical program may stand elsewhere in this one: then it counts as another. */
static Tensor *
canon_input(Canon *c, Tensor *input, int position)
{
	Hash128 hash = hash_input(&c->hasher, input, position);
	if (hash128_equal(hash, input->fingerprint))
		return input;
	Tensor *canon = copy_tensor(c->ctx, input, hash);
	map_set_ptr(&c->replaced, input, canon);
	c->keeps = false;
	return canon;
}

Program *
program_canon_in(StageTable *table, const Program *program)
{
	ExprCtx *ctx = program->ctx;
	Canon c = {.ctx = ctx, .replaced = {.arena = ctx->arena}, .keeps = true, .table = table};
	Tensor **inputs = NEW_N(ctx->arena, Tensor *, program->ninput + 1);
	const Tensor **outputs = NEW_N(ctx->arena, const Tensor *, program->noutput + 1);
	hasher_open(&c.hasher, ctx);
	for (int i = 0; i < program->ninput; i++)
		inputs[i] = canon_input(&c, program->inputs[i], i);
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		if (c.keeps && is_canonical(stage->results[0])) {
			if (!stage->scan)
				note_canonical(&c, stage, stage);
			c.keeps = !map_find_ptr(&c.replaced, stage->results[0]);
		} else if (stage->scan && stage->scan->steps[0] == stage)
			canon_scan(&c, stage->scan);
		else if (!stage->scan)
			canon_stage_in(&c, stage);
	}
	for (int i = 0; i < program->noutput; i++)
		outputs[i] = canon_tensor(&c, program->outputs[i]);
	hasher_close(&c.hasher);
	if (c.replaced.count == 0 && !program->name)
		return (Program *)(uintptr_t)program; /* canonical before */
	return program_new(ctx, NULL, program->ninput, inputs, program->noutput, outputs);
}

Program *
program_canon(const Program *program)
{
	return program_canon_in(NULL, program);
}

Hash128
program_fingerprint(const Program *program)
{
	const Program *canon = program_canon(program);
	Hash128 hash = hash_word((uint64_t)canon->ninput);
	for (int i = 0; i < canon->ninput; i++)
		hash = hash128_combine(hash, canon->inputs[i]->fingerprint);
	for (int i = 0; i < canon->noutput; i++) {
		const Tensor *output = canon->outputs[i];
		hash = hash128_combine(hash, output ? output->fingerprint : hash_word(0));
	}
	return hash;
}
