/* Inside of an ExprCtx, for the files of this folder only: the interning table, and scratch memory
 * for walks that is used again and again instead of growing the arena.
 */
#ifndef EXPR_SCALAR_CTX_H
#define EXPR_SCALAR_CTX_H

#include "expr/scalar/expr.h"

/* A table from nodes to a word, emptied in constant time. Taken from the ctx and given back; one
 * that is lost because fail() unwound past its user is only unused memory of the arena. */
typedef struct MemoSlot {
	const Expr *key;
	uint64_t value;
	uint32_t stamp; /* in use when equal to the memo's */
} MemoSlot;

typedef struct Memo {
	struct Memo *next; /* in the ctx's list of free ones */
	Arena *arena;
	MemoSlot *slots;
	int slot_count, count;
	uint32_t stamp;
	/* a stack and a list for walks */
	VEC(const Expr *) nodes;
	VEC(uint64_t) stack;
	VEC(int64_t) numbers;
} Memo;

Memo *memo_take(ExprCtx *ctx);
void memo_give(ExprCtx *ctx, Memo *memo);
void memo_clear(Memo *memo);
bool memo_find(const Memo *memo, const Expr *key, uint64_t *value);
void memo_set(Memo *memo, const Expr *key, uint64_t value);

const Expr *memo_find_expr(const Memo *memo, const Expr *key); /* NULL when absent */
void memo_set_expr(Memo *memo, const Expr *key, const Expr *value);

/* What a walk takes as a whole: nothing, what has no read in it, sums in normal form; or it leaves
 * out what has no read, but for the root. */
typedef enum WalkEnds { WALK_TO_LEAVES, WALK_TO_READS, WALK_TO_SUMS, WALK_READS } WalkEnds;

static inline int
walk_argc(const Expr *e, WalkEnds ends)
{
	bool is_end = ends == WALK_TO_SUMS ? e->is_sum : ends != WALK_TO_LEAVES && !e->has_read;
	return is_end ? 0 : e->argc;
}

/* Append the distinct nodes below e that the memo does not hold yet to memo->nodes, operands first;
 * each enters the memo with its index there. No recursion. */
void walk_nodes(Memo *memo, const Expr *e, WalkEnds ends);
/* What stands in memo->numbers for a node of the walk, where there is one number for each. */
int64_t memo_number(const Memo *memo, const Expr *node);
/* What such a walk makes of e: of each node by what it has made of the operands. */
typedef const Expr *(*WalkFold)(ExprCtx *to, const Expr *e, const Expr *const *args, void *arg);
const Expr *walk_fold(ExprCtx *to, const Expr *e, WalkEnds ends, WalkFold fold, void *arg);
/* The same on a memo that holds what walks before have made, of nodes of the same ctx. */
const Expr *walk_fold_on(Memo *memo, ExprCtx *to, const Expr *e, WalkEnds ends, WalkFold fold,
                         void *arg);
/* expr_import() so: the map says the same of what has been imported. */
const Expr *walk_import(Memo *memo, ExprCtx *to, const Expr *e, const Map *map);
/* expr_rewrite() of the nodes of such a walk. */
const Expr *walk_rewrite(ExprCtx *ctx, const Expr *e, WalkEnds ends, ExprRewrite replace,
                         void *arg);

typedef struct InternSlot {
	uint64_t hash;
	const Expr *e;
} InternSlot;

enum { CTX_SMALL = 64 };

struct ExprCtx {
	Arena *arena;
	Arena *table; /* of the slots, when they have grown: goes when they grow again */
	InternSlot *slots;
	uint32_t slot_count, count;
	Map names;   /* one copy of each text */
	Map symbols; /* name to Symbol */
	VEC(Symbol *) symbol_list;
	int ntensor, nvar;
	uint64_t work;                /* see expr_ctx_work() */
	int steps_left, steps_most;   /* of the question at work, and of any: index/budget.h */
	const Expr *small[CTX_SMALL]; /* i64 constants from 0 on */
	const Expr *iters[CTX_SMALL]; /* iterators */
	Memo *memos;
	Arena *scratch;                       /* see ctx_scratch() */
	VEC(const Expr *) zeros;              /* differences of dims assumed equal */
	struct Facts *dim_facts;              /* of symbols alone: dim.c */
	struct Facts *closed_facts;           /* to be used again: index/bounds.c */
	struct StageBuilder *closed_builders; /* the same: stage/build.c */
	int forgotten;   /* how often: facts from before are used up, and not again */
	ExprCtx *kept;   /* whose proofs are remembered; NULL: its own */
	Hash128 *proofs; /* see proof_slot(); NULL: nothing was asked yet */
};

/* The node equal to `head` with these operands: head carries op, type, flags, argc and leaf data in
 * its union (unused bytes zero); the rest is derived. */
const Expr *expr_intern(ExprCtx *ctx, const Expr *head, const Expr *const *args);

/* Where the answer to a question about indices may stand (index/prove.c): a table of one place for
 * each, where later questions take the places of earlier ones. */
Hash128 *proof_slot(ExprCtx *ctx, Hash128 question);

/* Memory for the time of a call, which marks it and releases it. */
Arena *ctx_scratch(ExprCtx *ctx);

/* One copy of a text, living as long as the ctx. */
const char *ctx_name(ExprCtx *ctx, const char *name);

/* An order of nodes that depends on their structure and on names only, not on when they were made
 * (so that texts read back in the same order): <0, 0 (same node), >0. */
int expr_compare(const Expr *a, const Expr *b);

#endif
