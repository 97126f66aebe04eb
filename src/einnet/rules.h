/* Rules by row (rules.def): where each may apply, and what comes out. */
#ifndef EINNET_RULES_H
#define EINNET_RULES_H

#include "base/vec.h"
#include "program/derive.h"

typedef enum RuleKind { RULE_exploring, RULE_joining, RULE_converging } RuleKind;

enum { RULE_ARGS = 4 };

#define RULE(name, kind, numerics, args, doc) RULE_##name,
typedef enum RuleCode {
#include "einnet/rules.def"
	RULE_COUNT
} RuleCode;
#undef RULE

/* One application: a rule, the stage by its number in the program, arguments as the row says. Of
 * canonical programs it means the same wherever it is read again. */
typedef struct RuleStep {
	RuleCode rule;
	int stage;
	int64_t arg[RULE_ARGS];
} RuleStep;

typedef struct RuleSteps {
	Arena *arena;
	VEC(RuleStep) list;
} RuleSteps;

typedef struct RuleInfo {
	const char *name;
	RuleKind kind;
	const char *numerics, *args, *doc;
} RuleInfo;

const RuleInfo *rule_info(RuleCode rule);
/* RULE_COUNT: there is none of this name. */
RuleCode rule_find(const char *name);
/* Its bit among those that a search may be without. Fails (FAIL_USAGE) where no rule that explores
 * has this name; `loc` may be NULL. */
uint32_t rule_bit(const Loc *loc, const char *name);
/* Of a list as "split_sum,unfold". */
uint32_t rule_bits(Arena *arena, const char *names);

/* Whether it takes a step of depth, and whether that brings products together. */
bool rule_explores(RuleCode rule);
bool rule_joins(RuleCode rule);

/* Append the steps of a rule that are worth trying on stage `stage`: some are refused yet. */
void rule_list(RuleSteps *steps, RuleCode rule, const Program *program, int stage);

/* The derived program; NULL, with the reason, where the rule's guard does not hold. Any numbers may
 * stand in the step. */
Program *rule_apply(const Program *program, const RuleStep *step, Reason *why);

/* "split_sum 0 3": rule, stage, arguments. Parsing gives false where the text is no step,
 * or has numbers beyond 32 bits. */
void rule_print(Buf *buf, const RuleStep *step);
bool rule_parse(const char *text, RuleStep *step);

/* A sum of the product of two reads that are not alike: what rules explore, libraries compute. */
bool stage_is_product(const Stage *stage);
/* Read `number` of the stage's body, in the order of a walk; NULL: there is none. */
const Expr *stage_read_at(const Stage *stage, int number);

#endif
