/* What the rules share, inside this folder. */
#ifndef EINNET_RULES_INNER_H
#define EINNET_RULES_INNER_H

#include "einnet/rules.h"

enum { RULE_ITERS = 60, RULE_FACTOR = 64 };

/* An index, or what it divides, as a sum of iterators with constant factors. */
typedef struct Linear {
	int64_t factor[RULE_ITERS], divisor;
	int count; /* of iterators that move it */
} Linear;

/* A rule being listed. */
typedef struct Lister {
	RuleSteps *steps;
	const Program *program;
	const Stage *stage;
	RuleStep step; /* rule and stage */
	uint64_t *found;
} Lister;

/* The extent of iterator i, where it is a number and begins at 0. */
bool rule_extent(const Stage *stage, int i, int64_t *extent);
bool rule_linear(const Stage *stage, const Expr *index, Linear *out);
/* A step with these arguments, once. */
void rule_add(const Lister *l, int64_t a, int64_t b, int64_t c);
void rule_add_last(const Lister *l, int64_t a, int64_t b, int64_t c, int64_t d);
/* For each index of each read that is a sum of several iterators. */
void rule_each_window(const Lister *l,
                      void (*visit)(const Lister *, int read, int dim, const Linear *));

/* rules_operands.c */
void list_split_operand(const Lister *l);
void list_unfold(const Lister *l);
void list_bilinear(const Lister *l);
Program *apply_split_operand(const Program *program, const Stage *stage, const int64_t *arg,
                             Reason *why);
Program *apply_unfold(const Program *program, const Stage *stage, const int64_t *arg, Reason *why);
Program *apply_bilinear(const Program *program, const Stage *stage, const int64_t *arg,
                        Reason *why);

#endif
