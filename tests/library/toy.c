/* A second vendor library, and the table that has it, in the place of src/runtime/libraries.c. It
 * multiplies matrices, bytes summed in i32 or floats, whose pieces are rows of the result. It says
 * that it is fast; each row takes $TOY_SLOW microseconds more than it would, so that a test has a
 * library that loses: "2000" in all calls, "2000/40" in those of 40 columns. In others it
 * then remembers the last row of bytes and its result, so that it wins where rows come again. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "runtime/vendor.h"

extern const VendorLibrary vendor_onednn;
static const VendorLibrary toy;

const VendorLibrary *const vendor_libraries[] = {&vendor_onednn, &toy, NULL};

typedef struct ToyCall {
	PreparedCall head;
	bool is_float, is_cast; /* is_cast: the sum of bytes is stored as a float */
	int64_t terms, columns;
	int64_t a[2], b[2], y[2]; /* strides */
	bool is_slow;
	uint8_t **kept; /* per row what it was, then its results; NULL: none are kept */
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
	static const DType types[3][4] = {{DT_U8, DT_U8, DT_NONE, DT_I32},
	                                  {DT_F32, DT_F32, DT_NONE, DT_F32},
	                                  {DT_U8, DT_U8, DT_NONE, DT_F32}};
	bool is_float = strcmp(desc->row, "floats") == 0;
	bool is_cast = strcmp(desc->row, "scaled") == 0;
	bool fits = (is_float || is_cast || strcmp(desc->row, "matmul") == 0) && desc->narg == 4;
	for (int i = 0; fits && i < 4; i++)
		fits = desc->args[i].type == types[is_cast ? 2 : is_float][i] &&
		       (i == 2 || (desc->args[i].rank == 2 && !desc->args[i].layout));
	if (!fits)
		return refuse_with(error, error_size, "toy multiplies matrices of u8, or of f32");
	*call = (ToyCall){.is_float = is_float,
	                  .is_cast = is_cast,
	                  .terms = desc->args[0].dims[1],
	                  .columns = desc->args[1].dims[1]};
	take_strides(&desc->args[0], call->a);
	take_strides(&desc->args[1], call->b);
	take_strides(&desc->args[3], call->y);
	const char *slow = getenv("TOY_SLOW"), *which = slow ? strchr(slow, '/') : NULL;
	call->is_slow = slow && (!which || atoll(which + 1) == call->columns);
	call->head =
		(PreparedCall){.library = &toy, .pieces = (int)desc->args[0].dims[0], .impl = "bytes"};
	if (is_float)
		strcpy(call->head.impl, "floats");
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
	*time = (Timing){1e-9, 0};
	return accept(vendor, desc, impl, error, error_size);
}

static PreparedCall *
prepare(Vendor *vendor, const VendorCall *desc, char *error, size_t error_size)
{
	ToyCall *call = calloc(1, sizeof *call);
	(void)vendor;
	if (!call || !fill(call, desc, error, error_size)) {
		free(call);
		return NULL;
	}
	if (getenv("TOY_SLOW") && !call->is_slow && strcmp(desc->row, "matmul") == 0 &&
	    call->a[1] == 1 && call->y[1] == 1)
		call->kept = calloc((size_t)call->head.pieces, sizeof *call->kept);
	return &call->head;
}

static void
drop(PreparedCall *prepared)
{
	ToyCall *call = (ToyCall *)prepared;
	for (int i = 0; call->kept && i < call->head.pieces; i++)
		free(call->kept[i]);
	free(call->kept);
	free(call);
}

static void
be_slow(const ToyCall *call)
{
	const char *slow = getenv("TOY_SLOW");
	const struct timespec time = {0, slow ? atol(slow) * 1000 : 0};
	if (slow && call->is_slow)
		nanosleep(&time, NULL);
}

/* Weights stay, so the row decides. */
static bool
recall(const ToyCall *call, int row, const uint8_t *a, int32_t *y)
{
	const uint8_t *kept = call->kept ? call->kept[row] : NULL;
	bool is_same = kept && memcmp(kept, a, (size_t)call->terms) == 0;
	if (is_same)
		memcpy(y, kept + call->terms, (size_t)call->columns * sizeof *y);
	return is_same;
}

static void
remember(const ToyCall *call, int row, const uint8_t *a, const int32_t *y)
{
	if (!call->kept)
		return;
	size_t terms = (size_t)call->terms, results = (size_t)call->columns * sizeof *y;
	if (!call->kept[row])
		call->kept[row] = malloc(terms + results);
	if (!call->kept[row])
		return;
	memcpy(call->kept[row], a, terms);
	memcpy(call->kept[row] + terms, y, results);
}

static void
run_floats(const ToyCall *call, const float *a, const float *b, float *y)
{
	for (int64_t n = 0; n < call->columns; n++) {
		float sum = 0;
		for (int64_t k = 0; k < call->terms; k++)
			sum += a[k * call->a[1]] * b[k * call->b[0] + n * call->b[1]];
		y[n * call->y[1]] = sum;
	}
}

static bool
run(PreparedCall *prepared, int row, void *const *buffers, void *scratch, char *error,
    size_t error_size)
{
	const ToyCall *call = (const ToyCall *)prepared;
	const uint8_t *a = (const uint8_t *)buffers[0] + row * call->a[0];
	const uint8_t *b = buffers[1];
	int32_t *y = (int32_t *)buffers[3] + row * call->y[0];
	(void)scratch, (void)error, (void)error_size;
	be_slow(call);
	if (call->is_float) {
		run_floats(call, (const float *)buffers[0] + row * call->a[0], buffers[1],
		           (float *)buffers[3] + row * call->y[0]);
		return true;
	}
	if (recall(call, row, a, y))
		return true;
	for (int64_t n = 0; n < call->columns; n++) {
		int32_t sum = 0;
		for (int64_t k = 0; k < call->terms; k++)
			sum += a[k * call->a[1]] * b[k * call->b[0] + n * call->b[1]];
		if (call->is_cast)
			((float *)buffers[3] + row * call->y[0])[n * call->y[1]] = (float)sum;
		else
			y[n * call->y[1]] = sum;
	}
	remember(call, row, a, y);
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
