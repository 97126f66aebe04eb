/* Operators that move elements, or only say where they are: views and their relatives. */
#include "gen.h"

#include <string.h>

static const uint64_t MOVABLE = ~(TYPES_SEQUENCE | TYPES_OPTIONAL);

static Value *
take(Gen *g, int least, int most)
{
	bool is_other = g->focus && !(TYPES(num) & BIT(gen_dtype(g->focus)));
	return gen_take(g, is_other || chance(&g->dice, 25) ? MOVABLE : TYPES(num), least, most);
}

static Value *
with_ints(Gen *g, const char *op, Value *x, int count, const int64_t *values)
{
	Value *inputs[] = {x, gen_ints(g, DT_I64, count, values)};
	return gen_one(g, op, 2, inputs);
}

/* ---- Reshape --------------------------------------------------------------------------------- */

/* The axes of x in groups of neighbours, each of which becomes one dim or two. */
typedef struct Groups {
	int count, first[GRAPH_RANK], last[GRAPH_RANK];
	int64_t extent[GRAPH_RANK]; /* -1: symbolic */
} Groups;

static Groups
random_groups(Gen *g, const Value *x)
{
	Groups s = {.count = 0};
	for (int i = 0; i < gen_rank(x); i++) {
		int64_t dim = gen_fixed(x, i);
		if (s.count && chance(&g->dice, 45)) {
			int64_t *extent = &s.extent[s.count - 1];
			*extent = *extent < 0 || dim < 0 ? -1 : *extent * dim;
			s.last[s.count - 1] = i;
			continue;
		}
		s.first[s.count] = s.last[s.count] = i;
		s.extent[s.count++] = dim;
	}
	return s;
}

/* The dims of one group as a vector, from the shape of x. */
static Value *
group_of_shape(Gen *g, Value *shape, int first, int last)
{
	Value *inputs[] = {shape, gen_ints(g, DT_I64, 1, (int64_t[]){first}),
	                   gen_ints(g, DT_I64, 1, (int64_t[]){last + 1})};
	Value *dims = gen_one(g, "Slice", 3, inputs);
	if (first == last)
		return dims;
	trial_int(&g->dice, "keepdims", 1);
	return gen_one(g, "ReduceProd", 1, &dims);
}

static void
reshape_by_shape(Gen *g, Value *x, const Groups *s)
{
	Value *shape = gen_one(g, "Shape", 1, &x), *parts[GRAPH_RANK];
	for (int i = 0; i < s->count; i++)
		parts[i] = s->extent[i] < 0 || chance(&g->dice, 30)
		               ? group_of_shape(g, shape, s->first[i], s->last[i])
		               : gen_ints(g, DT_I64, 1, &s->extent[i]);
	trial_int(&g->dice, "axis", 0);
	Value *inputs[] = {x, gen_one(g, "Concat", s->count, parts)};
	gen_one(g, "Reshape", 2, inputs);
}

static int64_t
factor_of(Gen *g, int64_t extent)
{
	static const int64_t factors[] = {2, 3, 4, 5, 7};
	int64_t factor = factors[roll(&g->dice, 0, countof(factors) - 1)];
	return extent > factor && extent % factor == 0 ? factor : 1;
}

/* One element, which may be a scalar. */
static bool
is_single(const Value *x)
{
	bool is_single = true;
	for (int i = 0; i < gen_rank(x); i++)
		is_single &= gen_fixed(x, i) == 1;
	return is_single;
}

void
make_reshape(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	(void)row;
	Value *x = take(g, 0, 5);
	Groups s = random_groups(g, x);
	int64_t shape[2 * GRAPH_RANK];
	int unknown = 0, rank = 0;
	for (int i = 0; i < s.count; i++)
		unknown += s.extent[i] < 0;
	if (s.count && (unknown > 1 || chance(t, 20))) {
		reshape_by_shape(g, x, &s);
		return;
	}
	for (int i = 0; i < s.count; i++) {
		int64_t factor = s.extent[i] > 0 && chance(t, 40) ? factor_of(g, s.extent[i]) : 1;
		bool is_copy = factor == 1 && s.first[i] == s.last[i] && s.first[i] == rank;
		if (factor > 1)
			shape[rank++] = factor;
		shape[rank++] = is_copy && chance(t, 30) ? 0 : s.extent[i] < 0 ? -1 : s.extent[i] / factor;
		unknown += rank > 0 && shape[rank - 1] == 0;
	}
	if (chance(t, 15))
		shape[rank++] = 1;
	if (is_single(x) && chance(t, 40))
		rank = 0;
	if (rank && unknown == 0 && chance(t, 30) && gen_is_fixed(x))
		shape[roll(t, 0, rank - 1)] = -1;
	with_ints(g, "Reshape", x, rank, shape);
}

void
make_flatten(Gen *g, const Row *row)
{
	Value *x = take(g, 0, 5);
	int rank = gen_rank(x);
	if (chance(&g->dice, 80))
		trial_int(&g->dice, "axis", roll(&g->dice, -rank, rank));
	gen_node(g, row->op, 1, &x, 1);
}

void
make_squeeze(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 0, 5);
	int64_t axes[GRAPH_RANK];
	int rank = gen_rank(x), count = 0;
	for (int i = 0; i < rank; i++)
		if (gen_fixed(x, i) == 1 && chance(t, 70))
			axes[count++] = gen_axis(g, i, rank);
	if (count == 0) { /* make one: a sum with kept axes */
		int64_t axis = rank ? roll(t, 0, rank - 1) : 0;
		if (rank == 0 || rank == GRAPH_RANK)
			gen_give_up();
		x = with_ints(g, "Unsqueeze", x, 1, &axis);
		axes[count++] = axis;
	}
	if (gen_is_fixed(x) && chance(t, 20))
		gen_node(g, row->op, 1, &x, 1);
	else
		with_ints(g, row->op, x, count, axes);
}

void
make_unsqueeze(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 0, 4);
	int64_t axes[2];
	int count = gen_rank(x) < 4 && chance(t, 25) ? 2 : 1, rank = gen_rank(x) + count;
	axes[0] = roll(t, 0, rank - count);
	axes[1] = axes[0] + roll(t, 1, rank - 1 - axes[0]);
	for (int i = 0; i < count; i++)
		axes[i] = gen_axis(g, (int)axes[i], rank);
	with_ints(g, row->op, x, count, axes);
}

/* ---- order and part -------------------------------------------------------------------------- */

void
make_transpose(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 0, 5);
	int64_t perm[GRAPH_RANK];
	int rank = gen_rank(x);
	for (int i = 0; i < rank; i++)
		perm[i] = i;
	for (int i = rank - 1; i > 0; i--) {
		int64_t j = roll(t, 0, i), kept = perm[i];
		perm[i] = perm[j];
		perm[j] = kept;
	}
	if (chance(t, 85) && rank)
		trial_ints(t, "perm", rank, perm);
	gen_node(g, row->op, 1, &x, 1);
}

static void
random_slice(Gen *g, int64_t extent, int64_t *start, int64_t *end, int64_t *step)
{
	Trial *t = &g->dice;
	int64_t known = extent < 0 ? 3 : extent;
	*step = PICK(t, 1, 1, 1, 2, 3, -1, -1, -2);
	*start = roll(t, 0, known ? known - 1 : 0);
	*end = chance(t, 35) ? INT32_MAX : roll(t, *start + 1, known + 1);
	if (*step < 0) {
		*start = chance(t, 50) ? -1 : roll(t, 0, known ? known - 1 : 0);
		*end = chance(t, 70) ? -INT32_MAX : roll(t, -known - 1, -2);
	} else if (chance(t, 25) && extent > 0) {
		*start -= extent; /* counted from behind */
	}
}

void
make_slice(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 1, 5);
	int rank = gen_rank(x), count = 0;
	int64_t starts[GRAPH_RANK], ends[GRAPH_RANK], axes[GRAPH_RANK], steps[GRAPH_RANK];
	bool has_steps = chance(t, 60), has_axes = chance(t, 80);
	for (int i = 0; i < rank; i++) {
		if (has_axes && !chance(t, 55) && (count || i < rank - 1))
			continue;
		random_slice(g, gen_fixed(x, i), &starts[count], &ends[count], &steps[count]);
		if (!has_steps && steps[count] < 0)
			starts[count] = 0, ends[count] = 2;
		axes[count++] = gen_axis(g, i, rank);
	}
	DType type = chance(t, 80) ? DT_I64 : DT_I32;
	Value *inputs[] = {x, gen_ints(g, type, count, starts), gen_ints(g, type, count, ends),
	                   has_axes || has_steps ? gen_ints(g, type, count, axes) : NULL,
	                   has_steps ? gen_ints(g, type, count, steps) : NULL};
	gen_node(g, row->op, has_steps ? 5 : has_axes ? 4 : 3, inputs, 1);
}

void
make_split(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 1, 5);
	int axis = (int)roll(t, 0, gen_rank(x) - 1);
	int64_t extent = gen_fixed(x, axis), sizes[4];
	int parts = (int)roll(t, 2, 3);
	for (int tries = 0; extent < parts && tries < 4; tries++)
		extent = gen_fixed(x, axis = (int)roll(t, 0, gen_rank(x) - 1));
	if (extent < parts)
		gen_give_up();
	sizes[0] = roll(t, chance(t, 10) ? 0 : 1, extent - parts + 1);
	sizes[1] = parts == 2 ? extent - sizes[0] : roll(t, 1, extent - sizes[0] - 1);
	sizes[2] = extent - sizes[0] - sizes[1];
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	bool is_even = chance(t, 35);
	if (is_even)
		trial_int(t, "num_outputs", parts);
	Value *inputs[] = {x, is_even ? NULL : gen_ints(g, DT_I64, parts, sizes)};
	gen_node(g, row->op, is_even ? 1 : 2, inputs, parts);
}

void
make_depth(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	bool is_up = row->code == OP_DepthToSpace;
	int64_t dims[] = {-1, is_up ? PICK(t, 4, 8, 12) : PICK(t, 1, 3, 5),
	                  is_up ? PICK(t, 1, 3, 5) : PICK(t, 2, 4, 6),
	                  is_up ? PICK(t, 1, 2, 7) : PICK(t, 2, 4, 6)};
	Value *x = g->focus && gen_rank(g->focus) == 4 ? take(g, 4, 4) : gen_input(g, DT_F32, 4, dims);
	trial_int(t, "blocksize", 2);
	if (is_up && chance(t, 60))
		trial_string(t, "mode", chance(t, 50) ? "CRD" : "DCR");
	gen_node(g, row->op, 1, &x, 1);
}

/* ---- growing --------------------------------------------------------------------------------- */

void
make_expand(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 0, 4);
	int64_t shape[GRAPH_RANK];
	int rank = gen_rank(x), more = rank < 4 && chance(t, 40) ? 1 : 0;
	if (chance(t, 40)) { /* to the shape of something it broadcasts with */
		Value *like = gen_mate(g, x, false), *inputs[] = {x, gen_one(g, "Shape", 1, &like)};
		gen_node(g, row->op, 2, inputs, 1);
		return;
	}
	if (more)
		shape[0] = roll(t, 1, 3);
	for (int i = 0; i < rank; i++) {
		int64_t dim = gen_fixed(x, i);
		shape[more + i] = dim == 1 ? gen_size(g) : dim < 0 || chance(t, 50) ? 1 : dim;
	}
	with_ints(g, row->op, x, rank + more, shape);
}

void
make_tile(Gen *g, const Row *row)
{
	Value *x = take(g, 1, 4);
	int64_t repeats[GRAPH_RANK];
	for (int i = 0; i < gen_rank(x); i++)
		repeats[i] = PICK(&g->dice, 1, 1, 2, 3);
	with_ints(g, row->op, x, gen_rank(x), repeats);
}

static int64_t
random_pad(Gen *g, const char *mode, int64_t extent)
{
	Trial *t = &g->dice;
	int64_t most = extent < 0 ? 0 : strcmp(mode, "reflect") == 0 ? extent - 1 : extent;
	if (strcmp(mode, "constant") == 0)
		return chance(t, 15) && extent > 2 ? -1 : roll(t, 0, 3);
	return roll(t, 0, most < 0 ? 0 : most > 3 ? 3 : most);
}

void
make_pad(Gen *g, const Row *row)
{
	static const char *const modes[] = {"constant", "constant", "reflect", "edge", "wrap"};
	Trial *t = &g->dice;
	Value *x = take(g, 1, 4);
	const char *mode = modes[roll(t, 0, countof(modes) - 1)];
	int64_t pads[2 * GRAPH_RANK] = {0};
	int rank = gen_rank(x);
	for (int i = 0; i < rank; i++)
		for (int end = 0; end < 2; end++)
			if (chance(t, 50))
				pads[i + end * rank] = random_pad(g, mode, gen_fixed(x, i));
	bool is_constant = strcmp(mode, "constant") == 0, has_value = is_constant && chance(t, 50);
	bool is_plain = dtype_is_float(gen_dtype(x)) || dtype_is_integer(gen_dtype(x));
	trial_string(t, "mode", mode);
	Value *inputs[] = {x, gen_ints(g, DT_I64, 2 * rank, pads),
	                   has_value && is_plain ? gen_scalar(g, gen_dtype(x), 2) : NULL};
	gen_node(g, row->op, inputs[2] ? 3 : 2, inputs, 1);
}

void
make_crop(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 1, 4);
	int64_t shape[GRAPH_RANK], axes[GRAPH_RANK];
	int count = 0;
	for (int i = 0; i < gen_rank(x); i++) {
		if (chance(t, 40))
			continue;
		axes[count] = i;
		shape[count++] = roll(t, 1, 9);
	}
	if (count == 0)
		gen_give_up();
	trial_ints(t, "axes", count, axes);
	with_ints(g, row->op, x, count, shape);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Whether all dims but one are the same. */
static bool
can_join(const Value *a, const Value *b, int axis)
{
	if (gen_rank(a) != gen_rank(b) || gen_dtype(a) != gen_dtype(b))
		return false;
	for (int i = 0; i < gen_rank(a); i++)
		if (i != axis && a->type.dims[i] != b->type.dims[i])
			return false;
	return true;
}

static Value *
draw_partner(Gen *g, Value *x, int axis)
{
	Value *found[32];
	int count = 0;
	for (int i = g->pool.count - 1; i >= 0 && count < 32; i--) {
		Value *value = g->pool.data[i].value;
		if (value != x && value->type.kind == TYPE_TENSOR && can_join(x, value, axis))
			found[count++] = value;
	}
	return count ? found[roll(&g->dice, 0, count - 1)] : NULL;
}

/* Something made from x, or beside it: what a Concat may write in place, or not. */
static Value *
another_part(Gen *g, Value *x, int axis)
{
	static const char *const ops[] = {"Relu", "Neg", "Abs", "Identity"};
	Trial *t = &g->dice;
	int way = (int)roll(t, 0, 99);
	Value *found = way < 25 ? x : way < 55 ? draw_partner(g, x, axis) : NULL;
	if (!found && way < 80 && (TYPES(num) & BIT(gen_dtype(x))) && gen_dtype(x) != DT_BOOL)
		found = gen_one(g, ops[roll(t, 0, 3)], 1, &x);
	if (!found)
		found = gen_like(g, x, gen_dtype(x));
	return found ? found : x;
}

/* Two values that broadcast, each expanded to the shape of both, side by side. */
static void
concat_of_expands(Gen *g, Value *x)
{
	Trial *t = &g->dice;
	Value *both[] = {x, gen_mate(g, x, false)}, *parts[2];
	Value *sum = gen_one(g, "Add", 2, both), *shape = gen_one(g, "Shape", 1, &sum);
	bool is_stacked = chance(t, 50);
	for (int i = 0; i < 2; i++) {
		Value *inputs[] = {both[i], shape};
		parts[i] = gen_one(g, "Expand", 2, inputs);
		if (is_stacked)
			parts[i] = with_ints(g, "Unsqueeze", parts[i], 1, (int64_t[]){-1});
	}
	trial_int(t, "axis", is_stacked ? -1 : roll(t, 0, gen_rank(sum) - 1));
	gen_node(g, "Concat", 2, parts, 1);
}

void
make_concat(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	if (chance(t, 12)) {
		concat_of_expands(g, gen_take(g, TYPES(num), 1, 4));
		return;
	}
	Value *x = take(g, 1, 5), *parts[4] = {x};
	int axis = (int)roll(t, 0, gen_rank(x) - 1), count = (int)PICK(t, 1, 2, 2, 2, 3, 4);
	for (int i = 1; i < count; i++)
		parts[i] = another_part(g, chance(t, 50) ? x : parts[i - 1], axis);
	if (count > 1 && chance(t, 30)) {
		Value *kept = parts[0];
		parts[0] = parts[count - 1];
		parts[count - 1] = kept;
	}
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	gen_node(g, row->op, count, parts, 1);
}

/* ---- generators ------------------------------------------------------------------------------ */

void
make_shape(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take(g, 0, 5);
	if (row->code == OP_Shape && chance(t, 40))
		trial_int(t, "start", roll(t, -2, 2));
	if (row->code == OP_Shape && chance(t, 40))
		trial_int(t, "end", roll(t, -1, 4));
	gen_node(g, row->op, 1, &x, 1);
}

void
make_constant_of_shape(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	DType type = (DType)PICK(t, DT_F32, DT_F32, DT_I64, DT_BOOL, DT_F16, DT_U8);
	int64_t one = 1, dims[3] = {gen_size(g), roll(t, 1, 4), roll(t, 1, 4)};
	Array *value = array_new(g->arena, type, 1, &one);
	dtype_store_f64(type, value->data, 0, 1);
	Value *like = chance(t, 50) ? take(g, 0, 4) : NULL;
	Value *shape =
		like ? gen_one(g, "Shape", 1, &like) : gen_ints(g, DT_I64, (int)roll(t, 0, 3), dims);
	if (chance(t, 80))
		vec_push(t->arena, &t->attrs,
		         (Attr){.name = "value", .kind = ATTR_TENSOR, .tensor = value});
	gen_node(g, row->op, 1, &shape, 1);
}

void
make_eye(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 2, 2);
	trial_int(t, "k", roll(t, -2, 3));
	if (chance(t, 50))
		trial_int(t, "dtype", PICK(t, DT_F32, DT_I64, DT_BOOL));
	gen_node(g, row->op, 1, &x, 1);
}

void
make_range(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	DType type = (DType)PICK(t, DT_I64, DT_I64, DT_I32, DT_F32);
	Value *limit = gen_scalar(g, type, (double)roll(t, 0, 9));
	if (type == DT_I64 && chance(t, 60)) { /* as many as a dim says */
		Value *x = take(g, 1, 4);
		Value *shape = gen_one(g, "Shape", 1, &x);
		Value *inputs[] = {shape, gen_scalar(g, DT_I64, (double)roll(t, 0, gen_rank(x) - 1))};
		trial_int(t, "axis", 0);
		limit = gen_one(g, "Gather", 2, inputs);
	}
	Value *inputs[] = {gen_scalar(g, type, (double)roll(t, -2, 2)), limit,
	                   gen_scalar(g, type, (double)PICK(t, 1, 1, 2))};
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_window(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *size = gen_scalar(g, DT_I64, (double)roll(t, 2, 17));
	trial_int(t, "periodic", chance(t, 50));
	gen_node(g, row->op, 1, &size, 1);
}

void
make_mel_weights(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	double rate = (double)PICK(t, 8000, 8192, 16000), lower = (double)roll(t, 0, 300);
	Value *inputs[] = {gen_scalar(g, DT_I64, (double)roll(t, 1, 9)),
	                   gen_scalar(g, DT_I64, (double)roll(t, 8, 40)), gen_scalar(g, DT_I64, rate),
	                   gen_scalar(g, DT_F32, lower), gen_scalar(g, DT_F32, rate / 2)};
	gen_node(g, row->op, 5, inputs, 1);
}
