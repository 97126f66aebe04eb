/* Subjects take turns, so that all see the same weather: what bench and compare measure. */
#ifndef CLI_MEASURE_TURNS_H
#define CLI_MEASURE_TURNS_H

#include "cli/measure/subject.h"
#include "driver/progress.h"

/* The subjects that are the verb's arguments: opened, given the inputs of the first, and run once.
 * Fails (FAIL_USAGE) where inputs differ, and where no subject is a model on options of
 * compiling. */
Subject **turns_open(const Options *options, Progress *progress);

/* Open each in fresh processes (Subject.fresh_…), then rounds, a turn for each in one, before which
 * it is opened anew. --rounds of them; without it until each is told from the first one, or not. */
void turns_take(const Options *options, int count, Subject **subjects, Progress *progress);

/* A subject's turns beside those of the first. In one round both see the same weather, so the
 * ratios of rounds are compared. Their true median lies in the interval with 95 % certainty,
 * however they are distributed (turns.c); of fewer than TURNS_LEAST rounds it is all that was seen.
 *
 *     faster, slower        the whole interval is below 0.98, above 1.02
 *     not distinguishable   it is between them
 *     undecided             it is not: more rounds, or a quieter machine, would tell */
enum { TURNS_LEAST = 8 };
typedef struct Ratio {
	double middle, lower, upper; /* the median of the rounds' ratios, and its interval */
	const char *verdict;         /* of the first "" */
} Ratio;
Ratio turns_ratio(Arena *arena, const Subject *first, const Subject *subject);

/* Each subject's turns as JSON, one list of milliseconds for each. */
const char *turns_json(Arena *arena, int count, Subject **subjects);

/* The largest spread of one subject's turns, and what subjects differ by at most. */
void turns_noise(Arena *arena, int count, Subject **subjects, double *noise, double *apart);

#endif
