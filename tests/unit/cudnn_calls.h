/* What tests of cuDNN share: devices that are not here, and convolutions by chance. */
#ifndef UNIT_CUDNN_CALLS_H
#define UNIT_CUDNN_CALLS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_number.h"
#include "runtime/vendor.h"
#include "unit.h"

extern const VendorLibrary vendor_cudnn;

static const VendorDevice devices[] = {
	{"A100", 80, 108, 65536, 2048, 32, 1024, 163 << 10, 40 << 20, INT64_C(40) << 30, 1410000,
     1215000, 13000},
	{"H100", 90, 132, 65536, 2048, 32, 1024, 227 << 10, 50 << 20, INT64_C(80) << 30, 1983000,
     2617000, 13000},
	{"H200", 90, 132, 65536, 2048, 32, 1024, 227 << 10, 50 << 20, INT64_C(141) << 30, 1983000,
     3125000, 13000},
};

static Vendor *vendor;
static char impl[VENDOR_IMPL_SIZE], error[300];
static uint64_t state = 1;
static int count = 40; /* of random calls for a device */

static int
below(int limit)
{
	return (int)random_below(&state, (unsigned)limit);
}

static void
open_for(const VendorDevice *device)
{
	error[0] = 0;
	vendor = vendor_cudnn.open(error, sizeof error);
	if (!vendor)
		printf("skipped: for want of cuDNN: %s\n", error);
	else
		ck_assert_msg(vendor_cudnn.use_device(vendor, device, error, sizeof error), "%s", error);
}

static void
tear_down(void)
{
	if (vendor)
		vendor_cudnn.close(vendor);
}

static bool
accept(const VendorCall *call)
{
	impl[0] = error[0] = 0;
	return vendor_cudnn.accept(vendor, call, impl, error, sizeof error);
}

/* ---- convolutions ---- */

/* With what its call points to. */
typedef struct Conv {
	int64_t x[5], w[5], y[5], bias[1], strides[3], dilations[3], pads[3], groups[1];
	int64_t left[3], pitch, pitched[5];
	char layouts[3][16];
	VendorArg args[5];
	StepAttr attrs[5];
	VendorCall call;
} Conv;

static StepAttr
ints(const char *name, int length, const int64_t *numbers)
{
	return (StepAttr){.name = name, .kind = SA_INTS, .count = length, .ints = numbers};
}

/* The sizes of x and w, strides, dilations and pads are there: the rest follows. */
static void
complete(Conv *c, int spatial, DType type, const char *layout, bool has_bias, const char *post)
{
	int rank = spatial + 2;
	c->y[0] = c->x[0];
	c->y[1] = c->bias[0] = c->w[0];
	for (int i = 0; i < spatial; i++)
		c->y[i + 2] = (c->x[i + 2] + 2 * c->pads[i] - c->dilations[i] * (c->w[i + 2] - 1) - 1) /
		                  c->strides[i] +
		              1;
	for (int i = 0; i < spatial; i++)
		c->y[i + 2] -= c->left[i] < c->y[i + 2] ? c->left[i] : 0;
	c->args[0] = (VendorArg){.type = type, .rank = rank, .dims = c->x, .layout = layout};
	c->args[1] =
		(VendorArg){.type = type, .rank = rank, .dims = c->w, .layout = layout, .is_weight = true};
	c->args[2] = (VendorArg){.type = has_bias ? type : DT_NONE, .rank = 1, .dims = c->bias};
	c->args[3] = c->args[4] = (VendorArg){type, rank, c->y, NULL, layout, NULL, false, 0};
	c->attrs[0] = ints("strides", spatial, c->strides);
	c->attrs[1] = ints("dilations", spatial, c->dilations);
	c->attrs[2] = ints("pads_lo", spatial, c->pads);
	c->attrs[3] = ints("group", 1, c->groups);
	c->attrs[4] = (StepAttr){.name = "post", .kind = SA_STRING, .count = 1, .string = post};
	c->call = (VendorCall){"cudnn", "conv", strchr(post, '3') ? 5 : 4, c->args, 5, c->attrs};
}

/* Channels last, as compilations have them: one block of all. Results may be parts of something of
 * more channels, `pitch` of them. */
static inline void
store_last(Conv *c, int pitch)
{
	static const char *const places[] = {"w", "hw", "dhw"};
	int rank = c->args[0].rank;
	int64_t stride = c->pitch = pitch ? c->y[1] + pitch : 0;
	for (int i = 0; i < 3; i++) {
		VendorArg *arg = &c->args[i < 2 ? i : 3];
		snprintf(c->layouts[i], sizeof c->layouts[i], "nc%d%s", (int)arg->dims[1],
		         places[rank - 3]);
		arg->layout = c->layouts[i];
	}
	for (int d = rank - 1; d >= 0; d--) {
		c->pitched[d] = d == 1 ? c->y[1] : stride;
		stride *= d == 1 ? 1 : c->y[d];
	}
	c->args[3].strides = pitch ? c->pitched : NULL;
	c->args[4] = c->args[3];
}

/* Of at most so many channels in a group, and places beside a window. */
static inline void
draw(Conv *c, int channels, int places)
{
	static const DType types[] = {DT_F32, DT_F16, DT_BF16};
	static const char *const posts[] = {"",          "relu",    "sum(3);relu",
	                                    "clip(0,6)", "sigmoid", "relu;mul(3)"};
	static const char *const layouts[] = {"nwc", "nhwc", "ndhwc"};
	int spatial = 1 + below(3), groups = below(3) ? 1 : 1 + below(8);
	*c = (Conv){.groups = {groups}};
	c->x[0] = 1 + below(4);
	c->w[1] = 1 + below(below(2) ? 8 : channels);
	c->x[1] = c->w[1] * groups;
	c->w[0] = (1 + below(below(2) ? 8 : channels)) * groups;
	for (int i = 0; i < spatial; i++) {
		c->w[i + 2] = 1 + below(5);
		c->strides[i] = 1 + below(3);
		c->dilations[i] = 1 + below(2);
		c->pads[i] = below(4);
		c->x[i + 2] = c->dilations[i] * (c->w[i + 2] - 1) + 1 + below(places);
		c->left[i] = below(4) ? 0 : below(3); /* windows that a slice behind takes away */
	}
	bool has_bias = below(2);
	complete(c, spatial, types[below(3)], below(3) ? NULL : layouts[spatial - 1], has_bias,
	         posts[below(6)]);
	if (below(3) == 0)
		store_last(c, 8 * below(3));
}

/* What is drawn, where it is not taken as it should be. */
static const char *
text_of(const Conv *c)
{
	static char text[300];
	int rank = c->args[0].rank;
	size_t used = (size_t)snprintf(
		text, sizeof text, "%s, %d groups, post '%s', %s, %s:", dtype_name(c->args[0].type),
		(int)c->groups[0], c->attrs[4].string, c->args[2].type ? "bias" : "no bias",
		c->args[0].layout ? c->args[0].layout : "row-major");
	for (int i = 0; i < rank; i++)
		used +=
			(size_t)snprintf(text + used, sizeof text - used, " %dx%d", (int)c->x[i], (int)c->w[i]);
	for (int i = 0; i + 2 < rank; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, " s%d d%d p%d",
		                         (int)c->strides[i], (int)c->dilations[i], (int)c->pads[i]);
	return text;
}

/* A convolution of f32 may have only engines of tf32; and one of padding alone is none. */
static bool
may_be_refused(const Conv *c)
{
	return (c->args[0].type == DT_F32 && strstr(error, "less exactly")) ||
	       strstr(error, "padding alone");
}

static inline bool
accept_drawn(const Conv *c)
{
	bool is = accept(&c->call);
	ck_element_msg(is || may_be_refused(c), "%s: %s", text_of(c), error);
	return is;
}

#endif
