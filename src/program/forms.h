/* Other forms of a program that mean the same and are better to match, to group or to run. Their
 * passes (unit.h) stand beside them.
 */
#ifndef PROGRAM_FORMS_H
#define PROGRAM_FORMS_H

#include "target/target.h"

/* Substitute map stages into their readers where that costs nothing: each element is read once per
 * point of the reader, or computing it costs no more than a load (casts, one add, index maps).
 * Outputs stay stages. */
Program *program_inline_stages(Arena *arena, const Program *program);

/* f32 made of constants that are numbers of few bits is computed by the sum of products that reads
 * it, which so reads fewer bytes. is_constant[i] of input i. */
const Program *program_inline_codes(const Program *program, const bool *is_constant);

/* program_inline_stages() whatever it costs: every map stage that is no output goes. For analysis,
 * not to run. */
Program *program_flatten(Arena *arena, const Program *program);

/* What depends on few of a stage's loops, and costs more than a load, becomes a stage of its own:
 * a table. */
const Program *program_lift_tables(Arena *arena, const Program *program, const Target *target);

/* Single numbers become constants in the expressions, and tables of integers in steady steps sums
 * of their indices; the inputs stay. values[k] is what is known of input k, or NULL. */
Program *program_fold_numbers(const Program *program, const Array *const *values);

/* Drop dims and iterators of extent 1; `fixed` as for program_collapse_dims(). */
Program *program_squeeze_dims(Arena *arena, const Program *program, const bool *fixed);

/* Merge adjacent dims that are always used together, so that loops get long: [n,c,h,w] with
 * every access at [n,c,h,w] becomes [n*c*h*w]. `fixed[k]` forbids it for program tensor k of the
 * inputs, then the outputs (strided views); NULL: none is fixed. Inputs and outputs of the result
 * keep their positions and get merged dims. */
Program *program_collapse_dims(Arena *arena, const Program *program, const bool *fixed);

/* Sums whose guard fixes the remainder of an iterator run over the terms that have it alone. */
const Program *program_pick_terms(const Program *program);

#endif
