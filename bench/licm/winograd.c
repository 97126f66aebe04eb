/* Convolutions by Winograd's transforms, stage by stage as their source has them: tiles of m results
 * in each transformed axis from m + k - 1 places.
 *
 *     U[e0, e1, c, f] = sum(r0, r1) W[f, c, r0, r1] * G[e0, r0] * G[e1, r1]
 *     V[e0, e1, c, p] = sum(i0, i1 where inside) X[…] * B[i0, e0] * B[i1, e1]
 *     M[e0, e1, f, p] = sum(c) U[e0, e1, c, f] * V[e0, e1, c, p]
 *     T[f, p, v0, v1] = sum(e0, e1) M[e0, e1, f, p] * A[e0, v0] * A[e1, v1]
 *     Y[n, f, y0, y1] = T[f, (n*N0 + y0/m)*N1 + y1/m, y0%m, y1%m]
 *
 * The matrices are arguments: loops do not depend on what stands in them. Of three axes the first is
 * transformed where its window is as long as the others'; else it stays a sum of its own.
 */
#include "cases.h"

#include <string.h>

typedef struct Winograd {
	bool is_last;    /* channels */
	int rank, first; /* axes; the first that is transformed */
	Axis axis[3];
	long long batch, channels, filters, m, alpha, tiles[3], count;
	bool has_bias, has_relu;
} Winograd;

static void
open_winograd(Text *t, Winograd *v)
{
	bool is_3d = strcmp(t->c->op, "conv3d_winograd") == 0;
	int64_t deep = field_number(t, 4, 99), wide = field_number(t, is_3d ? 5 : 4, 99);
	int more = is_3d ? 1 : 0;
	*v = (Winograd){.is_last = strstr(t->c->function, "nhwc") != NULL,
	                .rank = is_3d ? 3 : 2,
	                .first = is_3d && deep != wide,
	                .batch = field_number(t, 0, 2),
	                .channels = field_number(t, 1, 3),
	                .filters = field_number(t, 3, 4)};
	for (int k = 0; k < v->rank; k++)
		v->axis[k] = (Axis){.in = field_number(t, 2, wide > 5 ? 9 : 8),
		                    .kernel = is_3d && k == 0 ? deep : wide,
		                    .stride = field_number(t, 5 + more, 9),
		                    .dilation = 1};
	axis_pad(v->axis, v->rank, t, 6 + more);
	v->m = v->axis[1].in % 8 == 0 ? 4 : 2;
	v->alpha = v->m + wide - 1;
	v->count = v->batch;
	for (int k = v->first; k < v->rank; k++) {
		v->tiles[k] = (v->axis[k].out + v->m - 1) / v->m;
		v->count *= v->tiles[k];
	}
	v->has_bias = field_true(t, 8 + more);
	v->has_relu = field_true(t, 9 + more);
}

/* "e1:6, e2:6" of the transformed axes: a name of each, with its extent where that is not 0. */
static const char *
each(Text *t, const Winograd *v, const char *name, long long extent)
{
	Buf out = {.arena = t->arena};
	for (int k = v->first; k < v->rank; k++) {
		buf_printf(&out, "%s%s%d", k > v->first ? ", " : "", name, k);
		if (extent)
			buf_printf(&out, ":%lld", extent);
	}
	return buf_text(&out);
}

/* " * G[e1, r1] * G[e2, r2]" */
static void
say_matrices(Text *t, const Winograd *v, const char *name, const char *rows, const char *columns)
{
	for (int k = v->first; k < v->rank; k++)
		say(t, " * %s[%s%d, %s%d]", name, rows, k, columns, k);
	say(t, "\n");
}

/* An axis that is not transformed: "z:20, ", "z, " or nothing. */
static const char *
deep(Text *t, const Winograd *v, long long extent, const char *name)
{
	if (v->first == 0)
		return "";
	return extent ? arena_printf(t->arena, "%s:%lld, ", name, extent)
	              : arena_printf(t->arena, "%s, ", name);
}

/* "n, c, P" or, where channels are last, "n, P, c". */
static const char *
image_text(Text *t, const Winograd *v, const char *batch, const char *channel, const char *axes)
{
	bool is_last = v->is_last;
	return arena_printf(t->arena, "%s, %s, %s", batch, is_last ? axes : channel,
	                    is_last ? channel : axes);
}

static void
say_arguments(Text *t, const Winograd *v)
{
	Buf image = {.arena = t->arena}, window = image;
	for (int k = 0; k < v->rank; k++) {
		buf_printf(&image, "%s%lld", k ? ", " : "", (long long)v->axis[k].in);
		buf_printf(&window, "%s%lld", k ? ", " : "", (long long)v->axis[k].kernel);
	}
	const char *batch = arena_printf(t->arena, "%lld", v->batch);
	const char *channels = arena_printf(t->arena, "%lld", v->channels);
	const char *filters = arena_printf(t->arena, "%lld", v->filters);
	say(t, "expr e(X: f32[%s], W: f32[%s", image_text(t, v, batch, channels, buf_text(&image)),
	    v->is_last ? buf_text(&window) : filters);
	say(t, ", %s, %s]", channels, v->is_last ? filters : buf_text(&window));
	say(t, ", G: f32[%lld, %lld], B: f32[%lld, %lld], A: f32[%lld, %lld]", v->alpha,
	    (long long)v->axis[1].kernel, v->alpha, v->alpha, v->alpha, v->m);
	say(t, v->has_bias ? ", D: f32[%s]) -> Y {\n" : ") -> Y {\n", filters);
}

/* The place in the image of place i of a tile. */
static const char *
tile_place(Text *t, const Winograd *v, int k)
{
	Buf out = {.arena = t->arena};
	long long behind = 1;
	for (int i = k + 1; i < v->rank; i++)
		behind *= v->tiles[i];
	buf_puts(&out, "p");
	if (behind > 1)
		buf_printf(&out, "/%lld", behind);
	if (k > v->first || v->batch > 1)
		buf_printf(&out, "%%%lld", v->tiles[k]);
	buf_printf(&out, "*%lld+i%d", v->m, k);
	if (v->axis[k].before)
		buf_printf(&out, "-%lld", (long long)v->axis[k].before);
	return buf_text(&out);
}

static void
say_weight(Text *t, const Winograd *v)
{
	const char *taps = each(t, v, "r", 0), *z = deep(t, v, 0, "rz");
	say(t, "  U[%s, %sc:%lld, f:%lld]: f32 = sum(%s) ", each(t, v, "e", v->alpha),
	    deep(t, v, v->axis[0].kernel, "rz"), v->channels, v->filters,
	    each(t, v, "r", v->axis[1].kernel));
	say(t, v->is_last ? "W[%s%s, c, f]" : "W[f, c, %s%s]", z, taps);
	say_matrices(t, v, "G", "e", "r");
}

static void
say_tiles(Text *t, const Winograd *v)
{
	bool is_first = true;
	Buf places = {.arena = t->arena};
	long long per_image = v->count / v->batch;
	say(t, "  V[%s, c:%lld, %sp:%lld]: f32 = sum(%s", each(t, v, "e", v->alpha), v->channels,
	    deep(t, v, v->axis[0].in, "z"), v->count, each(t, v, "i", v->alpha));
	for (int k = v->first; k < v->rank; k++) {
		const char *place = tile_place(t, v, k);
		say_inside(t, &is_first, place, v->axis[k].in);
		buf_printf(&places, "%s%s", k > v->first ? ", " : "", place);
	}
	const char *axes = arena_printf(t->arena, "%s%s", deep(t, v, 0, "z"), buf_text(&places));
	say(t, ") X[%s]", image_text(t, v, arena_printf(t->arena, "p/%lld", per_image), "c", axes));
	say_matrices(t, v, "B", "i", "e");
}

static void
say_products(Text *t, const Winograd *v)
{
	const Axis *z = &v->axis[0];
	const char *e = each(t, v, "e", 0);
	say(t, "  M[%s, f:%lld, %sp:%lld]: f32 = sum(c:%lld", each(t, v, "e", v->alpha), v->filters,
	    deep(t, v, z->out, "y"), v->count, v->channels);
	if (v->first == 0) {
		say(t, ") U[%s, c, f] * V[%s, c, p]\n", e, e);
		return;
	}
	bool is_first = true;
	const char *from = arena_printf(t->arena, "y+rz-%lld", (long long)z->before);
	say(t, ", rz:%lld", (long long)z->kernel);
	say_inside(t, &is_first, from, z->in);
	say(t, ") U[%s, rz, c, f] * V[%s, c, %s, p]\n", e, e, from);
}

static void
say_result(Text *t, const Winograd *v)
{
	const char *y = deep(t, v, 0, "y"), *box_y = deep(t, v, v->axis[0].out, "y");
	say(t, "  T[f:%lld, %sp:%lld, %s]: f32 = sum(%s) M[%s, f, %sp]", v->filters, box_y, v->count,
	    each(t, v, "v", v->m), each(t, v, "e", v->alpha), each(t, v, "e", 0), y);
	say_matrices(t, v, "A", "e", "v");
	Buf box = {.arena = t->arena}, rest = box;
	const char *tile = "n";
	for (int k = v->first; k < v->rank; k++) {
		buf_printf(&box, "%sy%d:%lld", k > v->first ? ", " : "", k, (long long)v->axis[k].out);
		buf_printf(&rest, ", y%d%%%lld", k, v->m);
		tile = arena_printf(t->arena, "(%s)*%lld+y%d/%lld", tile, v->tiles[k], k, v->m);
	}
	const char *axes = arena_printf(t->arena, "%s%s", box_y, buf_text(&box));
	const char *batch = arena_printf(t->arena, "n:%lld", v->batch);
	const char *filters = arena_printf(t->arena, "f:%lld", v->filters);
	const char *value = arena_printf(t->arena, "T[f, %s%s%s]", y, tile, buf_text(&rest));
	if (v->has_bias)
		value = arena_printf(t->arena, "%s + D[f]", value);
	say(t, v->has_relu ? "  Y[%s]: f32 = max(%s, 0.0)\n" : "  Y[%s]: f32 = %s\n",
	    image_text(t, v, batch, filters, axes), value);
}

/* Fields: batch, channels, size, filters, kernel or kernels, stride, padding, dilation, bias, relu */
void
text_winograd(Text *t)
{
	Winograd v;
	open_winograd(t, &v);
	say_arguments(t, &v);
	say_weight(t, &v);
	say_tiles(t, &v);
	say_products(t, &v);
	say_result(t, &v);
}
