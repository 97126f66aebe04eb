/* Rows of cases.csv, and the cases that are no windows over images: products, maps, reductions,
 * indices. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static Case
read_row(Arena *arena, char *row)
{
	Case c = {.row = arena_strdup(arena, row)};
	char *rest = NULL;
	c.op = strtok_r(row, ",", &rest);
	c.function = strtok_r(NULL, ",", &rest);
	for (char *word = strtok_r(NULL, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (c.count < MAX_FIELDS)
			c.field[c.count++] = word;
	return c;
}

Cases
cases_read(Arena *arena, const char *path)
{
	Cases cases = {0};
	char *text = arena_strdup(arena, file_text(arena, path)), *rest = NULL;
	for (char *row = strtok_r(text, "\n", &rest); row; row = strtok_r(NULL, "\n", &rest))
		if (*row != '#')
			vec_push(arena, &cases, read_row(arena, row));
	return cases;
}

const char *
field_text(const Text *t, int at)
{
	if (at >= t->c->count)
		fail_as(FAIL_INVALID, NULL, "%s: field %d is missing", t->c->row, at + 1);
	return t->c->field[at];
}

int64_t
field_number(const Text *t, int at, int64_t most)
{
	int64_t value = strtoll(field_text(t, at), NULL, 10);
	return t->is_small && value > most ? most : value;
}

int
field_list(const Text *t, int at, int count, int64_t *out)
{
	const char *text = field_text(t, at);
	int n = 0;
	for (char *end; *text && n < MAX_FIELDS; text = *end == 'x' ? end + 1 : end, n++) {
		out[n] = strtoll(text, &end, 10);
		if (end == text)
			fail_as(FAIL_INVALID, NULL, "%s: field %d is no list", t->c->row, at + 1);
	}
	for (; n > 0 && n < count; n++)
		out[n] = out[n - 1];
	return n;
}

bool
field_is(const Text *t, int at, const char *word)
{
	return strcmp(field_text(t, at), word) == 0;
}

bool
field_true(const Text *t, int at)
{
	return field_is(t, at, "True");
}

/* float32: f32 */
static const char *
field_type(const Text *t, int at)
{
	static const char *const names[][2] = {{"float32", "f32"}, {"float64", "f64"},
	                                       {"float16", "f16"}, {"int16", "i16"},
	                                       {"int8", "i8"},     {"bool", "u8"}};
	for (size_t i = 0; i < countof(names); i++)
		if (field_is(t, at, names[i][0]))
			return names[i][1];
	fail_as(FAIL_INVALID, NULL, "%s: unknown type", t->c->row);
}

/* ---- products -------------------------------------------------------------------------------- */

static void
text_batch_matmul(Text *t)
{
	long long b = field_number(t, 0, 3), m = field_number(t, 1, 9), n = field_number(t, 2, 10);
	long long k = field_number(t, 3, 11);
	say(t, "expr e(X: f32[%lld,%lld,%lld], W: f32[%lld,%lld,%lld]) -> Y {\n", b, m, k, b, n, k);
	say(t, "  Y[b:%lld, y:%lld, x:%lld]: f32 = sum(k:%lld) X[b, y, k] * W[b, x, k]\n", b, m, n, k);
}

static void
text_dense(Text *t)
{
	long long m = field_number(t, 0, 5), k = field_number(t, 1, 30), n = field_number(t, 2, 20);
	bool is_int = strcmp(t->c->function, "dense_int8") == 0, has_bias = field_true(t, 3);
	const char *type = is_int ? "i8" : "f32", *sum = is_int ? "i32" : "f32";
	say(t, "expr e(X: %s[%lld,%lld], W: %s[%lld,%lld]", type, m, k, type, n, k);
	say(t, has_bias ? ", B: %s[%lld]) -> Y {\n" : ") -> Y {\n", sum, n);
	say(t, "  %s[y:%lld, x:%lld]: %s = sum(k:%lld) ", has_bias ? "S" : "Y", m, n, sum, k);
	say(t, is_int ? "i32(X[y, k]) * i32(W[x, k])\n" : "X[y, k] * W[x, k]\n");
	if (has_bias)
		say(t, "  Y[y:%lld, x:%lld]: %s = S[y, x] + B[x]\n", m, n, sum);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void
text_clip(Text *t)
{
	long long n = field_number(t, 0, 12);
	const char *type = field_type(t, 3);
	say(t, "expr e(X: %s[%lld,%lld]) -> Y {\n", type, n, n);
	say(t, "  Y[y:%lld, x:%lld]: %s = min(max(X[y, x], %s(%s)), %s(%s))\n", n, n, type, type,
	    t->c->field[1], type, t->c->field[2]);
}

static void
text_relu(Text *t)
{
	long long m = field_number(t, 0, 12), n = field_number(t, 1, 17);
	const char *type = field_type(t, 2);
	say(t, "expr e(X: %s[%lld,%lld]) -> Y {\n", type, m, n);
	say(t, "  Y[y:%lld, x:%lld]: %s = max(X[y, x], %s(0))\n", m, n, type, type);
}

static void
text_leaky_relu(Text *t)
{
	long long m = field_number(t, 0, 100);
	say(t, "expr e(X: f32[%lld]) -> Y {\n", m);
	say(t, "  Y[x:%lld]: f32 = X[x] > 0.0 ? X[x] : X[x] * f32(%s)\n", m, t->c->field[1]);
}

/* "3,224": a tensor's dims; "i0:3, i1:224": a box; "i0, i1": a place in it. */
static const char *
dims_text(Text *t, int rank, const int64_t *dims, const char *form)
{
	Buf out = {.arena = t->arena};
	for (int d = 0; d < rank; d++) {
		buf_puts(&out, d ? ", " : "");
		if (*form == 'i')
			buf_printf(&out, "i%d", d);
		if (form[strlen(form) - 1] == 'n')
			buf_printf(&out, *form == 'i' ? ":%lld" : "%lld", (long long)dims[d]);
	}
	return buf_text(&out);
}

static void
text_prelu(Text *t)
{
	int64_t x[MAX_FIELDS];
	int rank = field_list(t, 0, 0, x);
	long long axis = field_number(t, 2, 9);
	const char *at = dims_text(t, rank, x, "i");
	say(t, "expr e(X: f32[%s], W: f32[%lld]) -> Y {\n", dims_text(t, rank, x, "n"),
	    (long long)x[axis]);
	say(t, "  Y[%s]: f32 = X[%s] > 0.0 ? X[%s] : X[%s] * W[i%lld]\n", dims_text(t, rank, x, "i:n"),
	    at, at, at, axis);
}

/* Over the last of n dims, after what stands before it: "a, b, ". */
static void
say_softmax(Text *t, const char *type, const char *box, const char *at, long long c, bool is_log)
{
	say(t, "  M[%s]: %s = max(c:%lld) X[%sc]\n", box, type, c, at);
	if (is_log) {
		say(t, "  S[%s]: %s = sum(c:%lld) exp(X[%sc] - M[%.*s])\n", box, type, c, at,
		    (int)strlen(at) - 2, at);
		say(t, "  Y[%s, c:%lld]: %s = X[%sc] - M[%.*s] - log(S[%.*s])\n", box, c, type, at,
		    (int)strlen(at) - 2, at, (int)strlen(at) - 2, at);
		return;
	}
	say(t, "  E[%s, c:%lld]: %s = exp(X[%sc] - M[%.*s])\n", box, c, type, at, (int)strlen(at) - 2,
	    at);
	say(t, "  S[%s]: %s = sum(c:%lld) E[%sc]\n", box, type, c, at);
	say(t, "  Y[%s, c:%lld]: %s = E[%sc] / S[%.*s]\n", box, c, type, at, (int)strlen(at) - 2, at);
}

static void
text_softmax(Text *t)
{
	long long m = field_number(t, 0, 12), n = field_number(t, 1, 17);
	const char *type = field_type(t, 2);
	say(t, "expr e(X: %s[%lld,%lld]) -> Y {\n", type, m, n);
	say_softmax(t, type, arena_printf(t->arena, "i:%lld", m), "i, ", n,
	            strcmp(t->c->function, "log_softmax") == 0);
}

/* Over the channels, which stand second. */
static void
text_softmax_4d(Text *t)
{
	int64_t d[MAX_FIELDS];
	field_list(t, 0, 4, d);
	for (int i = 2; t->is_small && i < 4; i++)
		d[i] = 7;
	long long n = d[0], c = d[1], h = d[2], w = d[3];
	say(t, "expr e(X: f32[%lld,%lld,%lld,%lld]) -> Y {\n", n, c, h, w);
	say(t, "  M[n:%lld, y:%lld, x:%lld]: f32 = max(c:%lld) X[n, c, y, x]\n", n, h, w, c);
	say(t, "  E[n:%lld, c:%lld, y:%lld, x:%lld]: f32 = exp(X[n, c, y, x] - M[n, y, x])\n", n, c, h,
	    w);
	say(t, "  S[n:%lld, y:%lld, x:%lld]: f32 = sum(c:%lld) E[n, c, y, x]\n", n, h, w, c);
	say(t, "  Y[n:%lld, c:%lld, y:%lld, x:%lld]: f32 = E[n, c, y, x] / S[n, y, x]\n", n, c, h, w);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The reduce row of a name in the table. */
static const char *
reduce_row(Text *t, const char *name)
{
	if (strcmp(name, "all") == 0 || strcmp(name, "any") == 0)
		return strcmp(name, "all") == 0 ? "min" : "max";
	return strncmp(name, "arg", 3) == 0 ? arena_printf(t->arena, "%s first", name) : name;
}

static void
text_reduce(Text *t)
{
	int64_t dims[MAX_FIELDS], axes[MAX_FIELDS];
	int rank = field_list(t, 0, 0, dims);
	bool is_all = field_is(t, 1, "None"), is_over[MAX_FIELDS] = {false};
	int count = is_all ? 0 : field_list(t, 1, 0, axes);
	for (int i = 0; i < count; i++)
		is_over[axes[i]] = true;
	Buf box = {.arena = t->arena}, over = box;
	const char *key = NULL; /* the number of a term */
	for (int d = 0; d < rank; d++) {
		bool is_sum = is_all || is_over[d];
		dims[d] = t->is_small && dims[d] > 9 ? 9 + d : dims[d];
		Buf *list = is_sum ? &over : &box;
		buf_printf(list, "%si%d:%lld", list->size ? ", " : "", d, (long long)dims[d]);
		if (is_sum)
			key = key ? arena_printf(t->arena, "(%s)*%lld+i%d", key, (long long)dims[d], d)
			          : arena_printf(t->arena, "i%d", d);
	}
	const char *type = field_type(t, 4), *how = field_text(t, 3), *row = reduce_row(t, how);
	bool is_arg = strncmp(how, "arg", 3) == 0;
	say(t, "expr e(X: %s[%s]) -> %s {\n", type, dims_text(t, rank, dims, "n"), is_arg ? "A" : "Y");
	say(t, is_arg ? "  (V: %s, A: i64)[%s]" : "  Y[%s]: %s", is_arg ? type : buf_text(&box),
	    is_arg ? buf_text(&box) : type);
	say(t, " = %s(%s) X[%s]", row, buf_text(&over), dims_text(t, rank, dims, "i"));
	say(t, is_arg ? " with %s\n" : "\n", key);
}

/* ---- indices --------------------------------------------------------------------------------- */

static void
text_depth_to_space(Text *t)
{
	long long b = field_number(t, 0, 8), n = field_number(t, 1, 2);
	long long c = field_number(t, 2, 2 * b * b) / (b * b), h = field_number(t, 3, 3);
	long long w = field_number(t, 4, 5);
	bool is_last = field_is(t, 5, "NHWC"), is_crd = field_is(t, 6, "CDR");
	const char *channel = arena_printf(
		t->arena, is_crd ? "c*%lld + y%%%lld*%lld + x%%%lld" : "(y%%%lld*%lld + x%%%lld)*%lld + c",
		is_crd ? b * b : b, b, b, is_crd ? b : c);
	if (is_last) {
		say(t, "expr e(X: f32[%lld,%lld,%lld,%lld]) -> Y {\n", n, h, w, c * b * b);
		say(t, "  Y[n:%lld, y:%lld, x:%lld, c:%lld]: f32 = X[n, y/%lld, x/%lld, %s]\n", n, h * b,
		    w * b, c, b, b, channel);
	} else {
		say(t, "expr e(X: f32[%lld,%lld,%lld,%lld]) -> Y {\n", n, c * b * b, h, w);
		say(t, "  Y[n:%lld, c:%lld, y:%lld, x:%lld]: f32 = X[n, %s, y/%lld, x/%lld]\n", n, c, h * b,
		    w * b, channel, b, b);
	}
}

static void
text_dilate(Text *t)
{
	int64_t in[MAX_FIELDS], by[MAX_FIELDS];
	int rank = field_list(t, 0, 0, in);
	field_list(t, 1, rank, by);
	Buf dims = {.arena = t->arena}, box = dims, test = dims, at = dims;
	for (int d = 0; d < rank; d++) {
		long long extent = t->is_small && in[d] > 5 ? 5 : in[d], step = by[d];
		buf_printf(&dims, "%s%lld", d ? "," : "", extent);
		buf_printf(&box, "%si%d:%lld", d ? ", " : "", d, (extent - 1) * step + 1);
		buf_printf(&at, step > 1 ? "%si%d/%lld" : "%si%d", d ? ", " : "", d, step);
		if (step > 1)
			buf_printf(&test, "%si%d%%%lld == 0", test.size ? " && " : "", d, step);
	}
	say(t, "expr e(X: f32[%s]) -> Y {\n  Y[%s]: f32 = ", buf_text(&dims), buf_text(&box));
	if (test.size > 0)
		say(t, "%s ? X[%s] : f32(%s)\n", buf_text(&test), buf_text(&at), t->c->field[2]);
	else
		say(t, "X[%s]\n", buf_text(&at));
}

/* ---- enlarging ------------------------------------------------------------------------------- */

/* An image that grows: dims in and out, which of them grow. */
typedef struct Growth {
	int rank;
	int64_t in[6], out[6];
	bool is_linear;
} Growth;

/* Between the places around, from dim d on; `at` says the places in the dims before. */
static const char *
grown(Text *t, const Growth *g, int d, const char *at)
{
	const char *comma = d ? ", " : "";
	if (d == g->rank)
		return arena_printf(t->arena, "X[%s]", at);
	if (g->in[d] == g->out[d])
		return grown(t, g, d + 1, arena_printf(t->arena, "%s%si%d", at, comma, d));
	long long in = g->in[d], out = g->out[d];
	const char *low = arena_printf(t->arena, "i%d*%lld/%lld", d, in, out);
	const char *here = grown(t, g, d + 1, arena_printf(t->arena, "%s%s%s", at, comma, low));
	if (!g->is_linear)
		return here;
	const char *next = arena_printf(t->arena, "%s%smin(%s+1, %lld)", at, comma, low, in - 1);
	const char *part = arena_printf(t->arena, "f32(i%d*%lld%%%lld)/%lld.0", d, in, out, out);
	return arena_printf(t->arena, "(%s * (1.0 - %s) + %s * %s)", here, part,
	                    grown(t, g, d + 1, next), part);
}

/* Fields: batch, channels, the image, its scales, the layout, the method; blocks of channels are
 * copied along. */
static void
text_upsampling(Text *t)
{
	bool is_3d = strcmp(t->c->function, "upsampling3d") == 0;
	int axes = is_3d ? 3 : 2, layout = 2 + 2 * axes;
	bool is_last = field_text(t, layout)[strlen(field_text(t, layout)) - 1] == 'C';
	Growth g = {.rank = axes + 2, .is_linear = !field_is(t, layout + 1, "nearest_neighbor")};
	g.in[0] = g.out[0] = field_number(t, 0, 2);
	g.in[is_last ? axes + 1 : 1] = g.out[is_last ? axes + 1 : 1] = field_number(t, 1, 3);
	for (int a = 0; a < axes; a++) {
		int d = a + (is_last ? 1 : 2);
		g.in[d] = field_number(t, 2 + a, 22);
		g.out[d] = (int64_t)((double)g.in[d] * strtod(field_text(t, 2 + axes + a), NULL) + 0.5);
	}
	for (int k = 0; !is_3d && field_number(t, 8, 16) > 0 && k < 2; k++, g.rank++)
		g.in[g.rank] = g.out[g.rank] = field_number(t, 8 + k, 16);
	say(t, "expr e(X: f32[%s]) -> Y {\n", dims_text(t, g.rank, g.in, "n"));
	say(t, "  Y[%s]: f32 = %s\n", dims_text(t, g.rank, g.out, "i:n"), grown(t, &g, 0, ""));
}

/* ---- programs -------------------------------------------------------------------------------- */

static const struct {
	const char *function; /* NULL: any of the file */
	const char *op;       /* NULL: any */
	void (*text)(Text *t);
} builders[] = {
	{NULL, "batch_matmul", text_batch_matmul},
	{NULL, "clip", text_clip},
	{NULL, "conv2d_nhwc_winograd", text_winograd},
	{NULL, "conv2d_winograd", text_winograd},
	{NULL, "conv3d_winograd", text_winograd},
	{NULL, "conv1d_transpose_ncw", text_transposed},
	{NULL, "conv2d_transpose_nchw", text_transposed},
	{NULL, "conv3d_transpose_ncdhw", text_transposed},
	{NULL, "conv1d", text_convolution},
	{NULL, "conv2d_hwcn", text_convolution},
	{NULL, "conv2d_nchw", text_convolution},
	{NULL, "conv2d_nhwc", text_convolution},
	{NULL, "conv3d_ncdhw", text_convolution},
	{NULL, "conv3d_ndhwc", text_convolution},
	{NULL, "group_conv2d", text_convolution},
	{NULL, "deformable_conv2d", text_deformable},
	{NULL, "depthwise_conv2d", text_convolution},
	{NULL, "depthwise_conv2d_back_input", text_back_input},
	{NULL, "depthwise_conv2d_back_weight", text_back_weight},
	{NULL, "dense", text_dense},
	{NULL, "depth_to_space", text_depth_to_space},
	{NULL, "dilate", text_dilate},
	{"pool_grad", "pooling", text_pool_grad},
	{"global_pool", "pooling", text_global_pool},
	{"adaptive_pool", "pooling", text_adaptive_pool},
	{NULL, "pooling", text_pool},
	{NULL, "reduce", text_reduce},
	{"relu", "relu", text_relu},
	{"leaky_relu", "relu", text_leaky_relu},
	{"prelu", "relu", text_prelu},
	{"softmax_4d", "softmax", text_softmax_4d},
	{NULL, "softmax", text_softmax},
	{NULL, "upsampling", text_upsampling},
};

const Program *
case_program(ExprCtx *ctx, Arena *arena, const Case *c, bool is_small)
{
	Text text = {.arena = arena, .c = c, .is_small = is_small, .out.arena = arena};
	for (size_t i = 0; i < countof(builders) && text.out.size == 0; i++)
		if (strcmp(builders[i].op, c->op) == 0 &&
		    (!builders[i].function || strcmp(builders[i].function, c->function) == 0))
			builders[i].text(&text);
	if (text.out.size == 0)
		fail_as(FAIL_INVALID, NULL, "%s: nothing is known of this operator", c->row);
	buf_puts(&text.out, "}\n");
	Program *program = program_parse(ctx, c->row, buf_text(&text.out));
	program_check(program);
	return program;
}
