/* Steps by a vendor library: of a whole group, or of its sum with a kernel behind it. */
#ifndef LOWER_VENDOR_H
#define LOWER_VENDOR_H

#include "lower/steps.h"

/* A vendor call for the main stage of a group, when a row of vendor.def matches, the library can
 * run it, and it is not slower. Steps are appended; true when done. (program/match.c) */
bool lower_vendor(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                  MBuffer *const *outputs);
/* Whether a row is the whole program, and its library takes the call. Then a step for it, without a
 * kernel; NULL: it is not modelled to be faster than the `seconds` of our own steps. */
bool lower_vendor_takes(Lowering *low, const Node *node, const Program *program,
                        MBuffer *const *inputs, MBuffer *const *outputs);
MStep *lower_vendor_whole(Lowering *low, const Node *node, const Program *program,
                          MBuffer *const *inputs, MBuffer *const *outputs, double seconds);

/* Where it and nodes before it are a row's whole program: that call, which covers their steps
 * (plan.h). To be asked once the node has been lowered. (covering.c) */
void lower_covering(Lowering *low, const Node *node);
/* What lower_vendor() chooses for it, if there was a choice; NULL: none, or no such call. */
const PassChoice *lower_vendor_choice(Lowering *low, const Node *node, const Program *program,
                                      MBuffer *const *inputs, MBuffer *const *outputs);
/* The choice is made, by measuring or by a record. */
void lower_note_choice(PassContext *context, PassChoice choice);

/* The sum of a group by a vendor, what stands behind by kernels. Steps are appended; false when
 * that is not possible or not better. (products.c) */
bool lower_products(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                    MBuffer *const *outputs);

/* The sum of a group by a vendor and what stands behind by a kernel, where that is measured to be
 * faster than both in one call: an algorithm may be there for the sum alone. (products.c) */
bool lower_faster_apart(Lowering *low, const Node *node, const Program *program,
                        MBuffer *const *inputs, MBuffer *const *outputs);

#endif
