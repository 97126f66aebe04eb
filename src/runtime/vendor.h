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

enum { VENDOR_MAX_RANK = 8, VENDOR_MAX_ARGS = 12, VENDOR_IMPL_SIZE = 64 };

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
	char impl[VENDOR_IMPL_SIZE]; /* "jit:avx512_core" */
} PreparedCall;

/* A weight in a form that a library made of it, under a key of all that decides its bytes: the
 * library and its version, the machine's instructions, the weights, the layout. */
typedef struct PackedForm {
	Hash128 key;
	Bytes data;
} PackedForm;

/* Functions that give a bool or a pointer give false or NULL with a sentence. */
struct VendorLibrary {
	const char *name; /* in vendor.def and in plans */

	Vendor *(*open)(char *error, size_t error_size);
	void (*close)(Vendor *vendor);

	/* ---- when compiling: weights need no bytes (VendorArg.is_weight) ---- */

	/* Whether there is a real implementation, which `impl` names. */
	bool (*accept)(Vendor *vendor, const VendorCall *call, char impl[VENDOR_IMPL_SIZE], char *error,
	               size_t error_size);
	/* Also the time to choose by, half-way between one thread and so many. */
	bool (*measure)(Vendor *vendor, const VendorCall *call, int threads, Timing *time,
	                char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size);

	/* ---- when running ---- */

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

	/* Before any call: where the bundle's weights lie, what their hash is, and a store (packed.h)
	 * of forms that came with them, of other libraries, too. They outlive the library. */
	void (*use_weights)(Vendor *vendor, Bytes weights, Hash128 hash, Bytes store);
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
/* What vendors_open() gave. */
Vendor *vendors_find(const Vendors *vendors, const char *name);
void vendors_close(Vendors *vendors);
/* The versions, with commas between; returns `text`. */
const char *vendors_text(const Vendors *vendors, char *text, size_t size);

/* As the record's functions, for all that are open. */
void vendors_use_weights(const Vendors *vendors, Bytes weights, Hash128 hash, Bytes store);
void vendors_use_memory(const Vendors *vendors, const Memory *memory);
/* All forms packed so far, as a store for the bundle. Its pieces are the forms themselves, so the
 * libraries stay open while it is used; free() the result then. NULL: none, or no memory. */
void *vendors_export(const Vendors *vendors, Blob *store);

#endif
