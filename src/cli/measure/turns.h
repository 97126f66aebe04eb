/* Subjects take turns, so that all see the same weather: what bench and compare measure. */
#ifndef CLI_MEASURE_TURNS_H
#define CLI_MEASURE_TURNS_H

#include "cli/measure/subject.h"
#include "driver/progress.h"

/* The subjects that are the verb's arguments: opened, given the inputs of the first, and run once.
 * Fails (FAIL_USAGE) where inputs differ, and where no subject is a model on options of
 * compiling. */
Subject **turns_open(const Options *options, Progress *progress);

/* Open each in fresh processes (Subject.fresh_…), then --rounds rounds, a turn for each in one. */
void turns_take(const Options *options, int count, Subject **subjects, Progress *progress);

/* A subject's turns beside those of the first. In one round both see the same weather, so the
 * ratios of rounds are compared: what the middle half of them agrees on is a difference. */
typedef struct Ratio {
	double middle, lower, upper; /* the median and the quartiles of the rounds' ratios */
	const char *verdict;         /* "faster", "slower", "not distinguishable"; of the first "" */
} Ratio;
Ratio turns_ratio(Arena *arena, const Subject *first, const Subject *subject);

/* The largest spread of one subject's turns, and what subjects differ by at most. */
void turns_noise(Arena *arena, int count, Subject **subjects, double *noise, double *apart);

#endif
