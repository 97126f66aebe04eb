/* Vendor steps on the CPU: what a plan may ask of oneDNN, in words of the plan.
 *
 * The compiler writes PT_VENDOR steps by these texts; runtime/onednn is the only code that knows
 * the library. A step has a `row`, arguments and attributes (base/call.h). The arguments' types,
 * dims, strides and layouts are those of their buffers. A layout is NULL (row-major, strides
 * allowed), "nhwc"-like (n, c and spatial letters in order of memory), blocked by channels
 * ("nc16hw", "nc8w", "nc16dhw"; padded channels are zero), or a tag of the library ("aBcd16b").
 * Strides of a blocked buffer are those between blocks.
 *
 * row "conv"    args: src [N,C,spatial…], weights [M,C/g,kernel…], bias [M] or -1, what post-ops
 *               name …, dst [N,M,spatial…]
 *     group       ints: 1 number, default 1
 *     strides, dilations, pads_lo
 *                 ints: one per spatial dim; defaults 1, 1 (ONNX's count: 1 is dense), 0. What the
 *                 last window of the result needs behind the source is padding, too
 *     algorithm   string: "direct" (default), "winograd", "auto"
 *     rows        ints: 1: cut along rows as well, each piece with a copy of those that its windows
 *                 reach, default 0
 *     fallback_weights
 *                 ints: 1 number b: the fallback kernel reads the weights, which are constant, in
 *                 blocks of b output channels, [M/b,C/g,kernel…,b], zeros behind the last
 * row "matmul"  args: a […,M,K], b […,K,N], bias [N] or -1, what post-ops name …, dst […,M,N];
 *               leading dims broadcast as ONNX MatMul does
 *     transpose_a, transpose_b
 *                 ints: 1: the last two dims of that argument are swapped, default 0
 * row "pool"    args: src, dst
 *     kind        string: "max" or "avg_padded": the mean, padding counted
 *     kernel      ints: one per spatial dim; strides, dilations, pads_lo as above
 * row "reorder" args: src, dst: the same tensor in another layout
 *
 * All rows:
 *     post        string: post-ops in order (conv and matmul): base/post.def
 *     pieces      ints: 1 number: most pieces that one run is cut into; default: by shape. Cutting
 *                 never depends on the number of threads
 *     impl        string: the implementation seen when compiling: for logs only
 *
 * A weight (bias, b of matmul) that is a PB_WEIGHT buffer is packed once per bundle. A call for
 * which the library has only a reference implementation is refused; the step's fallback kernel
 * runs then.
 */
#ifndef RUNTIME_VENDOR_H
#define RUNTIME_VENDOR_H

#include "base/blob.h"
#include "base/call.h"
#include "base/clock.h"
#include "runtime/memory.h"

enum { VENDOR_MAX_RANK = 8, VENDOR_MAX_ARGS = 12, VENDOR_IMPL_SIZE = 64 };

/* The fallback kernel of a step takes the step's arguments in order, absent ones left out. */

/* The library with its engine, primitives and packed weights; shared by the sessions of a bundle
 * (its functions lock). NULL with a sentence when it cannot be loaded or used. */
typedef struct Vendor Vendor;
Vendor *vendor_open(char *error, size_t error_size);
void vendor_close(Vendor *vendor);
const char *vendor_name(const Vendor *vendor); /* "oneDNN 2.6.3" */

/* Before any call: where the bundle's weights lie and what their hash is, and a store of packed
 * forms that came with them (empty: none; one that is not a store is not used). Both outlive it. */
void vendor_use_weights(Vendor *vendor, Bytes weights, Hash128 hash, Bytes store);

/* Before any call: where packed forms lie from now on, as in Memory (runtime/memory.h). */
void vendor_use_memory(Vendor *vendor, const Memory *memory);

/* All forms packed so far, as a store for the bundle. Its pieces are the forms themselves, so the
 * library stays open while it is used; free() the result then. NULL: none, or no memory. */
void *vendor_export(Vendor *vendor, Blob *store);

/* A call at concrete dims, for one session: primitives found or made, weights packed. NULL with a
 * sentence when the library has no implementation but a reference one. */
typedef struct PreparedCall PreparedCall;
PreparedCall *vendor_call_new(Vendor *vendor, const VendorCall *desc, char *error,
                              size_t error_size);
void vendor_call_free(PreparedCall *call);
const char *vendor_call_impl(const PreparedCall *call); /* "jit:avx512_core" */
int vendor_call_pieces(const PreparedCall *call);
size_t vendor_call_scratch(const PreparedCall *call); /* bytes per worker, 64-byte aligned */

/* Run one piece in this thread, single-threaded. `buffers` in the order of args. False with a
 * sentence when the library reports an error. Different pieces may run at once. */
bool vendor_call_run(PreparedCall *call, int piece, void *const *buffers, void *scratch,
                     char *error, size_t error_size);

/* For choosing when compiling: the implementation's name and the seconds to choose by: the median
 * of all pieces run one after another, times the root of the largest share of them that one of
 * `threads` threads gets (time NULL: not measured). Weights are packed as in a run; data is made
 * up where it is not given. False with a sentence when it is not implemented. Whether the library
 * took Winograd shows in `impl`. */
bool dnnl_measure(Vendor *vendor, const VendorCall *desc, int threads, Timing *time,
                  char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size);

#endif
