/* Schedule primitives: transformations of loops that keep the meaning. Each checks its own
 * conditions and fails (FAIL_BUG) when asked for the impossible; each is tested by kernel_eval()
 * before and after, and by golden texts.
 */
#ifndef TIR_SCHEDULE_SCHEDULE_H
#define TIR_SCHEDULE_SCHEDULE_H

#include "tir/rewrite.h"

/* for v in E  =>  for vo in ceil(E/factor) { for vi in factor { guard unless factor divides E } }.
 * Gives the outer loop; its first statement is the inner one. */
Stmt *tir_split(Kernel *kernel, Stmt *loop, int64_t factor);
/* As split, but a main nest without guards and a tail nest behind it. Gives the main outer loop. */
Stmt *tir_split_tail(Kernel *kernel, Stmt *loop, int64_t factor);
/* Two perfectly nested loops become one; indices are decoded by div and mod (then simplified). */
Stmt *tir_fuse(Kernel *kernel, Stmt *outer);
/* Perfectly nested loops into another order, given by their variables from outermost. */
void tir_reorder(Kernel *kernel, Stmt *outermost, int count, const Var *const *order);
void tir_bind(Kernel *kernel, Stmt *loop, Bind bind);
void tir_unroll(Kernel *kernel, Stmt *loop); /* constant extent: copies of the body */

#endif
