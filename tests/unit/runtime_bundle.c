/* Bundles through the public header: written, opened in three ways, run; damage of every part,
 * wrong machines, wrong calls. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "bundle/bundle.h"
#include "runtime/tilewright.h"
#include "unit.h"

static const char KERNELS_C[] = "#include <stdint.h>\n"
								"#include \"bundle/abi.h\"\n"
								"static void\n"
								"scale(const TwArgs *args, int64_t begin, int64_t end)\n"
								"{\n"
								"	const float *x = args->buffers[0], *w = args->buffers[1];\n"
								"	float *y = args->buffers[2];\n"
								"	for (int64_t i = begin; i < end; i++)\n"
								"		y[i] = x[i] * w[i % 4];\n"
								"}\n"
								"static TwKernel *const table[] = {scale};\n"
								"const TwKernels tw_kernels_v1 = {TW_KERNEL_ABI, 1, table};\n";

static const char PLAN[] =
	"{\"kernels\": [\"scale\"], \"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 1000, \"from\": "
	"\"input\", \"buffer\": 0,"
	" \"index\": 0}], \"dims\": [\"s0\", \"4\", \"s0 4 *\", \"s0 16 *\"], \"buffers\": ["
	"{\"name\": \"x\", \"type\": \"f32\", \"dims\": [0, 1], \"kind\": \"input\", \"index\": 0},"
	"{\"name\": \"w\", \"type\": \"f32\", \"dims\": [1], \"kind\": \"weight\", \"offset\": 0,"
	" \"bytes\": 16},"
	"{\"name\": \"t\", \"type\": \"f32\", \"dims\": [0, 1], \"kind\": \"temp\", \"size\": 3,"
	" \"first\": 0, \"last\": 1},"
	"{\"name\": \"y\", \"type\": \"f32\", \"dims\": [0, 1], \"kind\": \"output\", \"index\": 0}],"
	"\"steps\": ["
	"{\"kind\": \"kernel\", \"name\": \"first\", \"origins\": \"n1\", \"kernel\": 0, \"extent\": 2,"
	" \"args\": [0, 1, 2], \"outputs\": 1, \"flops\": 5, \"bytes\": 7},"
	"{\"kind\": \"kernel\", \"name\": \"second\", \"origins\": \"n2\", \"kernel\": 0,"
	" \"extent\": 2, \"args\": [2, 1, 3], \"outputs\": 1}],"
	"\"inputs\": [0], \"outputs\": [3], \"assumptions\": []}";

static const float WEIGHTS[4] = {1, 2, 3, 4};

static char folder[] = "/tmp/tw-bundle-XXXXXX";
static Arena *arena;
static const char *path; /* of the bundle */
static Bytes kernels;

static const char *
in_folder(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static ManifestPart
part_of(const char *entry, const void *data, size_t size)
{
	return (ManifestPart){entry, size, hash128(data, size)};
}

/* Write a bundle for `march`. */
static const char *
write_bundle(const char *name, const char *march, const char *plan_text)
{
	const char *file = in_folder(name);
	const char *const dims[] = {"N", "4"};
	const ManifestTensor x = {"x", DT_F32, 2, dims}, y = {"y", DT_F32, 2, dims};
	const ManifestSymbol symbol = {"N", 1, 1000};
	const ManifestTarget target = {
		arena_printf(arena, "cpu:%s", march), march, "plan/p.json", "kernels/k.so", "", ""};
	const ManifestPart parts[] = {
		part_of("plan/p.json", plan_text, strlen(plan_text)),
		part_of("kernels/k.so", kernels.data, kernels.size),
		part_of("weights.bin", WEIGHTS, sizeof WEIGHTS),
		part_of("notes.txt", "hello", 5),
	};
	const Manifest manifest = {
		BUNDLE_MAJOR, BUNDLE_MINOR, "test 1", "m.onnx", "00",          "O1", 1,     1, 1, 1, 4,
		&symbol,      &x,           &y,       &target,  "weights.bin", 0,    parts,
	};
	Buf json = {.arena = arena};
	manifest_write(&json, &manifest);
	ZipWriter *zip = zip_create(arena, file);
	zip_add(zip, "manifest.json", buf_text(&json), json.size);
	zip_add(zip, "plan/p.json", plan_text, strlen(plan_text));
	zip_add(zip, "kernels/k.so", kernels.data, kernels.size);
	zip_add(zip, "weights.bin", WEIGHTS, sizeof WEIGHTS);
	zip_add(zip, "notes.txt", "hello", 5);
	zip_commit(zip);
	return file;
}

/* The kernels are compiled once for all tests, as the compiler would. */
static void
set_up(void)
{
	arena = arena_new("test");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	file_write(arena, in_folder("k.c"), KERNELS_C, strlen(KERNELS_C));
	const char *command =
		arena_printf(arena, "cc -std=c11 -O1 -ffreestanding -nostdlib -fPIC -shared -Isrc %s -o %s",
	                 in_folder("k.c"), in_folder("k.so"));
	ck_assert_int_eq(system(command), 0);
	kernels = file_map(arena, in_folder("k.so"));
	path = write_bundle("good.twb", cpu_march(), PLAN);
}

static void
tear_down(void)
{
	char command[64];
	arena_free(arena);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static TwError error;

static void
check_run(TwBundle *bundle, const TwSessionOptions *options)
{
	TwSession *session;
	ck_assert_msg(tw_session_new(bundle, options, &session, &error) == TW_OK, "%s", error.text);
	float x[12], y[12];
	for (int64_t n = 1; n <= 3; n++) {
		int64_t dims[2] = {n, 4};
		size_t bytes = (size_t)n * 4 * sizeof *x;
		for (int i = 0; i < 12; i++)
			x[i] = (float)i + 1;
		ck_assert_int_eq(tw_bind_input(session, 0, x, bytes, 2, dims, &error), TW_OK);
		ck_assert_int_eq(tw_bind_output(session, 0, n == 2 ? NULL : y, bytes, &error), TW_OK);
		ck_assert_msg(tw_run(session, &error) == TW_OK, "%s", error.text);
		TwTensor out;
		ck_assert_int_eq(tw_get_output(session, 0, &out, &error), TW_OK);
		ck_assert_int_eq(out.dims[0], n);
		ck_assert_uint_eq(out.bytes, bytes);
		ck_assert(n == 2 || out.data == y);
		const float *got = out.data;
		for (int i = 0; i < n * 4; i++)
			ck_assert(got[i] == x[i] * WEIGHTS[i % 4] * WEIGHTS[i % 4]);
	}
	tw_session_free(session);
}

/* The caller's memory for a result may not overlap what is read; next to it is well. */
START_TEST(outputs_apart)
{
	TwBundle *bundle;
	TwSession *session;
	float memory[24] = {0};
	int64_t dims[2] = {3, 4};
	ck_assert_int_eq(tw_open(path, NULL, &bundle, &error), TW_OK);
	ck_assert_int_eq(tw_session_new(bundle, NULL, &session, &error), TW_OK);
	ck_assert_int_eq(tw_bind_input(session, 0, memory, 48, 2, dims, &error), TW_OK);
	for (int first = 0; first <= 12; first += 4) {
		ck_assert_int_eq(tw_bind_output(session, 0, memory + first, 48, &error), TW_OK);
		ck_assert_int_eq(tw_run(session, &error), first < 12 ? TW_USAGE : TW_OK);
		ck_assert(first == 12 || strstr(error.text, "overlaps that of input"));
	}
	tw_session_free(session);
	tw_close(bundle);
}
END_TEST

START_TEST(opened_in_three_ways)
{
	TwBundle *bundle;
	ck_assert_msg(tw_open(path, NULL, &bundle, &error) == TW_OK, "%s", error.text);
	check_run(bundle, NULL);
	tw_close(bundle);
	int file = open(path, O_RDONLY);
	ck_assert_int_eq(tw_open_descriptor(file, NULL, &bundle, &error), TW_OK);
	close(file);
	check_run(bundle, NULL);
	Bytes bytes = file_map(arena, path);
	TwBundle *second; /* at the same time: the kernels of both are loaded */
	ck_assert_int_eq(tw_open_memory(bytes.data, bytes.size, NULL, &second, &error), TW_OK);
	check_run(second, NULL);
	check_run(bundle, NULL);
	tw_close(bundle);
	tw_close(second);
}
END_TEST

START_TEST(signature)
{
	TwBundle *bundle;
	ck_assert_int_eq(tw_open(path, NULL, &bundle, NULL), TW_OK);
	ck_assert_int_eq(tw_input_count(bundle), 1);
	const TwTensorInfo *x = tw_input(bundle, 0);
	ck_assert_str_eq(x->name, "x");
	ck_assert_int_eq(x->type, TW_F32);
	ck_assert_str_eq(x->dims[0].symbol, "N");
	ck_assert_int_eq(x->dims[0].value, -1);
	ck_assert_int_eq(x->dims[0].hi, 1000);
	ck_assert_int_eq(x->dims[1].value, 4);
	ck_assert_ptr_null(x->dims[1].symbol);
	ck_assert_int_eq(x->is_data_dependent, 0);
	ck_assert_ptr_null(tw_input(bundle, 1));
	ck_assert_int_eq(tw_find_output(bundle, "y"), 0);
	ck_assert_int_eq(tw_find_output(bundle, "z"), -1);
	ck_assert_str_eq(tw_producer(bundle), "test 1");
	ck_assert_str_eq(tw_vendor(bundle), "");
	tw_close(bundle);
}
END_TEST

static void
note_step(void *context, const TwStep *step)
{
	char *seen = context;
	strcat(strcat(seen, step->name), ",");
	ck_assert_str_eq(step->kind, "kernel");
	ck_assert(step->seconds >= 0);
}

START_TEST(options)
{
	TwBundle *bundle;
	TwSession *session;
	ck_assert_int_eq(tw_open(path, NULL, &bundle, &error), TW_OK);
	char seen[200] = "";
	TwSessionOptions o = {
		.size = sizeof o, .threads = 1, .profile = note_step, .profile_context = seen};
	check_run(bundle, &o);
	ck_assert_str_eq(seen, "first,second,first,second,first,second,");
	o = (TwSessionOptions){.size = offsetof(TwSessionOptions, spin_us), .threads = 2};
	check_run(bundle, &o); /* an older caller's options */
	struct {
		TwSessionOptions known;
		int unknown;
	} newer = {{.size = sizeof newer}, 1};
	ck_assert_int_eq(tw_session_new(bundle, &newer.known, &session, &error), TW_USAGE);
	newer.unknown = 0;
	check_run(bundle, &newer.known);
	o = (TwSessionOptions){.size = sizeof o, .arena = seen + 1, .arena_size = 9};
	ck_assert_int_eq(tw_session_new(bundle, &o, &session, &error), TW_USAGE);
	tw_close(bundle);
}
END_TEST

START_TEST(wrong_calls)
{
	TwBundle *bundle;
	TwSession *session;
	TwTensor out;
	float x[4] = {0};
	int64_t dims[2] = {1, 4}, bad[2] = {1, -4}, other[2] = {1, 3};
	ck_assert_int_eq(tw_open(path, NULL, &bundle, &error), TW_OK);
	ck_assert_int_eq(tw_session_new(bundle, NULL, &session, &error), TW_OK);
	tw_close(bundle); /* the session keeps it */
	ck_assert_int_eq(tw_run(session, &error), TW_USAGE);
	ck_assert_int_eq(tw_bind_input(session, 1, x, 16, 2, dims, &error), TW_USAGE);
	ck_assert_int_eq(tw_bind_input(session, 0, x, 15, 2, dims, &error), TW_USAGE);
	ck_assert_int_eq(tw_bind_input(session, 0, x, 16, 1, dims, &error), TW_SHAPE);
	ck_assert_int_eq(tw_bind_input(session, 0, x, 16, 2, bad, &error), TW_SHAPE);
	ck_assert_int_eq(tw_bind_input(session, 0, x, 16, 2, other, &error), TW_SHAPE);
	ck_assert_str_eq(error.text, "input 'x' has shape [1,3], and its dim 1 must be 4");
	ck_assert_int_eq(tw_prepare(session, &error), TW_USAGE); /* nothing is bound */
	ck_assert_int_eq(tw_bind_input(session, 0, x, 16, 2, dims, &error), TW_OK);
	ck_assert_int_eq(tw_get_output(session, 0, &out, &error), TW_USAGE);
	ck_assert_int_eq(tw_prepare(session, &error), TW_OK);
	ck_assert_int_eq(tw_get_output(session, 0, &out, &error), TW_OK);
	ck_assert_uint_eq(out.bytes, 16);
	ck_assert_uint_eq(tw_arena_bytes(session), 64);
	ck_assert_int_eq(tw_get_output(session, 7, &out, &error), TW_USAGE);
	tw_session_free(session);
	tw_session_free(NULL);
	tw_close(NULL);
}
END_TEST

/* NULL where something must be: a code and a sentence, or an answer that says nothing. */
START_TEST(null_arguments)
{
	TwBundle *bundle;
	TwSession *session;
	TwTensor out;
	float x[4] = {0};
	int64_t dims[2] = {1, 4};
	size_t now = 1, most = 1;
	ck_assert_int_eq(tw_open(NULL, NULL, &bundle, &error), TW_USAGE);
	ck_assert_str_eq(error.text, "tw_open(): path is NULL");
	ck_assert_int_eq(tw_open(path, NULL, NULL, NULL), TW_USAGE);
	ck_assert_int_eq(tw_open_descriptor(0, NULL, NULL, &error), TW_USAGE);
	ck_assert_int_eq(tw_open_memory(NULL, 7, NULL, &bundle, &error), TW_USAGE);
	ck_assert_ptr_null(bundle);
	ck_assert_int_eq(tw_open_memory(x, 7, NULL, NULL, &error), TW_USAGE);
	ck_assert_int_eq(tw_input_count(NULL) + tw_output_count(NULL), 0);
	ck_assert(!tw_input(NULL, 0) && !tw_output(NULL, 0));
	ck_assert(tw_find_input(NULL, "x") == -1 && tw_find_output(NULL, "y") == -1);
	ck_assert(!*tw_target(NULL) && !*tw_producer(NULL) && !*tw_vendor(NULL));
	ck_assert_int_eq(tw_session_new(NULL, NULL, &session, &error), TW_USAGE);
	ck_assert_int_eq(tw_bind_input(NULL, 0, x, 16, 2, dims, &error), TW_USAGE);
	ck_assert_int_eq(tw_bind_output(NULL, 0, x, 16, &error), TW_USAGE);
	ck_assert_int_eq(tw_prepare(NULL, &error), TW_USAGE);
	ck_assert_int_eq(tw_run(NULL, NULL), TW_USAGE);
	ck_assert_int_eq(tw_get_output(NULL, 0, &out, &error), TW_USAGE);
	tw_memory(NULL, &now, &most);
	ck_assert(tw_arena_bytes(NULL) == 0 && now == 0 && most == 0);
	ck_assert_int_eq(tw_open(path, NULL, &bundle, NULL), TW_OK);
	ck_assert_int_eq(tw_find_input(bundle, NULL), -1);
	ck_assert_int_eq(tw_session_new(bundle, NULL, NULL, &error), TW_USAGE);
	ck_assert_int_eq(tw_session_new(bundle, NULL, &session, NULL), TW_OK);
	ck_assert_int_eq(tw_bind_input(session, 0, NULL, 16, 2, dims, &error), TW_USAGE);
	ck_assert_int_eq(tw_bind_input(session, 0, x, 16, 2, NULL, &error), TW_USAGE);
	ck_assert_int_eq(tw_get_output(session, 0, NULL, &error), TW_USAGE);
	tw_memory(session, NULL, NULL);
	tw_session_free(session);
	tw_close(bundle);
}
END_TEST

/* Every byte of the file, one at a time (every 7th where that would be many): the bundle is refused
 * with a sentence. Nothing in it is loose. */
START_TEST(one_byte_changed)
{
	Bytes good = file_map(arena, path);
	unsigned char *copy = arena_memdup(arena, good.data, good.size);
	TwBundle *bundle;
	ck_assert_int_eq(tw_open_memory(copy, good.size, NULL, &bundle, &error), TW_OK);
	tw_close(bundle);
	for (size_t i = 0; i < good.size; i += 7) {
		copy[i] ^= 0x10;
		error.text[0] = 0;
		ck_assert_msg(tw_open_memory(copy, good.size, NULL, &bundle, &error) == TW_DAMAGED,
		              "byte %zu may be changed", i);
		ck_assert(error.text[0] && !strchr(error.text, '\n'));
		copy[i] ^= 0x10;
	}
	for (size_t size = 0; size < good.size; size += 97)
		ck_assert_int_eq(tw_open_memory(copy, size, NULL, &bundle, &error), TW_DAMAGED);
}
END_TEST

START_TEST(damage_is_named)
{
	static const char *const PARTS[] = {"manifest.json", "plan/p.json", "kernels/k.so",
	                                    "weights.bin", "notes.txt"};
	Bytes good = file_map(arena, path);
	TwBundle *bundle;
	for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
		unsigned char *copy = arena_memdup(arena, good.data, good.size);
		ZipReader zip;
		ck_assert(zip_open(&zip, good, error.text, sizeof error.text));
		copy[zip_find(&zip, PARTS[i])->data.data - good.data + 1] ^= 1;
		zip_close(&zip);
		ck_assert_int_eq(tw_open_memory(copy, good.size, NULL, &bundle, &error), TW_DAMAGED);
		ck_assert_msg(strstr(error.text, PARTS[i]) != NULL, "%s", error.text);
		ck_assert_ptr_nonnull(strstr(error.text, "compile the model again"));
		TwOpenOptions lazy = {.size = sizeof lazy, .verify = TW_VERIFY_CODE};
		TwCode code = tw_open_memory(copy, good.size, &lazy, &bundle, &error);
		ck_assert_int_eq(code, i == 3 ? TW_OK : TW_DAMAGED);
		tw_close(bundle);
	}
}
END_TEST

START_TEST(expected_hash)
{
	TwBundle *bundle;
	Bytes good = file_map(arena, path);
	TwOpenOptions o = {.size = sizeof o, .sha256 = sha256_hex(arena, good.data, good.size)};
	ck_assert_int_eq(tw_open(path, &o, &bundle, &error), TW_OK);
	tw_close(bundle);
	o.sha256 = "00";
	ck_assert_int_eq(tw_open(path, &o, &bundle, &error), TW_DAMAGED);
	ck_assert_ptr_nonnull(strstr(error.text, "SHA-256"));
	ck_assert_ptr_null(bundle);
}
END_TEST

START_TEST(other_machines)
{
	TwBundle *bundle;
#ifdef __x86_64__
	const char *foreign = "armv8-a";
#else
	const char *foreign = "x86-64-v3";
#endif
	ck_assert_int_eq(tw_open(write_bundle("f.twb", foreign, PLAN), NULL, &bundle, &error),
	                 TW_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.text, "tilewright compile MODEL --target cpu:"));
	TwOpenOptions o = {.size = sizeof o, .target = "cpu:nothing"};
	ck_assert_int_eq(tw_open(path, &o, &bundle, &error), TW_UNSUPPORTED);
	ck_assert_int_eq(tw_open("/nowhere/x.twb", NULL, &bundle, &error), TW_FILE);
	ck_assert_int_eq(tw_open(folder, NULL, &bundle, &error), TW_FILE);
}
END_TEST

/* A plan that is not the manifest's, or not sound, is refused although its hash is right. */
START_TEST(wrong_plans)
{
	static const char *const CHANGES[][2] = {
		{"\"name\": \"x\"", "\"name\": \"z\""},
		{"\"args\": [2, 1, 3]", "\"args\": [3, 1, 3]"},
		{"\"kernel\": 0", "\"kernel\": 1"},
		{"\"first\": 0, \"last\": 1", "\"first\": 1, \"last\": 1"},
	};
	TwBundle *bundle;
	for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
		const char *at = strstr(PLAN, CHANGES[i][0]);
		const char *text = arena_printf(arena, "%.*s%s%s", (int)(at - PLAN), PLAN, CHANGES[i][1],
		                                at + strlen(CHANGES[i][0]));
		ck_assert_int_eq(tw_open(write_bundle("w.twb", cpu_march(), text), NULL, &bundle, &error),
		                 TW_DAMAGED);
	}
}
END_TEST

/* Kernels need neither a descriptor nor a file. */
START_TEST(kernels_without_files)
{
	TwBundle *bundle;
	struct rlimit old;
	Bytes good = file_map(arena, path);
	signal(SIGXFSZ, SIG_IGN);
	int limits[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		ck_assert_int_eq(getrlimit(limits[i], &old), 0);
		struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
		ck_assert_int_eq(setrlimit(limits[i], &none), 0);
		TwCode code = tw_open_memory(good.data, good.size, NULL, &bundle, &error);
		ck_assert_int_eq(setrlimit(limits[i], &old), 0);
		ck_assert_int_eq(code, TW_OK);
		check_run(bundle, NULL);
		tw_close(bundle);
	}
}
END_TEST

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65 /* Linux 6.3 */
#endif

/* The machine, not the bundle, is to blame: memory must not become code here. */
START_TEST(no_code_for_kernels)
{
	TwBundle *bundle;
	pid_t child = fork();
	if (child == 0) {
		if (prctl(PR_SET_MDWE, 1, 0, 0, 0))
			_exit(77);
		TwCode code = tw_open(path, NULL, &bundle, &error);
		_exit(code != TW_FILE || !strstr(error.text, "this system lets no memory become code"));
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		fprintf(stderr, "skipped: for want of mdwe: this kernel forbids no code in memory\n");
	else
		ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(fork_after_run)
{
	TwBundle *bundle;
	ck_assert_int_eq(tw_open(path, NULL, &bundle, &error), TW_OK);
	check_run(bundle, NULL);
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		check_run(bundle, NULL);
		_exit(0);
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	tw_close(bundle);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("bundle");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, opened_in_three_ways);
	tcase_add_test(t, outputs_apart);
	tcase_add_test(t, signature);
	tcase_add_test(t, options);
	tcase_add_test(t, wrong_calls);
	tcase_add_test(t, null_arguments);
	tcase_add_test(t, one_byte_changed);
	tcase_add_test(t, damage_is_named);
	tcase_add_test(t, expected_hash);
	tcase_add_test(t, other_machines);
	tcase_add_test(t, wrong_plans);
	tcase_add_test(t, kernels_without_files);
	tcase_add_test(t, no_code_for_kernels);
	tcase_add_test(t, fork_after_run);
	return unit_run(t);
}
