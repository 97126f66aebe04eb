/* A file of kernels is compiled kernel by kernel: equal ones of two files are one text and are
 * compiled once, and what comes out does not depend on what was in the cache. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen_run.h"

#include "unit.h"

static const char *const KERNELS[] = {
	"kernel scale(N, X: f32[N], Y: out f32[N]) {\n  for i in N @vector\n    Y[i] = X[i] * 3.0\n}",
	"kernel add(N, X: f32[N], Y: out f32[N]) {\n  for i in N @vector\n    Y[i] = X[i] + 1.0\n}",
	"kernel grow(N, X: f32[N], Y: out f32[N]) {\n  for i in N @vector\n    Y[i] = exp(X[i])\n}",
};

/* The text of these of KERNELS, called and in the order as `which` says. */
static const char *
text_of(Arena *arena, const char *which)
{
	ExprCtx *ctx = expr_ctx_new(arena);
	Kernel *kernels[8];
	int count = 0;
	for (; which[count]; count++)
		kernels[count] = kernel_parse(arena, ctx, arena_printf(arena, "%s%d", which, count),
		                              KERNELS[which[count] - '0']);
	Target target = {.device = device_native()};
	return make_text(arena, &target, count, kernels);
}

START_TEST(test_says_nothing_of_the_file)
{
	Arena *arena = arena_new("test");
	Target target = {.device = device_native()};
	StrVec some = codegen_units(arena, &target, text_of(arena, "01"));
	StrVec others = codegen_units(arena, &target, text_of(arena, "210"));
	ck_assert_int_eq(some.count, 3); /* the table is the last */
	ck_assert_int_eq(others.count, 4);
	ck_assert_str_eq(some.data[0], others.data[2]);
	ck_assert_str_eq(some.data[1], others.data[1]);
	ck_assert_ptr_null(strstr(some.data[0], "\nmemcpy("));
	ck_assert_ptr_nonnull(strstr(some.data[2], "\nmemcpy("));
	ck_assert_ptr_null(strstr(some.data[1], "tw_exp"));
	ck_assert_ptr_nonnull(strstr(others.data[0], "tw_exp"));
	ck_assert_int_eq(codegen_units(arena, &target, "int x;\n").count, 1);
	arena_free(arena);
}
END_TEST

/* A compiler that counts: a line of its log for each object. */
static void
count_compilers(const char *folder)
{
	char path[300], log[300];
	snprintf(path, sizeof path, "%s/cc", folder);
	snprintf(log, sizeof log, "%s/log", folder);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "#!/bin/sh\ncase \" $* \" in *' -c '*) echo >>%s ;; esac\nexec cc \"$@\"\n", log);
	fclose(file);
	ck_assert_int_eq(chmod(path, 0700), 0);
	setenv("CC", path, 1);
	setenv("XDG_CACHE_HOME", folder, 1);
}

static long
compiled(const char *folder)
{
	struct stat info;
	char log[300];
	snprintf(log, sizeof log, "%s/log", folder);
	return stat(log, &info) == 0 ? (long)info.st_size : 0;
}

START_TEST(test_compiles_what_is_new)
{
	Arena *arena = arena_new("test");
	char folder[] = "/tmp/codegen-units-XXXXXX", command[128];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	count_compilers(folder);
	Target target = {.device = device_native()};
	const char *some = text_of(arena, "01"), *all = text_of(arena, "012");
	codegen_compile(arena, &target, some, NULL);
	ck_assert_int_eq(compiled(folder), 3);
	codegen_compile(arena, &target, some, NULL);
	ck_assert_int_eq(compiled(folder), 3);
	Bytes partly = codegen_compile(arena, &target, all, NULL);
	ck_assert_int_eq(compiled(folder), 5); /* the new kernel, and the table */
	snprintf(command, sizeof command, "rm -rf %s/tilewright", folder);
	ck_assert_int_eq(system(command), 0);
	Bytes anew = codegen_compile(arena, &target, all, NULL);
	ck_assert_int_eq(compiled(folder), 9);
	ck_assert_uint_eq(partly.size, anew.size);
	ck_assert_int_eq(memcmp(partly.data, anew.data, anew.size), 0);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("units");
	tcase_add_test(tests, test_says_nothing_of_the_file);
	tcase_add_test(tests, test_compiles_what_is_new);
	return unit_run(tests);
}
