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
#ifndef PROGRAM_GROUP_H
#define PROGRAM_GROUP_H

#include "target/target.h"

/* An element that is used so often, and needs no other tensor, is made apart: a table. */
enum { TABLE_USES = 16 };

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

/* Whether this loop of stage s is one of the shared ones. */
bool group_shares(const Group *group, int s, int loop);

/* Whether one kernel for the whole program is a good idea: it can be, its intermediates stay in
 * cache, and its shared loops occupy the cores. FuseOps asks this before it joins nodes. */
bool group_is_good(Arena *arena, const Program *program, const Target *target, const char **reason);

/* The form of a program that is one kernel; the program itself, and a reason, where the form's
 * stages cannot stand in one any more. */
const Program *group_form(Arena *arena, const Program *program, const Program *form,
                          const Target *target, const char **reason);

/* The reduction that a program is, with maps behind it, and whose terms may be reduced in parts;
 * NULL: it is something else. */
const Stage *program_reduction(const Program *program);

/* The program cut into programs that each are one kernel, in order. Tensors that cross a cut are
 * outputs of one part and inputs of later ones, by the same Tensor pointer. */
typedef VEC(Program *) ProgramVec;
void program_cut(Arena *arena, const Program *program, const Target *target, ProgramVec *parts);

/* Stages first..last-1 of a program as a program of their own; what others read is its output. */
Program *program_part(Arena *arena, const Program *program, int first, int last);

#endif
