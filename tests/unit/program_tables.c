/* Tables of integers folded into sums of iterators: random ones in steady steps go, those with one
 * number that is no step stay, and a gather by either has the values that it had.
 */
#include <string.h>

#include "expr/interp/interp.h"
#include "program/forms.h"
#include "random_number.h"
#include "unit.h"

enum { TABLES = 2000, EXTENT = 40 };

static Arena *arena;
static uint64_t state = 1;

static int
pick(int below)
{
	return (int)random_below(&state, (unsigned)below);
}

/* Places in EXTENT, from its end where they are negative. */
static Array *
make_table(bool *is_steady)
{
	int64_t dims[2] = {1 + pick(4), 1 + pick(4)}, step[2] = {pick(7) - 3, pick(7) - 3};
	Array *table = array_new(arena, DT_I64, 2, dims);
	int64_t first = pick(2 * EXTENT - 36) - EXTENT + 18, *value = table->data;
	for (int64_t k = 0; k < dims[0] * dims[1]; k++)
		value[k] = first + step[0] * (k / dims[1]) + step[1] * (k % dims[1]);
	int64_t count = dims[0] * dims[1];
	*is_steady = dims[0] < 2 || dims[1] < 2 ? count < 3 || pick(2) : pick(2);
	if (!*is_steady)
		value[count - 1] += 1 + pick(2);
	return table;
}

static Array *
eval(const Program *program, const Array *const *inputs)
{
	Array *out = NULL;
	program_eval(arena, program, NULL, inputs, &out);
	return out;
}

static bool
reads_table(const Program *program)
{
	bool found = false;
	for (int s = 0; s < program->nstage; s++)
		for (ExprWalk walk = stage_walk(program->stages[s]); expr_step(&walk);)
			found |= walk.e->op == EX_read && walk.e->tensor == program->inputs[1];
	return found;
}

START_TEST(tables_in_steady_steps_are_sums_of_iterators)
{
	int64_t extent = EXTENT;
	for (int i = 0; i < TABLES; i++) {
		arena = arena_new("tables");
		bool is_steady;
		Array *x = array_new(arena, DT_F32, 1, &extent), *table = make_table(&is_steady);
		for (int k = 0; k < EXTENT; k++)
			((float *)x->data)[k] = (float)k;
		const Program *program = program_parse(
			expr_ctx_new(arena), "table",
			arena_printf(arena,
		                 "expr f(X: f32[%d], I: i64[%d,%d]) -> Y {\n"
		                 " Y[i:%d, j:%d]: f32 = X[at(I[i, j], 0..%d, wrap, check)]\n}\n",
		                 EXTENT, (int)table->dims[0], (int)table->dims[1], (int)table->dims[0],
		                 (int)table->dims[1], EXTENT));
		const Array *inputs[] = {x, table}, *known[] = {NULL, table};
		const Program *folded = program_fold_numbers(program, known);
		program_check(folded);
		const Array *wanted = eval(program, inputs), *seen = eval(folded, inputs);
		ck_assert_mem_eq(wanted->data, seen->data, array_bytes(wanted));
		ck_assert_int_eq(reads_table(folded), !is_steady && array_count(table) > 1);
		arena_free(arena);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("program_tables");
	tcase_add_test(t, tables_in_steady_steps_are_sums_of_iterators);
	return unit_run(t);
}
