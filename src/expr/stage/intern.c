/* Interned stages: see intern.h. Tensors by fingerprint, in a table of open addressing. */
#include "expr/stage/intern.h"

#include "expr/scalar/ctx.h"

enum { FIRST_SLOTS = 64 };

struct StageTable {
	ExprCtx *ctx;
	Tensor **slots;
	size_t slot_count, count;
};

StageTable *
stage_table_new(ExprCtx *ctx)
{
	StageTable *table = NEW(ctx->arena, StageTable);
	*table = (StageTable){ctx, NEW_N(ctx->arena, Tensor *, FIRST_SLOTS), FIRST_SLOTS, 0};
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

static void
note_known(const StageTable *table, Map *known, const Tensor *tensor)
{
	Tensor *found = *find_slot(table, tensor->fingerprint);
	if (found)
		map_set_ptr(known, tensor, found);
}

Program *
program_intern(StageTable *table, const Program *program)
{
	Arena *scratch = ctx_scratch(table->ctx);
	ArenaMark mark = arena_mark(scratch);
	Map known = {.arena = scratch};
	const Program *canon = program_canon(program);
	for (int i = 0; i < canon->ninput; i++)
		note_known(table, &known, canon->inputs[i]);
	for (int i = 0; i < canon->nstage; i++)
		for (int k = 0; k < canon->stages[i]->nresult; k++)
			note_known(table, &known, canon->stages[i]->results[k]);
	Program *interned = program_import(table->ctx, canon, &known);
	arena_release(scratch, mark);
	for (int i = 0; i < interned->ninput; i++)
		add(table, interned->inputs[i]);
	for (int i = 0; i < interned->nstage; i++)
		for (int k = 0; k < interned->stages[i]->nresult; k++)
			add(table, interned->stages[i]->results[k]);
	return interned;
}
