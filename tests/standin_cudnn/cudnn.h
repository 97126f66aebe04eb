/* What stands for cuDNN where there is no GPU: a library of its name (libcudnn.so.9) with the
 * functions that runtime/cudnn calls. Descriptors are lists of attributes; a plan is executed as
 * work of a stream of the stand-in's for CUDA's runtime, by the meaning of its operations.
 *
 * It has three engines: the first computes by Winograd's transforms, as it says, and gives
 * the process's end when it is executed; the second keeps what operations hand on in its
 * workspace; the third does the same, is "compiled", and heuristics list it first. Products,
 * attention and norms have only that; where it is compiled for something else, or with no handle,
 * the process ends. What cuDNN leaves undefined is no error here but the end of the process:
 * descriptors that are not final, or were given back before their work was done, another
 * stream's handle, a workspace too small, memory of the host's, an address that is aligned to
 * less than was said.
 *
 * A plan's JSON is a text of its own, which another process reads back; one that it did not write
 * ends the process, as it may in cuDNN.
 *
 *     STANDIN_COMPILES=0   to compile an engine ends the process
 *
 * Its calls are counted with CUDA's, and fail with them (standin.h).
 */
#ifndef STANDIN_CUDNN_H
#define STANDIN_CUDNN_H

#include "../standin/standin.h"
#include "runtime/cudnn/api.h"

#define F(name, parameters) int cudnn##name parameters;
CUDNN_FUNCTIONS(F)
#undef F
size_t cudnnGetVersion(void);
void cudnnGetLastErrorString(char *text, size_t size);

/* ---- Inside ---- */

typedef struct Attr {
	struct Attr *next;
	int name, type;
	int64_t count;
	unsigned char bytes[];
} Attr;

struct CudnnDescriptor {
	Handle head;
	int kind;
	bool is_final, is_read; /* the second: with all its parts, from a text */
	Attr *attrs;
};

size_t attr_size(int type);
CudnnDescriptor *descriptor_new(int kind);
/* With parts that were read with it. */
void descriptor_free(CudnnDescriptor *descriptor);
int descriptor_set(CudnnDescriptor *descriptor, int name, int type, int64_t count,
                   const void *elements);

/* Attribute `name` of a final descriptor, `count` elements of this type; NULL: it has none, which
 * is_optional allows. */
const void *attr_elements(const CudnnDescriptor *descriptor, int name, int type, int64_t *count,
                          bool is_optional);
const CudnnDescriptor *attr_part(const CudnnDescriptor *descriptor, int name);
int64_t attr_int(const CudnnDescriptor *descriptor, int name);
int attr_enum(const CudnnDescriptor *descriptor, int name, int type, int otherwise);
double attr_double(const CudnnDescriptor *descriptor, int name, double otherwise);
int kind_of(const CudnnDescriptor *descriptor);

/* A plan as a text, to be freed; the parts of a plan that is made from one. */
char *text_of_plan(const CudnnDescriptor *plan);
void plan_from_text(CudnnDescriptor *plan, const char *text, int64_t size);

/* Its first operation is of this kind. */
bool graph_has(const CudnnDescriptor *graph, int first);
/* Bytes of workspace that the operations of a graph take. */
int64_t graph_workspace(const CudnnDescriptor *graph);

/* A call: what it is told when it is given, and does when it has its turn. */
typedef struct Call {
	const CudnnDescriptor *plan, *graph;
	unsigned char *workspace; /* on the device */
	int64_t slot;             /* bytes of it for each result that is virtual */
	int count;
	int64_t ids[VENDOR_MAX_ARGS];
	void *pointers[VENDOR_MAX_ARGS];
} Call;

void call_run(void *work);

#endif
