/* Operators no expression can say: functions on typed buffers, one row each (host.def).
 *
 * Compiler and runtime call them alike: nothing here exits, unwinds or keeps state. Memory comes
 * from the caller: outputs through `output`, one call per output that is wanted, once its shape is
 * known; working memory through `scratch`, valid until the call has returned.
 *
 *     HostCall call = {.ninput = 1, .inputs = &x, .noutput = 1, .output = …, .scratch = …};
 *     const char *error = host_find("NonZero")->run(&call);
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "base/array.h"
#include "base/call.h"

typedef struct HostCall {
	int ninput, noutput;
	const Array *const *inputs; /* NULL where absent */
	const bool *is_wanted;      /* per output; NULL: all */
	int nattr;
	const StepAttr *attrs; /* those the model gives; functions know the defaults */
	void *context;
	/* A buffer for output `index` (not zeroed); NULL: no memory. */
	Array *(*output)(void *context, int index, DType type, int rank, const int64_t *dims);
	void *(*scratch)(void *context, size_t bytes);
	char error[256]; /* room for a sentence with numbers in it */
} HostCall;

/* NULL, or why it could not be done: a sentence without a full stop, static or in call->error. */
typedef const char *(*HostFn)(HostCall *call);

typedef struct HostInfo {
	const char *name; /* as in ops.def */
	HostFn run;
	const char *doc;
} HostInfo;

/* NULL when there is no such function. */
const HostInfo *host_find(const char *name);
int host_count(void);
const HostInfo *host_row(int index);

#endif
