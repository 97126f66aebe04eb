/* Files: mapping, containment of external data, whole replacement, full disks, SHA-256. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "no_unnamed.h"
#include "unit.h"

static size_t at_once;  /* at most so many bytes are read or written at once; 0: all */
static int interrupted; /* every so manieth of these calls does nothing; 0: none */
static int broken_at;   /* the number of the call from which on all fail; 0: none */
static int calls;

/* Whether the call does something; *size gets what is done of it. */
static bool
is_done(size_t *size)
{
	calls++;
	errno = broken_at && calls >= broken_at ? EIO : EINTR;
	*size = at_once && *size > at_once ? at_once : *size;
	return errno != EIO && !(interrupted && calls % interrupted == 0);
}

ssize_t short_read(int fd, void *data, size_t size) __asm__("read");
ssize_t short_write(int fd, const void *data, size_t size) __asm__("write");

ssize_t
short_read(int fd, void *data, size_t size)
{
	return is_done(&size) ? syscall(SYS_read, fd, data, size) : -1;
}

ssize_t
short_write(int fd, const void *data, size_t size)
{
	return is_done(&size) ? syscall(SYS_write, fd, data, size) : -1;
}

static Arena *arena;
static char folder[] = "/tmp/tw-file-XXXXXX";

static void
set_up(void)
{
	arena = arena_new("test");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
tear_down(void)
{
	arena_free(arena);
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *
path(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static void
put(const char *name, const char *text)
{
	file_write(arena, path(name), text, strlen(text));
}

static int
files_in_folder(void)
{
	FILE *list = popen(arena_printf(arena, "ls -A %s | wc -l", folder), "r");
	int count = -1;
	ck_assert_int_eq(fscanf(list, "%d", &count), 1);
	pclose(list);
	return count;
}

START_TEST(write_and_map)
{
	put("a", "hello");
	Bytes bytes = file_map(arena, path("a"));
	ck_assert_uint_eq(bytes.size, 5);
	ck_assert_mem_eq(bytes.data, "hello", 5);
	ck_assert_str_eq(file_text(arena, path("a")), "hello");
	put("a", "");
	ck_assert_uint_eq(file_map(arena, path("a")).size, 0);
	ck_assert_mem_eq(bytes.data, "hello", 5); /* the old file lives on in its mapping */
	ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(large_writes_keep_their_order)
{
	size_t size = 300000;
	unsigned char *data = arena_alloc(arena, size);
	for (size_t i = 0; i < size; i++)
		data[i] = (unsigned char)(i * 31 >> 4);
	FileWriter *writer = file_create(arena, path("large"));
	size_t at = 0;
	for (size_t piece = 1; at < size; piece = piece * 5 % 90001 + 1) {
		size_t length = piece < size - at ? piece : size - at;
		ck_assert_uint_eq(file_position(writer), at);
		file_put(writer, data + at, length);
		at += length;
	}
	ck_assert(!file_exists(path("large")));
	file_commit(writer);
	Bytes bytes = file_map(arena, path("large"));
	ck_assert_uint_eq(bytes.size, size);
	ck_assert_mem_eq(bytes.data, data, size);
}
END_TEST

START_TEST(interrupted_writes_leave_the_old_file)
{
	has_unnamed = _i == 0;
	put("a", "old");
	Arena *inner = arena_new("inner");
	FileWriter *writer = file_create(inner, path("a"));
	file_put(writer, "new", 3);
	ck_assert_int_eq(files_in_folder(), has_unnamed ? 1 : 2);
	ck_assert_str_eq(file_text(arena, path("a")), "old");
	arena_free(inner); /* never committed */
	ck_assert_str_eq(file_text(arena, path("a")), "old");
	ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* Written, read while it is written anew, published where there is nothing, a file, a link. */
START_TEST(drafts)
{
	has_unnamed = _i == 0;
	int named = has_unnamed ? 0 : 1;
	for (int round = 0; round < 3; round++) {
		Arena *inner = arena_new("inner");
		if (round == 2)
			ck_assert_int_eq(symlink("a", path("link")), 0);
		const char *place = path(round == 2 ? "link" : "a"), *draft = file_draft(inner, place);
		int before = files_in_folder();
		file_write(inner, draft, "first", 5);
		Bytes first = file_map(inner, draft);
		file_write(inner, draft, "second", 6);
		ck_assert_mem_eq(first.data, "first", 5);
		ck_assert_str_eq(file_text(inner, draft), "second");
		ck_assert_int_eq(files_in_folder(), before);
		ck_assert_int_eq(before, (round > 0) + (round > 1) + named);
		file_publish(inner, draft, place);
		ck_assert_str_eq(file_text(inner, path("a")), "second");
		arena_free(inner);
		ck_assert_str_eq(file_text(arena, path("a")), "second");
		put("a", "old");
	}
	ck_assert_int_eq(files_in_folder(), 2);
	struct stat status;
	ck_assert(lstat(path("link"), &status) == 0 && S_ISLNK(status.st_mode));
}
END_TEST

START_TEST(drafts_vanish)
{
	has_unnamed = _i == 0;
	Arena *inner = arena_new("inner");
	file_write(inner, file_draft(inner, path("a")), "draft", 5);
	const char *other = file_draft(inner, "/dev/null");
	file_write(inner, other, "draft", 5);
	file_publish(inner, other, "/dev/null");
	arena_free(inner);
	ck_assert_int_eq(files_in_folder(), 0);
	struct stat status;
	ck_assert(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
}
END_TEST

static void
write_megabyte(void *arg)
{
	file_write(arena, arg, arena_alloc(arena, 1 << 20), 1 << 20);
}

START_TEST(a_full_disk_leaves_the_old_file)
{
	put("a", "old");
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {100000, 100000};
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	Failure failure;
	ck_assert(!try_run(write_megabyte, (void *)(uintptr_t)path("a"), &failure));
	ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	ck_assert_str_eq(failure.text,
	                 arena_printf(arena, "cannot write %s: File too large", path("a")));
	ck_assert_str_eq(file_text(arena, path("a")), "old");
	ck_assert_int_eq(files_in_folder(), 1);
	if (file_exists("/dev/full")) {
		static char full[] = "/dev/full";
		ck_assert(!try_run(write_megabyte, full, &failure));
		ck_assert_str_eq(failure.text, "cannot write /dev/full: No space left on device");
	}
}
END_TEST

START_TEST(links_stay_and_devices_are_written_in_place)
{
	put("target", "old");
	ck_assert_int_eq(symlink("target", path("link")), 0);
	put("link", "new");
	ck_assert_str_eq(file_text(arena, path("target")), "new");
	struct stat status;
	ck_assert(lstat(path("link"), &status) == 0 && S_ISLNK(status.st_mode));
	file_write(arena, "/dev/null", "x", 1);
	ck_assert(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
}
END_TEST

typedef struct Wrong {
	const char *name, *text;
	FailKind kind;
} Wrong;

static void
map_wrong(void *arg)
{
	file_map(arena, path(((Wrong *)arg)->name));
}

static void
text_wrong(void *arg)
{
	file_text(arena, path(((Wrong *)arg)->name));
}

static void
write_wrong(void *arg)
{
	file_write(arena, path(((Wrong *)arg)->name), "x", 1);
}

static void
folder_wrong(void *arg)
{
	file_make_folder(path(((Wrong *)arg)->name));
}

static void
check_wrong(void (*act)(void *), Wrong wrong)
{
	Failure failure;
	ck_assert(!try_run(act, &wrong, &failure));
	ck_assert_int_eq(failure.kind, wrong.kind);
	ck_assert_msg(strstr(failure.text, wrong.text), "%s", failure.text);
}

START_TEST(failures_give_the_reason)
{
	file_write(arena, path("zero"), "a\0b", 3);
	file_make_folder(path("sub/deeper"));
	check_wrong(map_wrong, (Wrong){"none", "none: No such file", FAIL_ENVIRONMENT});
	check_wrong(map_wrong, (Wrong){"sub", "sub: it is a folder", FAIL_ENVIRONMENT});
	check_wrong(map_wrong, (Wrong){"zero/x", "zero/x: Not a directory", FAIL_ENVIRONMENT});
	check_wrong(text_wrong, (Wrong){"zero", "zero: expected a text", FAIL_INVALID});
	check_wrong(write_wrong, (Wrong){"sub", "sub: it is a folder", FAIL_ENVIRONMENT});
	check_wrong(write_wrong, (Wrong){"none/x", "none/x: No such file", FAIL_ENVIRONMENT});
	check_wrong(folder_wrong, (Wrong){"zero", "a file is in its place", FAIL_ENVIRONMENT});
	check_wrong(folder_wrong, (Wrong){"zero/x", "cannot make folder", FAIL_ENVIRONMENT});
}
END_TEST

START_TEST(standard_input_is_read_whole)
{
	char *text = arena_alloc(arena, 200001);
	memset(text, 'x', 200000);
	put("a", text);
	int fd = open(path("a"), O_RDONLY);
	dup2(fd, STDIN_FILENO);
	ck_assert_uint_eq(file_map(arena, "-").size, 200000);
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	if (fork() == 0) {
		for (int i = 0; i < 200; i++)
			ck_assert_int_eq(write(ends[1], text, 1000), 1000);
		_exit(0);
	}
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	Bytes bytes = file_map(arena, "-");
	ck_assert_uint_eq(bytes.size, 200000);
	ck_assert_mem_eq(bytes.data, text, 200000);
	wait(NULL);
}
END_TEST

static void
copy_through_pipe(void *arg)
{
	enum { SIZE = 5000 };
	int ends[2];
	unsigned char *text = arg;
	for (int i = 0; i < SIZE; i++)
		text[i] = (unsigned char)(i * 7);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(syscall(SYS_write, ends[1], text, SIZE), SIZE);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	Bytes bytes = file_map(arena, "-");
	ck_assert_uint_eq(bytes.size, SIZE);
	ck_assert_mem_eq(bytes.data, text, SIZE);
	file_write(arena, path("copy"), bytes.data, bytes.size);
	Bytes copy = file_map(arena, path("copy"));
	ck_assert_uint_eq(copy.size, SIZE);
	ck_assert_mem_eq(copy.data, text, SIZE);
}

/* Calls that do a part of what they are asked, or nothing, are repeated; one that fails is an
 * error, never the end of the file. */
START_TEST(short_reads_and_writes)
{
	Failure failure;
	void *text = arena_alloc(arena, 5000);
	at_once = 7;
	interrupted = 3;
	calls = 0;
	broken_at = _i == 0 ? 0 : _i == 1 ? 100 : 1500;
	bool is_whole = try_run(copy_through_pipe, text, &failure);
	int seen = calls;
	at_once = 0;
	interrupted = broken_at = 0;
	ck_assert_int_gt(seen, _i == 0 ? 1500 : 99);
	ck_assert_int_eq(is_whole, _i == 0);
	if (_i > 0) {
		ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
		ck_assert_msg(strstr(failure.text, _i == 1 ? "cannot read" : "cannot write") &&
		                  strstr(failure.text, strerror(EIO)),
		              "%s", failure.text);
		ck_assert_int_eq(files_in_folder(), 0);
	}
}
END_TEST

static void
map_beneath(void *arg)
{
	Loc loc = {.file = "m.onnx"};
	file_map_beneath(arena, path("model"), ((Wrong *)arg)->name, &loc);
}

START_TEST(external_data_stays_beneath)
{
	file_make_folder(path("model/data"));
	put("secret", "secret");
	put("model/w", "inside");
	put("model/data/..w", "dots");
	ck_assert_int_eq(symlink("../secret", path("model/link")), 0);
	ck_assert_int_eq(symlink("w", path("model/inner")), 0);
	ck_assert_int_eq(symlink("data", path("model/folder")), 0);
	ck_assert_int_eq(mkfifo(path("model/pipe"), 0600), 0);
	ck_assert_mem_eq(file_map_beneath(arena, path("model"), "w", NULL).data, "inside", 6);
	ck_assert_mem_eq(file_map_beneath(arena, path("model"), "./data/..w", NULL).data, "dots", 4);
	ck_assert_mem_eq(file_map_beneath(arena, path("model"), "data/../w", NULL).data, "inside", 6);
	const Wrong wrongs[] = {
		{"../secret", "m.onnx: external data '../secret' leaves the model's folder", FAIL_INVALID},
		{"data/../../secret", "leaves the model's folder", FAIL_INVALID},
		{"data/../data/../..", "leaves the model's folder", FAIL_INVALID},
		{"data/..", "names no file", FAIL_INVALID},
		{"..", "leaves the model's folder", FAIL_INVALID},
		{"/etc/passwd", "is not a relative path", FAIL_INVALID},
		{"", "is not a relative path", FAIL_INVALID},
		{"link", "passes through the symbolic link 'link'", FAIL_INVALID},
		{"inner", "passes through the symbolic link 'inner'", FAIL_INVALID},
		{"folder/..w", "passes through the symbolic link 'folder'", FAIL_INVALID},
		{"data", "is not a regular file", FAIL_INVALID},
		{".", "names no file", FAIL_INVALID},
		{"//", "is not a relative path", FAIL_INVALID},
		{"pipe", "is not a regular file", FAIL_INVALID},
		{"none", "cannot open external data 'none': No such file", FAIL_ENVIRONMENT},
		{"w/x", "cannot open external data 'w/x': Not a directory", FAIL_ENVIRONMENT},
	};
	for (size_t i = 0; i < countof(wrongs); i++)
		check_wrong(map_beneath, wrongs[i]);
}
END_TEST

START_TEST(parts_of_paths)
{
	ck_assert_str_eq(file_folder(arena, "a/b/c"), "a/b");
	ck_assert_str_eq(file_folder(arena, "c"), ".");
	ck_assert_str_eq(file_folder(arena, "/c"), "/");
	ck_assert_str_eq(file_base("a/b/c"), "c");
	ck_assert_str_eq(file_base("c"), "c");
}
END_TEST

/* The vectors of FIPS 180-4, and every length around a block. */
START_TEST(sha256)
{
	ck_assert_str_eq(sha256_hex(arena, "", 0),
	                 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	ck_assert_str_eq(sha256_hex(arena, "abc", 3),
	                 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	ck_assert_str_eq(sha256_hex(arena, two, strlen(two)),
	                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	char *million = arena_alloc(arena, 1000000);
	memset(million, 'a', 1000000);
	ck_assert_str_eq(sha256_hex(arena, million, 1000000),
	                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	for (int length = 50; length < 140; length++) {
		file_write(arena, path("a"), million, (size_t)length);
		char expected[65];
		FILE *tool = popen(arena_printf(arena, "sha256sum <%s", path("a")), "r");
		ck_assert_int_eq(fscanf(tool, "%64s", expected), 1);
		pclose(tool);
		ck_assert_str_eq(sha256_hex(arena, million, (size_t)length), expected);
	}
}
END_TEST

/* Pages of files in this process's memory. */
static long
pages_of_files(void)
{
	long size, resident, shared;
	FILE *file = fopen("/proc/self/statm", "r");
	ck_assert(file && fscanf(file, "%ld %ld %ld", &size, &resident, &shared) == 3);
	fclose(file);
	return shared;
}

/* What is forgotten is no memory, and is still there for who reads it. */
START_TEST(forgotten_pages)
{
	enum { SIZE = 8 << 20, AT = 12345, PART = 6 << 20 };
	unsigned char *data = arena_alloc(arena, SIZE);
	for (int i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 7 + i / 4096);
	file_write(arena, path("large"), data, SIZE);
	bool is_mapped = false;
	Bytes bytes = file_map_or_read(arena, path("large"), &is_mapped);
	ck_assert(is_mapped && bytes.size == SIZE && memcmp(bytes.data, data, SIZE) == 0);
	long before = pages_of_files();
	file_forget((Bytes){bytes.data + AT, PART});
	long given = before - pages_of_files(), all = PART / sysconf(_SC_PAGESIZE);
	ck_assert_msg(given >= all / 2, "%ld of %ld pages", given, all);
	ck_assert(memcmp(bytes.data, data, SIZE) == 0);
	file_forget((Bytes){bytes.data + AT, 0});
	file_forget((Bytes){bytes.data + AT, 100});
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("file");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, write_and_map);
	tcase_add_test(tcase, large_writes_keep_their_order);
	tcase_add_loop_test(tcase, interrupted_writes_leave_the_old_file, 0, 2);
	tcase_add_loop_test(tcase, drafts, 0, 2);
	tcase_add_loop_test(tcase, drafts_vanish, 0, 2);
	tcase_add_test(tcase, a_full_disk_leaves_the_old_file);
	tcase_add_test(tcase, links_stay_and_devices_are_written_in_place);
	tcase_add_test(tcase, failures_give_the_reason);
	tcase_add_test(tcase, standard_input_is_read_whole);
	tcase_add_loop_test(tcase, short_reads_and_writes, 0, 3);
	tcase_add_test(tcase, external_data_stays_beneath);
	tcase_add_test(tcase, forgotten_pages);
	tcase_add_test(tcase, parts_of_paths);
	tcase_add_test(tcase, sha256);
	return unit_run(tcase);
}
