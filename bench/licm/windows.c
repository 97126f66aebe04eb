/* Windows over images: convolutions of any layout, transposed ones, gradients, and one whose places
 * are data.
 *
 *     Y[n, f, y0, y1] = sum(c, r0, r1 where 0 <= y0*2+r0-1, …) X[n, c, y0*2+r0-1, …] * W[f, c, r0, r1]
 *
 * Loops stand in the order in which the operator's source has them: channels inside of windows where
 * they are stored last.
 */
#include "cases.h"

#include <string.h>

typedef struct Conv {
	const char *data, *weight; /* layouts; a small letter: a block of four of it */
	int rank;
	Axis axis[3];
	long long batch, channels, filters, groups;
	bool has_bias, has_relu, is_int8;
} Conv;

void
axis_pad(Axis *axis, int rank, const Text *t, int at)
{
	int64_t pad[MAX_FIELDS];
	bool is_same = field_is(t, at, "SAME"), is_valid = field_is(t, at, "VALID");
	int count = is_same || is_valid ? 0 : field_list(t, at, rank, pad);
	for (int k = 0; k < rank; k++) {
		Axis *a = &axis[k];
		int64_t reach = a->dilation * (a->kernel - 1);
		a->before = is_same ? (reach + 1) / 2 : is_valid ? 0 : pad[k];
		a->after = is_same ? reach / 2 : is_valid ? 0 : count == 2 * rank ? pad[rank + k] : pad[k];
		a->out = (a->in + a->before + a->after - reach - 1) / a->stride + 1;
	}
}

void
say_inside(Text *t, bool *is_first, const char *index, int64_t extent)
{
	say(t, "%s0 <= %s, %s < %lld", *is_first ? " where " : ", ", index, index, (long long)extent);
	*is_first = false;
}

/* y0*2+r0-1 */
static const char *
source(Text *t, const Axis *a, int k)
{
	Buf out = {.arena = t->arena};
	buf_printf(&out, a->stride > 1 ? "y%d*%lld" : "y%d", k, (long long)a->stride);
	buf_printf(&out, a->dilation > 1 ? "+r%d*%lld" : "+r%d", k, (long long)a->dilation);
	if (a->before)
		buf_printf(&out, "-%lld", (long long)a->before);
	return buf_text(&out);
}

static bool
may_leave(const Axis *a)
{
	return a->before || (a->out - 1) * a->stride + (a->kernel - 1) * a->dilation >= a->in;
}

static int
axis_of(const Conv *v, char letter)
{
	for (int k = 0; k < v->rank; k++)
		if (v->axis[k].letter == letter)
			return k;
	return -1;
}

/* Dims of the image, of the weight or of the result, or a place in them, in the layout's order. */
static const char *
data_text(Text *t, const Conv *v, char what)
{
	Buf out = {.arena = t->arena};
	long long block = strchr(v->data, 'c') ? 4 : 1;
	long long group = v->channels / v->groups, filters = v->filters / v->groups;
	for (const char *l = v->data; *l; l++) {
		int k = axis_of(v, *l);
		buf_puts(&out, l > v->data ? ", " : "");
		if (what == 'x') /* dims of the image */
			buf_printf(&out, "%lld",
			           k >= 0      ? (long long)v->axis[k].in
			           : *l == 'N' ? v->batch
			           : *l == 'C' ? v->channels / block
			                       : block);
		else if (what == 'y') /* the result's box */
			k >= 0 ? buf_printf(&out, "y%d:%lld", k, (long long)v->axis[k].out)
				   : buf_printf(&out,
			                    *l == 'N'   ? "n:%lld"
			                    : *l == 'C' ? "f:%lld"
			                                : "fi:%lld",
			                    *l == 'N'   ? v->batch
			                    : *l == 'C' ? v->filters / block
			                                : block);
		else if (what == 'p') /* a place of the result */
			k >= 0 ? buf_printf(&out, "y%d", k)
				   : buf_puts(&out, *l == 'N'   ? "n"
			                        : *l == 'C' ? "f"
			                                    : "fi");
		else if (k >= 0) /* a place of the image */
			buf_puts(&out, source(t, &v->axis[k], k));
		else if (*l == 'C' && v->groups > 1 && group / block > 1)
			buf_printf(&out, "f/%lld*%lld+c", filters / block, group / block);
		else if (*l == 'C' && v->groups > 1)
			buf_printf(&out, filters / block > 1 ? "f/%lld" : "f", filters / block);
		else
			buf_puts(&out, *l == 'N' ? "n" : *l == 'c' ? "ci" : group > block ? "c" : "0");
	}
	return buf_text(&out);
}

static const char *
weight_text(Text *t, const Conv *v, bool is_place)
{
	Buf out = {.arena = t->arena};
	long long block = strchr(v->weight, 'i') ? 4 : 1;
	for (const char *l = v->weight; *l; l++) {
		int k = axis_of(v, *l);
		buf_puts(&out, l > v->weight ? ", " : "");
		if (is_place && k >= 0)
			buf_printf(&out, "r%d", k);
		else if (is_place)
			buf_puts(&out, *l == 'O'                             ? "f"
			               : *l == 'o'                           ? "fi"
			               : *l == 'i'                           ? "ci"
			               : v->channels / v->groups / block > 1 ? "c"
			                                                     : "0");
		else
			buf_printf(&out, "%lld",
			           k >= 0                   ? (long long)v->axis[k].kernel
			           : *l == 'O'              ? v->filters / block
			           : *l == 'o' || *l == 'i' ? block
			                                    : v->channels / v->groups / block);
	}
	return buf_text(&out);
}

/* The sum's loops and what keeps them inside of the image. */
static void
say_terms(Text *t, const Conv *v)
{
	long long block = strchr(v->data, 'c') ? 4 : 1, channels = v->channels / v->groups / block;
	bool is_last = v->data[strlen(v->data) - 1] == 'C', is_first = true;
	say(t, "sum(");
	if (!is_last && channels > 1)
		say(t, "c:%lld, ", channels);
	for (int k = 0; k < v->rank; k++)
		say(t, "%sr%d:%lld", k ? ", " : "", k, (long long)v->axis[k].kernel);
	if (is_last && channels > 1)
		say(t, ", c:%lld", channels);
	if (block > 1)
		say(t, ", ci:%lld", block);
	for (int k = 0; k < v->rank; k++)
		if (may_leave(&v->axis[k]))
			say_inside(t, &is_first, source(t, &v->axis[k], k), v->axis[k].in);
	say(t, ") ");
}

static void
say_convolution(Text *t, const Conv *v)
{
	const char *type = v->is_int8 ? "i8" : "f32", *sum = v->is_int8 ? "i32" : "f32";
	const char *place = data_text(t, v, 'p'), *box = data_text(t, v, 'y');
	bool is_more = v->has_bias || v->has_relu, has_block = strchr(v->data, 'c') != NULL;
	say(t, "expr e(X: %s[%s], W: %s[%s]", type, data_text(t, v, 'x'), type,
	    weight_text(t, v, false));
	if (v->has_bias)
		say(t, has_block ? ", B: %s[%lld, 4]" : ", B: %s[%lld]", sum,
		    v->filters / (has_block ? 4 : 1));
	say(t, ") -> Y {\n  %s[%s]: %s = ", is_more ? "S" : "Y", box, sum);
	say_terms(t, v);
	say(t, v->is_int8 ? "i32(X[%s]) * i32(W[%s])\n" : "X[%s] * W[%s]\n", data_text(t, v, 's'),
	    weight_text(t, v, true));
	if (!is_more)
		return;
	const char *value = arena_printf(t->arena, "S[%s]", place);
	if (v->has_bias)
		value = arena_printf(t->arena, "%s + B[%s]", value, has_block ? "f, fi" : "f");
	say(t, v->has_relu ? "  Y[%s]: %s = max(%s, %s(0))\n" : "  Y[%s]: %s = %s\n", box, sum, value,
	    sum);
}

/* ---- the table's functions ------------------------------------------------------------------- */

/* Axes of an image by its layout: all of one size, or each of its own. */
static void
open_axes(Text *t, Conv *v, int size, int kernel, int stride, int dilation)
{
	int64_t in[MAX_FIELDS], by[MAX_FIELDS], step[MAX_FIELDS], wide[MAX_FIELDS] = {1, 1, 1};
	v->rank = 0;
	for (const char *l = v->data; *l; l++)
		if (*l == 'D' || *l == 'H' || *l == 'W')
			v->axis[v->rank++].letter = *l;
	field_list(t, size, v->rank, in);
	field_list(t, kernel, v->rank, by);
	field_list(t, stride, v->rank, step);
	if (dilation >= 0)
		field_list(t, dilation, v->rank, wide);
	for (int k = 0; k < v->rank; k++) {
		Axis *a = &v->axis[k];
		int64_t reach = wide[k] * (by[k] - 1) + 1, least = reach > 7 ? reach + 2 : 9;
		*a = (Axis){.letter = a->letter,
		            .in = t->is_small && in[k] > least ? least : in[k],
		            .kernel = by[k],
		            .stride = step[k],
		            .dilation = wide[k]};
	}
}

static bool
starts(const Text *t, const char *word)
{
	return strncmp(t->c->function, word, strlen(word)) == 0;
}

/* Fields: batch, channels, size, filters, kernel, stride, padding, dilation, … */
void
text_convolution(Text *t)
{
	Conv v = {.groups = 1, .batch = field_number(t, 0, 2), .data = "NCHW", .weight = "OIHW"};
	int count = t->c->count;
	bool is_1d = starts(t, "conv1d"), is_depthwise = starts(t, "depthwise");
	bool has_groups = starts(t, "group_conv2d");
	if (is_1d) {
		v.data = field_text(t, 8);
		v.weight = strcmp(v.data, "NCW") == 0 ? "OIW" : "WIO";
	} else if (strstr(t->c->function, "hwcn")) {
		v.data = "HWCN", v.weight = "HWIO";
	} else if (strstr(t->c->function, "ncdhw")) {
		v.data = "NCDHW", v.weight = "OIDHW";
	} else if (strstr(t->c->function, "ndhwc")) {
		v.data = "NDHWC", v.weight = "DHWIO";
	} else if (strstr(t->c->function, "nhwc")) {
		v.data = "NHWC", v.weight = is_depthwise ? "HWO" : "HWIO";
	} else if (strstr(t->c->function, "NCHWc")) {
		v.data = "NCHWc", v.weight = "OIHWoi", v.is_int8 = true;
	} else if (is_depthwise) {
		v.weight = "OHW";
	}
	v.groups = has_groups ? field_number(t, 8, 2) : 1;
	v.channels = field_number(t, 1, has_groups ? 8 : 3);
	v.filters = field_number(t, 3, has_groups ? 8 : 4);
	if (is_depthwise)
		v.groups = v.channels, v.filters *= v.channels;
	open_axes(t, &v, 2, 4, 5, is_1d ? 6 : 7);
	axis_pad(v.axis, v.rank, t, is_1d ? 7 : 6);
	bool has_posts = count >= 10 && !is_1d;
	v.has_bias = has_posts && field_true(t, has_groups ? 9 : 8);
	v.has_relu = has_posts && field_true(t, has_groups ? 10 : 9);
	say_convolution(t, &v);
}

/* The result's place in units of the image's: where y + r - before is a multiple of the stride. */
static void
say_origin(Text *t, bool *is_first, const Axis *a, int k, const char **place)
{
	const char *sum = arena_printf(t->arena, "y%d+r%d-%lld", k, k, (long long)a->before);
	*place = sum;
	if (a->stride > 1) {
		say(t, "%s(%s)%%%lld == 0", *is_first ? " where " : ", ", sum, (long long)a->stride);
		*is_first = false;
		*place = arena_printf(t->arena, "(%s)/%lld", sum, (long long)a->stride);
	}
	say_inside(t, is_first, *place, a->in);
}

/* Fields: batch, channels, size, filters, kernel, stride, padding, more at the end */
void
text_transposed(Text *t)
{
	Conv v = {.batch = field_number(t, 0, 2), .channels = field_number(t, 1, 3)};
	int64_t pad[MAX_FIELDS], more[MAX_FIELDS];
	v.filters = field_number(t, 3, 4);
	v.data = strstr(t->c->function, "ncw")     ? "NCW"
	         : strstr(t->c->function, "ncdhw") ? "NCDHW"
	                                           : "NCHW";
	open_axes(t, &v, 2, 4, 5, -1);
	int count = field_list(t, 6, v.rank, pad);
	field_list(t, 7, v.rank, more);
	Buf in = {.arena = t->arena}, by = in, box = in, over = in, at = in, tap = in;
	for (int k = 0; k < v.rank; k++) {
		Axis *a = &v.axis[k];
		int64_t after = count == 2 * v.rank ? pad[v.rank + k] : pad[k];
		a->out = (a->in - 1) * a->stride - pad[k] - after + a->kernel + more[k];
		a->before = a->kernel - 1 - pad[k];
		buf_printf(&in, ", %lld", (long long)a->in);
		buf_printf(&by, ", %lld", (long long)a->kernel);
		buf_printf(&box, ", y%d:%lld", k, (long long)a->out);
		buf_printf(&over, ", r%d:%lld", k, (long long)a->kernel);
		buf_printf(&tap, ", %lld-r%d", (long long)a->kernel - 1, k);
	}
	say(t, "expr e(X: f32[%lld, %lld%s], W: f32[%lld, %lld%s]) -> Y {\n", v.batch, v.channels,
	    buf_text(&in), v.channels, v.filters, buf_text(&by));
	say(t, "  Y[n:%lld, f:%lld%s]: f32 = sum(c:%lld%s", v.batch, v.filters, buf_text(&box),
	    v.channels, buf_text(&over));
	bool is_first = true;
	for (int k = 0; k < v.rank; k++) {
		const char *place;
		say_origin(t, &is_first, &v.axis[k], k, &place);
		buf_printf(&at, ", %s", place);
	}
	say(t, ") X[n, c%s] * W[c, f%s]\n", buf_text(&at), buf_text(&tap));
}

/* Fields of both gradients: batch, channels, size, multiplier, kernel, stride, padding. The image
 * as the forward convolution has it; channels last. */
static void
open_gradient(Text *t, Conv *v)
{
	*v = (Conv){.data = "NHWC", .batch = field_number(t, 0, 2), .channels = field_number(t, 1, 5)};
	v->filters = field_number(t, 3, 2);
	open_axes(t, v, 2, 4, 5, -1);
	axis_pad(v->axis, v->rank, t, 6);
}

void
text_back_input(Text *t)
{
	Conv v;
	open_gradient(t, &v);
	const Axis *h = &v.axis[0], *w = &v.axis[1];
	long long multiplier = v.filters, outputs = v.channels * multiplier;
	say(t, "expr e(D: f32[%lld, %lld, %lld, %lld], W: f32[%lld, %lld, %lld, %lld]) -> Y {\n",
	    v.batch, (long long)h->out, (long long)w->out, outputs, (long long)h->kernel,
	    (long long)w->kernel, v.channels, multiplier);
	say(t, "  Y[n:%lld, y0:%lld, y1:%lld, c:%lld]: f32 = sum(r0:%lld, r1:%lld, m:%lld", v.batch,
	    (long long)h->in, (long long)w->in, v.channels, (long long)h->kernel, (long long)w->kernel,
	    multiplier);
	bool is_first = true;
	const char *place[2];
	for (int k = 0; k < 2; k++) {
		Axis back = v.axis[k];
		back.before = back.kernel - 1 - back.before;
		back.in = back.out;
		say_origin(t, &is_first, &back, k, &place[k]);
	}
	say(t, ") D[n, %s, %s, c*%lld+m] * W[%lld-r0, %lld-r1, c, m]\n", place[0], place[1], multiplier,
	    (long long)h->kernel - 1, (long long)w->kernel - 1);
}

void
text_back_weight(Text *t)
{
	Conv v;
	open_gradient(t, &v);
	const Axis *h = &v.axis[0], *w = &v.axis[1];
	long long multiplier = v.filters, outputs = v.channels * multiplier;
	say(t, "expr e(X: f32[%lld, %lld, %lld, %lld], D: f32[%lld, %lld, %lld, %lld]) -> Y {\n",
	    v.batch, (long long)h->in, (long long)w->in, v.channels, v.batch, (long long)h->out,
	    (long long)w->out, outputs);
	say(t, "  Y[r0:%lld, r1:%lld, c:%lld, m:%lld]: f32 = sum(n:%lld, y0:%lld, y1:%lld",
	    (long long)h->kernel, (long long)w->kernel, v.channels, multiplier, v.batch,
	    (long long)h->out, (long long)w->out);
	bool is_first = true;
	for (int k = 0; k < 2; k++)
		if (may_leave(&v.axis[k]))
			say_inside(t, &is_first, source(t, &v.axis[k], k), v.axis[k].in);
	say(t, ") D[n, y0, y1, c*%lld+m] * X[n, %s, %s, c]\n", multiplier, source(t, h, 0),
	    source(t, w, 1));
}

/* Fields: batch, channels, size, filters, kernel, stride, padding, dilation, groups of offsets.
 * What a tap sees lies between four elements, at a place that data moves. */
void
text_deformable(Text *t)
{
	Conv v = {.data = "NCHW", .groups = 1, .batch = field_number(t, 0, 2)};
	v.channels = field_number(t, 1, 16);
	v.filters = field_number(t, 3, 4);
	open_axes(t, &v, 2, 4, 5, 7);
	axis_pad(v.axis, v.rank, t, 6);
	const Axis *h = &v.axis[0], *w = &v.axis[1];
	long long parts = field_number(t, 8, 16), taps = h->kernel * w->kernel;
	long long in[2] = {h->in, w->in};
	say(t, "expr e(X: f32[%lld, %lld, %lld, %lld], O: f32[%lld, %lld, %lld, %lld]", v.batch,
	    v.channels, in[0], in[1], v.batch, parts * taps * 2, (long long)h->out, (long long)w->out);
	say(t, ", W: f32[%lld, %lld, %lld, %lld]) -> Y {\n", v.filters, v.channels,
	    (long long)h->kernel, (long long)w->kernel);
	const char *box = arena_printf(t->arena, "n:%lld, c:%lld, r0:%lld, r1:%lld, y0:%lld, y1:%lld",
	                               v.batch, v.channels, (long long)h->kernel, (long long)w->kernel,
	                               (long long)h->out, (long long)w->out);
	for (int k = 0; k < 2; k++) /* where the tap looks */
		say(t, "  P%d[%s]: f32 = f32(%s) + O[n, (c/%lld*%lld+r0*%lld+r1)*2+%d, y0, y1]\n", k, box,
		    source(t, &v.axis[k], k), v.channels / parts, taps, (long long)w->kernel, k);
	const char *p[2] = {"P0[n, c, r0, r1, y0, y1]", "P1[n, c, r0, r1, y0, y1]"};
	const char *low[2], *next[2], *part[2];
	for (int k = 0; k < 2; k++) {
		low[k] = arena_printf(t->arena, "at(i64(floor(%s)), 0..%lld)", p[k], in[k]);
		next[k] = arena_printf(t->arena, "at(min(i64(floor(%s))+1, %lld), 0..%lld)", p[k],
		                       in[k] - 1, in[k]);
		part[k] = arena_printf(t->arena, "(%s - floor(%s))", p[k], p[k]);
	}
	say(t, "  V[%s]: f32 = %s >= 0.0 && %s >= 0.0 && %s <= %lld.0 && %s <= %lld.0 ? ", box, p[0],
	    p[1], p[0], in[0] - 1, p[1], in[1] - 1);
	say(t, "(X[n, c, %s, %s] * (1.0 - %s) + X[n, c, %s, %s] * %s) * (1.0 - %s) + ", low[0], low[1],
	    part[1], low[0], next[1], part[1], part[0]);
	say(t, "(X[n, c, %s, %s] * (1.0 - %s) + X[n, c, %s, %s] * %s) * %s : 0.0\n", next[0], low[1],
	    part[1], next[0], next[1], part[1], part[0]);
	say(t, "  Y[n:%lld, f:%lld, y0:%lld, y1:%lld]: f32 = sum(c:%lld, r0:%lld, r1:%lld) ", v.batch,
	    v.filters, (long long)h->out, (long long)w->out, v.channels, (long long)h->kernel,
	    (long long)w->kernel);
	say(t, "V[n, c, r0, r1, y0, y1] * W[f, c, r0, r1]\n");
}
