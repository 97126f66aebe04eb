/* Programs at random around a convolution, a pool, a product and a band, some with a few faults, as
 * texts (passes_match.c). */
#ifndef UNIT_MATCH_MADE_H
#define UNIT_MATCH_MADE_H

#include "random_number.h"
#include "vendor_rows.h"

enum { MAX_ITERS = 8, MAX_READS = 2 };

/* factor * iterator (and another one, divided) + offset */
typedef struct Index {
	int iter[2]; /* -1: none */
	int factor[2], offset, over;
} Index;

typedef struct Read {
	int rank, extent[ROW_MAX_RANK];
	Index index[ROW_MAX_RANK];
} Read;

typedef struct Made {
	uint64_t dice;
	int nloop, nreduce, nread;
	int extent[MAX_ITERS], order[MAX_ITERS]; /* in which iterators stand in the text */
	Read reads[MAX_READS];
	const char *reduce; /* "sum", "max", "mean", "inside": the mean of those that are there */
	bool has_guard;     /* of all reads that may leave their tensors */
	int groups;         /* of a convolution's channels, which reads[0].index[channel] reads */
	int channel;
	int limited; /* an iterator whose last value has no terms; -1: none */
} Made;

static bool
rarely(Made *made)
{
	return random_below(&made->dice, 14) == 0;
}

static int
between(Made *made, int lo, int hi)
{
	return lo + (int)random_below(&made->dice, (unsigned)(hi - lo + 1));
}

/* ---- making: a regular program, then a few faults ---- */

/* What iterator k of the index is divided by. */
static int
over_of(const Index *index, int k)
{
	return k == 1 && index->over > 0 ? index->over : 1;
}

static Index
plain(int iter)
{
	return (Index){.iter = {iter, -1}, .factor = {1, 0}};
}

static void
make_window(Made *made, Index *index, int loop, int tap)
{
	*index = (Index){.iter = {loop, tap},
	                 .factor = {between(made, 1, 2), between(made, 1, 2)},
	                 .offset = -between(made, 0, 1)};
}

static void
shuffle(Made *made, int count, int *list)
{
	for (int i = count - 1; i > 0; i--) {
		int k = between(made, 0, i), other = list[k];
		list[k] = list[i];
		list[i] = other;
	}
}

/* A batch stands in front, or is missing. */
static void
add_batch(Made *made, Read *x)
{
	made->nloop = between(made, 0, 3) ? 1 : 0;
	if (made->nloop)
		x->index[x->rank++] = plain(0);
}

static void
make_conv(Made *made, int spatial)
{
	Read *x = &made->reads[0], *w = &made->reads[1];
	add_batch(made, x);
	int f = made->nloop++, p = made->nloop, c = p + spatial;
	made->nloop += spatial;
	made->nreduce = 1 + spatial;
	made->nread = 2;
	made->reduce = "sum";
	made->groups = between(made, 0, 2) ? 1 : 2;
	made->channel = x->rank;
	x->index[x->rank++] = plain(c);
	w->index[w->rank++] = plain(f);
	w->index[w->rank++] = plain(c);
	if (made->groups > 1)
		x->index[made->channel].iter[1] = f;
	for (int d = 0; d < spatial; d++) {
		make_window(made, &x->index[x->rank++], p + d, c + 1 + d);
		w->index[w->rank++] = plain(c + 1 + d);
	}
}

static void
make_pool(Made *made, int spatial)
{
	static const char *const reductions[] = {"max", "mean", "inside"};
	Read *x = &made->reads[0];
	add_batch(made, x);
	int c = made->nloop++, p = made->nloop;
	made->nloop += spatial;
	made->nreduce = spatial;
	made->nread = 1;
	made->reduce = reductions[between(made, 0, 2)];
	x->index[x->rank++] = plain(c);
	for (int d = 0; d < spatial; d++)
		make_window(made, &x->index[x->rank++], p + d, made->nloop + d);
}

static void
make_matmul(Made *made, int batch)
{
	int m = batch, n = batch + 1, k = batch + 2;
	made->nloop = batch + 2;
	made->nreduce = 1;
	made->nread = 2;
	made->reduce = "sum";
	for (int r = 0; r < 2; r++) {
		Read *read = &made->reads[r];
		int swap = between(made, 0, 1), lead = between(made, 0, batch);
		read->rank = lead + 2;
		for (int d = 0; d < lead; d++)
			read->index[d] = plain(batch - lead + d);
		read->index[lead + swap] = plain(r ? k : m);
		read->index[lead + 1 - swap] = plain(r ? n : k);
	}
}

/* Each place with those around it: a loop counts them, or the sum does. */
static void
make_band(Made *made, int batch)
{
	Read *a = &made->reads[0], *b = &made->reads[1];
	int m = batch, n = batch + 1, k = batch + 2, is_sum = between(made, 0, 1);
	made->nloop = batch + 2;
	made->nreduce = 1;
	made->nread = 2;
	made->reduce = "sum";
	for (; a->rank < batch; a->rank++)
		a->index[a->rank] = b->index[b->rank++] = plain(a->rank);
	a->index[a->rank++] = plain(m);
	a->index[a->rank++] = plain(k);
	make_window(made, &b->index[b->rank], m, is_sum ? k : n);
	b->index[b->rank++].factor[0] = 1;
	b->index[b->rank++] = plain(is_sum ? n : k);
}

/* Channels of a group: as many filters for each. */
static void
make_groups(Made *made)
{
	Index *index = &made->reads[0].index[made->channel];
	int f = index->iter[1], c = index->iter[0];
	if (made->groups < 2 || f < 0 || c < 0)
		return;
	index->over = between(made, 1, 2);
	made->extent[f] = made->groups * index->over;
	index->factor[1] = made->extent[c];
}

/* Dims of operands and result in another order. */
static void
shuffle_all(Made *made)
{
	for (int i = 0; i < made->nloop + made->nreduce; i++)
		made->order[i] = i;
	if (between(made, 0, 3) == 0)
		shuffle(made, made->nloop, made->order);
	if (between(made, 0, 3) == 0)
		shuffle(made, made->nreduce, made->order + made->nloop);
	for (int r = 0; r < made->nread; r++) {
		Read *read = &made->reads[r], old = *read;
		int order[ROW_MAX_RANK];
		for (int d = 0; d < read->rank; d++)
			order[d] = d;
		if (between(made, 0, 3) == 0)
			shuffle(made, read->rank, order);
		for (int d = 0; d < read->rank; d++)
			read->index[d] = old.index[order[d]];
	}
	if (made->nread == 2 && between(made, 0, 3) == 0) {
		Read first = made->reads[0];
		made->reads[0] = made->reads[1];
		made->reads[1] = first;
	}
}

static void
make_extents(Made *made)
{
	for (int i = 0; i < made->nloop + made->nreduce; i++)
		made->extent[i] = between(made, 1, 3);
	if (made->groups > 1)
		make_groups(made);
	shuffle_all(made);
	made->limited = rarely(made) ? between(made, 0, made->nloop + made->nreduce - 1) : -1;
	made->has_guard = false;
	for (int r = 0; r < made->nread; r++)
		for (int d = 0; d < made->reads[r].rank; d++) {
			const Index *index = &made->reads[r].index[d];
			int first = index->offset, last = first;
			for (int k = 0; k < 2; k++) {
				int span = 0;
				if (index->iter[k] >= 0)
					span =
						index->factor[k] * ((made->extent[index->iter[k]] - 1) / over_of(index, k));
				first += span < 0 ? span : 0;
				last += span > 0 ? span : 0;
			}
			int extent = last + 1 + (rarely(made) ? 1 : 0);
			if (index->iter[1] >= 0 && between(made, 0, 1))
				extent--; /* padding behind */
			made->reads[r].extent[d] = extent > 0 ? extent : 1;
			made->has_guard |= first < 0 || last >= made->reads[r].extent[d];
		}
}

static void
spoil_index(Made *made, Index *index)
{
	int n = made->nloop + made->nreduce;
	switch (between(made, 0, 6)) {
	case 0:
		*index = plain(between(made, 0, n - 1));
		break;
	case 1:
		index->factor[0] = between(made, 0, 3);
		break;
	case 2:
		index->factor[1] = between(made, -1, 3);
		break;
	case 3:
		index->offset = between(made, -1, 2);
		break;
	case 4:
		index->iter[1] = between(made, 0, n - 1);
		index->factor[1] = between(made, -1, 2);
		break;
	case 5:
		index->iter[0] = -1;
		break;
	default:
		index->iter[1] = -1;
	}
}

static void
spoil(Made *made)
{
	for (int r = 0; r < made->nread; r++)
		for (int d = 0; d < made->reads[r].rank; d++)
			if (rarely(made))
				spoil_index(made, &made->reads[r].index[d]);
	if (rarely(made) && made->nloop + made->nreduce < MAX_ITERS)
		made->nreduce++;
}

/* ---- as a text ---- */

/* As a constructor would make it: no factor 1, nothing added to 0. */
static void
print_index(Buf *text, const Index *index)
{
	const char *plus = "";
	for (int k = 0; k < 2; k++) {
		if (index->iter[k] < 0 || index->factor[k] == 0)
			continue;
		buf_puts(text, plus);
		buf_printf(text, "i%d", index->iter[k]);
		if (over_of(index, k) > 1)
			buf_printf(text, "/%d", index->over);
		if (index->factor[k] != 1)
			buf_printf(text, "*%d", index->factor[k]);
		plus = " + ";
	}
	if (index->offset != 0 || !*plus)
		buf_printf(text, "%s%d", plus, index->offset);
}

static void
print_guard(Buf *text, const Made *made)
{
	const char *before = " where ";
	for (int r = 0; r < made->nread && made->has_guard; r++)
		for (int d = 0; d < made->reads[r].rank; d++) {
			buf_printf(text, "%s0 <= ", before);
			print_index(text, &made->reads[r].index[d]);
			buf_puts(text, ", ");
			print_index(text, &made->reads[r].index[d]);
			buf_printf(text, " < %d", made->reads[r].extent[d]);
			before = ", ";
		}
	if (made->limited >= 0)
		buf_printf(text, "%si%d < %d", before, made->limited, made->extent[made->limited] - 1);
}

static void
print_read(Buf *text, const Made *made, int r)
{
	buf_printf(text, "%s%c[", r ? " * " : "", 'A' + r);
	for (int d = 0; d < made->reads[r].rank; d++) {
		buf_puts(text, d ? ", " : "");
		print_index(text, &made->reads[r].index[d]);
	}
	buf_putc(text, ']');
}

static void
print_iters(Buf *text, const Made *made, int from, int to)
{
	for (int i = from; i < to; i++)
		buf_printf(text, "%si%d:%d", i > from ? ", " : "", made->order[i],
		           made->extent[made->order[i]]);
}

/* How many elements of its window are there, of each window that is read. */
static void
print_inside(Buf *text, const Made *made)
{
	const char *before = "f32(";
	for (int d = 0; d < made->reads[0].rank; d++) {
		const Index *index = &made->reads[0].index[d];
		Index start = {{index->iter[0], -1}, {index->factor[0], 0}, index->offset, 0};
		if (index->iter[1] < 0 || index->iter[0] < 0)
			continue;
		buf_printf(text, "%s(min(%d, %d - (", before, made->extent[index->iter[1]],
		           made->reads[0].extent[d]);
		print_index(text, &start);
		buf_puts(text, ")) - max(0, -1*(");
		print_index(text, &start);
		buf_puts(text, ")))");
		before = "*";
	}
	buf_puts(text, *before == 'f' ? "1.0" : ")");
}

static const char *
print_made(Arena *arena, const Made *made)
{
	Buf text = {.arena = arena};
	bool is_inside = strcmp(made->reduce, "inside") == 0;
	bool is_mean = is_inside || strcmp(made->reduce, "mean") == 0;
	buf_puts(&text, "expr made(");
	for (int r = 0; r < made->nread; r++) {
		buf_printf(&text, "%s%c: f32[", r ? ", " : "", 'A' + r);
		for (int d = 0; d < made->reads[r].rank; d++)
			buf_printf(&text, "%s%d", d ? "," : "", made->reads[r].extent[d]);
		buf_putc(&text, ']');
	}
	buf_printf(&text, ") -> %s {\n  S[", is_mean ? "Y" : "S");
	print_iters(&text, made, 0, made->nloop);
	buf_printf(&text, "]: f32 = %s(", is_mean ? "sum" : made->reduce);
	print_iters(&text, made, made->nloop, made->nloop + made->nreduce);
	print_guard(&text, made);
	buf_puts(&text, ") ");
	for (int r = 0; r < made->nread; r++)
		print_read(&text, made, r);
	int taps = 1;
	for (int i = 0; i < made->nreduce; i++)
		taps *= made->extent[made->nloop + i];
	if (is_mean) {
		buf_puts(&text, "\n  Y[");
		print_iters(&text, made, 0, made->nloop);
		buf_puts(&text, "]: f32 = S[");
		for (int i = 0; i < made->nloop; i++)
			buf_printf(&text, "%si%d", i ? ", " : "", made->order[i]);
		buf_puts(&text, "] / ");
		if (is_inside)
			print_inside(&text, made);
		else
			buf_printf(&text, "%d.0", taps);
	}
	buf_puts(&text, "\n}\n");
	return buf_text(&text);
}

/* ---- transposed convolutions ---- */

/* (p + l - d*r), where the window of place p has its tap r; `shift` off where it is a fault. */
typedef struct Back {
	int x, size, stride, dilation, before, out, shift[3]; /* of the index, the rest, the border */
	bool lacks_rest;
} Back;

static Back
make_back(Made *made)
{
	Back b = {.x = between(made, 1, 5), .size = between(made, 1, 3)};
	b.stride = between(made, 1, 3);
	b.dilation = between(made, 1, 2);
	int used = b.dilation * (b.size - 1) + 1, whole = (b.x - 1) * b.stride + used;
	b.before = between(made, 0, used - 1);
	b.out = whole - b.before - between(made, 0, used - 1);
	b.out = b.out < 1 ? 1 : b.out;
	for (int i = 0; i < 3; i++)
		b.shift[i] = rarely(made);
	b.lacks_rest = rarely(made);
	return b;
}

/* In dim i, whose loop is p0 or p1. */
static const char *
back_text(Arena *arena, const Back *b, int i, int shift)
{
	return arena_printf(arena, "p%d + %d - %d*r%d", i, b->before + shift, b->dilation, i);
}

static void
print_back_guard(Buf *text, const Back *b, int i)
{
	const char *rest = back_text(text->arena, b, i, b->shift[1]);
	const char *border = back_text(text->arena, b, i, b->shift[2]);
	const char *before = i ? ", " : " where ";
	if (!b->lacks_rest && b->stride > 1)
		buf_printf(text, "%s(%s)%%%d == 0, ", before, rest, b->stride);
	else
		buf_puts(text, before);
	buf_printf(text, "0 <= (%s)/%d, (%s)/%d < %d", border, b->stride, border, b->stride, b->x);
}

/* As the operator has it, some with a fault, weights with channels in one order or the other. */
static inline const char *
print_transposed(Arena *arena, Made *made)
{
	int spatial = between(made, 1, 2), c = between(made, 1, 3), f = between(made, 1, 3);
	bool is_turned = between(made, 0, 1);
	Back back[2] = {make_back(made), make_back(made)};
	Buf text = {.arena = arena};
	buf_printf(&text, "expr made(A: f32[2,%d", c);
	for (int i = 0; i < spatial; i++)
		buf_printf(&text, ",%d", back[i].x);
	buf_printf(&text, "], B: f32[%d,%d", is_turned ? f : c, is_turned ? c : f);
	for (int i = 0; i < spatial; i++)
		buf_printf(&text, ",%d", back[i].size);
	buf_printf(&text, "]) -> S {\n  S[n:2, f:%d", f);
	for (int i = 0; i < spatial; i++)
		buf_printf(&text, ", p%d:%d", i, back[i].out);
	buf_printf(&text, "]: f32 = sum(c:%d", c);
	for (int i = 0; i < spatial; i++)
		buf_printf(&text, ", r%d:%d", i, back[i].size);
	for (int i = 0; i < spatial; i++)
		print_back_guard(&text, &back[i], i);
	buf_puts(&text, ") A[n, c");
	for (int i = 0; i < spatial; i++)
		buf_printf(&text, ", (%s)/%d", back_text(arena, &back[i], i, back[i].shift[0]),
		           back[i].stride);
	buf_puts(&text, is_turned ? "] * B[f, c" : "] * B[c, f");
	for (int i = 0; i < spatial; i++)
		buf_printf(&text, ", r%d", i);
	buf_puts(&text, "]\n}\n");
	return buf_text(&text);
}

#endif
