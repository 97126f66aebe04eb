/* A vendor call in the making: an operation over a small space of its own that is cut into boxes.
 *
 * The space of a row has up to three axes that can be cut: images, channels and rows (conv, pool,
 * reorder), batch, rows and columns (matmul). Each operand says which of its dims follow which axis
 * and by what factor; so a box of the space gives every operand's region, its descriptor and its
 * address. conv with 2 groups of 8 -> 16 channels, cut at one group:
 *
 *     axis 1 = groups;  src dim 1 follows it times 8, weights dim 0 times 1, dst dim 1 times 16
 *
 * Rows of the result are computed from the rows of the source that their windows reach. A slab of
 * rows in blocked storage is no tensor that the library knows: it is copied, which costs little
 * beside a window over many channels.
 */
#ifndef RUNTIME_ONEDNN_CALL_H
#define RUNTIME_ONEDNN_CALL_H

#include <pthread.h>

#include "base/file.h"
#include "base/map.h"
#include "runtime/memory.h"
#include "runtime/onednn/api.h"
#include "runtime/vendor.h"

enum { AXIS_IMAGE = 0, AXIS_CHANNEL = 1, AXIS_HEIGHT = 2 }; /* of rows.c */
enum { CALL_AXES = 3, CALL_OPERANDS = VENDOR_MAX_ARGS + 1 };

typedef struct Packed Packed;

typedef struct Dnnl {
	Vendor head;
	DnnlApi api;
	pthread_mutex_t lock; /* of what follows */
	Packed *packed;
	Weights *weights; /* set once, before sessions; NULL: none that are kept packed */
	Memory memory;    /* how packed forms are allocated: copied, so that each counts alone */
} Dnnl;

/* An argument as memory: dims, strides in elements (dim 1: between blocks when it is blocked). */
typedef struct CallTensor {
	DType type;
	int rank;
	int64_t dims[DNNL_RANK], strides[DNNL_RANK];
	int order[DNNL_RANK]; /* dims from outermost to innermost */
	int64_t block;        /* channels in a block; 1: plain */
} CallTensor;

typedef struct CallOperand {
	int code; /* DNNL_SRC …; 0: not passed (what a sum adds) */
	int arg;  /* of the step */
	CallTensor tensor;
	int follow[DNNL_RANK]; /* axis, or -1: the whole dim */
	int64_t scale[DNNL_RANK];
	const void *constant; /* packed once when the library chooses its layout */
	bool is_packed;
	bool is_window; /* the dim that follows rows is read through the window */
	bool is_slab;   /* the library gets it dense: as it lies, or a copy */
} CallOperand;

/* Part of the space, and what it is of an operand's dims. */
typedef struct CallBox {
	int64_t begin[CALL_AXES], size[CALL_AXES];
} CallBox;

typedef struct CallRegion {
	int64_t begin[DNNL_RANK], size[DNNL_RANK];
} CallRegion;

typedef struct CallPost {
	PostKind kind;
	int algorithm;
	float alpha, beta;
	int operand; /* binary and sum: index into operands */
} CallPost;

/* What a sum of products of bytes is multiplied by before post-ops: once, or by channel of dst. */
typedef struct CallScales {
	int64_t count;      /* 0: nothing */
	float one;          /* of a single one */
	const float *every; /* of each channel; NULL: not known yet */
	int dim;            /* of dst */
} CallScales;

typedef struct CallPlan CallPlan;

/* Describe the operation for one shape of pieces; `mds` are its operands' descriptors, `window` is
 * the plan's with the borders of such a piece. */
typedef int CallDescribe(const CallPlan *plan, const DnnlWindow *window, void **desc,
                         DnnlMd *const *mds, const void *attr);

struct CallPlan {
	const DnnlApi *api;
	const VendorCall *desc;
	bool is_question; /* nothing is packed, and the call cannot run */
	CallDescribe *describe;
	int noperand, dst; /* dst: index into operands */
	CallOperand operands[CALL_OPERANDS];
	CallScales scales;
	int npost;
	CallPost posts[POST_MAX];
	int64_t extent[CALL_AXES], quantum[CALL_AXES]; /* cuts are at multiples of quantum */
	int64_t chunk[CALL_AXES];
	double work; /* operations, for cutting */
	DnnlWindow window;
	int algorithm;
	int attempt;   /* how often the library has refused this call as an image */
	bool is_image; /* a product in the form of a convolution */
	char *error;
	size_t error_size;
};

extern const VendorLibrary vendor_onednn;
/* Its functions that stand apart: measure.c, pack.c. */
bool dnnl_accept(Vendor *vendor, const VendorCall *desc, char impl[VENDOR_IMPL_SIZE], char *error,
                 size_t error_size);
bool dnnl_measure(Vendor *vendor, const VendorCall *desc, int threads, Timing *time,
                  char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size);
void dnnl_use_weights(Vendor *vendor, Weights *weights);
void dnnl_use_memory(Vendor *vendor, const Memory *memory);
size_t dnnl_packed(const Vendor *vendor, PackedForm *forms);

/* The record's prepare(), or only the question whether there is such a call. */
PreparedCall *call_make(Dnnl *dnnl, const VendorCall *desc, bool is_question, char *error,
                        size_t error_size);
void call_drop(PreparedCall *call);
bool call_run(PreparedCall *call, int piece, void *const *buffers, void *scratch, char *error,
              size_t error_size);

/* Whether its pieces are slabs of rows. */
bool call_has_slabs(const PreparedCall *call);

bool call_refuse(CallPlan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The tensor of argument `arg` as dims and strides of memory. */
bool call_tensor(CallPlan *plan, int arg, CallTensor *tensor);
/* Give it leading dims of 1, as broadcasting does; false when it has too many, or blocks. */
bool call_raise(CallTensor *tensor, int rank);
/* Add an operand that follows nothing yet; NULL (refused) when there are too many. */
CallOperand *call_operand(CallPlan *plan, int code, int arg, const CallTensor *tensor);
void call_follow(CallOperand *operand, int dim, int axis, int64_t scale);

/* The descriptor of the bias; NULL: there is none. */
const DnnlMd *call_bias(const CallPlan *plan, DnnlMd *const *mds);

/* Read the step's post-ops; binary operands are made to fit dst. */
bool call_read_posts(CallPlan *plan);
/* Where the scales of a box begin. */
int64_t call_first_scale(const CallPlan *plan, const CallBox *box);
/* Attributes with these scales and post-ops; NULL when the library refuses. */
void *call_make_attr(const CallPlan *plan, const CallBox *box, DnnlMd *const *mds);

/* Fill the plan for the step's row (rows.c, matmul.c). */
bool call_plan_row(CallPlan *plan);
bool call_plan_matmul(CallPlan *plan);
/* Make a product of few rows a convolution in blocks of channels, the widest of 16, 8 that it was
 * not refused for; false: it is none (image.c). */
bool call_as_image(CallPlan *plan, int refused);
CallDescribe call_describe_conv;

/* Boxes (box.c): choose plan->chunk and give the number of boxes; the window of a box, an
 * operand's region for it, and where that begins, in bytes. */
int64_t call_cut(CallPlan *plan);
void call_window(const CallPlan *plan, const CallBox *box, DnnlWindow *window);
void call_region(const CallPlan *plan, const CallOperand *operand, const CallBox *box,
                 CallRegion *region);
int64_t call_region_offset(const CallTensor *tensor, const CallRegion *region);
bool call_region_is_dense(const CallTensor *tensor, const int64_t *size);
/* The descriptor of a region as it lies, or of a dense copy; NULL: the library has none. */
DnnlMd *call_region_md(const DnnlApi *api, const CallTensor *tensor, const int64_t *size);
DnnlMd *call_image_md(const DnnlApi *api, const CallTensor *tensor, const int64_t *size);
DnnlMd *call_dense_md(const DnnlApi *api, const CallTensor *tensor, const int64_t *size);
/* Copy a region into a dense tensor, or back. */
void call_copy_in(const CallTensor *tensor, const int64_t *size, const void *from, void *to);
void call_copy_out(const CallTensor *tensor, const int64_t *size, const void *from, void *to);
void call_copy_same(const CallTensor *tensor, const int64_t *size, const void *from, void *to);

/* A region of a weight in the layout `md` (pack.c): found or made. NULL: no memory. */
const void *packed_get(Dnnl *dnnl, const CallTensor *tensor, const void *source,
                       const int64_t *size, const DnnlMd *md);
void packed_free(Dnnl *dnnl);
/* Drop what was packed from these bytes, which go; nobody uses it any more. */
void packed_forget(Dnnl *dnnl, const void *data, size_t bytes);

int64_t call_attr_int(const CallPlan *plan, const char *name, int index, int64_t otherwise);
const char *call_attr_text(const CallPlan *plan, const char *name, const char *otherwise);

#endif
