/* group_analyse, program_cut: which stages can stand in one kernel, and which loops they share.
 *
 * Each loop k of the root is followed backwards: stage t has it if every read of t's result, in
 * every reader, stands exactly at the reader's own copy of k, over the same range. Then one loop k
 * around all the stages computes just what is needed, and nothing twice.
 */
#include "program/group.h"

#include "target/maker.h"

enum { UNSEEN = -2, ABSENT = -1 };

typedef struct Sharing {
	Arena *arena;
	const Program *program;
	const Stage *root;
	int **map;       /* map[s][k] over all loops of the root */
	bool *is_read;   /* by a later stage */
	Map stage_index; /* Stage -> index + 1 */
} Sharing;

static int
stage_number(const Sharing *sharing, const Tensor *tensor)
{
	if (!tensor->stage)
		return -1;
	return (int)(intptr_t)map_find_ptr(&sharing->stage_index, tensor->stage) - 1;
}

/* The dim of `read` that is exactly loop `position` of the reader, over all of `iter`. */
static bool
dim_is_loop(const Expr *read, int d, int position, const Iter *iter)
{
	const Tensor *t = read->tensor;
	const Expr *index = read->arg[d];
	bool lo_equal = t->lo ? t->lo[d] == iter->lo : dim_is(iter->lo, 0);
	bool is_only = index == iter->lo && dim_is(iter->hi, 1); /* the 0 of an extent of 1 */
	bool is_iter = index->op == EX_iter && index->iter == position;
	return (is_iter || is_only) && lo_equal && t->hi[d] == iter->hi;
}

static int
dim_of_loop(const Expr *read, int position, const Iter *iter)
{
	if (position < read->argc && dim_is_loop(read, position, position, iter))
		return position;
	for (int d = 0; d < read->argc; d++)
		if (dim_is_loop(read, d, position, iter))
			return d;
	return ABSENT;
}

static void
follow_read(Sharing *sharing, int reader, const Expr *read)
{
	int producer = stage_number(sharing, read->tensor);
	if (producer < 0)
		return;
	sharing->is_read[producer] = true;
	for (int k = 0; k < sharing->root->nloop; k++) {
		int position = sharing->map[reader][k];
		int dim = position < 0 ? ABSENT : dim_of_loop(read, position, &sharing->root->iters[k]);
		int *slot = &sharing->map[producer][k];
		*slot = *slot == UNSEEN || *slot == dim ? dim : ABSENT;
	}
}

static const char *
follow_all(Sharing *sharing)
{
	const Program *p = sharing->program;
	for (int s = p->nstage - 1; s >= 0; s--) {
		const Stage *stage = p->stages[s];
		if (p->nstage > 1 && (stage->kind == STAGE_scatter || stage->scan))
			return "a scatter or scan stands alone";
		if (!sharing->is_read[s]) {
			if (!stage_same_loops(stage, sharing->root))
				return "results over different boxes";
			for (int k = 0; k < sharing->root->nloop; k++)
				sharing->map[s][k] = k;
		}
		for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
			if (walk.e->op == EX_read)
				follow_read(sharing, s, walk.e);
	}
	return NULL;
}

/* Bytes of stage s's results per point of the shared loops, when another stage reads them. */
static int64_t
local_bytes_of(const Sharing *sharing, int s, const bool *is_shared, const Target *target)
{
	const Stage *stage = sharing->program->stages[s];
	int64_t bytes = 0;
	for (int r = 0; r < stage->nresult; r++) {
		int64_t count = 1;
		for (int d = 0; d < stage->nloop; d++) {
			bool shared = false;
			for (int k = 0; k < sharing->root->nloop; k++)
				shared |= is_shared[k] && sharing->map[s][k] == d;
			if (!shared)
				count = probe_times(count, probe_dim(target, stage->iters[d].hi));
		}
		count = probe_times(count, dtype_bits(stage->results[r]->type) / 8);
		bytes = count > INT64_MAX - bytes ? INT64_MAX : bytes + count;
	}
	return bytes;
}

static void
collect_shared(const Sharing *sharing, const Target *target, Group *group)
{
	const Program *p = sharing->program;
	int nroot = sharing->root->nloop;
	bool *is_shared = NEW_N(sharing->arena, bool, nroot + 1);
	int *shared = NEW_N(sharing->arena, int, nroot + 1);
	group->points = 1;
	for (int k = 0; k < nroot; k++) {
		is_shared[k] = true;
		for (int s = 0; s < p->nstage; s++)
			is_shared[k] &= sharing->map[s][k] >= 0;
		if (!is_shared[k])
			continue;
		shared[group->nshared++] = k;
		group->points = probe_times(group->points, probe_dim(target, sharing->root->iters[k].hi));
	}
	int **map = NEW_N(sharing->arena, int *, p->nstage);
	for (int s = 0; s < p->nstage; s++) {
		map[s] = NEW_N(sharing->arena, int, group->nshared + 1);
		for (int k = 0; k < group->nshared; k++)
			map[s][k] = sharing->map[s][shared[k]];
		if (p->stages[s] != sharing->root)
			group->local_bytes += local_bytes_of(sharing, s, is_shared, target);
	}
	group->shared = shared;
	group->map = (const int *const *)map;
}

bool
group_analyse(Arena *arena, const Program *program, const Target *target, Group *group,
              const char **reason)
{
	Sharing sharing = {.arena = arena, .program = program, .stage_index = {.arena = arena}};
	if (program->nstage == 0) {
		*reason = "nothing to compute";
		return false;
	}
	sharing.root = program->stages[program->nstage - 1];
	sharing.map = NEW_N(arena, int *, program->nstage);
	sharing.is_read = NEW_N(arena, bool, program->nstage);
	for (int s = 0; s < program->nstage; s++) {
		map_set_ptr(&sharing.stage_index, program->stages[s], (void *)(intptr_t)(s + 1));
		sharing.map[s] = NEW_N(arena, int, sharing.root->nloop + 1);
		for (int k = 0; k < sharing.root->nloop; k++)
			sharing.map[s][k] = UNSEEN;
	}
	*reason = follow_all(&sharing);
	if (*reason)
		return false;
	*group = (Group){.program = program, .root = sharing.root};
	collect_shared(&sharing, target, group);
	return true;
}

bool
group_is_good(Arena *arena, const Program *program, const Target *target, const char **reason)
{
	Group group;
	return group_analyse(arena, program, target, &group, reason) &&
	       (program->nstage == 1 || maker_of(target)->may_join(&group, target, reason));
}

/* Two results of one box may come to have boxes that differ. */
const Program *
group_form(Arena *arena, const Program *program, const Program *form, const Target *target,
           const char **reason)
{
	const Stage *first = program->nstage ? program->stages[0] : NULL;
	bool is_alone = !first || first->scan || first->kind == STAGE_scatter;
	Group group;
	bool stays =
		!is_alone && form != program && !group_analyse(arena, form, target, &group, reason);
	return stays ? program : form;
}

/* ---- cutting ---- */

typedef struct Readers {
	const Program *program;
	Arena *arena;
	Map last; /* Tensor -> number of the last stage that reads it, + 1 */
	int stage;
} Readers;

static void
note_reader(const Tensor *tensor, void *arg)
{
	Readers *readers = arg;
	map_set_ptr(&readers->last, tensor, (void *)(intptr_t)(readers->stage + 1));
}

static void
find_readers(Readers *readers)
{
	const Program *p = readers->program;
	for (int s = 0; s < p->nstage; s++) {
		const Scan *scan = p->stages[s]->scan;
		readers->stage = s;
		stage_visit_reads(p->stages[s], note_reader, readers);
		for (int k = 0; scan && k < scan->nstate; k++)
			if (scan->init[k])
				note_reader(scan->init[k], readers);
	}
	readers->stage = p->nstage;
	for (int i = 0; i < p->noutput; i++)
		if (p->outputs[i])
			note_reader(p->outputs[i], readers);
}

typedef struct Collect {
	Arena *arena;
	Map inside; /* Stage -> itself */
	Map seen;   /* Tensor -> itself: inputs already listed */
	VEC(Tensor *) inputs;
} Collect;

static void
collect_input(const Tensor *tensor, void *arg)
{
	Collect *collect = arg;
	bool is_local = tensor->stage && map_find_ptr(&collect->inside, tensor->stage);
	if (is_local || map_find_ptr(&collect->seen, tensor))
		return;
	map_set_ptr(&collect->seen, tensor, (void *)(uintptr_t)tensor);
	vec_push(collect->arena, &collect->inputs, (Tensor *)(uintptr_t)tensor);
}

/* Stages first..last-1 as a program of their own. */
static Program *
part_of(const Readers *readers, int first, int last)
{
	const Program *p = readers->program;
	Collect collect = {.arena = readers->arena,
	                   .inside = {.arena = readers->arena},
	                   .seen = {.arena = readers->arena}};
	VEC(const Tensor *) outputs = {0};
	for (int s = first; s < last; s++)
		map_set_ptr(&collect.inside, p->stages[s], (void *)(uintptr_t)p->stages[s]);
	for (int s = first; s < last; s++) {
		const Stage *stage = p->stages[s];
		for (int k = 0; stage->scan && k < stage->scan->nstate; k++) {
			map_set_ptr(&collect.seen, stage->scan->prev[k], stage->scan->prev[k]);
			if (stage->scan->init[k])
				collect_input(stage->scan->init[k], &collect);
		}
		stage_visit_reads(stage, collect_input, &collect);
		for (int r = 0; r < stage->nresult; r++) {
			int until = (int)(intptr_t)map_find_ptr(&readers->last, stage->results[r]);
			if (until > last)
				vec_push(readers->arena, &outputs, stage->results[r]);
		}
	}
	return program_new(p->ctx, p->name, collect.inputs.count, collect.inputs.data, outputs.count,
	                   outputs.data);
}

bool
group_shares(const Group *group, int s, int loop)
{
	for (int k = 0; k < group->nshared; k++)
		if (group->map[s][k] == loop)
			return true;
	return false;
}

const Stage *
program_reduction(const Program *program)
{
	const Stage *first = program->stages[0];
	if (first->kind != STAGE_reduce || first->scan || !reduce_in_parts(first->reduce))
		return NULL;
	for (int s = 1; s < program->nstage; s++)
		if (program->stages[s]->kind != STAGE_map)
			return NULL;
	return first;
}

Program *
program_part(Arena *arena, const Program *program, int first, int last)
{
	Readers readers = {.program = program, .arena = arena, .last = {.arena = arena}};
	find_readers(&readers);
	return part_of(&readers, first, last);
}

/* Stages of one scan stand together; everything else may end a part anywhere. */
static int
end_of_unit(const Program *p, int s)
{
	const Scan *scan = p->stages[s]->scan;
	int end = s + 1;
	while (scan && end < p->nstage && p->stages[end]->scan == scan)
		end++;
	return end;
}

void
program_cut(Arena *arena, const Program *program, const Target *target, ProgramVec *parts)
{
	Readers readers = {.program = program, .arena = arena, .last = {.arena = arena}};
	find_readers(&readers);
	int first = 0;
	while (first < program->nstage) {
		int last = end_of_unit(program, first);
		Program *part = part_of(&readers, first, last);
		while (last < program->nstage && !program->stages[last]->scan) {
			const char *reason;
			Program *longer = part_of(&readers, first, last + 1);
			if (!group_is_good(arena, longer, target, &reason))
				break;
			part = longer;
			last++;
		}
		if (part->nstage > 0)
			vec_push(arena, parts, part);
		first = last;
	}
}
