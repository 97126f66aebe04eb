/* A kernel's candidates: other scripts for the same loops; recorded choices say which it takes. */
#include <string.h>

#include "base/buf.h"
#include "expr/scalar/ctx.h"
#include "lower/lower.h"
#include "passes/manager.h"
#include "random_number.h"
#include "tir/script.h"
#include "unit.h"

static const char text[] = "expr f(A: f32[104,70], B: f32[240,70]) -> Y {\n"
						   " Y[m:104, n:240]: f32 = sum(k:70) A[m, k] * B[n, k]\n}\n";

/* Windows of images whose rows are short. */
static const char windows[] =
	"expr f(A: f32[32,14,14], B: f32[32,3,3]) -> Y {\n"
	" Y[c:32, p:14, q:14]: f32 = sum(r:3, s:3 where 0 <= p+r-1, p+r-1 < 14, 0 <= q+s-1,"
	" q+s-1 < 14) A[c, p+r-1, q+s-1] * B[c, r, s]\n}\n";

static const Loc none = {0};

static Kernel *
make(Arena *arena, const Program *program, int candidate)
{
	const Target target = {.device = device_find("cpu:x86-64-v4")};
	const Dim *const **dense =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	return lower_group(arena, program, dense, "k", &none, "", &target, candidate);
}

static const char *
script_of(Arena *arena, const Kernel *kernel)
{
	Buf buf = {.arena = arena};
	script_print(&buf, kernel->script, "");
	return buf_text(&buf);
}

static Array *
result_of(Arena *arena, Kernel *kernel)
{
	static const Binding unbound = {0};
	Array *buffers[3];
	uint64_t state = 1;
	script_apply(kernel, kernel->script);
	kernel_finish(kernel);
	kernel_check(kernel);
	for (int i = 0; i < 3; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		int64_t dims[3];
		for (int d = 0; d < tensor->rank; d++)
			must(dim_is_const(tensor->hi[d], &dims[d]));
		buffers[i] = array_new(arena, DT_F32, tensor->rank, dims);
		for (int64_t k = 0; k < array_count(buffers[i]); k++)
			((float *)buffers[i]->data)[k] = (float)random_below(&state, 8);
	}
	kernel_eval(kernel, &unbound, buffers);
	return buffers[2];
}

/* They are different, end, and compute the same. */
START_TEST(all_of_them)
{
	Arena *arena = arena_new("test");
	const char *given = _i == 0 ? text : windows;
	const Program *program = program_parse(expr_ctx_new(arena), "text.e", given);
	const char *scripts[32];
	int count = 0;
	const Array *first = NULL;
	for (Kernel *kernel; (kernel = make(arena, program, count)); count++) {
		ck_assert_int_lt(count, 32);
		scripts[count] = script_of(arena, kernel);
		for (int i = 0; i < count; i++)
			ck_assert_str_ne(scripts[i], scripts[count]);
		const Array *result = result_of(arena, kernel);
		first = first ? first : result;
		ck_assert_mem_eq(first->data, result->data, array_bytes(first));
	}
	ck_assert_int_gt(count, 1);
	arena_free(arena);
}
END_TEST

/* First a whole column of rows, then fewer. */
START_TEST(rows_of_windows)
{
	static const char *const rows[] = {"split p 14 -> ", "split p 7 -> ", "split p 2 -> "};
	Arena *arena = arena_new("test");
	const Program *program = program_parse(expr_ctx_new(arena), "windows.e", windows);
	for (int i = 0; i < (int)countof(rows); i++)
		ck_assert_ptr_nonnull(strstr(script_of(arena, make(arena, program, i)), rows[i]));
	ck_assert_ptr_null(make(arena, program, (int)countof(rows)));
	arena_free(arena);
}
END_TEST

/* Roller's programs differ where a product is cut at all. */
START_TEST(several_sizes)
{
	Arena *arena = arena_new("test");
	const Program *program =
		program_parse(expr_ctx_new(arena), "product.e",
	                  "expr f(A: f32[1024,1024], B: f32[1024,1024]) -> Y {\n"
	                  " Y[m:1024, n:1024]: f32 = sum(k:1024) A[m, k] * B[k, n]\n}\n");
	int count = 0;
	while (make(arena, program, count))
		count++;
	ck_assert_int_gt(count, 3);
	arena_free(arena);
}
END_TEST

static Kernel *
chosen(Arena *arena, const Program *program, const char *name, const char *key, const char *answer,
       PassContext *context)
{
	*context = (PassContext){.arena = arena, .level = 3, .recorded = {.arena = arena}};
	Target *target = NEW(arena, Target);
	*target = (Target){.device = device_find("cpu:x86-64-v4")};
	context->target = target;
	if (key)
		map_set(&context->recorded, key, (void *)(uintptr_t)answer);
	const KernelSource source = {
		.program = program,
		.strides = NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1)};
	return lower_source(arena, &source, name, &none, "", context);
}

/* The choice is by what is computed, not by names; what is no candidate leaves the first. */
START_TEST(by_choices)
{
	Arena *arena = arena_new("test");
	PassContext context;
	const Program *program = program_parse(expr_ctx_new(arena), "product.e", text);
	const Kernel *first = chosen(arena, program, "k", NULL, NULL, &context);
	const char *key = first->source->key, *before = script_of(arena, first);
	ck_assert_int_eq(context.choices.count, 0);
	const Program *again =
		program_parse(expr_ctx_new(arena), "product.e",
	                  "expr g(P: f32[104,70], Q: f32[240,70]) -> R {\n"
	                  " R[i:104, j:240]: f32 = sum(t:70) P[i, t] * Q[j, t]\n}\n");
	const Kernel *second = chosen(arena, again, "other", key, "1", &context);
	ck_assert_str_eq(second->source->key, key);
	ck_assert_str_ne(script_of(arena, second), before);
	ck_assert_int_eq(context.choices.count, 1);
	ck_assert_str_eq(context.choices.data[0].chosen, "1");
	const char *const wrong[] = {"", "-1", "0", "1x", "99", "99999999999999999999"};
	for (size_t i = 0; i < countof(wrong); i++) {
		ck_assert_str_eq(script_of(arena, chosen(arena, program, "k", key, wrong[i], &context)),
		                 before);
		ck_assert_int_eq(context.choices.count, 0);
	}
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("candidates");
	tcase_add_loop_test(tcase, all_of_them, 0, 2);
	tcase_add_test(tcase, rows_of_windows);
	tcase_add_test(tcase, several_sizes);
	tcase_add_test(tcase, by_choices);
	return unit_run(tcase);
}
