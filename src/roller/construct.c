/* construct_tiles(): depth first from the smallest tile, guided by a policy.
 *
 * A tile of a level is enlarged along the axis that its policy scores highest. One that is regular
 * and whose arithmetic takes longer than its loads is good enough: from it the next level begins,
 * or at the last one it is a program; then it is enlarged on. One that does not fit ends its
 * branch; the last that did is a program where nothing better is found, and while that is so the
 * next level begins from it.
 *
 *     registers 1,1 → 2,1 → 2,2 → 4,2 → 4,4 → 8,4 good     shared 8,8|8 → 16,8 → … 128,64|8 good
 */
#include <string.h>

#include "base/map.h"
#include "roller/roller.h"

enum { MOST_DEPTH = 1000 };

typedef struct Search {
	const TileTask *task;
	const TilePolicy *policy;
	HashSet visited;
	int visits;
	TilePrograms found, border;
	int limit; /* of found, for the branch at work */
	bool has_regular;
	int depth; /* of calls: no tile grows so often */
} Search;

static void grow(Search *s, const TileProgram *last, TileProgram *program, int level);

static bool
is_last(const Search *s, int level)
{
	return level == s->task->nlevel - 1;
}

static bool
is_done(const Search *s)
{
	return s->found.count >= s->limit || s->visits >= s->policy->visits;
}

/* The next level, from this tile on. */
static void
descend(Search *s, TileProgram program, int level)
{
	int share = s->policy->share[level], limit = s->limit;
	if (!s->policy->first(s->policy, s->task, &program, level + 1))
		return;
	if (share > 0 && s->found.count + share < limit)
		s->limit = s->found.count + share;
	grow(s, &program, &program, level + 1);
	s->limit = limit;
}

static void
leave_border(Search *s, const TileProgram *last, int level)
{
	if (is_last(s, level) && s->policy->is_regular(s->policy, s->task, last, level))
		vec_push(s->task->arena, &s->border, *last);
	if (!is_last(s, level) && !s->has_regular)
		descend(s, *last, level);
}

/* Axes that can grow, the highest score first; among equals in their order. */
static int
order_axes(const Search *s, const TileProgram *program, int level, int *axes, int64_t *next)
{
	double score[SPAN_AXES];
	int count = 0;
	for (int a = 0; a < s->task->naxis; a++) {
		next[a] = s->policy->next(s->policy, s->task, program, level, a);
		if (next[a] <= program->tile[level][a])
			continue;
		score[a] = s->policy->score(s->policy, s->task, program, level, a, next[a]);
		int at = count++;
		for (; at > 0 && score[axes[at - 1]] < score[a]; at--)
			axes[at] = axes[at - 1];
		axes[at] = a;
	}
	return count;
}

/* Whether these tiles were met before. */
static bool
visit(Search *s, const TileProgram *program, int level)
{
	uint64_t key[2] = {(uint64_t)level, 0};
	key[1] = hash64(program->tile, sizeof program->tile[0] * (size_t)(level + 1));
	return !hash_set_add(s->task->arena, &s->visited, hash128(key, sizeof key));
}

/* Larger ones, along each axis in turn. */
static void
enlarge(Search *s, const TileProgram *program, int level)
{
	int axes[SPAN_AXES];
	int64_t next[SPAN_AXES];
	int count = order_axes(s, program, level, axes, next);
	if (count == 0) /* all of it fits */
		leave_border(s, program, level);
	for (int i = 0; i < count && !is_done(s) && s->depth < MOST_DEPTH; i++) {
		TileProgram larger = *program;
		larger.tile[level][axes[i]] = next[axes[i]];
		s->depth++;
		grow(s, program, &larger, level);
		s->depth--;
	}
}

static void
grow(Search *s, const TileProgram *last, TileProgram *program, int level)
{
	const TilePolicy *policy = s->policy;
	if (visit(s, program, level))
		return;
	s->visits++;
	if (is_done(s))
		return;
	if (!policy->fits(policy, s->task, program, level)) {
		leave_border(s, last, level);
		return;
	}
	if (policy->is_regular(policy, s->task, program, level) &&
	    policy->is_enough(policy, s->task, program, level)) {
		if (is_last(s, level)) {
			s->has_regular = true;
			vec_push(s->task->arena, &s->found, *program);
		} else
			descend(s, *program, level);
	}
	enlarge(s, program, level);
}

TilePrograms
construct_tiles(const TileTask *task, const TilePolicy *policy, int *visited)
{
	Search search = {.task = task, .policy = policy, .limit = policy->most};
	TileProgram unit;
	memset(&unit, 0, sizeof unit);
	unit.cut = unit.sharers = unit.stages = unit.threads = 1;
	if (policy->first(policy, task, &unit, 0))
		grow(&search, &unit, &unit, 0);
	*visited += search.visits;
	if (search.found.count > 0)
		return search.found;
	if (search.border.count > policy->most)
		search.border.count = policy->most;
	return search.border;
}
