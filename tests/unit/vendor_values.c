/* What the calls of oneDNN do with NaN, infinities and -0, against what rows of vendor.def say: the
 * stage of each by the interpreter, with such numbers at random places. What a row keeps is kept,
 * and what it loses is seen to be lost. Without the library the test says "skipped".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expr/interp/interp.h"
#include "expr/stage/build.h"
#include "program/forms.h"
#include "random_number.h"
#include "runtime/onednn/call.h"
#include "vendor_block.h"
#include "vendor_rows.h"

/* Of a call's attributes and of its arguments, which have at most so many post-ops. */
enum { ATTRS = 16, ARGS = 8 };

static const char *const F32[] = {"f32", "f32", "f32", "f32"};
static const char *const BF16[] = {"bf16", "bf16", "f32", "bf16"};
static const char *const BYTES[] = {"u8", "i8", "i32", "i32"};

static Vendor *vendor;
static Arena *arena;
static unsigned lost[64]; /* by rows of calls: what was seen to be lost, */
static bool is_tried[64]; /* and which the library has */

static void
set_up(void)
{
	char error[300];
	vendor = vendor_onednn.open(error, sizeof error);
	arena = arena_new("values");
	if (!vendor)
		printf("skipped: for want of oneDNN: %s\n", error);
}

static void
tear_down(void)
{
	if (vendor)
		vendor_onednn.close(vendor);
	arena_free(arena);
}

/* ---- programs ---- */

typedef struct Window {
	int c, groups, f, size, kernel, stride, pad, dilation; /* c: channels of a group */
} Window;

/* X at the window's place in h or w, whose loops are these. */
static const char *
place(const Window *v, const char *p, const char *r)
{
	return arena_printf(arena, "%d*%s+%d*%s-%d", v->stride, p, v->dilation, r, v->pad);
}

static const char *
inside(const Window *v)
{
	const char *h = place(v, "p", "r"), *w = place(v, "q", "u");
	return arena_printf(arena, "r:%d, u:%d where 0 <= %s, %s < %d, 0 <= %s, %s < %d", v->kernel,
	                    v->kernel, h, h, v->size, w, w, v->size);
}

static int
extent(const Window *v)
{
	return (v->size + 2 * v->pad - v->dilation * (v->kernel - 1) - 1) / v->stride + 1;
}

static const char *
cast(const char *const *types, const char *read)
{
	return strcmp(types[0], types[2]) ? arena_printf(arena, "%s(%s)", types[2], read) : read;
}

static const char *
summed(const char *const *types)
{
	return strcmp(types[0], types[2]) ? arena_printf(arena, "sum %s ", types[2]) : "sum";
}

static const char *
conv_text(const Window *v, const char *const *t)
{
	const char *c = v->groups == 1 ? "c" : arena_printf(arena, "c+f/%d*%d", v->f / v->groups, v->c);
	const char *x =
		arena_printf(arena, "X[n, %s, %s, %s]", c, place(v, "p", "r"), place(v, "q", "u"));
	return arena_printf(arena,
	                    "expr f(X: %s[1,%d,%d,%d], W: %s[%d,%d,%d,%d]) -> Y {\n"
	                    "Y[n:1, f:%d, p:%d, q:%d]: %s = %s(c:%d, %s) %s * %s\n}\n",
	                    t[0], v->c * v->groups, v->size, v->size, t[1], v->f, v->c, v->kernel,
	                    v->kernel, v->f, extent(v), extent(v), t[3], summed(t), v->c, inside(v),
	                    cast(t, x), cast(t, "W[f,c,r,u]"));
}

static const char *
pool_text(const Window *v, bool is_max)
{
	int p = extent(v);
	Buf text = {.arena = arena};
	buf_printf(&text,
	           "expr f(X: f32[1,%d,%d,%d]) -> %s {\n"
	           "Y[n:1, c:%d, p:%d, q:%d]: f32 = %s(%s) X[n, c, %s, %s]\n",
	           v->c, v->size, v->size, is_max ? "Y" : "Z", v->c, p, p, is_max ? "max" : "sum",
	           inside(v), place(v, "p", "r"), place(v, "q", "u"));
	if (!is_max)
		buf_printf(&text, "Z[n:1, c:%d, p:%d, q:%d]: f32 = Y[n,c,p,q] / %d.0\n", v->c, p, p,
		           v->kernel * v->kernel);
	buf_puts(&text, "}\n");
	return buf_text(&text);
}

static const char *
matmul_text(int m, int k, int n, const char *const *t)
{
	return arena_printf(arena,
	                    "expr f(A: %s[%d,%d], B: %s[%d,%d]) -> Y {\n"
	                    "Y[m:%d, n:%d]: %s = %s(k:%d) %s * %s\n}\n",
	                    t[0], m, k, t[1], k, n, m, n, t[3], summed(t), k, cast(t, "A[m,k]"),
	                    cast(t, "B[k,n]"));
}

/* A row of calls, or of post-ops behind one. */
typedef struct Case {
	const char *text;
	const PostRow *post;
	bool is_negated;       /* the post-op is of x times a tensor of -1: a sum is never -0 */
	int block;             /* of channels; 0: plain */
	const char *algorithm; /* NULL: the row's first */
	bool is_constant;      /* the second operand is known when the call is made */
	unsigned special;      /* operands that have special numbers, as bits */
} Case;

/* What the row of a post-op says, of the result x. */
static const Expr *
post_of(ExprCtx *ctx, const Case *t, const Expr *x, const Expr *z)
{
	double a = t->post->kind == POST_clip ? -1 : 0.5;
	TextOperators operators = formula_operators(op_table_new(arena));
	Map names = {.arena = arena};
	map_set(&names, "x", (void *)(uintptr_t)x);
	map_set(&names, "z", (void *)(uintptr_t)z);
	map_set(&names, "a", (void *)(uintptr_t)expr_number(ctx, DT_F32, a));
	map_set(&names, "b", (void *)(uintptr_t)expr_number(ctx, DT_F32, 2));
	TextScope scope = {.names = &names, .operators = &operators};
	Scanner scan;
	scan_open(&scan, arena, "vendor.def", t->post->pattern);
	return expr_parse_in(ctx, &scan, &scope, DT_F32);
}

static const Program *
program_of(const Case *t)
{
	ExprCtx *ctx = expr_ctx_new(arena);
	const Program *p = program_parse(ctx, "made", t->text);
	program_check(p);
	if (!t->post)
		return p;
	const Tensor *sum = p->outputs[0];
	Tensor *z = tensor_new(ctx, "Z", DT_F32, sum->rank, sum->hi);
	StageBuilder *stage = stage_open(ctx, "R", sum->rank, sum->hi);
	const Expr *x = stage_read_broadcast(stage, sum);
	Tensor *minus = tensor_new(ctx, "M", DT_F32, sum->rank, sum->hi);
	if (t->is_negated)
		x = expr_mul(ctx, x, stage_read_broadcast(stage, minus));
	const Expr *body = post_of(ctx, t, x, stage_read_broadcast(stage, z));
	const Tensor *result = stage_map(stage, DT_F32, body);
	Tensor *inputs[] = {p->inputs[0], p->inputs[1], z, minus};
	return program_new(ctx, "f", countof(inputs), inputs, 1, &result);
}

/* ---- operands ---- */

static double
special(unsigned kind, uint64_t *dice)
{
	if (kind == LOSES_infinity)
		return random_below(dice, 2) ? INFINITY : -INFINITY;
	return kind == LOSES_nan ? (double)NAN : -0.0;
}

/* Ones are what specials are multiplied by: an infinity that meets a zero is a NaN. */
static Array *
operand_of(const Case *t, const Program *p, int input, unsigned kind, unsigned every,
           uint64_t *dice)
{
	const Tensor *tensor = p->inputs[input];
	int64_t dims[VENDOR_DIMS];
	for (int d = 0; d < tensor->rank; d++)
		ck_assert(dim_is_const(tensor->hi[d], &dims[d]));
	Array *made = array_new(arena, tensor->type, tensor->rank, dims);
	for (int64_t i = 0; i < array_count(made); i++) {
		double value = (random_below(dice, 17) - 8.0) / 4;
		if (t->post && (input == 1 || input == 3))
			value = input == 1 ? 1 : -1;
		else if (!dtype_is_float(tensor->type))
			value = random_below(dice, 7);
		else if ((t->special >> input & 1) && random_below(dice, every) == 0)
			value = special(kind, dice);
		dtype_store_f64(tensor->type, made->data, i, value);
	}
	return made;
}

static void *
room(size_t bytes)
{
	uintptr_t at = (uintptr_t)arena_alloc(arena, bytes + 64);
	return (void *)((at + 63) / 64 * 64);
}

static void *
blocked(const Array *array, int block)
{
	Blocking to = blocking_of(array, 1, block);
	void *data = room((size_t)blocking_count(&to) * to.size);
	blocking_copy(&to, array->data, data);
	return data;
}

/* Where element i lies in blocks. */
static int64_t
place_in_blocks(const Array *array, int block, int64_t i)
{
	int64_t inner = dims_count(array->rank - 2, array->dims + 2), channels = array->dims[1];
	int64_t channel = i / inner % channels, blocks = (channels + block - 1) / block;
	int64_t outer = i / (channels * inner) * blocks + channel / block;
	return (outer * inner + i % inner) * block + channel % block;
}

/* ---- a call ---- */

typedef struct Call {
	int narg, nattr;
	VendorArg args[ARGS];
	void *buffers[ARGS];
	StepAttr attrs[ATTRS];
} Call;

static void
add_argument(Call *call, const Case *t, const Array *array, bool is_weight)
{
	bool is_blocked = array && t->block && !is_weight && array->dims[1] >= t->block;
	VendorArg *arg = &call->args[call->narg];
	*arg = (VendorArg){.type = DT_NONE};
	call->buffers[call->narg++] = NULL;
	if (!array)
		return;
	*arg = (VendorArg){.type = array->type, .rank = array->rank, .dims = array->dims};
	arg->layout = is_blocked ? arena_printf(arena, "nc%dhw", t->block) : NULL;
	arg->constant = is_weight && t->is_constant ? array->data : NULL;
	call->buffers[call->narg - 1] = is_blocked ? blocked(array, t->block) : array->data;
}

static const Array *
array_of(const VendorMatch *m, const Tensor *tensor, Array *const *inputs)
{
	for (int i = 0; i < m->program->ninput; i++)
		if (m->program->inputs[i] == tensor)
			return inputs[i];
	ck_abort_msg("an operand is no input");
	return NULL;
}

static void
add_text(Call *call, const char *name, const char *text)
{
	call->attrs[call->nattr++] =
		(StepAttr){.name = name, .kind = SA_STRING, .count = 1, .string = text};
}

/* `result` is written. */
static void
make_call(const Case *t, const VendorMatch *m, Array *const *inputs, const Array *result,
          Call *call)
{
	StepPost posts[POST_MAX];
	Buf text = {.arena = arena};
	*call = (Call){.nattr = m->nattr};
	memcpy(call->attrs, m->attrs, (size_t)m->nattr * sizeof *m->attrs);
	add_argument(call, t, array_of(m, m->operands[0].tensor, inputs), false);
	if (m->operands[1].tensor)
		add_argument(call, t, array_of(m, m->operands[1].tensor, inputs), true);
	if (m->row->bias)
		add_argument(call, t, m->bias ? array_of(m, m->bias, inputs) : NULL, true);
	for (int i = 0; i < m->npost; i++) {
		posts[i] = m->post[i].post;
		posts[i].arg = call->narg;
		if (m->post[i].operand)
			add_argument(call, t, array_of(m, m->post[i].operand->tensor, inputs), false);
	}
	add_argument(call, t, result, false);
	posts_write(&text, m->npost, posts);
	if (m->npost)
		add_text(call, "post", buf_text(&text));
	if (t->algorithm)
		add_text(call, "algorithm", t->algorithm);
}

/* False where the library has no such call. */
static bool
run_call(const VendorMatch *m, const Call *call)
{
	char error[300] = "";
	VendorCall desc = {"onednn", m->row->name, call->narg, call->args, call->nattr, call->attrs};
	PreparedCall *made = vendor_onednn.prepare(vendor, &desc, error, sizeof error);
	if (!made)
		return false;
	void *scratch = room(made->scratch + 1);
	for (int i = 0; i < made->pieces; i++)
		ck_assert_msg(vendor_onednn.run(made, i, call->buffers, scratch, error, sizeof error), "%s",
		              error);
	vendor_onednn.drop(made);
	return true;
}

/* ---- comparing ---- */

/* Both are the same special number, or none of this kind; how near finite ones are is for others
 * (runtime_vendor.c). */
static bool
is_kept(unsigned kind, double meant, double seen)
{
	if (kind == LOSES_zero)
		return meant != 0 || seen != 0 || signbit(meant) == signbit(seen);
	return isnan(meant) ? isnan(seen) : isfinite(meant) ? isfinite(seen) : meant == seen;
}

static bool
keeps(const Case *t, const VendorMatch *m, const Program *p, unsigned kind, unsigned every)
{
	uint64_t dice = every;
	Array *inputs[4], *meant;
	Call call;
	for (int i = 0; i < p->ninput; i++)
		inputs[i] = operand_of(t, p, i, kind, every, &dice);
	program_eval(arena, p, NULL, (const Array *const *)inputs, &meant);
	Array *seen = array_new(arena, meant->type, meant->rank, meant->dims);
	make_call(t, m, inputs, seen, &call);
	must(run_call(m, &call));
	bool is_blocked = call.args[call.narg - 1].layout, is_so = true;
	for (int64_t i = 0; i < array_count(meant); i++) {
		int64_t at = is_blocked ? place_in_blocks(meant, t->block, i) : i;
		is_so &= is_kept(kind, dtype_load_f64(meant->type, meant->data, i),
		                 dtype_load_f64(seen->type, call.buffers[call.narg - 1], at));
	}
	return is_so;
}

/* The row of the library, and the call with plain numbers to see that there is one. */
static bool
find_call(const Case *t, const Program *p, VendorMatch *match)
{
	VendorFound found =
		vendor_match(row_forms(arena), arena, program_inline_stages(arena, p), NULL, NULL);
	const VendorMatch *m = NULL;
	for (int i = 0; i < found.count && !m; i++)
		if (strcmp(found.match[i].row->library, "onednn") == 0)
			m = &found.match[i];
	ck_assert_msg(m != NULL, "no row has %s", t->text);
	*match = *m;
	uint64_t dice = 1;
	Array *inputs[4], *result;
	Call call;
	for (int i = 0; i < p->ninput; i++)
		inputs[i] = operand_of(t, p, i, 0, 1u << 30, &dice);
	program_eval(arena, p, NULL, (const Array *const *)inputs, &result);
	make_call(t, m, inputs, result, &call);
	return run_call(m, &call);
}

/* What of all kinds is lost; `match` is the row's. 0 also where there is no such call. */
static unsigned
try_call(const Case *t, VendorMatch *match, bool *is_run)
{
	static const unsigned KINDS[] = {LOSES_nan, LOSES_infinity, LOSES_zero};
	static const unsigned EVERY[] = {1, 3, 40, 700};
	const Program *p = program_of(t);
	unsigned found = 0;
	*is_run = find_call(t, p, match);
	for (size_t k = 0; *is_run && k < countof(KINDS); k++)
		for (size_t i = 0; i < countof(EVERY); i++)
			found |= keeps(t, match, p, KINDS[k], EVERY[i]) ? 0 : KINDS[k];
	return found;
}

/* What a row says is lost is seen to be: where the library has no such call nothing is known. */
static void
check_seen(const char *name, unsigned loses, unsigned seen, bool is_run)
{
	ck_assert_msg(!is_run || (loses & ~seen) == 0, "%s loses %u, and %u was seen", name, loses,
	              seen);
}

/* A call keeps what its row does not lose: by either operand, of which the second are weights. */
static void
check_call(Case t)
{
	VendorMatch m;
	bool is_run;
	for (t.special = 1; t.special <= 2; t.special++) {
		unsigned seen = try_call(&t, &m, &is_run);
		if (!is_run)
			return;
		if (t.special == 2 && seen && (m.row->loses & LOSES_padding))
			seen = LOSES_padding;
		ck_assert_msg((seen & ~m.row->loses) == 0, "%s loses %u by operand %u in\n%s", m.row->name,
		              seen, t.special, t.text);
		is_tried[m.row - vendor_at(0)] = true;
		lost[m.row - vendor_at(0)] |= seen;
	}
}

/* ---- tests ---- */

static const Window WINDOWS[] = {
	{8, 1, 12, 9, 3, 1, 1, 1},  {8, 1, 12, 9, 3, 1, 0, 1},  {32, 1, 32, 9, 3, 1, 1, 1},
	{20, 1, 20, 9, 3, 1, 1, 1}, {32, 1, 32, 9, 1, 1, 0, 1}, {3, 1, 32, 23, 7, 2, 3, 1},
	{32, 1, 32, 9, 3, 1, 2, 2}, {1, 32, 32, 9, 3, 1, 1, 1}, {16, 2, 32, 9, 3, 2, 1, 1},
};

START_TEST(calls)
{
	const int B = vendor_block();
	for (size_t i = 0; vendor && i < countof(WINDOWS); i++) {
		const char *conv = conv_text(&WINDOWS[i], F32), *halves = conv_text(&WINDOWS[i], BF16);
		check_call((Case){.text = conv});
		check_call((Case){.text = conv, .block = B, .is_constant = true});
		check_call((Case){.text = halves});
		check_call((Case){.text = halves, .block = 32, .is_constant = true});
		check_call((Case){.text = conv_text(&WINDOWS[i], BYTES), .block = 32, .is_constant = true});
	}
	for (int max = 0; vendor && max < 2; max++)
		for (int k = 2; k < 5; k++) {
			const char *pool = pool_text(&(Window){32, 1, 32, 9, k, 2, k > 2, 1}, max);
			check_call((Case){.text = pool});
			check_call((Case){.text = pool, .block = B});
		}
	static const int SIZES[][3] = {
		{17, 24, 33}, {17, 25, 33}, {4, 64, 512}, {33, 1, 33}, {1, 96, 96}};
	for (size_t i = 0; vendor && i < countof(SIZES); i++)
		for (int fixed = 0; fixed < 2; fixed++) {
			const int *n = SIZES[i];
			check_call((Case){.text = matmul_text(n[0], n[1], n[2], F32), .is_constant = fixed});
			check_call((Case){.text = matmul_text(n[0], n[1], n[2], BF16), .is_constant = fixed});
			check_call((Case){.text = matmul_text(n[0], n[1], n[2], BYTES), .is_constant = fixed});
		}
	for (int i = 0; vendor && i < vendor_count(); i++)
		check_seen(vendor_at(i)->name, vendor_at(i)->loses, lost[i], is_tried[i]);
}
END_TEST

/* An algorithm that is not the row's first adds up what it reads: infinities meet. */
START_TEST(winograd)
{
	const char *text = conv_text(&(Window){64, 1, 64, 14, 3, 1, 1, 1}, F32);
	Case t = {.text = text, .block = vendor_block(), .algorithm = "winograd", .is_constant = true};
	VendorMatch m;
	bool is_run = false;
	t.special = 1;
	unsigned seen = vendor ? try_call(&t, &m, &is_run) : 0;
	check_seen("winograd", LOSES_infinity, seen, is_run && vendor_is_wide());
}
END_TEST

/* What its first operand and another one bring, behind products and a convolution of one term. */
static unsigned
try_post(const PostRow *row, bool *is_run)
{
	const Window point = {1, 32, 32, 5, 1, 1, 0, 1};
	const Case cases[] = {
		{.text = matmul_text(33, 1, 33, F32)},
		{.text = matmul_text(64, 1, 512, F32), .is_constant = true},
		{.text = conv_text(&point, F32), .block = vendor_block(), .is_constant = true},
	};
	unsigned seen = 0;
	for (size_t i = 0; i < 2 * countof(cases); i++) {
		VendorMatch m;
		Case t = cases[i / 2];
		bool is_there;
		t.post = row;
		t.special = 1 | 4;
		t.is_negated = i % 2;
		seen |= try_call(&t, &m, &is_there);
		*is_run |= is_there;
	}
	return seen;
}

START_TEST(posts)
{
	const PostRow *row = vendor_post_at(_i);
	bool is_run = false;
	if (!vendor || strcmp(row->library, "onednn") != 0)
		return;
	unsigned seen = try_post(row, &is_run);
	ck_assert_msg((seen & ~row->loses) == 0, "%s loses %u", row->pattern, seen);
	check_seen(row->pattern, row->loses, seen, is_run);
}
END_TEST

/* A copy keeps every bit. */
START_TEST(reorder)
{
	if (!vendor)
		return;
	static const double NUMBERS[] = {NAN, INFINITY, -INFINITY, -0.0, 1, -2};
	int64_t dims[] = {1, 24, 5, 5};
	uint64_t dice = 1;
	Case t = {.block = vendor_block()};
	Array *from = array_new(arena, DT_F32, 4, dims), *to = array_new(arena, DT_F32, 4, dims);
	for (int64_t i = 0; i < array_count(from); i++)
		dtype_store_f64(DT_F32, from->data, i, NUMBERS[random_below(&dice, countof(NUMBERS))]);
	Call call = {.narg = 0};
	VendorMatch m = {.row = vendor_at(0)};
	while (!m.row->is_copy)
		m.row++;
	add_argument(&call, &(Case){.block = 0}, from, false);
	add_argument(&call, &t, to, false);
	ck_assert(run_call(&m, &call));
	const float *is = call.buffers[1], *was = from->data;
	for (int64_t i = 0; i < array_count(from); i++)
		ck_assert_mem_eq(&is[place_in_blocks(from, t.block, i)], &was[i], sizeof *was);
}
END_TEST

int
main(void)
{
	int rows = 0;
	while (vendor_post_at(rows))
		rows++;
	TCase *t = tcase_create("values");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, calls);
	tcase_add_test(t, winograd);
	tcase_add_loop_test(t, posts, 0, rows);
	tcase_add_test(t, reorder);
	return unit_run(t);
}
