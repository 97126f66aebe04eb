/* Matching vendor rows: what matches is what the row says, by its definition (vendor_rows.h), and
 * what is a little different is no match. Programs are made at random around a convolution, a pool
 * and a matrix product, with dims in any order, groups, no batch, and then with indices shifted,
 * scaled, repeated, exchanged or gone, reductions that move nothing, guards that say more, and
 * tensors larger than what is read. Some matches are run by the library as well, on the tensors as
 * they lie. MATCH_PROGRAMS says how many programs; a few thousand without it.
 */
#include "program/forms.h"
#include "vendor_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "expr/interp/interp.h"
#include "program/match.h"
#include "random_number.h"
#include "runtime/onednn/call.h"

enum { MAX_ITERS = 8, MAX_READS = 2, PROGRAMS = 3000, BY_LIBRARY = 10 };

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
	const char *reduce; /* "sum", "max", "mean" */
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
	Read *x = &made->reads[0];
	add_batch(made, x);
	int c = made->nloop++, p = made->nloop;
	made->nloop += spatial;
	made->nreduce = spatial;
	made->nread = 1;
	made->reduce = between(made, 0, 1) ? "max" : "mean";
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
			buf_printf(&text, "%si%d", i ? ", " : "", made->order[i]);
		buf_printf(&text, "] / %d.0", taps);
	}
	buf_puts(&text, "\n}\n");
	return buf_text(&text);
}

/* ---- judging ---- */

static Vendor *library; /* NULL: there is none here */
static int library_runs;

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

/* An empty array with the dims of the call. */
static Array *
array_as_called(Trial *t, const VendorOperand *operand)
{
	int64_t dims[ROW_MAX_RANK];
	for (int i = 0; i < operand->rank; i++)
		ck_assert(dim_is_const(operand->extents[i], &dims[i]));
	return array_new(t->arena, operand->tensor->type, operand->rank, dims);
}

/* Where element `flat` of the call's array lies in the tensor. */
static int64_t
place_of(const VendorOperand *operand, const Array *called, int64_t flat)
{
	int64_t index[ROW_MAX_RANK], at[ROW_MAX_RANK] = {0}, place = 0, extent;
	row_unflatten(flat, called->rank, called->dims, index);
	for (int i = 0; i < operand->rank; i++)
		if (operand->dims[i] >= 0)
			at[operand->dims[i]] = index[i];
	for (int d = 0; d < operand->tensor->rank; d++) {
		ck_assert(dim_is_const(operand->tensor->hi[d], &extent));
		place = place * extent + at[d];
	}
	return place;
}

/* What the call sees of a matched program's input: dims may be merged, in another order, or longer
 * than what is read. */
static Array *
as_called(Trial *t, const Program *matched, const VendorOperand *operand, Array *const *inputs)
{
	Array *called = array_as_called(t, operand);
	int input = 0;
	while (matched->inputs[input] != operand->tensor)
		input++;
	for (int64_t i = 0; i < array_count(called); i++) {
		int64_t from = place_of(operand, called, i);
		dtype_store_f64(called->type, called->data, i,
		                dtype_load_f64(called->type, inputs[input]->data, from));
	}
	return called;
}

/* The tensor of an operand as the library is given it: where it lies, in the order of the call. */
static VendorArg
library_arg(Trial *t, const VendorOperand *operand, const Array *called)
{
	int64_t *strides = NEW_N(t->arena, int64_t, operand->rank + 1), step = 1, extent;
	for (int i = 0; i < operand->rank; i++)
		strides[i] = array_count(called);
	for (int d = operand->tensor->rank - 1; d >= 0; d--) {
		ck_assert(dim_is_const(operand->tensor->hi[d], &extent));
		for (int i = 0; i < operand->rank; i++)
			if (operand->dims[i] == d)
				strides[i] = step;
		step *= extent;
	}
	return (VendorArg){
		.type = DT_F32, .rank = called->rank, .dims = called->dims, .strides = strides};
}

/* What the library makes of the call, where it has it. */
static void
ask_library(Trial *t, const VendorMatch *m, int narg, Array *const *args, Array *const *inputs,
            const Array *expected)
{
	char error[256];
	VendorArg given[4] = {{.type = DT_NONE}};
	void *buffers[4] = {NULL};
	Array *y = array_of(t, m->result.tensor);
	for (int i = 0; i < m->program->ninput; i++)
		for (int k = 0; k < VENDOR_OPERANDS; k++)
			if (m->operands[k].tensor == m->program->inputs[i]) {
				given[k] = library_arg(t, &m->operands[k], args[k]);
				buffers[k] = inputs[i]->data;
			}
	given[narg - 1] = library_arg(t, &m->result, args[narg - 1]);
	buffers[narg - 1] = y->data;
	VendorCall call = {m->row->library, m->row->name, narg, given, m->nattr, m->attrs};
	PreparedCall *prepared = vendor_onednn.prepare(library, &call, error, sizeof error);
	if (!prepared)
		return;
	void *scratch = arena_alloc_aligned(t->arena, prepared->scratch + 64, 64);
	for (int piece = 0; piece < prepared->pieces; piece++)
		ck_assert_msg(vendor_onednn.run(prepared, piece, buffers, scratch, error, sizeof error),
		              "%s", error);
	for (int64_t i = 0; i < array_count(y); i++) {
		double a = dtype_load_f64(DT_F32, expected->data, i);
		double b = dtype_load_f64(DT_F32, y->data, i);
		ck_assert_msg(fabs(a - b) <= 1e-5 * fmax(1, fabs(a)), "%s: %s gives %g instead of %g",
		              t->text, prepared->impl, b, a);
	}
	vendor_onednn.drop(prepared);
	library_runs++;
}

static void
judge(Trial *t, const VendorMatch *match, Array *const *inputs, const Array *expected)
{
	Array *args[4], *y = array_as_called(t, &match->result);
	int narg = 0;
	args[narg++] = as_called(t, match->program, &match->operands[0], inputs);
	if (match->operands[1].tensor) {
		args[narg++] = as_called(t, match->program, &match->operands[1], inputs);
		args[narg++] = NULL;
	}
	args[narg++] = y;
	ck_assert_int_eq(array_count(y), array_count(expected));
	if (library && match->row->library && t->dice % BY_LIBRARY == 0)
		ask_library(t, match, narg, args, inputs, expected);
	row_run(&(RowCall){match->row->name, narg, args, match->nattr, match->attrs});
	for (int64_t i = 0; i < array_count(y); i++) {
		double a = dtype_load_f64(DT_F32, expected->data, place_of(&match->result, y, i));
		double b = dtype_load_f64(DT_F32, y->data, i);
		ck_assert_msg(fabs(a - b) <= 1e-5 * fmax(1, fabs(a)), "%s matches %s: %g instead of %g",
		              t->text, match->row->name, b, a);
	}
}

/* Whether the program, if it is one, matches; what matches must be right. */
static bool
try_program(const char *text, uint64_t dice)
{
	Trial t = {.arena = arena_new("match"), .text = text, .dice = dice};
	Failure failure;
	VendorFound found = {.count = 0};
	if (try_run(parse, &t, &failure)) {
		const Program *program = program_inline_stages(t.arena, t.program);
		Array *inputs[MAX_READS], *expected;
		for (int i = 0; i < program->ninput; i++)
			inputs[i] = array_of(&t, program->inputs[i]);
		found = vendor_match(row_forms(t.arena), t.arena, program, NULL, NULL);
		program_eval(t.arena, program, NULL, (const Array *const *)inputs, &expected);
		for (int i = 0; i < found.count; i++)
			judge(&t, &found.match[i], inputs, expected);
	}
	arena_free(t.arena);
	return found.count > 0;
}

START_TEST(matches_are_sound)
{
	static void (*const makers[])(Made * made, int size) = {make_conv, make_pool, make_matmul,
	                                                        make_band};
	char error[256];
	int matches[countof(makers)] = {0};
	library = vendor_onednn.open(error, sizeof error);
	for (int i = _i * PROGRAMS; i < (_i + 1) * PROGRAMS; i++) {
		Arena *arena = arena_new("text");
		Made made = {.dice = (uint64_t)i, .channel = 0};
		int maker = i % (int)countof(makers);
		makers[maker](&made, between(&made, maker < 2 ? 1 : 0, 2));
		spoil(&made);
		make_extents(&made);
		matches[maker] += try_program(print_made(arena, &made), made.dice);
		arena_free(arena);
	}
	if (getenv("MATCH_PROGRAMS"))
		printf("%d programs; match conv %d, pool %d, matmul %d, bands %d; run by the library %d\n",
		       PROGRAMS, matches[0], matches[1], matches[2], matches[3], library_runs);
	for (size_t maker = 0; maker < countof(makers); maker++)
		ck_assert_int_gt(matches[maker], PROGRAMS / 30);
	if (library)
		vendor_onednn.close(library);
	library = NULL;
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("matching");
	const char *given = getenv("MATCH_PROGRAMS");
	int programs = given ? atoi(given) : PROGRAMS;
	tcase_add_loop_test(tcase, matches_are_sound, 0, (programs + PROGRAMS - 1) / PROGRAMS);
	return unit_run(tcase);
}
