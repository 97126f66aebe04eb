/* choices.jsonl: what was chosen by measuring, so that --choices compiles the same again. Behind
 * {"choices": 2, "row": …}, its format and the row (driver/measure/native.h), a line of
 * {"key": …, "chosen": …, "candidates": …} for each. */
#ifndef DRIVER_CHOICES_H
#define DRIVER_CHOICES_H

#include "base/buf.h"
#include "base/pass.h"
#include "bundle/plan.h"
#include "driver/options.h"

/* One member of each line by its key. Fails with the line where there is no such member. */
void choices_read(Arena *arena, const char *path, const char *member, Map *values);
void choices_parse(Arena *arena, const char *path, const char *text, const char *member,
                   Map *values);

/* Behind the line that says the format and, if one was measured (not NULL), the row of the machine;
 * NULL where there is neither. */
const char *choices_text(Arena *arena, const char *row, const Buf *lines);

/* Append what a compilation chose. One that was replayed keeps what was measured when it was
 * made. */
void choices_write(Buf *buf, const Options *options, const PassContext *context);

/* By which value a step's choices are denied: the first that the step, or one behind it of the same
 * node, leaves whole. NULL: none does. */
const char *choices_value(const Plan *plan, int step);

/* Write the file at `path`: the choices of the file `known` (NULL: none), and this kind of choice
 * (base/pass.h) denied for each of these values. */
void choices_deny(Arena *arena, const char *known, const char *kind, int count,
                  const char *const *values, const char *path);

/* How many of the recorded choices a compilation asked for; and fail (FAIL_USAGE) when a model took
 * none of the `count` in the file of --choices. */
int choices_taken(const PassContext *context);
void choices_check(const Options *options, const char *model, int count, int taken);

#endif
