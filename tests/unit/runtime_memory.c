/* A library without memory: every allocation of opening, binding and running fails once, the n-th
 * one in the n-th attempt. Each attempt succeeds or says that memory is out; nothing takes it for
 * damage, and nothing leaks.
 *
 * malloc() and its kin are replaced for the whole program; sanitizers have replaced them already.
 */
#include "unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "runtime/tilewright.h"

#if defined __SANITIZE_ADDRESS__

START_TEST(not_with_a_sanitizer)
{
}
END_TEST

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/* Allocations until the one that fails; what is below 0 fails no more. */
static atomic_long left = -1;
static atomic_long held; /* pieces given out and not back */

static bool
is_refused(void)
{
	if (atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0)
		return false;
	errno = ENOMEM;
	return true;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved words */
static void *
given(void *memory)
{
	if (memory)
		atomic_fetch_add(&held, 1);
	return memory;
}

void *
malloc(size_t size)
{
	return is_refused() ? NULL : given(__libc_malloc(size));
}

void *
calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : given(__libc_calloc(count, size));
}

void *
realloc(void *old, size_t size)
{
	void *memory = is_refused() ? NULL : __libc_realloc(old, size);
	return old ? memory : given(memory);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
	return is_refused() ? NULL : given(__libc_memalign(alignment, size));
}

int
posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = aligned_alloc(alignment, size);
	return *memory ? 0 : ENOMEM;
}

void
free(void *memory)
{
	if (memory)
		atomic_fetch_sub(&held, 1);
	__libc_free(memory);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static TwError error;

static TwCode
run_session(TwBundle *bundle)
{
	TwSession *session;
	TwSessionOptions options = {.size = sizeof options, .threads = 1};
	float x[300] = {0};
	int64_t dims[2] = {3, 100};
	TwCode code = tw_session_new(bundle, &options, &session, &error);
	if (!code)
		code = tw_bind_input(session, 0, x, sizeof x, 2, dims, &error);
	if (!code)
		code = tw_prepare(session, &error);
	if (!code)
		code = tw_run(session, &error);
	tw_session_free(session);
	return code;
}

static TwCode
open_and_run(const char *path)
{
	TwBundle *bundle;
	TwCode code = tw_open(path, NULL, &bundle, &error);
	if (!code)
		code = run_session(bundle);
	tw_close(bundle);
	return code;
}

static const char MODEL[] = "graph g(%x: f32[N,100]) -> %y, %i {\n"
							"  %k: i64[1] = {2}\n"
							"  %s = Softmax(%x) {axis=1}\n"
							"  %y = Mul(%s, %x)\n"
							"  %i = NonZero(%y)\n"
							"}\n";

static void
make_bundle(const char *folder)
{
	char command[400], text[64];
	snprintf(text, sizeof text, "%s/m.txt", folder);
	FILE *file = fopen(text, "w");
	ck_assert_ptr_nonnull(file);
	fputs(MODEL, file);
	fclose(file);
	const char *tw = getenv("TILEWRIGHT");
	snprintf(command, sizeof command, "%s compile -q --no-vendor %s -o %s/m.twb",
	         tw ? tw : "build/tilewright", text, folder);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(every_allocation_fails_once)
{
	enum { MOST = 20000 };
	char folder[] = "/tmp/tw-memory-XXXXXX", path[64], command[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	make_bundle(folder);
	snprintf(path, sizeof path, "%s/m.twb", folder);
	ck_assert_msg(open_and_run(path) == TW_OK, "%s", error.text);
	long before = atomic_load(&held);
	int n = 0, refused = 0;
	for (; n < MOST; n++) {
		atomic_store(&left, n);
		TwCode code = open_and_run(path);
		bool is_over = atomic_exchange(&left, -1) >= 0;
		if (code != TW_MEMORY && code != TW_OK)
			ck_abort_msg("allocation %d: code %d, %s", n, code, error.text);
		refused += code == TW_MEMORY;
		if (is_over)
			break;
	}
	ck_assert_msg(n < MOST && refused > 15, "%d of %d allocations refused", refused, n);
	/* The C library keeps a text of its last error for dlerror(). */
	long more = atomic_load(&held) - before;
	ck_assert_msg(more <= 2, "%ld allocations are left over", more);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

typedef struct Call {
	Arena *arena;
	char *verb, *path;
} Call;

static void
call_verb(void *arg)
{
	Call *call = arg;
	Options *options = NEW(call->arena, Options);
	*options = (Options){.arena = call->arena, .verb = verb_find(call->verb)};
	options_read(options, 1, &call->path);
	options->verb->run(options);
}

/* What looks at bundles without running them: memory is the environment's, no fault of the file. */
START_TEST(verbs_without_memory)
{
	char folder[] = "/tmp/tw-memory-XXXXXX", path[64], command[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	make_bundle(folder);
	snprintf(path, sizeof path, "%s/m.twb", folder);
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
	bool is_over = false;
	for (int n = 0; !is_over; n++) {
		Failure failure;
		Call call = {arena_new("command"), _i ? "check" : "inspect", path};
		atomic_store(&left, n);
		bool is_fine = try_run(call_verb, &call, &failure);
		is_over = atomic_exchange(&left, -1) >= 0;
		if (!is_fine && failure.kind != FAIL_ENVIRONMENT)
			ck_abort_msg("allocation %d: kind %d, %s", n, (int)failure.kind, failure.text);
		arena_free(call.arena);
	}
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

#endif

int
main(void)
{
	TCase *t = tcase_create("runtime_memory");
#if defined __SANITIZE_ADDRESS__
	tcase_add_test(t, not_with_a_sanitizer);
#else
	tcase_add_test(t, every_allocation_fails_once);
	tcase_add_loop_test(t, verbs_without_memory, 0, 2);
#endif
	return unit_run(t);
}
