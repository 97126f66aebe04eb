/* Matching vendor rows: what matches is what the row says, by its definition (vendor_rows.h), and
 * what is a little different is no match. Programs are made at random around a convolution, a pool
 * and a matrix product, with dims in any order, groups, no batch, and then with indices shifted,
 * scaled, repeated, exchanged or gone, reductions that move nothing, guards that say more, and
 * tensors larger than what is read. Some matches are run by the library as well, on the tensors as
 * they lie. MATCH_PROGRAMS says how many programs; a few thousand without it.
 */
#include "match_made.h"
#include "program/forms.h"

#include <stdio.h>
#include <stdlib.h>

#include "expr/interp/interp.h"
#include "program/match.h"
#include "random_number.h"
#include "runtime/onednn/call.h"

enum { PROGRAMS = 3000, BY_LIBRARY = 10 };

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
	bool is_here = match->row->library && strcmp(match->row->library, "onednn") == 0;
	if (library && is_here && t->dice % BY_LIBRARY == 0)
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
	int matches[countof(makers)] = {0}, transposed = 0;
	library = vendor_onednn.open(error, sizeof error);
	for (int i = _i * PROGRAMS; i < (_i + 1) * PROGRAMS; i++) {
		Arena *arena = arena_new("text");
		Made made = {.dice = (uint64_t)i, .channel = 0};
		int maker = i % (int)countof(makers);
		makers[maker](&made, between(&made, maker < 2 ? 1 : 0, 2));
		spoil(&made);
		make_extents(&made);
		matches[maker] += try_program(print_made(arena, &made), made.dice);
		made.dice = (uint64_t)i;
		if (maker == 0)
			transposed += try_program(print_transposed(arena, &made), made.dice);
		arena_free(arena);
	}
	if (getenv("MATCH_PROGRAMS"))
		printf("%d programs; match conv %d, pool %d, matmul %d, bands %d; run by the library %d; "
		       "of a fourth as many transposed %d\n",
		       PROGRAMS, matches[0], matches[1], matches[2], matches[3], library_runs, transposed);
	for (size_t maker = 0; maker < countof(makers); maker++)
		ck_assert_int_gt(matches[maker], PROGRAMS / 30);
	ck_assert_int_gt(transposed, PROGRAMS / 30);
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
