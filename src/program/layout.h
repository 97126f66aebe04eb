/* Blocked storage of a group's tensors: the map from logical index to address, put into its
 * program.
 *
 *     "nc16hw":  element [n,c,h,w] lies at [n, c/16, h, w, c%16]
 *     "o16ihw":  element [o,i,h,w] lies at [o/16, i, h, w, o%16]
 *
 * Meaning and shapes never see layouts; lowering rewrites the program over the stored dims, where
 * everything is dense again and the block is a loop of its own.
 */
#ifndef PROGRAM_LAYOUT_H
#define PROGRAM_LAYOUT_H

#include "base/dtype.h"
#include "program/group.h"
#include "program/reindex.h"

/* "nc16hw" for rank 4 and block 16; NULL when the rank has no such layout (3 to 5 have). */
const char *layout_blocked(Arena *arena, int rank, int64_t block);

/* The same of weights, by output channel: "o16ihw". */
const char *layout_of_weights(Arena *arena, int rank, int64_t block);

/* Elements between neighbours along each logical dim of dense storage; along the channels of a
 * blocked layout: between blocks. */
void layout_strides(ExprCtx *ctx, const char *layout, int rank, const Dim *const *dims,
                    const Dim **strides);

/* The program over stored dims: layouts of inputs, then of outputs, NULL entries plain. Where the
 * block does not divide the channels, the padding of outputs is written as zero. */
Program *program_apply_layouts(Arena *arena, const Program *program, const char *const *layouts);

/* The program with dim `dim` of one input stored in panels, one for each block: [dim/block, the
 * other dims, block]. Iterators that stand alone there are split, results in place. */
Program *program_block_input(Arena *arena, const Program *program, int input, int dim,
                             int64_t block);

/* The program with an input stored in these dims, of those that it has: twice as many at most. */
Program *program_store_input(Arena *arena, const Program *program, int input, int rank,
                             const NewDim *dims);

/* The program with an input of f16 or bf16, all of whose reads are cast to f32, stored as f32. */
Program *program_widen_input(Arena *arena, const Program *program, int input);

/* Loops that indices take apart by a constant (a Reshape that splits a dim) become two, so that no
 * division is left: Y[m:768] = X[m/64, m%64]  =>  Y[o:12,i:64] = X[o,i]. Outputs get split dims of
 * the same row-major storage. */
Program *program_split_dims(Arena *arena, const Program *program);

#endif
