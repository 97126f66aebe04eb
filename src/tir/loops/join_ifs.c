/* Ifs beside each other that ask the same: their arms are run one after the other. */
#include "tir/loops/motion.h"

/* Whether running the list may change what the condition reads. */
static bool
may_change(Arena *arena, Stmt *list, const Expr *condition)
{
	bool changes = false;
	if (!condition->has_read)
		return false;
	for (StmtWalk walk = stmt_walk(arena, list); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		changes |= stmt_is_barrier(stmt);
		if (!stmt->index)
			continue;
		for (ExprWalk reads = expr_walk(condition); expr_step(&reads);) {
			const Buffer *buffer = (const Buffer *)reads.e->tensor;
			if (reads.e->op == EX_read)
				changes |= buffer == stmt->buffer || (buffer->may_alias && stmt->buffer->may_alias);
		}
	}
	return changes;
}

/* if (c) A; if (c) B  =>  if (c) { A; B }
 *
 * Each part that is joined is looked at once, and its end is where the next one hangs. */
static bool
join_behind(Arena *arena, Stmt *first)
{
	bool changed = false;
	Stmt *parts[] = {first->body, first->other}, **ends[] = {&first->body, &first->other};
	for (Stmt *next = first->next; next && next->kind == STMT_IF; next = next->next) {
		if (next->condition != first->condition || !next->other != !first->other ||
		    may_change(arena, parts[0], first->condition) ||
		    may_change(arena, parts[1], first->condition))
			break;
		Stmt *more[] = {next->body, next->other};
		for (size_t k = 0; k < countof(parts); k++) {
			while (*ends[k])
				ends[k] = &(*ends[k])->next;
			*ends[k] = parts[k] = more[k];
		}
		first->next = next->next;
		changed = true;
	}
	return changed;
}

bool
join_ifs(Arena *arena, Stmt *list)
{
	bool changed = false;
	for (Stmt *stmt = list; stmt; stmt = stmt->next)
		if (stmt->kind == STMT_IF)
			changed |= join_behind(arena, stmt);
	return changed;
}
