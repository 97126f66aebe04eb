/* Pools over any number of axes, over whole images and into images of a given size, and their
 * gradients. */
#include "cases.h"

#include <string.h>

typedef struct Pool {
	const char *layout;
	int rank;
	Axis axis[3];
	long long batch, channels;
	bool is_max, counts_border;
} Pool;

static int
pool_axis(const Pool *p, char letter)
{
	for (int k = 0; k < p->rank; k++)
		if (p->axis[k].letter == letter)
			return k;
	return -1;
}

static void
open_layout(Pool *p, const char *layout)
{
	p->layout = layout;
	p->rank = 0;
	for (const char *l = layout; *l; l++)
		if (*l != 'N' && *l != 'C')
			p->axis[p->rank++] = (Axis){.letter = *l, .stride = 1, .dilation = 1};
}

/* In the layout's order: dims in, a box, or a place that `axes` says for each axis. */
static const char *
pool_text(Text *t, const Pool *p, char what, const char *const *axes)
{
	Buf out = {.arena = t->arena};
	for (const char *l = p->layout; *l; l++) {
		int k = pool_axis(p, *l);
		long long size = *l == 'N' ? p->batch : p->channels;
		buf_puts(&out, l > p->layout ? ", " : "");
		if (what == 'x')
			buf_printf(&out, "%lld", k >= 0 ? (long long)p->axis[k].in : size);
		else if (what == 'g') /* the result's dims */
			buf_printf(&out, "%lld", k >= 0 ? (long long)p->axis[k].out : size);
		else if (k >= 0 && what == 'b')
			buf_printf(&out, "y%d:%lld", k, (long long)p->axis[k].out);
		else if (what == 'b')
			buf_printf(&out, "%c:%lld", *l == 'N' ? 'n' : 'c', size);
		else if (k >= 0 && axes)
			buf_puts(&out, axes[k]);
		else if (k >= 0)
			buf_printf(&out, "y%d", k);
		else
			buf_puts(&out, *l == 'N' ? "n" : "c");
	}
	return buf_text(&out);
}

/* Fields: batch, channels, size, kernel, stride, padding, kind, ceil, count of borders */
static void
open_pool(Text *t, Pool *p, const char *layout)
{
	int64_t pad[MAX_FIELDS];
	*p = (Pool){.batch = field_number(t, 0, 2), .channels = field_number(t, 1, 3)};
	open_layout(p, layout);
	p->is_max = field_is(t, 6, "max");
	p->counts_border = field_true(t, 8);
	field_list(t, 5, 2 * p->rank, pad);
	for (int k = 0; k < p->rank; k++) {
		Axis *a = &p->axis[k];
		a->in = field_number(t, 2, 10 + field_number(t, 2, 99) % 2);
		a->kernel = field_number(t, 3, 99);
		a->stride = field_number(t, 4, 99);
		a->before = pad[k];
		a->after = pad[p->rank + k] + (field_true(t, 7) ? a->stride - 1 : 0);
		a->out = (a->in + a->before + a->after - a->kernel) / a->stride + 1;
	}
}

/* y0*2+r0-1 */
static const char *
tap(Text *t, const Axis *a, int k)
{
	return arena_printf(t->arena, "y%d*%lld+r%d-%lld", k, (long long)a->stride, k,
	                    (long long)a->before);
}

/* How many elements the window at a place of each axis has, in the image or with its border. */
static const char *
window_size(Text *t, const Pool *p, const char *const *place)
{
	Buf out = {.arena = t->arena};
	for (int k = 0; k < p->rank; k++) {
		const Axis *a = &p->axis[k];
		const char *star = k ? "*" : "";
		if (p->counts_border) {
			buf_printf(&out, "%s%lld", star, (long long)a->kernel);
			continue;
		}
		buf_printf(&out, "%s(min(%s*%lld+%lld, %lld)-max(%s*%lld-%lld, 0))", star, place[k],
		           (long long)a->stride, (long long)(a->kernel - a->before), (long long)a->in,
		           place[k], (long long)a->stride, (long long)a->before);
	}
	return p->counts_border ? buf_text(&out) : arena_printf(t->arena, "max(%s, 1)", buf_text(&out));
}

/* The window's loops; which of its taps lie in the image. */
static void
say_window(Text *t, const Pool *p)
{
	bool is_first = true;
	for (int k = 0; k < p->rank; k++)
		say(t, "%sr%d:%lld", k ? ", " : "", k, (long long)p->axis[k].kernel);
	for (int k = 0; k < p->rank; k++) {
		const Axis *a = &p->axis[k];
		if (a->before || (a->out - 1) * a->stride + a->kernel > a->in)
			say_inside(t, &is_first, tap(t, a, k), a->in);
	}
}

static void
taps(Text *t, const Pool *p, const char **out)
{
	for (int k = 0; k < p->rank; k++)
		out[k] = tap(t, &p->axis[k], k);
}

void
text_pool(Text *t)
{
	Pool p;
	const char *at[3], *y[3] = {"y0", "y1", "y2"};
	open_pool(t, &p, t->c->count > 9 ? field_text(t, 9) : "NCHW");
	taps(t, &p, at);
	const char *box = pool_text(t, &p, 'b', NULL);
	say(t, "expr e(X: f32[%s]) -> Y {\n  %s[%s]: f32 = %s(", pool_text(t, &p, 'x', NULL),
	    p.is_max ? "Y" : "S", box, p.is_max ? "max" : "sum");
	say_window(t, &p);
	say(t, ") X[%s]\n", pool_text(t, &p, 'p', at));
	if (!p.is_max)
		say(t, "  Y[%s]: f32 = S[%s] / f32(%s)\n", box, pool_text(t, &p, 'p', NULL),
		    window_size(t, &p, y));
}

/* The element that was largest has all of a window's gradient; else each has its part. */
void
text_pool_grad(Text *t)
{
	Pool p;
	const char *at[3], *from[2];
	open_pool(t, &p, "NCHW");
	taps(t, &p, at);
	long long h = p.axis[0].in, w = p.axis[1].in;
	bool has_relu = field_true(t, 9);
	say(t, "expr e(D: f32[%s]", pool_text(t, &p, 'g', NULL));
	say(t, p.is_max ? ", X: f32[%s]) -> Y {\n" : ") -> Y {\n", pool_text(t, &p, 'x', NULL));
	if (p.is_max) {
		const char *box = pool_text(t, &p, 'b', NULL);
		say(t, "  (V: f32, I: i64)[%s] = argmax first (", box);
		say_window(t, &p);
		say(t, ") X[%s] with (%s)*%lld+%s\n", pool_text(t, &p, 'p', at), at[0], w, at[1]);
	}
	const char *box =
		arena_printf(t->arena, "n:%lld, c:%lld, y0:%lld, y1:%lld", p.batch, p.channels, h, w);
	say(t, "  %s[%s]: f32 = sum(", has_relu ? "S" : "Y", box);
	for (int k = 0; k < 2; k++) {
		const Axis *a = &p.axis[k];
		say(t, "%sa%d:%lld", k ? ", " : "", k,
		    (long long)((a->kernel + a->stride - 1) / a->stride));
		from[k] = arena_printf(t->arena, "((y%d+%lld)/%lld-a%d)", k, (long long)a->before,
		                       (long long)a->stride, k);
	}
	bool is_first = true;
	for (int k = 0; k < 2; k++) {
		const Axis *a = &p.axis[k];
		say_inside(t, &is_first, from[k], a->out);
		say(t, ", y%d+%lld-%s*%lld < %lld", k, (long long)a->before, from[k], (long long)a->stride,
		    (long long)a->kernel);
	}
	if (p.is_max)
		say(t, ") (I[n, c, %s, %s] == y0*%lld+y1 ? D[n, c, %s, %s] : 0.0)\n", from[0], from[1], w,
		    from[0], from[1]);
	else
		say(t, ") D[n, c, %s, %s] / f32(%s)\n", from[0], from[1], window_size(t, &p, from));
	if (has_relu)
		say(t, "  Y[%s]: f32 = max(S[n, c, y0, y1], 0.0)\n", box);
}

/* ---- whole images ---------------------------------------------------------------------------- */

/* Batch, channels and image by the layout. */
static void
read_dims(Text *t, Pool *p, int at)
{
	int64_t dims[MAX_FIELDS];
	field_list(t, at, p->rank + 2, dims);
	for (int d = 0; p->layout[d]; d++) {
		int k = pool_axis(p, p->layout[d]);
		int64_t size = dims[d], most = k >= 0 ? 30 : p->layout[d] == 'N' ? 2 : 3;
		size = t->is_small && size > most ? most : size;
		if (k >= 0)
			p->axis[k].in = size;
		else
			*(p->layout[d] == 'N' ? &p->batch : &p->channels) = size;
	}
}

/* Each result from its part of the image: from y*in/out to where (y+1)*in/out is, rounded up. */
static void
say_adaptive(Text *t, const Pool *p)
{
	Buf count = {.arena = t->arena};
	const char *at[3], *box = pool_text(t, p, 'b', NULL);
	bool is_first = true;
	say(t, "expr e(X: f32[%s]) -> Y {\n  %s[%s]: f32 = %s(", pool_text(t, p, 'x', NULL),
	    p->is_max ? "Y" : "S", box, p->is_max ? "max" : "sum");
	for (int k = 0; k < p->rank; k++) {
		const Axis *a = &p->axis[k];
		long long in = a->in, out = a->out;
		bool is_whole = in % out == 0;
		at[k] = out == 1 ? arena_printf(t->arena, "r%d", k)
		                 : arena_printf(t->arena, "y%d*%lld/%lld+r%d", k, in, out, k);
		say(t, "%sr%d:%lld", k ? ", " : "", k, is_whole ? in / out : in / out + 2);
		buf_printf(&count,
		           k ? "*((y%d*%lld+%lld)/%lld-y%d*%lld/%lld)"
		             : "((y%d*%lld+%lld)/%lld-y%d*%lld/%lld)",
		           k, in, in + out - 1, out, k, in, out);
	}
	for (int k = 0; k < p->rank; k++) {
		long long in = p->axis[k].in, out = p->axis[k].out;
		if (in % out == 0)
			continue;
		say(t, "%s%s < (y%d*%lld+%lld)/%lld, %s < %lld", is_first ? " where " : ", ", at[k], k, in,
		    in + out - 1, out, at[k], in);
		is_first = false;
	}
	say(t, ") X[%s]\n", pool_text(t, p, 'p', at));
	if (!p->is_max)
		say(t, "  Y[%s]: f32 = S[%s] / f32(%s)\n", box, pool_text(t, p, 'p', NULL),
		    buf_text(&count));
}

void
text_adaptive_pool(Text *t)
{
	Pool p = {.is_max = field_is(t, 2, "max")};
	int64_t out[MAX_FIELDS];
	open_layout(&p, field_text(t, 3));
	read_dims(t, &p, 0);
	field_list(t, 1, p.rank, out);
	for (int k = 0; k < p.rank; k++)
		p.axis[k].out = out[k];
	say_adaptive(t, &p);
}

void
text_global_pool(Text *t)
{
	Pool p = {.is_max = field_is(t, 1, "max")};
	open_layout(&p, field_text(t, 2));
	read_dims(t, &p, 0);
	for (int k = 0; k < p.rank; k++)
		p.axis[k].out = 1;
	say_adaptive(t, &p);
}
