/* A second vendor library, and the table that has it, in the place of src/runtime/libraries.c. It
 * has one call, a product of bytes summed in i32, whose pieces are rows of the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/vendor.h"

extern const VendorLibrary vendor_onednn;
static const VendorLibrary toy;

const VendorLibrary *const vendor_libraries[] = {&vendor_onednn, &toy, NULL};

typedef struct ToyCall {
	PreparedCall head;
	int64_t terms, columns;
	int64_t a[2], b[2], y[2]; /* strides */
} ToyCall;

static Vendor *
open_toy(char *error, size_t error_size)
{
	Vendor *vendor = calloc(1, sizeof *vendor);
	if (!vendor) {
		refuse_with(error, error_size, "out of memory");
		return NULL;
	}
	vendor->library = &toy;
	strcpy(vendor->version, "toy 1");
	return vendor;
}

static void
close_toy(Vendor *vendor)
{
	free(vendor);
}

static void
take_strides(const VendorArg *arg, int64_t strides[2])
{
	strides[0] = arg->strides ? arg->strides[0] : arg->dims[1];
	strides[1] = arg->strides ? arg->strides[1] : 1;
}

/* False: the call is none of its. */
static bool
fill(ToyCall *call, const VendorCall *desc, char *error, size_t error_size)
{
	static const DType types[] = {DT_U8, DT_I8, DT_NONE, DT_I32};
	bool fits = strcmp(desc->row, "matmul") == 0 && desc->narg == 4;
	for (int i = 0; fits && i < 4; i++)
		fits = desc->args[i].type == types[i] &&
		       (i == 2 || (desc->args[i].rank == 2 && !desc->args[i].layout));
	if (!fits)
		return refuse_with(error, error_size, "toy multiplies matrices of u8 and i8");
	*call = (ToyCall){.terms = desc->args[0].dims[1], .columns = desc->args[1].dims[1]};
	take_strides(&desc->args[0], call->a);
	take_strides(&desc->args[1], call->b);
	take_strides(&desc->args[3], call->y);
	call->head = (PreparedCall){&toy, (int)desc->args[0].dims[0], 0, "bytes"};
	return true;
}

static bool
accept(Vendor *vendor, const VendorCall *desc, char impl[VENDOR_IMPL_SIZE], char *error,
       size_t error_size)
{
	ToyCall call;
	(void)vendor;
	if (!fill(&call, desc, error, error_size))
		return false;
	strcpy(impl, call.head.impl);
	return true;
}

static bool
measure(Vendor *vendor, const VendorCall *desc, int threads, Timing *time,
        char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size)
{
	(void)threads;
	*time = (Timing){1e-6, 0};
	return accept(vendor, desc, impl, error, error_size);
}

static PreparedCall *
prepare(Vendor *vendor, const VendorCall *desc, char *error, size_t error_size)
{
	ToyCall *call = calloc(1, sizeof *call);
	(void)vendor;
	if (call && fill(call, desc, error, error_size))
		return &call->head;
	free(call);
	return NULL;
}

static void
drop(PreparedCall *call)
{
	free(call);
}

static bool
run(PreparedCall *prepared, int row, void *const *buffers, void *scratch, char *error,
    size_t error_size)
{
	const ToyCall *call = (const ToyCall *)prepared;
	const uint8_t *a = (const uint8_t *)buffers[0] + row * call->a[0];
	const int8_t *b = buffers[1];
	int32_t *y = (int32_t *)buffers[3] + row * call->y[0];
	(void)scratch, (void)error, (void)error_size;
	for (int64_t n = 0; n < call->columns; n++) {
		int32_t sum = 0;
		for (int64_t k = 0; k < call->terms; k++)
			sum += a[k * call->a[1]] * b[k * call->b[0] + n * call->b[1]];
		y[n * call->y[1]] = sum;
	}
	return true;
}

static const VendorLibrary toy = {
	.name = "toy",
	.open = open_toy,
	.close = close_toy,
	.accept = accept,
	.measure = measure,
	.prepare = prepare,
	.drop = drop,
	.run = run,
};
