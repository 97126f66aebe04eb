/* Plans that are kept: cuDNN reads back what it wrote, and sees nothing else. Of an engine that it
 * compiles, with what stands for a driver (tests/standin_driver). Without the library the test says
 * "skipped". So many places of a kept file are damaged:
 *
 *     build/test/runtime_cudnn_keep COUNT
 */
#include <unistd.h>

#include "base/file.h"
#include "cudnn_graph.h"

static char folder[] = "/tmp/tw-plans-XXXXXX";
static Arena *arena;
static int64_t turned[2];
static int64_t dims[4][2];
static VendorArg args[4];
static StepAttr attrs[3];
static const char named[] = "at open: engine 0 or another";

/* A product of f16, a x k by k x b. */
static VendorCall
product(int64_t a, int64_t depth, int64_t b, const char *post)
{
	const int64_t is[4][2] = {{a, depth}, {depth, b}, {b}, {a, b}};
	memcpy(dims, is, sizeof is);
	for (int i = 0; i < 4; i++)
		args[i] =
			(VendorArg){.type = i == 2 ? DT_NONE : DT_F16, .rank = i == 2 ? 1 : 2, .dims = dims[i]};
	attrs[0] = ints("transpose_a", 1, &turned[0]);
	attrs[1] = ints("transpose_b", 1, &turned[1]);
	attrs[2] = (StepAttr){.name = "post", .kind = SA_STRING, .count = 1, .string = post};
	return (VendorCall){"cudnn", "matmul", 4, args, 3, attrs};
}

static Hash128
key_for(const VendorCall *call, const char *name)
{
	Hash128 key;
	char said[256] = "";
	const Cudnn *cudnn = (Cudnn *)vendor;
	CudnnPile pile = {.api = &cudnn->api, .error = said, .error_size = sizeof said};
	ck_assert_msg(cudnn_graph(&pile, call, NULL) != NULL, "%s", said);
	ck_assert(cudnn_key(cudnn, &pile, name, &key));
	cudnn_free(&pile);
	return key;
}

static bool
is_known(Hash128 key)
{
	CudnnPlan read = {.plan = NULL};
	char name[VENDOR_IMPL_SIZE];
	bool is = cudnn_recall((Cudnn *)vendor, key, &read, name);
	if (is)
		cudnn_drop_plan(&read);
	return is;
}

/* ---- What cuDNN is given to read ---- */

static int texts; /* so far */
static int (*set_attribute)(CudnnDescriptor *descriptor, int name, int type, int64_t size,
                            const void *elements);

static int
count_texts(CudnnDescriptor *descriptor, int name, int type, int64_t size, const void *elements)
{
	enum { PLAN_JSON = 405 };
	texts += name == PLAN_JSON;
	return set_attribute(descriptor, name, type, size, elements);
}

/* With a folder of its own for what is kept. */
static bool
begin(void)
{
	bool is_there = has_driver();
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	arena = arena_new("test");
	open_for(&devices[1]);
	if (!vendor)
		return false;
	ck_assert(is_there);
	CudnnApi *api = &((Cudnn *)vendor)->api;
	set_attribute = api->BackendSetAttribute;
	api->BackendSetAttribute = count_texts;
	watch_plans();
	return true;
}

static void
end(void)
{
	tear_down();
	arena_free(arena);
	char command[100];
	snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", folder, folder);
	ck_assert_int_eq(system(command), 0);
}

/* The files in the folder, of which `path` is one. */
static int
files(char path[256])
{
	int found = 0;
	FILE *list = popen(arena_printf(arena, "find %s -type f", folder), "r");
	while (fscanf(list, "%255s", path) == 1)
		found++;
	pclose(list);
	return found;
}

static bool
choose(VendorCall call, CudnnPlan *made)
{
	StepAttr more[4] = {call.attrs[0], call.attrs[1], call.attrs[2]};
	more[3] = (StepAttr){.name = "impl", .kind = SA_STRING, .count = 1, .string = named};
	call.attrs = more;
	call.nattr = 4;
	plan[0] = impl[0] = error[0] = 0;
	return cudnn_choose((Cudnn *)vendor, &call, made, impl, error, sizeof error);
}

/* ---- */

/* The second is the first, read back: with its name, its workspace and its text. */
START_TEST(a_plan_is_read_back)
{
	CudnnPlan made, again;
	char first[sizeof impl], path[256];
	if (!begin())
		return;
	VendorCall call = product(24, 16, 40, "relu");
	ck_assert_msg(choose(call, &made), "%s", error);
	memcpy(first, impl, sizeof first);
	ck_assert_int_eq(texts, 0);
	ck_assert_int_eq(files(path), 1);
	cudnn_drop_plan(&made);
	char *text = arena_strdup(arena, plan);
	ck_assert(choose(call, &again));
	ck_assert_int_eq(texts, 1);
	ck_assert_str_eq(first, impl);
	ck_assert(again.workspace == made.workspace);
	cudnn_drop_plan(&again);
	ck_assert_str_eq(text, plan);
}
END_TEST

/* Each thing that decides a plan makes another key. */
START_TEST(keys_tell_apart)
{
	enum { MOST = 12 };
	Hash128 keys[MOST];
	int n = 0;
	if (!begin())
		return;
	VendorCall call = product(24, 16, 40, "relu");
	keys[n++] = key_for(&call, named);
	ck_assert(hash128_equal(keys[0], key_for(&call, named)));
	keys[n++] = key_for(&call, "at open: engine 1 or another");
	call = product(24, 16, 48, "relu");
	keys[n++] = key_for(&call, named);
	call = product(24, 16, 40, "sigmoid");
	keys[n++] = key_for(&call, named);
	call = product(24, 16, 40, "clip(0,6)");
	keys[n++] = key_for(&call, named);
	call = product(24, 16, 40, "clip(0,7)");
	keys[n++] = key_for(&call, named);
	call = product(24, 16, 40, "");
	keys[n++] = key_for(&call, named);
	args[0].offset = 4; /* an address that is aligned less */
	keys[n++] = key_for(&call, named);
	for (int d = 0; d < 2; d++) {
		VendorDevice other = devices[d];
		other.driver += d; /* another chip, another driver */
		ck_assert(vendor_cudnn.use_device(vendor, &other, error, sizeof error));
		call = product(24, 16, 40, "relu");
		keys[n++] = key_for(&call, named);
	}
	strcpy(vendor->version, "cuDNN 9.99.0");
	keys[n++] = key_for(&call, named);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			ck_element_msg(!hash128_equal(keys[i], keys[j]), "keys %d and %d are the same", i, j);
}
END_TEST

static void
write_bytes(const char *path, const unsigned char *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	ck_assert(fwrite(data, 1, size, file) == size);
	fclose(file);
}

/* A byte that is changed, a file that ends early, another call's file: nothing of it is parsed. */
START_TEST(damaged_texts_are_not_read)
{
	enum { HEAD = 200 }; /* the cache's own, and the plan's name */
	CudnnPlan made;
	char path[256];
	if (!begin())
		return;
	VendorCall call = product(24, 16, 40, "relu");
	Hash128 key = key_for(&call, named), other = {1, key.high ^ 1};
	ck_assert_msg(choose(call, &made), "%s", error);
	ck_assert_int_eq(files(path), 1);
	Bytes mapped = file_map(arena, path);
	size_t size = mapped.size;
	unsigned char *good = arena_memdup(arena, mapped.data, size);
	ck_assert(is_known(key) && texts == 1);
	for (size_t i = 0; i < size; i += i < HEAD ? 1 : 1 + size / (size_t)count) {
		unsigned char *bad = arena_memdup(arena, good, size);
		bad[i] ^= (unsigned char)(1 << i % 8);
		write_bytes(path, bad, size);
		ck_element_msg(!is_known(key), "byte %d is another, and nobody sees it", (int)i);
		write_bytes(path, good, i);
		ck_element_msg(!is_known(key), "%d bytes are taken for all", (int)i);
	}
	ck_assert_int_eq(texts, 1);
	char foreign[300];
	snprintf(foreign, sizeof foreign, "%.*s%014llx%016llx", (int)(strrchr(path, '/') + 1 - path),
	         path, (unsigned long long)(other.high & 0xFFFFFFFFFFFFFFull),
	         (unsigned long long)other.low);
	write_bytes(foreign, good, size);
	ck_assert(!is_known(other));
	ck_assert_int_eq(texts, 1);
	cudnn_drop_plan(&made);
	ck_assert(choose(call, &made)); /* made anew, and kept in the place of the damaged one */
	cudnn_drop_plan(&made);
	ck_assert(texts == 1 && is_known(key));
}
END_TEST

/* Where nothing can be kept the plan is made, and nobody is told. */
START_TEST(without_a_folder)
{
	CudnnPlan made;
	char path[256];
	if (!begin())
		return;
	const char *const homes[] = {"/proc/none", "not/absolute"};
	setenv("HOME", "", 1);
	ck_assert_ptr_nonnull(freopen(arena_printf(arena, "%s/said", folder), "w", stderr));
	for (int i = 0; i < 2; i++) {
		setenv("XDG_CACHE_HOME", homes[i], 1);
		ck_assert(choose(product(8, 16, 8, ""), &made));
		cudnn_drop_plan(&made);
	}
	fflush(stderr);
	ck_assert(texts == 0 && files(path) == 1);
	ck_assert_str_eq(file_text(arena, path), "");
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_keep");
	count = argc > 1 ? atoi(argv[1]) : count;
	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_test(tcase, a_plan_is_read_back);
	tcase_add_test(tcase, keys_tell_apart);
	tcase_add_test(tcase, damaged_texts_are_not_read);
	tcase_add_test(tcase, without_a_folder);
	return unit_run(tcase);
}
