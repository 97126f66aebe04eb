/* Interned stages: see intern.h. Tensors by fingerprint, in a table of open addressing. */
#include "expr/stage/intern.h"

#include "expr/stage/hash.h"

enum { FIRST_SLOTS = 64, WRITTEN_SLOTS = 1 << 14 };

struct StageTable {
	ExprCtx *ctx;
	Tensor **slots;
	size_t slot_count, count;
	Written *written; /* one place for each */
};

StageTable *
stage_table_new(ExprCtx *ctx)
{
	StageTable *table = NEW(ctx->arena, StageTable);
	*table = (StageTable){ctx, NEW_N(ctx->arena, Tensor *, FIRST_SLOTS), FIRST_SLOTS, 0,
	                      NEW_N(ctx->arena, Written, WRITTEN_SLOTS)};
	return table;
}

/* Where the tensor of this fingerprint stands, or would stand. */
static Tensor **
find_slot(const StageTable *table, Hash128 fingerprint)
{
	size_t at = fingerprint.low & (table->slot_count - 1);
	while (table->slots[at] && !hash128_equal(table->slots[at]->fingerprint, fingerprint))
		at = (at + 1) & (table->slot_count - 1);
	return &table->slots[at];
}

static void
grow(StageTable *table)
{
	StageTable old = *table;
	table->slot_count *= 4;
	table->slots = NEW_N(table->ctx->arena, Tensor *, table->slot_count);
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i])
			*find_slot(table, old.slots[i]->fingerprint) = old.slots[i];
}

static void
add(StageTable *table, Tensor *tensor)
{
	Tensor **slot = find_slot(table, tensor->fingerprint);
	if (*slot)
		return;
	*slot = tensor;
	if (++table->count > table->slot_count / 2)
		grow(table);
}

const Stage *
stage_table_find(const StageTable *table, Hash128 text, Hash128 *form)
{
	const Written *place = &table->written[text.low % WRITTEN_SLOTS];
	if (!hash128_equal(place->text, text))
		return NULL;
	const Tensor *result = *find_slot(table, hash_result(place->hash, 0));
	*form = place->form;
	return result ? result->stage : NULL;
}

void
stage_table_note(StageTable *table, const Written *written)
{
	table->written[written->text.low % WRITTEN_SLOTS] = *written;
}

typedef struct Known {
	const StageTable *table;
	Map map;
} Known;

static void
note_known(const Tensor *tensor, void *arg)
{
	Known *known = arg;
	Tensor *found = tensor ? *find_slot(known->table, tensor->fingerprint) : NULL;
	if (found)
		map_set_ptr(&known->map, tensor, found);
}

Program *
program_intern(StageTable *table, const Program *program)
{
	Arena *scratch = ctx_scratch(table->ctx);
	ArenaMark mark = arena_mark(scratch);
	Known known = {table, {.arena = scratch}};
	const Program *canon = program_canon(program);
	for (int i = 0; i < canon->ninput; i++)
		note_known(canon->inputs[i], &known);
	for (int i = 0; i < canon->noutput; i++)
		note_known(canon->outputs[i], &known);
	for (int i = 0; i < canon->nstage; i++) {
		stage_visit_reads(canon->stages[i], note_known, &known);
		for (int k = 0; k < canon->stages[i]->nresult; k++)
			note_known(canon->stages[i]->results[k], &known);
	}
	Program *interned = program_import(table->ctx, canon, &known.map);
	arena_release(scratch, mark);
	for (int i = 0; i < interned->ninput; i++)
		add(table, interned->inputs[i]);
	for (int i = 0; i < interned->nstage; i++)
		for (int k = 0; k < interned->stages[i]->nresult; k++)
			add(table, interned->stages[i]->results[k]);
	return interned;
}
