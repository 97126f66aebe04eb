/* Programs that are a given meaning for some numbers, in whatever words.
 *
 *     s[n]   = sum(c:C) X[n,c]                    Y[n,c] = (X[n,c] - s[n]/C) / sqrt(q[n]/C + ?)
 *     q[n]   = sum(c:C) (X[n,c] - s[n]/C)^2
 *
 * Stage by stage, scalars by their forms (form.h): so a match is reassociating, never exact.
 */
#ifndef PROGRAM_SOLVE_H
#define PROGRAM_SOLVE_H

#include "expr/stage/stage.h"
#include "program/form.h"

/* Both are flat, without dims of 1 (forms.h) and of one output. place[i] is the input of the
 * meaning that input i of `given` is; negative: one that it must not read. */
bool program_solve(Arena *arena, const FormLeaves *leaves, const Program *meaning,
                   const Program *given, const int *place, Solved *solved);

#endif
