/* How kernels are made for GPUs: what the parts of its maker (target/maker.h) share.
 *
 * A script binds a kernel's shared loops to blocks and threads. Which thread computes what is one
 * of a few forms, the first that knows the group:
 *
 *     rows       the threads of a block, or a warp, share what stands inside of the shared loops:
 *                sums by parts, each element by one thread (rows.c)
 *     products   a block computes a tile, whose factors lie in shared memory (product.c)
 *     columns    windows: a thread has some places, whose column lies in registers (column.c)
 *     tiles      other windows, what is turned: what a block reads lies in shared memory (tile.c)
 *     maps       a thread computes neighbours, read and written by 16 bytes (map.c)
 *     plain      a thread computes an iteration of the shared loops, all of it (maker.c)
 */
#ifndef LOWER_GPU_GPU_H
#define LOWER_GPU_GPU_H

#include "lower/group.h"
#include "program/group.h"
#include "target/maker.h"
#include "tir/script.h"

typedef struct GpuWriter {
	Arena *arena;
	const Group *group;
	const Target *target;
	const Nest *nest;
	ScriptWriter script;
} GpuWriter;

/* Loops as one, outermost first, each holding the next and nothing else; its name. */
const char *gpu_fuse(ScriptWriter *w, int count, const char *const *loops);

/* A loop in pieces of so many iterations: of whole ones (split_whole), or the last one short. */
void gpu_split(ScriptWriter *w, Primitive how, const char *loop, int64_t size, const char *outer,
               const char *inner);

/* The name of the argument that an input of the program is. */
const char *gpu_argument(const GpuWriter *w, const Tensor *input);

/* Blocks of so many threads of an axis over all iterations of these loops, outermost first. */
void gpu_bind_flat(ScriptWriter *w, int count, const char *const *loops, int threads, Bind axis);

/* Iterations of loop k of Group.shared at most; INT64_MAX: no number. */
int64_t gpu_most(const GpuWriter *w, int k);

/* Blocks along three loops, NULL for none: along z, y and x. Along z and y a grid has few: a loop
 * for which more are not ruled out by `most`, its iterations or a bound of them, has x instead. */
void gpu_bind_blocks(GpuWriter *w, const char *const loops[3], const int64_t most[3]);

/* Rows (rows.c): stages whose own loops, and sums, the threads of a block share.
 *
 * Whether that form is the one for the group; whether the arrays between its stages fit into a
 * thread's registers or a block's shared memory. */
bool gpu_has_rows(const Group *group, const Target *target);
bool gpu_arrays_fit(const Group *group, const Target *target);
void gpu_write_rows(GpuWriter *w);

/* A tile of a product for each block (product.c); false: the group is none, or too small. */
bool gpu_write_product(GpuWriter *w);
/* Columns or a tile of windows, or a tile of what is turned; false: the group is neither. */
bool gpu_write_tile(GpuWriter *w);
/* Some places of the window that reads so for each thread (column.c); false: it gets a tile. */
bool gpu_write_column(GpuWriter *w, const Expr *read);
/* The coefficients of iterators in an index, NULL for none; NULL: it is no sum of them. */
const Dim **gpu_coefficients(const Stage *stage, const Expr *index);

/* How many neighbours along an iterator of the stage an access of 16 bytes holds of the widest type
 * that is read and written along it; whether all is read along it so. (map.c) */
int64_t gpu_lanes_along(const Stage *stage, int iter);
bool gpu_has_accesses(const Stage *stage, int iter, int64_t lanes);
/* Neighbours of a map for each thread (map.c); false: it runs otherwise. */
bool gpu_write_map(GpuWriter *w);

enum {
	GPU_BLOCK = 256,           /* threads of a block where nothing else asks for a number */
	GPU_ENOUGH_THREADS = 8192, /* with fewer most of a chip has nothing to do */
};

/* Bytes of a thread's arrays: they find registers only where loops are unrolled. */
enum { GPU_LOCAL_BYTES = 64 };

#endif
