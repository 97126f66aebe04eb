/* Matching vendor rows: what matches is what the row says, by its definition (vendor_rows.h), and
 * what is a little different is no match. Programs are made at random around a convolution, a pool
 * and a matrix product, with indices shifted, scaled, repeated, exchanged or gone, reductions that
 * move nothing, and tensors larger than what is read.
 */
#include "program/forms.h"
#include "vendor_rows.h"

#include <stdio.h>

#include "expr/interp/interp.h"
#include "program/match.h"
#include "random_number.h"

enum { MAX_ITERS = 7, MAX_READS = 2, PROGRAMS = 30000 };

/* factor * iterator (and another one) + offset */
typedef struct Index {
	int iter[2]; /* -1: none */
	int factor[2], offset;
} Index;

typedef struct Read {
	int rank, extent[ROW_MAX_RANK];
	Index index[ROW_MAX_RANK];
} Read;

typedef struct Made {
	uint64_t dice;
	int nloop, nreduce, nread;
	int extent[MAX_ITERS];
	Read reads[MAX_READS];
	const char *reduce; /* "sum", "max", "mean" */
	bool has_guard;     /* of all reads that may leave their tensors */
	int limited;        /* an iterator whose last value has no terms; -1: none */
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
make_conv(Made *made, int spatial)
{
	Read *x = &made->reads[0], *w = &made->reads[1];
	made->nloop = 2 + spatial;
	made->nreduce = 1 + spatial;
	made->nread = 2;
	made->reduce = "sum";
	x->rank = w->rank = made->nloop;
	x->index[0] = plain(0);
	x->index[1] = plain(made->nloop);
	w->index[0] = plain(1);
	w->index[1] = plain(made->nloop);
	for (int d = 0; d < spatial; d++) {
		make_window(made, &x->index[2 + d], 2 + d, made->nloop + 1 + d);
		w->index[2 + d] = plain(made->nloop + 1 + d);
	}
}

static void
make_pool(Made *made, int spatial)
{
	Read *x = &made->reads[0];
	made->nloop = 2 + spatial;
	made->nreduce = spatial;
	made->nread = 1;
	made->reduce = between(made, 0, 1) ? "max" : "mean";
	x->rank = made->nloop;
	x->index[0] = plain(0);
	x->index[1] = plain(1);
	for (int d = 0; d < spatial; d++)
		make_window(made, &x->index[2 + d], 2 + d, made->nloop + d);
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

static void
make_extents(Made *made)
{
	for (int i = 0; i < made->nloop + made->nreduce; i++)
		made->extent[i] = between(made, 1, 3);
	made->limited = rarely(made) ? between(made, 0, made->nloop + made->nreduce - 1) : -1;
	made->has_guard = false;
	for (int r = 0; r < made->nread; r++)
		for (int d = 0; d < made->reads[r].rank; d++) {
			const Index *index = &made->reads[r].index[d];
			int first = index->offset, last = index->offset;
			for (int k = 0; k < 2; k++) {
				int span = 0;
				if (index->iter[k] >= 0)
					span = index->factor[k] * (made->extent[index->iter[k]] - 1);
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
	if (made->nread == 2 && rarely(made)) {
		Read first = made->reads[0];
		made->reads[0] = made->reads[1];
		made->reads[1] = first;
	}
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
		if (index->factor[k] != 1)
			buf_printf(text, "%d*", index->factor[k]);
		buf_printf(text, "i%d", index->iter[k]);
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
		buf_printf(text, "%si%d:%d", i > from ? ", " : "", i, made->extent[i]);
}

static const char *
print_made(Arena *arena, const Made *made)
{
	Buf text = {.arena = arena};
	bool is_mean = strcmp(made->reduce, "mean") == 0;
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
			buf_printf(&text, "%si%d", i ? ", " : "", i);
		buf_printf(&text, "] / %d.0", taps);
	}
	buf_puts(&text, "\n}\n");
	return buf_text(&text);
}

/* ---- judging ---- */

typedef struct Trial {
	Arena *arena;
	const char *text;
	uint64_t dice;
	Program *program;
} Trial;

static void
parse(void *arg)
{
	Trial *t = arg;
	t->program = program_parse(expr_ctx_new(t->arena), "made", t->text);
	program_check(t->program);
}

static Array *
array_of(Trial *t, const Tensor *tensor)
{
	int64_t dims[ROW_MAX_RANK];
	for (int d = 0; d < tensor->rank; d++)
		ck_assert(dim_is_const(tensor->hi[d], &dims[d]));
	Array *array = array_new(t->arena, tensor->type, tensor->rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(tensor->type, array->data, i,
		                (double)random_below(&t->dice, 200) / 100 - 1);
	return array;
}

/* The array of a matched program's input: the same elements, perhaps with dims merged. */
static Array *
as_matched(Trial *t, const Program *matched, const Tensor *tensor, Array *const *inputs)
{
	Array *like = array_of(t, tensor);
	for (int i = 0; i < matched->ninput; i++)
		if (matched->inputs[i] == tensor)
			like->data = inputs[i]->data;
	return like;
}

static void
judge(Trial *t, const VendorMatch *match, Array *const *inputs, const Array *expected)
{
	StepAttr attrs[VENDOR_ATTRS];
	Array *args[4], *y = array_of(t, match->dst);
	int narg = 0, nattr = vendor_match_attrs(match, attrs);
	args[narg++] = as_matched(t, match->program, match->src, inputs);
	if (match->weights) {
		args[narg++] = as_matched(t, match->program, match->weights, inputs);
		args[narg++] = NULL;
	}
	args[narg++] = y;
	row_run(&(RowCall){match->row, narg, args, nattr, attrs});
	for (int64_t i = 0; i < array_count(y); i++) {
		double a = dtype_load_f64(DT_F32, expected->data, i);
		double b = dtype_load_f64(DT_F32, y->data, i);
		ck_assert_msg(fabs(a - b) <= 1e-5 * fmax(1, fabs(a)), "%s matches %s: %g instead of %g",
		              t->text, match->row, b, a);
	}
}

/* Whether the program, if it is one, matches; what matches must be right. */
static bool
try_program(const char *text, uint64_t dice)
{
	Trial t = {.arena = arena_new("match"), .text = text, .dice = dice};
	Failure failure;
	VendorMatch match;
	bool is_match = false;
	if (try_run(parse, &t, &failure)) {
		const Program *program = program_inline(t.arena, t.program);
		Array *inputs[MAX_READS], *expected;
		for (int i = 0; i < program->ninput; i++)
			inputs[i] = array_of(&t, program->inputs[i]);
		is_match = vendor_match(t.arena, program, NULL, NULL, &match);
		program_eval(t.arena, program, NULL, (const Array *const *)inputs, &expected);
		if (is_match)
			judge(&t, &match, inputs, expected);
	}
	arena_free(t.arena);
	return is_match;
}

START_TEST(matches_are_sound)
{
	static void (*const makers[])(Made * made, int size) = {make_conv, make_pool, make_matmul};
	int matches[3] = {0};
	for (int i = 0; i < PROGRAMS; i++) {
		Arena *arena = arena_new("text");
		Made made = {.dice = (uint64_t)i};
		makers[i % 3](&made, between(&made, i % 3 == 2 ? 0 : 1, 2));
		spoil(&made);
		make_extents(&made);
		matches[i % 3] += try_program(print_made(arena, &made), made.dice);
		arena_free(arena);
	}
	for (int row = 0; row < 3; row++)
		ck_assert_int_gt(matches[row], PROGRAMS / 30);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("matching");
	tcase_add_test(tcase, matches_are_sound);
	return unit_run(tcase);
}
