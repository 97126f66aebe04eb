/* Groups: how the stages of one program share loops.
 *
 *     m[n:N] = max(c:C) X[n,c]      shared iterators {n}: every stage has it, and every read of an
 *     e[n:N,c:C] = exp(X[n,c]-m[n]) intermediate result stands at exactly this n
 *     s[n:N] = sum(c:C) e[n,c]
 *     Y[n:N,c:C] = e[n,c] / s[n]    =>  for n { m; e[C]; s; Y[n,…] }
 *
 * The shared iterators are loops of the root (the last stage), mapped per stage to its own
 * positions. Inside the shared loops the stages run one after the other; a result read by another
 * stage of the group is kept in a local buffer over its non-shared dims, or in a register.
 */
#ifndef PASSES_GROUP_H
#define PASSES_GROUP_H

#include "passes/pass.h"

/* Substitute map stages into their readers where that costs nothing: each element is read once per
 * point of the reader, or computing it costs no more than a load (casts, one add, index maps).
 * Outputs stay stages. */
Program *program_inline(Arena *arena, const Program *program);

/* The same whatever it costs: every map stage that is no output goes. For analysis, not to run. */
Program *program_flatten(Arena *arena, const Program *program);

/* Single numbers among the inputs' values become constants in the expressions; the inputs stay. */
Program *program_with_constants(const Program *program, Value *const *values);

/* The program lowering works on: node_meaning() with constants in it, inlined. `values` has room
 * for the node's inputs and gets those of the program. */
Program *node_program(Arena *arena, const Graph *graph, const Node *node, Value **values);

/* Drop dims and iterators of extent 1; `fixed` as below. */
Program *program_squeeze(Arena *arena, const Program *program, const bool *fixed);

/* Merge adjacent dims that are always used together, so that loops get long: [n,c,h,w] with
 * every access at [n,c,h,w] becomes [n*c*h*w]. `fixed[k]` forbids it for program tensor k of the
 * inputs, then the outputs (strided views); NULL: none is fixed. Inputs and outputs of the result
 * keep their positions and get merged dims. */
Program *program_collapse(Arena *arena, const Program *program, const bool *fixed);

typedef struct Group {
	const Program *program;
	const Stage *root;
	int nshared;
	const int *shared;     /* loop positions of the root, ascending */
	const int *const *map; /* map[s][k]: the loop of stage s that shared iterator k is */
	int64_t local_bytes;   /* of intermediates per point of the shared loops; INT64_MAX: symbolic */
	int64_t points;        /* of the shared loops at the probe sizes */
} Group;

/* How the stages share. False with a reason when they cannot stand in one kernel: scans and
 * scatters with other stages, results of different boxes. A single stage always can. */
bool group_analyse(Arena *arena, const Program *program, const Target *target, Group *group,
                   const char **reason);

/* Whether one kernel for the whole program is a good idea: it can be, its intermediates stay in
 * cache, and its shared loops occupy the cores. FuseOps asks this before it joins nodes. */
bool group_is_good(Arena *arena, const Program *program, const Target *target, const char **reason);

/* The program cut into programs that each are one kernel, in order. Tensors that cross a cut are
 * outputs of one part and inputs of later ones, by the same Tensor pointer. */
typedef VEC(Program *) ProgramVec;
void program_cut(Arena *arena, const Program *program, const Target *target, ProgramVec *parts);

/* Stages first..last-1 of a program as a program of their own; what others read is its output. */
Program *program_part(Arena *arena, const Program *program, int first, int last);

/* A program whose one reduction is long and leaves cores idle, with the reduction in two stages:
 * the first (stages[0]) sums chunks and is to be a kernel of its own. NULL: nothing to gain. */
const Program *program_split_reduction(Arena *arena, const Program *program, const Target *target);

/* Sums whose guard fixes the remainder of an iterator run over the terms that have it alone. */
const Program *program_pick_terms(const Program *program);

/* One kernel for a group: loops, schedule for the target's device. Arguments: the program's inputs,
 * then its outputs, none NULL. strides[k] of argument k: elements per dim, NULL entry dense. */
Kernel *lower_group(Arena *arena, const Program *program, const Dim *const *const *strides,
                    const char *name, const Loc *loc, const char *ancestry, const Target *target);

/* A number for a dim at the probe sizes: symbols not bound there count as 1. Products of them
 * may be larger than any number: then the largest. */
int64_t probe_dim(const Target *target, const Dim *dim);
int64_t probe_times(int64_t a, int64_t b);

#endif
