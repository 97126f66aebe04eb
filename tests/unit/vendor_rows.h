/* The rows of vendor.def by their definition (runtime/vendor.h), on dense arrays, in double: what a
 * library does with a step's arguments and attributes, so that matching is judged without one.
 *
 * Shapes that no library would take end the test: a match should have refused.
 */
#ifndef UNIT_VENDOR_ROWS_H
#define UNIT_VENDOR_ROWS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "graph/meaning.h"
#include "program/match.h"
#include "target/target.h"
#include "unit.h"

/* Rows as lowering reads them; the table of operators is made once. */
static inline VendorForms *
row_forms(Arena *owner)
{
	static const OpTable *table;
	if (!table)
		table = op_table_new(arena_new("operators"));
	TextOperators operators = formula_operators(table);
	return vendor_forms_new(owner, &operators, vendor_loses_any);
}

/* The first row that fits; false: none does. */
static inline bool
row_match(Arena *owner, const Program *program, VendorMatch *match)
{
	VendorFound found = vendor_match(row_forms(owner), owner, program, NULL, NULL);
	if (found.count)
		*match = found.match[0];
	return found.count > 0;
}

enum { ROW_MAX_RANK = 8, ROW_MAX_ARGS = 16 };

typedef struct RowCall {
	const char *row;
	int narg;
	Array *const *args; /* NULL: absent; the last one is written */
	int nattr;
	const StepAttr *attrs;
} RowCall;

static inline const StepAttr *
row_attr(const RowCall *call, const char *name)
{
	for (int i = 0; i < call->nattr; i++)
		if (strcmp(call->attrs[i].name, name) == 0)
			return &call->attrs[i];
	return NULL;
}

static inline int64_t
row_int(const RowCall *call, const char *name, int index, int64_t otherwise)
{
	const StepAttr *attr = row_attr(call, name);
	return attr && index < attr->count ? attr->ints[index] : otherwise;
}

/* The element of `a` at the last of `rank` indices; dims of 1 broadcast. */
static inline double
row_element(const Array *a, int rank, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < a->rank; d++) {
		int64_t i = a->dims[d] == 1 ? 0 : index[rank - a->rank + d];
		ck_element_msg(i >= 0 && i < a->dims[d], "index %lld of a dim of %lld", (long long)i,
		               (long long)a->dims[d]);
		at = at * a->dims[d] + i;
	}
	return dtype_load_f64(a->type, a->data, at);
}

/* The index at a position in row-major order. */
static inline void
row_unflatten(int64_t flat, int rank, const int64_t *dims, int64_t *index)
{
	for (int d = rank - 1; d >= 0; d--) {
		index[d] = flat % dims[d];
		flat /= dims[d];
	}
}

/* Where tap `tap` of the window at `out` lies in x, all spatial dims; false: in the padding. */
static inline bool
row_window(const RowCall *call, const Array *x, const int64_t *out, const int64_t *tap, int64_t *in)
{
	bool is_inside = true;
	for (int d = 0; d < x->rank - 2; d++) {
		in[2 + d] = out[2 + d] * row_int(call, "strides", d, 1) +
		            tap[d] * row_int(call, "dilations", d, 1) - row_int(call, "pads_lo", d, 0);
		is_inside = is_inside && in[2 + d] >= 0 && in[2 + d] < x->dims[2 + d];
	}
	return is_inside;
}

static inline double
row_conv(const RowCall *call, const int64_t *out)
{
	const Array *x = call->args[0], *w = call->args[1], *bias = call->args[2];
	const Array *y = call->args[call->narg - 1];
	int64_t group = row_int(call, "group", 0, 1), in[ROW_MAX_RANK] = {out[0]}, at[ROW_MAX_RANK];
	ck_assert(y->dims[0] == x->dims[0] && y->dims[1] == w->dims[0]);
	ck_assert(w->dims[0] % group == 0 && x->dims[1] == w->dims[1] * group);
	double sum = bias ? row_element(bias, 1, out + 1) : 0;
	at[0] = out[1];
	for (int64_t t = 0; t < dims_count(w->rank - 1, w->dims + 1); t++) {
		row_unflatten(t, w->rank - 1, w->dims + 1, at + 1);
		in[1] = out[1] / (w->dims[0] / group) * w->dims[1] + at[1];
		if (row_window(call, x, out, at + 2, in))
			sum += row_element(x, x->rank, in) * row_element(w, w->rank, at);
	}
	return sum;
}

static inline double
row_conv_transpose(const RowCall *call, const int64_t *out)
{
	const Array *x = call->args[0], *w = call->args[1], *y = call->args[call->narg - 1];
	int64_t in[ROW_MAX_RANK] = {out[0]}, at[ROW_MAX_RANK], group = row_int(call, "group", 0, 1);
	ck_assert(!call->args[2] && y->dims[0] == x->dims[0] && y->dims[1] == w->dims[1] * group);
	ck_assert(x->dims[1] == w->dims[0] && x->dims[1] % group == 0);
	double sum = 0;
	for (int64_t t = 0; t < dims_count(w->rank, w->dims); t++) {
		row_unflatten(t, w->rank, w->dims, at);
		bool is_inside = at[0] / (w->dims[0] / group) * w->dims[1] + at[1] == out[1];
		in[1] = at[0];
		for (int d = 2; d < x->rank; d++) {
			int64_t stride = row_int(call, "strides", d - 2, 1);
			int64_t place = out[d] + row_int(call, "pads_lo", d - 2, 0) -
			                at[d] * row_int(call, "dilations", d - 2, 1);
			in[d] = place / stride;
			is_inside = is_inside && place >= 0 && place % stride == 0 && in[d] < x->dims[d];
		}
		sum += is_inside ? row_element(x, x->rank, in) * row_element(w, w->rank, at) : 0;
	}
	return sum;
}

static inline double
row_pool(const RowCall *call, const int64_t *out)
{
	const Array *x = call->args[0], *y = call->args[call->narg - 1];
	const StepAttr *kernel = row_attr(call, "kernel");
	const char *kind = row_attr(call, "kind")->string;
	bool is_max = strcmp(kind, "max") == 0, is_inside = strcmp(kind, "avg") == 0;
	ck_assert(is_max || is_inside || strcmp(kind, "avg_padded") == 0);
	int64_t in[ROW_MAX_RANK] = {out[0], out[1]}, at[ROW_MAX_RANK], taps, inside = 0;
	taps = dims_count(x->rank - 2, kernel->ints);
	ck_assert(y->dims[0] == x->dims[0] && y->dims[1] == x->dims[1]);
	double value = is_max ? -3.4028235e38 : 0;
	for (int64_t t = 0; t < taps; t++) {
		row_unflatten(t, x->rank - 2, kernel->ints, at);
		if (!row_window(call, x, out, at, in))
			continue;
		double element = row_element(x, x->rank, in);
		value = is_max ? fmax(value, element) : value + element;
		inside++;
	}
	return is_max ? value : value / (double)(is_inside ? inside : taps);
}

static inline double
row_matmul(const RowCall *call, const int64_t *out)
{
	const Array *a = call->args[0], *b = call->args[1], *bias = call->args[2];
	const Array *y = call->args[call->narg - 1];
	int rank = y->rank, i = rank - 2, j = rank - 1;
	bool swap_a = row_int(call, "transpose_a", 0, 0), swap_b = row_int(call, "transpose_b", 0, 0);
	int64_t ia[ROW_MAX_RANK], ib[ROW_MAX_RANK], k = a->dims[a->rank - (swap_a ? 2 : 1)];
	ck_assert_int_eq(k, b->dims[b->rank - (swap_b ? 1 : 2)]);
	ck_assert_int_eq(y->dims[i], a->dims[a->rank - (swap_a ? 1 : 2)]);
	ck_assert_int_eq(y->dims[j], b->dims[b->rank - (swap_b ? 2 : 1)]);
	for (int d = 0; d < i; d++) {
		int64_t da = d < rank - a->rank ? 1 : a->dims[d - (rank - a->rank)];
		int64_t db = d < rank - b->rank ? 1 : b->dims[d - (rank - b->rank)];
		ck_assert((da == db || da == 1 || db == 1) && y->dims[d] == (da == 1 ? db : da));
		ia[d] = ib[d] = out[d];
	}
	double sum = bias ? row_element(bias, 1, out + j) : 0;
	for (int64_t c = 0; c < k; c++) {
		ia[swap_a ? j : i] = out[i];
		ib[swap_b ? i : j] = out[j];
		ia[swap_a ? i : j] = ib[swap_b ? j : i] = c;
		sum += row_element(a, rank, ia) * row_element(b, rank, ib);
	}
	return sum;
}

/* g2bmm has the band in the result's last dim, gbmm sums over it. */
static inline double
row_band(const RowCall *call, const int64_t *out)
{
	const Array *a = call->args[0], *b = call->args[1];
	bool is_result = strcmp(call->row, "g2bmm") == 0;
	int n = a->rank - 1, m = n - 1;
	int64_t ia[ROW_MAX_RANK], ib[ROW_MAX_RANK], reach = row_int(call, "offset", 0, 0);
	memcpy(ia, out, (size_t)n * sizeof *ia);
	memcpy(ib, out, (size_t)n * sizeof *ib);
	double sum = 0;
	for (int64_t c = 0; c < a->dims[n]; c++) {
		ia[n] = c;
		ib[n] = is_result ? c : out[n];
		ib[m] = out[m] + row_int(call, "dilation", 0, 1) * (is_result ? out[n] : c) - reach;
		if (0 <= ib[m] && ib[m] < b->dims[m])
			sum += row_element(a, a->rank, ia) * row_element(b, b->rank, ib);
	}
	return sum;
}

/* With arguments a and b of the post-op, or operand z. */
static inline double
row_post(const char *name, double x, double a, double b, double z)
{
	double tanh_of = sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
	/* clang-format off */
	const struct { const char *name; double value; } posts[] = {
		{"sum", x + z},      {"add", x + z},      {"sub", x - z},    {"mul", x * z},
		{"max", fmax(x, z)}, {"min", fmin(x, z)}, {"exp", exp(x)},   {"abs", fabs(x)},
		{"tanh", tanh(x)},   {"sqrt", sqrt(x)},   {"linear", a * x + b},
		{"relu", fmax(x, 0)},                     {"clip", fmin(fmax(x, a), b)},
		{"sigmoid", 1 / (1 + exp(-x))},           {"swish", x / (1 + exp(-a * x))},
		{"leaky_relu", x < 0 ? a * x : x},        {"elu", x < 0 ? a * (exp(x) - 1) : x},
		{"hardswish", x * fmax(0, fmin(1, x / 6 + 0.5))},
		{"gelu_erf", 0.5 * x * (1 + erf(x / sqrt(2)))},
		{"gelu_tanh", 0.5 * x * (1 + tanh(tanh_of))},
	};
	/* clang-format on */
	for (size_t i = 0; i < countof(posts); i++)
		if (strcmp(posts[i].name, name) == 0)
			return posts[i].value;
	ck_abort_msg("post-op %s has no definition here", name);
	return 0;
}

/* A library keeps one result to add to: of several sums, the last one's argument lies there. */
static inline double
row_posts(const RowCall *call, const char *posts, double x, const int64_t *out)
{
	int rank = call->args[call->narg - 1]->rank, kept = -1;
	for (const char *at = strstr(posts, "sum("); at; at = strstr(at + 1, "sum("))
		kept = atoi(at + 4);
	for (const char *at = posts; *at; at += strcspn(at, ";"), at += *at == ';') {
		double a = 0, b = 0, z = 0;
		char name[32] = "";
		int numbers = sscanf(at, "%31[a-z_](%lf,%lf)", name, &a, &b) - 1;
		if (numbers == 1) /* of an argument, or nobody looks at z */
			z = row_element(call->args[strcmp(name, "sum") == 0 ? kept : (int)a], rank, out);
		x = row_post(name, x, a, b, z);
	}
	return x;
}

static inline void
row_run(const RowCall *call)
{
	static const struct {
		const char *name;
		double (*value)(const RowCall *call, const int64_t *out);
	} rows[] = {{"conv", row_conv},  {"conv_transpose", row_conv_transpose},
	            {"pool", row_pool},  {"matmul", row_matmul},
	            {"g2bmm", row_band}, {"gbmm", row_band}};
	const StepAttr *post = row_attr(call, "post");
	Array *y = call->args[call->narg - 1];
	int64_t count = array_count(y), out[ROW_MAX_RANK];
	for (size_t r = 0; r < countof(rows); r++)
		for (int64_t i = 0; i < count && strcmp(rows[r].name, call->row) == 0; i++) {
			row_unflatten(i, y->rank, y->dims, out);
			double value = row_posts(call, post ? post->string : "", rows[r].value(call, out), out);
			dtype_store_f64(y->type, y->data, i, value);
		}
}

#endif
