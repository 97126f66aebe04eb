/* Loading cuDNN, and its descriptors. */
#include "runtime/cudnn/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/library.h"

/* Since then a record of properties stands for a device. */
enum { LEAST_VERSION = 90800 };

bool
cudnn_load(CudnnApi *api, char *error, size_t error_size)
{
	static const char *const names[] = {"libcudnn.so.9", NULL};
	void *library = library_can_load() ? library_open_cuda("CUDNN_HOME", names) : NULL;
	if (!library)
		return refuse_with(error, error_size,
		                   "cuDNN (libcudnn.so.9) is not installed: install it, or name its folder "
		                   "in $CUDNN_HOME");
	library_find(library, "cudnnGetVersion", &api->GetVersion);
	library_find(library, "cudnnGetLastErrorString", &api->GetLastErrorString);
	bool has_all = api->GetVersion && api->GetLastErrorString;
#define F(name, parameters) \
	library_find(library, "cudnn" #name, &api->name); \
	has_all = has_all && api->name;
	CUDNN_FUNCTIONS(F)
#undef F
	return (has_all && api->GetVersion() >= LEAST_VERSION) ||
	       refuse_with(error, error_size, "cuDNN is too old: install 9.8 or later");
}

bool
cudnn_refuse(const CudnnApi *api, int status, char *error, size_t error_size)
{
	char text[1024] = "";
	api->GetLastErrorString(text, sizeof text);
	text[strcspn(text, "\n")] = 0;
	return refuse_with(error, error_size, "cuDNN says %d: %s", status, text);
}

CudnnDescriptor *
cudnn_create(CudnnPile *pile, int kind)
{
	CudnnDescriptor *made = NULL;
	if (pile->status)
		return NULL;
	if (pile->count == (int)(sizeof pile->made / sizeof *pile->made))
		pile->status = -1;
	else
		pile->status = pile->api->BackendCreateDescriptor(kind, &made);
	if (!pile->status)
		return pile->made[pile->count++] = made;
	snprintf(pile->error, pile->error_size, "cuDNN makes no descriptor %d", kind);
	return NULL;
}

CudnnDescriptor *
cudnn_make(CudnnPile *pile, int kind, const CudnnAttr *attrs)
{
	CudnnDescriptor *made = cudnn_create(pile, kind);
	int status = CUDNN_OK;
	for (; made && !status && attrs->elements; attrs++)
		status = pile->api->BackendSetAttribute(made, attrs->name, attrs->type, attrs->count,
		                                        attrs->elements);
	if (made && !status)
		status = pile->api->BackendFinalize(made);
	if (!status)
		return made;
	pile->status = status;
	cudnn_refuse(pile->api, status, pile->error, pile->error_size);
	return NULL;
}

void
cudnn_free(CudnnPile *pile)
{
	while (pile->count > 0)
		pile->api->BackendDestroyDescriptor(pile->made[--pile->count]);
}
