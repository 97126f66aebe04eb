/* Bundle: the parts of one file, and its manifest.
 *
 * A bundle is a ZIP in canonical form (base/zip.h) with these entries, in this order:
 *
 *     manifest.json        first; what this header describes
 *     plan/NAME.json       one per target (plan.h); NAME is the device with ':' as '-'
 *     kernels/NAME.so      one per target, with the suffix of what its backend loads; for CPUs a
 *                          shared object that exports tw_kernels_v1 and imports nothing; absent
 *                          when the plan has no kernel
 *     weights.bin          once; tensors at multiples of 64; absent when there are none
 *     packed/NAME.bin      optional, per target: weights in the layouts of the vendor library, a
 *                          cache that packed_write() made and vendors_use_weights() reads; with
 *                          "only_packed", also the only place of weights whose offset in the plan
 *                          lies behind weights.bin (weights.h)
 *     ...                  whatever else the manifest lists (kernel sources, choices.jsonl,
 *                          graph/NAME.txt, selftest.json): hashed, otherwise not looked at
 *
 * manifest.json (members in this order; unknown members are ignored, so 2.x may add some):
 *
 *     {"format": [2, 1],
 *      "producer": "tilewright 0.1.0",
 *      "model": {"name": "resnet18.onnx", "sha256": "<64 hex digits>"},
 *      "pipeline": "O3",
 *      "signature": {
 *        "symbols": [{"name": "N", "lo": 0, "hi": 2147483647}],
 *        "inputs":  [{"name": "x", "type": "f32", "dims": ["N", "3", "224", "224"]}],
 *        "outputs": [{"name": "y", "type": "f32", "dims": ["N", "1000"]}]},
 *      "targets": [{"device": "cpu:x86-64-v3", "needs": "x86-64-v3", "plan":
 *                   "plan/cpu-x86-64-v3.json", "kernels": "kernels/cpu-x86-64-v3.so",
 *                   "vendor": "", "packed": ""}],
 *      "weights": "weights.bin", "only_packed": 0,
 *      "parts": [{"entry": "plan/cpu-x86-64-v3.json", "size": 1234, "xxh3": "<32 hex digits>"}]}
 *
 * `parts` lists every entry but the manifest, once, in the file's order; xxh3 is XXH3-128 as
 * bundle_hash_text() prints it. "kernels" and "weights" may be "". The signature is for readers
 * without a plan reader; the runtime takes names, types and dims from the plan and refuses a
 * bundle where the two disagree. The manifest itself is covered by its CRC in the ZIP, and a caller
 * who wants to know *which* bundle this is asks for the file's SHA-256 (tilewright.h).
 *
 * The writer fills a Manifest and calls manifest_write(): the JSON is known here only.
 */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include "base/buf.h"
#include "base/dtype.h"
#include "base/map.h"
#include "base/zip.h"
#include "bundle/plan.h"

enum { BUNDLE_MAJOR = 2, BUNDLE_MINOR = 1, BUNDLE_HASH_SIZE = 33 };

/* Where the optimised graphs lie, one per target, named as the plans are. */
#define GRAPH_FOLDER "graph/"
/* What a model of time says of a target's kernels: for people. */
#define MODELLED_FOLDER "modelled/"

typedef struct ManifestTensor {
	const char *name;
	DType type;
	int rank;
	const char *const *dims; /* numbers, symbols or expressions, as texts */
} ManifestTensor;

typedef struct ManifestSymbol {
	const char *name;
	int64_t lo, hi;
} ManifestSymbol;

typedef struct ManifestTarget {
	const char *device;  /* "cpu:x86-64-v3" */
	const char *needs;   /* what a machine must have, as the device's backend reads it */
	const char *plan;    /* entry */
	const char *kernels; /* entry or "" */
	const char *vendor;  /* libraries the plan uses, separated by blanks: "onednn" or "" */
	const char *packed;  /* entry of weights packed for the library, "" or NULL: none */
} ManifestTarget;

typedef struct ManifestPart {
	const char *entry;
	uint64_t size;
	Hash128 hash;
} ManifestPart;

typedef struct Manifest {
	int major, minor; /* side by side */
	const char *producer, *model_name, *model_sha256, *pipeline;
	int nsymbol, ninput, noutput, ntarget, npart;
	const ManifestSymbol *symbols;
	const ManifestTensor *inputs, *outputs;
	const ManifestTarget *targets;
	const char *weights; /* entry or "" */
	int64_t only_packed; /* bytes of weights that are not there, but in `packed` (2.1) */
	const ManifestPart *parts;
} Manifest;

/* Print the manifest (for the writer; `json` lives in an arena). Deterministic. */
void manifest_write(Buf *json, const Manifest *manifest);

/* Read and check one; false with a sentence. The result is malloc'd in pieces. */
bool manifest_read(const char *json, size_t size, Manifest **manifest, char *error,
                   size_t error_size);
void manifest_free(Manifest *manifest);

/* 32 hex digits, high word first. */
void bundle_hash_text(Hash128 hash, char text[BUNDLE_HASH_SIZE]);
bool bundle_hash_parse(const char *text, Hash128 *hash);

/* The text of a plan's dim for a signature: a number, a symbol, or an expression of them. */
void bundle_dim_text(Buf *text, const Plan *plan, int dim);

/* The parts of an open bundle: views of the caller's bytes, which must outlive it. */
typedef struct Bundle {
	Bytes file;
	ZipReader zip;
	Manifest *manifest;
	Bytes weights; /* size 0 when there are none */
} Bundle;

/* How much of a bundle is hashed when it is opened. */
typedef enum BundleVerify {
	BUNDLE_VERIFY_ALL,  /* every part: about 0.1 s per GB, and any damage is found */
	BUNDLE_VERIFY_CODE, /* all but the weights, which stay untouched on disk until used */
} BundleVerify;

/* Read container and manifest, check hashes. Loads no code. As of every reader below: false comes
 * with a sentence, and with errno ENOMEM where memory was what lacked. */
bool bundle_open(Bundle *bundle, Bytes file, BundleVerify verify, char *error, size_t error_size);
void bundle_close(Bundle *bundle);

/* The best target of the bundle that this machine runs, or -1 with a sentence saying what is
 * missing and what to type. `device` NULL: choose; otherwise this one or none. */
int bundle_find_target(const Bundle *bundle, const char *device, char *error, size_t error_size);

bool bundle_target_runs(const ManifestTarget *target); /* on this machine */

/* The plan of a target: read, checked by plan_verify() against kernels and weights. */
bool bundle_read_plan(const Bundle *bundle, int target, Plan **plan, char *error,
                      size_t error_size);

/* The packed weights of a target, or nothing. */
Bytes bundle_packed(const Bundle *bundle, int target);

/* What a backend loads as the kernels of a target: nothing when the plan has none. */
bool bundle_kernels(const Bundle *bundle, int target, Bytes *image, char *error, size_t error_size);

#endif
