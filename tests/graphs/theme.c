/* What graphs of a theme (make_derived.c, make_quantised.c) begin with and end in: images, rows and
 * windows, in a small and in a larger size. Batches, lengths and sides may be symbols.
 */
#include "gen.h"

enum { TRIES = 20 };

int64_t
gen_channels(Gen *g)
{
	return g->is_large ? PICK(&g->dice, 8, 16, 24, 32) : PICK(&g->dice, 1, 2, 3, 4, 6, 8);
}

Value *
gen_image(Gen *g, DType type, int axes)
{
	static const int64_t small[] = {9, 7, 4}, large[] = {200, 18, 7};
	Trial *t = &g->dice;
	const Dim *dims[5];
	int64_t most = g->is_large ? large[axes - 1] : small[axes - 1];
	dims[0] = gen_extent(g, "N", 60, PICK(t, 1, 1, 2));
	dims[1] = dim_const(g->graph->ctx, gen_channels(g));
	bool is_open = chance(t, 60);
	for (int i = 0; i < axes; i++)
		dims[2 + i] = gen_extent(g, "S", is_open ? 80 : 0, roll(t, (most + 1) / 2, most));
	return gen_input_of(g, type, 2 + axes, dims);
}

Window
gen_window(Gen *g, const Value *x, bool is_strided)
{
	Trial *t = &g->dice;
	Window w = {.rank = gen_rank(x) - 2};
	bool is_same = chance(t, 60);
	for (int i = 0; i < w.rank; i++) {
		int64_t extent = gen_dim(g, x, 2 + i);
		w.kernel[i] = PICK(t, 1, 2, 3, 3, 3, 4, 5);
		w.stride[i] = is_strided ? PICK(t, 1, 2, 2, 3) : 1;
		w.dilation[i] = PICK(t, 1, 1, 1, 2, 3);
		int64_t reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
		w.pads[i] = is_same ? (reach - 1) / 2 : roll(t, 0, reach - 1);
		w.pads[i + w.rank] = is_same ? reach - 1 - w.pads[i] : roll(t, 0, reach - 1);
		if (extent + w.pads[i] + w.pads[i + w.rank] < reach)
			w.pads[i] = w.pads[i + w.rank] = reach;
	}
	return w;
}

void
gen_window_attrs(Gen *g, const Window *w)
{
	trial_ints(&g->dice, "strides", w->rank, w->stride);
	trial_ints(&g->dice, "dilations", w->rank, w->dilation);
	trial_ints(&g->dice, "pads", 2 * w->rank, w->pads);
}

Value *
gen_rows(Gen *g, DType type, int64_t least, int64_t most, int64_t columns)
{
	Trial *t = &g->dice;
	ExprCtx *ctx = g->graph->ctx;
	int scale = g->is_large ? 4 : 1, rank = 0;
	const Dim *dims[3];
	if (chance(t, 40))
		dims[rank++] = gen_extent(g, "N", 60, 2);
	dims[rank++] = gen_extent(g, "S", 40, scale * roll(t, least, most));
	dims[rank++] = dim_const(ctx, columns);
	return gen_input_of(g, type, rank, dims);
}

/* A row that is no operator's. */
typedef struct ThemeRow {
	Row row;
	ThemeMaker *make;
} ThemeRow;

static void
make_theme(Gen *g, const Row *row)
{
	Value *y = ((const ThemeRow *)row)->make(g);
	Trial *t = &g->dice;
	for (int more = (int)PICK(t, 0, 1, 1, 2); more > 0; more--) {
		Value *inputs[] = {y, gen_mate(g, y, true)};
		y = gen_one(g, chance(t, 70) ? "Add" : "Mul", 2, inputs);
	}
	if (dtype_is_float(gen_dtype(y)) && chance(t, 50))
		gen_one(g, chance(t, 50) ? "Relu" : "Tanh", 1, &y);
}

void
gen_theme(Gen *g, ThemeMaker *make, bool is_large)
{
	ThemeRow row = {{.op = "theme", .make = make_theme}, make};
	g->is_large = is_large;
	for (int tries = 0; tries < TRIES && !gen_try(g, &row.row); tries++)
		continue;
}
