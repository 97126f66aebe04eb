/* From a node's program to views and kernels. */
#ifndef LOWER_PROGRAM_H
#define LOWER_PROGRAM_H

#include "lower/steps.h"

/* When the node's program only renumbers elements of one input in place (Reshape, Identity, a
 * leading Slice), make its output a view of that input. Other affine maps (Transpose) become
 * strided views where every reader is a vendor call that takes strides. */
bool lower_view(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs);

/* Whether kernels of the target take an argument that begins so many elements into a buffer. */
bool lower_may_begin(const Lowering *low, const Dim *offset, DType type);

/* When a node only puts tensors one behind the other, make its inputs views of its output: their
 * producers write in place. For blocked storage before any node is lowered; else when its turn
 * comes. True when done. (concat.c) */
void lower_place_concats(Lowering *low, const Region *region);
bool lower_concat(Lowering *low, const Node *node, const Program *program, Value *const *values);

/* Kernels for a program whose inputs and outputs live in these buffers. */
void lower_program(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                   MBuffer *const *outputs);

/* One kernel for a program that is one group. `args` are the buffers of its
 * inputs, then of its outputs: their layouts and strides go into the kernel. (program.c) */
Kernel *lower_kernel(Lowering *low, const Node *node, const Program *part, MBuffer *const *args);

/* For a device with memory of its own: where each value lies, and copies there and back.
 * (places.c) */
void lower_places(Arena *arena, Module *module);

#endif
