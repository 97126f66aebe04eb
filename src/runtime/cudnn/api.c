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

/* Of an attribute's element. No address is the same in the next process. */
static size_t
size_of(int type)
{
	bool is_address = type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_POINTER;
	bool is_byte = type == CUDNN_TYPE_BOOLEAN || type == CUDNN_TYPE_CHAR;
	bool is_wide = type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE;
	return is_address ? 0 : is_byte ? 1 : is_wide ? sizeof(int64_t) : sizeof(int);
}

/* An attribute of the pile's last descriptor; parts are told by their places in it. */
static void
tell(CudnnPile *pile, int kind, const CudnnAttr *attr)
{
	const int64_t head[] = {pile->count, kind, attr->name, attr->type, attr->count};
	bool has_parts = attr->type == CUDNN_TYPE_DESCRIPTOR;
	size_t bytes = has_parts ? 0 : (size_t)attr->count * size_of(attr->type);
	pile->told = hash128_combine(pile->told, hash128(head, sizeof head));
	pile->told = hash128_combine(pile->told, hash128(attr->elements, bytes));
	for (int64_t i = 0; has_parts && i < attr->count; i++) {
		int place = 0;
		const CudnnDescriptor *part = ((CudnnDescriptor *const *)attr->elements)[i];
		while (place < pile->count && pile->made[place] != part)
			place++;
		pile->told = hash128_combine(pile->told, hash128(&place, sizeof place));
	}
}

CudnnDescriptor *
cudnn_make(CudnnPile *pile, int kind, const CudnnAttr *attrs)
{
	CudnnDescriptor *made = cudnn_create(pile, kind);
	int status = CUDNN_OK;
	for (; made && !status && attrs->elements; attrs++) {
		tell(pile, kind, attrs);
		status = pile->api->BackendSetAttribute(made, attrs->name, attrs->type, attrs->count,
		                                        attrs->elements);
	}
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
