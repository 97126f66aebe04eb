/* Windows and the discrete Fourier transform.
 *
 *     Y[…, k, 0] = sum (j:N) X[…, j, 0] * cos a + X[…, j, 1] * sin a
 *     Y[…, k, 1] = sum (j:N) X[…, j, 1] * cos a - X[…, j, 0] * sin a
 *     a = 2*pi * (j*k mod L) / L
 *
 * The inverse turns the other way and divides by L. Of one side only, a forward transform leaves
 * out what is the conjugate of something else, and an inverse one counts those elements twice. Sums
 * run in f64: cosines of many turns cancel.
 */
#include "graph/ops/helpers.h"

static const double TWO_PI = 6.283185307179586;

/* ---- windows --------------------------------------------------------------------------------- */

void
infer_window(Infer *infer)
{
	const Dim *size = infer_dim_value(infer, 0, 0);
	infer_set(infer, 0, (DType)attr_int(infer->node, "output_datatype"), 1, &size);
}

/* a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), with N = size, or size - 1 when symmetric. */
static void
build_window(Build *b, double a0, double a1, double a2)
{
	ExprCtx *ctx = b->ctx;
	const Type *type = b->out_types[0];
	DType work = work_type2(type->dtype, DT_F32);
	StageBuilder *y = output_open(b, 0);
	const Dim *period = attr_int(b->node, "periodic")
	                        ? type->dims[0]
	                        : dim_sub(ctx, type->dims[0], dim_const(ctx, 1));
	const Expr *args[] = {expr_cast(ctx, work, stage_iter(y, 0)),
	                      expr_number(ctx, work, TWO_PI),
	                      dim_as(ctx, work, period),
	                      expr_number(ctx, work, a0),
	                      expr_number(ctx, work, a1),
	                      expr_number(ctx, work, a2)};
	const char *text = a2 == 0 ? "a0 - a1 * cos(i * turn / n)"
	                           : "a0 - a1 * cos(i * turn / n) + a2 * cos(i * turn / n * 2)";
	const Expr *body = scalar_text(ctx, text, "i turn n a0 a1 a2", args);
	b->out[0] = stage_map(y, type->dtype, expr_cast(ctx, type->dtype, body));
}

void
build_HannWindow(Build *b)
{
	build_window(b, 0.5, 0.5, 0);
}

void
build_HammingWindow(Build *b)
{
	build_window(b, 25.0 / 46, 21.0 / 46, 0);
}

void
build_BlackmanWindow(Build *b)
{
	build_window(b, 0.42, 0.5, 0.08);
}

/* ---- MelWeightMatrix ------------------------------------------------------------------------- */

void
infer_MelWeightMatrix(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	for (int i = 0; i < 5; i++)
		infer_single(infer, i);
	const Dim *half = dim_floordiv(ctx, infer_dim_value(infer, 1, 0), dim_const(ctx, 2));
	const Dim *dims[] = {dim_add_i64(ctx, half, 1), infer_dim_value(infer, 0, 0)};
	infer_set(infer, 0, (DType)attr_int(infer->node, "output_datatype"), 2, dims);
}

/* The bin of the spectrum in which edge `k` of the bands lies: edges are equally far apart in mel,
 * 2595 log10(1 + hertz / 700), from the lowest on. Factor and base of the logarithm cancel. */
static const Expr *
edge_bin(const Build *b, StageBuilder *y, const Expr *k)
{
	ExprCtx *ctx = b->ctx;
	const Expr *args[6] = {expr_cast(ctx, DT_F64, k)};
	for (int i = 0; i < 5; i++)
		args[i + 1] = scalar_as(ctx, DT_F64, read_scalar_or_vector(y, b->in[i], NULL));
	return scalar_text(ctx,
	                   "let low = log(1.0 + lower / 700.0);"
	                   "let high = log(1.0 + upper / 700.0);"
	                   "let mel = k * ((high - low) / (bands + 2.0)) + low;"
	                   "let hertz = 700.0 * (exp(mel) - 1.0);"
	                   "floor((length + 1.0) * hertz / rate)",
	                   "k bands length rate lower upper", args);
}

/* Triangles that rise from one edge to the next, and fall to the third. */
void
build_MelWeightMatrix(Build *b)
{
	ExprCtx *ctx = b->ctx;
	DType type = b->out_types[0]->dtype;
	StageBuilder *y = output_open(b, 0);
	const Expr *band = stage_iter(y, 1);
	const Expr *args[4] = {expr_cast(ctx, DT_F64, stage_iter(y, 0))};
	for (int i = 0; i < 3; i++)
		args[i + 1] = edge_bin(b, y, index_shift(ctx, band, i));
	const Expr *weight = scalar_text(ctx,
	                                 "j >= centre && j < high ? (high - j) / (high - centre)"
	                                 ": j < low || j > centre ? 0.0"
	                                 ": centre == low ? 1.0 : (j - low) / (centre - low)",
	                                 "j low centre high", args);
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, weight));
}

/* ---- DFT ------------------------------------------------------------------------------------- */

typedef struct Transform {
	int axis;
	bool is_inverse, is_half;
	const Dim *length, *terms; /* L; elements of the input that are used */
} Transform;

static const Dim *
half_of(ExprCtx *ctx, const Dim *length)
{
	return dim_add(ctx, dim_floordiv(ctx, length, dim_const(ctx, 2)), dim_const(ctx, 1));
}

/* `given`: dft_length, NULL where absent. */
static Transform
transform_of(ExprCtx *ctx, const Node *node, int axis, const Dim *extent, const Dim *given)
{
	Transform t = {.axis = axis,
	               .is_inverse = attr_int(node, "inverse") != 0,
	               .is_half = attr_int(node, "onesided") != 0};
	const Dim *one = dim_const(ctx, 1);
	bool is_half_input = t.is_inverse && t.is_half;
	t.length = given           ? given
	           : is_half_input ? dim_mul(ctx, dim_const(ctx, 2), dim_sub(ctx, extent, one))
	                           : extent;
	t.terms = dim_min(ctx, extent, is_half_input ? half_of(ctx, t.length) : t.length);
	return t;
}

void
infer_DFT(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Type *x = infer_input(infer, 0);
	int64_t parts;
	int count;
	if (x->rank < 2 || !dim_is_const(x->dims[x->rank - 1], &parts) || parts < 1 || parts > 2)
		infer_fail(infer, "the last dim must be 1 (real) or 2 (complex)");
	const int64_t *given = infer_numbers(infer, 2, &count);
	int axis = infer_axis(infer, count > 0 ? given[0] : -2, x->rank);
	if (axis == x->rank - 1)
		infer_fail(infer, "the axis holds the parts of complex numbers");
	const Dim *length = infer_input(infer, 1) ? infer_dim_value(infer, 1, 0) : NULL;
	Transform t = transform_of(ctx, infer->node, axis, x->dims[axis], length);
	if (t.is_half && !t.is_inverse && parts != 1)
		infer_fail(infer, "one side is enough of a real input only");
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, x->rank);
	for (int i = 0; i < x->rank; i++)
		dims[i] = x->dims[i];
	dims[axis] = t.is_half && !t.is_inverse ? half_of(ctx, t.length) : t.length;
	dims[x->rank - 1] = dim_const(ctx, t.is_half && t.is_inverse ? 1 : 2);
	infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* Part `part` of element j of the input. */
static const Expr *
read_part(ExprCtx *ctx, StageBuilder *y, const Tensor *x, const Expr **index, int part)
{
	index[x->rank - 1] = expr_i64(ctx, part);
	return scalar_as(ctx, DT_F64, stage_read(y, x, index));
}

/* The term of j: x times the unit number at angle a (backwards: at -a), real or imaginary part. */
static const Expr *
term_of(ExprCtx *ctx, StageBuilder *y, const Tensor *x, const Transform *t, const Expr *j)
{
	const Expr *index[MAX_RANK], *k = stage_iter(y, t->axis);
	loops_of(y, x->rank, index);
	index[t->axis] = j;
	bool is_complex = dim_is(x->hi[x->rank - 1], 2);
	const Expr *args[] = {
		expr_cast(ctx, DT_F64, index_mod(ctx, expr_mul(ctx, j, k), t->length)),
		expr_number(ctx, DT_F64, TWO_PI),
		t->length,
		j,
		stage_iter(y, x->rank - 1),
		read_part(ctx, y, x, index, 0),
		is_complex ? read_part(ctx, y, x, index, 1) : NULL,
	};
	/* Of a half spectrum, what is no conjugate of itself counts twice. */
	const char *text = arena_printf(
		expr_ctx_arena(ctx),
		"let a = turns * turn / f64(n); let c = cos(a); let s = %ssin(a);"
		"let real = re * c %s; let imaginary = re * s %s; %s",
		t->is_inverse ? "" : "-", is_complex ? "- im * s" : "", is_complex ? "+ im * c" : "",
		t->is_inverse && t->is_half ? "real * (j == 0 || j * 2 == n ? f64(1) : f64(2))"
									: "part == 0 ? real : imaginary");
	return scalar_text(ctx, text, "turns turn n j part re im", args);
}

void
build_DFT(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	const Type *type = b->out_types[0];
	const Dim *given = build_dim(b, 2, 0);
	int64_t axis = -2;
	if (b->in[2] && (!given || !dim_is_const(given, &axis)))
		build_fail(b, "the axis is only known at run time; --fix makes it a constant");
	axis += axis < 0 ? x->rank : 0;
	Transform t = transform_of(ctx, b->node, (int)axis, x->hi[axis], build_dim(b, 1, 0));
	StageBuilder *sum = stage_open(ctx, "sum", type->rank, type->dims);
	const Expr *j = stage_over(sum, "j", dim_const(ctx, 0), t.terms);
	const Tensor *total =
		stage_reduce_acc(sum, REDUCE_sum, DT_F64, DT_F64, term_of(ctx, sum, x, &t, j));
	StageBuilder *y = output_open(b, 0);
	const Expr *body = read_here(y, total);
	if (t.is_inverse)
		body = expr_div(ctx, body, dim_as(ctx, DT_F64, t.length));
	b->out[0] = stage_map(y, type->dtype, expr_cast(ctx, type->dtype, body));
}

/* ---- STFT ------------------------------------------------------------------------------------ */

/* A transform of each frame of a signal, frames a step apart:
 *
 *     Y[n, f, k] = sum (j:L) X[n, f*step + j] * W[j] * (cos a - i sin a) */
void
infer_STFT(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Type *x = infer_input(infer, 0), *window = infer_input(infer, 2);
	int64_t parts = 1;
	infer_least_rank(infer, 0, 2);
	if (x->rank > 3 || (x->rank == 3 && !dim_is_const(x->dims[2], &parts)) || parts < 1 ||
	    parts > 2)
		infer_fail(infer, "the signal has no dims [batch, length, 1 or 2]");
	bool is_half = attr_int(infer->node, "onesided") != 0;
	if (is_half && parts != 1)
		infer_fail(infer, "one side is enough of a real input only");
	if (!infer_input(infer, 3) && !window)
		infer_fail(infer, "neither a window nor the length of a frame is given");
	infer_rank(infer, 2, 1);
	const Dim *length = infer_input(infer, 3) ? infer_dim_value(infer, 3, 0) : window->dims[0];
	if (window)
		infer_equal(infer, window->dims[0], length, "the lengths of the window and of a frame");
	const Dim *step = infer_dim_value(infer, 1, 0), *rest = dim_sub(ctx, x->dims[1], length);
	const Dim *frames = dim_add_i64(ctx, dim_floordiv(ctx, rest, step), 1);
	const Dim *dims[] = {x->dims[0], frames, is_half ? half_of(ctx, length) : length,
	                     dim_const(ctx, 2)};
	infer_set(infer, 0, x->dtype, 4, dims);
}

void
build_STFT(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *window = b->in[2];
	const Type *type = b->out_types[0];
	const Dim *step = build_dim(b, 1, 0), *length = window ? window->hi[0] : build_dim(b, 3, 0);
	if (!step || !length)
		build_fail(b, "the step and the length of a frame are not known");
	StageBuilder *sum = stage_open(ctx, "sum", 4, type->dims);
	const Expr *j = stage_over(sum, "j", dim_const(ctx, 0), length);
	const Expr *place = index_add(ctx, expr_mul(ctx, stage_iter(sum, 1), step), j);
	const Expr *index[MAX_RANK] = {stage_iter(sum, 0), place};
	bool is_complex = x->rank == 3 && dim_is(x->hi[2], 2);
	const Expr *args[] = {
		expr_cast(ctx, DT_F64, index_mod(ctx, expr_mul(ctx, j, stage_iter(sum, 2)), length)),
		expr_number(ctx, DT_F64, TWO_PI),
		length,
		stage_iter(sum, 3),
		window ? scalar_as(ctx, DT_F64, stage_read(sum, window, &j)) : expr_number(ctx, DT_F64, 1),
		x->rank == 3 ? read_part(ctx, sum, x, index, 0)
					 : scalar_as(ctx, DT_F64, stage_read(sum, x, index)),
		is_complex ? read_part(ctx, sum, x, index, 1) : NULL,
	};
	const char *text = is_complex ? "let a = turns * turn / f64(n); let c = cos(a) * w;"
	                                "let s = sin(a) * w;"
	                                "part == 0 ? re * c + im * s : im * c - re * s"
	                              : "let a = turns * turn / f64(n);"
	                                "re * w * (part == 0 ? cos(a) : -sin(a))";
	const Expr *term = scalar_text(ctx, text, "turns turn n part w re im", args);
	const Tensor *total = stage_reduce_acc(sum, REDUCE_sum, DT_F64, DT_F64, term);
	StageBuilder *y = output_open(b, 0);
	b->out[0] = stage_map(y, type->dtype, expr_cast(ctx, type->dtype, read_here(y, total)));
}
