/* Vendor libraries: who runs the PT_VENDOR steps of a plan.
 *
 * A library is a record, filled in by the one folder that knows it (runtime/onednn), and a line of
 * the table in libraries.c. A step names its library and a row of it; the name is looked up in that
 * table and nowhere else. What a row computes says target/vendor.def, and the library's folder in
 * which words it is told.
 *
 * A call has the step's arguments and attributes (base/call.h). The arguments are the operands, a
 * bias or -1 where the row can have one, what post-ops name, and the result; their types, dims,
 * strides and layouts are those of their buffers. A layout is NULL (row-major, strides allowed),
 * "nhwc"-like (n, c and spatial letters in order of memory), blocked by channels ("nc16hw", "nc8w",
 * "nc16dhw"; padded channels are zero), or a tag of the library ("aBcd16b"). Strides of a blocked
 * buffer are those between blocks. All rows know these attributes:
 *
 *     post        string: post-ops in order: base/post.def
 *     impl        string: the implementation that accept() named when compiling, for libraries of
 *                 devices
 *     loses       string: what of NaN and infinities is not treated as the step's node says, for
 *                 people: "NaN in Relu"
 *     fallback_weights
 *                 ints: 1 number b: the fallback kernel reads argument 1, weights, which are
 *                 constant, in blocks of b output channels, [M/b,C/g,kernel…,b], zeros behind the
 *                 last
 *
 * What a library does not run as the step says (it has only a reference implementation for it, say)
 * it refuses; the step's fallback kernel runs then, which takes the step's arguments in order,
 * absent ones left out.
 */
#ifndef RUNTIME_VENDOR_H
#define RUNTIME_VENDOR_H

#include "base/blob.h"
#include "base/call.h"
#include "base/clock.h"
#include "runtime/memory.h"
#include "runtime/weights.h"

enum { VENDOR_MAX_RANK = 8, VENDOR_MAX_ARGS = 12, VENDOR_IMPL_SIZE = 128 };

typedef struct VendorLibrary VendorLibrary;

/* A library that was opened, shared by the sessions of a bundle; it adds what it needs behind this.
 * Its functions lock. */
typedef struct Vendor {
	const VendorLibrary *library;
	char version[64]; /* "oneDNN 2.6.3" */
} Vendor;

/* A call at concrete dims, for one session; a library adds what it needs behind this. */
typedef struct PreparedCall {
	const VendorLibrary *library;
	int pieces;     /* that can run at once; by the shape alone, never by the number of threads */
	size_t scratch; /* bytes for each of those that run at once, 64-byte aligned */
	double seconds; /* that it took to make; 0: not measured, or it was there */
	char impl[VENDOR_IMPL_SIZE]; /* "jit:avx512_core" */
} PreparedCall;

enum { VENDOR_MOST_DIMS = 12 };

/* Part of a weight: elements of `element` bytes, from `offset` in the weights on, so many along
 * each dim, `strides` elements apart. */
typedef struct PackedPart {
	int64_t offset, element, rank, size[VENDOR_MOST_DIMS], strides[VENDOR_MOST_DIMS];
} PackedPart;

/* Where a packed form has the elements of its part: dims in blocks, the innermost block last.
 *
 *     OIhw4i16o4i: block 4, 16, 4, dim 1, 0, 1; an index of dim 1 goes into i/16, i/4%4 and i%4
 *
 * Numbers in elements from the form's beginning. Rank 0: the form can't be read back. */
typedef struct PackedLayout {
	int64_t rank, begin, strides[VENDOR_MOST_DIMS];
	int64_t nblock, block[VENDOR_MOST_DIMS], dim[VENDOR_MOST_DIMS];
} PackedLayout;

/* A weight, or part of one, in a form that a library made of it, under a key of what decides its
 * layout: the library and its version, the machine's instructions, the descriptor. Of PackedPart
 * and PackedLayout every byte counts: fields that are not used are 0. */
typedef struct PackedForm {
	Hash128 key;
	PackedPart part;
	PackedLayout layout;
	Bytes data;
} PackedForm;

/* A device that need not be here, as its data sheet has it. */
typedef struct VendorDevice {
	const char *name;
	int capability;                                       /* 90 */
	int units, registers, threads, blocks, threads_block; /* as GPUs' in target/devices.def */
	int64_t shared_block, l2, memory;                     /* bytes */
	int64_t clock, memory_clock;                          /* kHz */
	int driver;                                           /* CUDA's version that it knows: 13000 */
} VendorDevice;

/* Functions that give a bool or a pointer give false or NULL with a sentence. */
struct VendorLibrary {
	const char *name; /* in vendor.def and in plans */

	Vendor *(*open)(char *error, size_t error_size);
	void (*close)(Vendor *vendor);

	/* ---- when compiling: weights need no bytes (VendorArg.is_weight) ---- */

	/* Before any call: the GPU that they are for. NULL: the library's calls run on the host. */
	bool (*use_device)(Vendor *vendor, const VendorDevice *device, char *error, size_t error_size);

	/* Whether there is a real implementation, which `impl` names. */
	bool (*accept)(Vendor *vendor, const VendorCall *call, char impl[VENDOR_IMPL_SIZE], char *error,
	               size_t error_size);
	/* Also the time to choose by, half-way between one thread and so many. It comes with the
	 * seconds of the fastest that it is compared with, or 0: what is clearly slower is timed by
	 * fewer runs. NULL: it has nothing here to measure on. */
	bool (*measure)(Vendor *vendor, const VendorCall *call, int threads, Timing *time,
	                char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size);

	/* ---- when running, on this thread's device where there are several ---- */

	PreparedCall *(*prepare)(Vendor *vendor, const VendorCall *call, char *error,
	                         size_t error_size);
	void (*drop)(PreparedCall *call); /* NULL is accepted */
	/* One of these two, the other is NULL. Run a piece in this thread, which is one of several, or
	 * enqueue the call as the next work of a stream of the device's. `buffers` in the order of the
	 * arguments. */
	bool (*run)(PreparedCall *call, int piece, void *const *buffers, void *scratch, char *error,
	            size_t error_size);
	bool (*enqueue)(PreparedCall *call, void *stream, void *const *buffers, void *scratch,
	                char *error, size_t error_size);

	/* ---- packed forms; NULL, all three: it makes none ---- */

	/* Before any call: the bundle's weights, with a store of forms (packed_find()), of other
	 * libraries, too. They outlive the library. */
	void (*use_weights)(Vendor *vendor, Weights *weights);
	/* Before any call: where forms lie from now on. */
	void (*use_memory)(Vendor *vendor, const Memory *memory);
	/* The forms packed so far that have keys, which stay while the library is open. Gives their
	 * number; `forms` may be NULL. */
	size_t (*packed)(const Vendor *vendor, PackedForm *forms);
};

/* The libraries that this program knows, then NULL (libraries.c). */
extern const VendorLibrary *const vendor_libraries[];

enum { VENDORS_MOST = 8 };

/* Those that are open, each at its place in the table. */
typedef struct Vendors {
	Vendor *open[VENDORS_MOST];
	bool is_tried[VENDORS_MOST];
} Vendors;

/* The library of this name, opened once; NULL when it is not known or cannot be opened, with a
 * sentence the first time. */
Vendor *vendors_open(Vendors *vendors, const char *name, char *error, size_t error_size);
/* The same for calls that will run: of a library whose calls run elsewhere NULL, without loading
 * it. */
Vendor *vendors_open_to_run(Vendors *vendors, const char *name, bool is_enqueued, char *error,
                            size_t error_size);
/* What vendors_open() gave. */
Vendor *vendors_find(const Vendors *vendors, const char *name);
void vendors_close(Vendors *vendors);
/* The versions, with commas between; returns `text`. */
const char *vendors_text(const Vendors *vendors, char *text, size_t size);

/* As the record's functions, for all that are open. */
void vendors_use_weights(const Vendors *vendors, Weights *weights);
void vendors_use_memory(const Vendors *vendors, const Memory *memory);
/* All forms packed so far, which stay while the libraries are open; free() the result then. NULL:
 * none, or no memory. */
PackedForm *vendors_packed(const Vendors *vendors, size_t *count);

/* A store of packed forms, which a bundle may bring (bundle/bundle.h, packed/NAME.bin): a cache. A
 * form whose key is not there is packed from the plain weights. But weights behind the plain ones
 * are nowhere else (runtime/weights.h). */

/* The bytes as a store; empty where they are none. */
Bytes packed_store(Bytes bytes);
/* The form of a part under this key and of this size in a store; NULL: there is none. */
const void *packed_find(Bytes store, Hash128 key, const PackedPart *part, size_t bytes);
/* A store of these forms, which are sorted; free() the result then. Its pieces are the forms
 * themselves. NULL: no memory. */
void *packed_write(size_t count, PackedForm *forms, Blob *store);
/* Put a form's elements where its part has them in weights of which `to` are the bytes from `begin`
 * on. False: it can't be read back, or reaches beyond them. */
bool packed_read(const PackedForm *form, int64_t begin, void *to, size_t bytes);
/* The same of all forms whose part lies behind `begin`; how many bytes they can hold. */
bool packed_restore(Bytes store, int64_t begin, void *to, size_t bytes);
size_t packed_bytes_behind(Bytes store, size_t begin);

#endif
