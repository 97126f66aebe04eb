/* Every model of ONNX's backend tests: read without a crash, and once read, written and read again
 * with the same bytes. The folder is $ONNX_TESTDATA (Debian's libonnx-testdata, or an unpacked
 * archive); without it nothing is tested, and said so. */
#include "unit.h"

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/onnx.h"

enum { PATHS_MAX = 10000, LEAST_READ = 850 };

/* nftw() gives its callback no argument, so the list stands here; nothing else writes it. */
static char *paths[PATHS_MAX];
static int path_count;

static int
note_path(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status, (void)place;
	size_t length = strlen(path);
	if (kind == FTW_F && length > 5 && strcmp(path + length - 5, ".onnx") == 0 &&
	    path_count < PATHS_MAX)
		paths[path_count++] = strdup(path);
	return 0;
}

typedef struct Job {
	Arena *arena;
	const char *path, *first, *second;
	bool is_read;
} Job;

static void
there_and_back(void *arg)
{
	Job *job = arg;
	Graph *graph = onnx_read(job->arena, job->path, NULL);
	job->is_read = true;
	onnx_write(graph, job->first, NULL);
	onnx_write(onnx_read(job->arena, job->first, NULL), job->second, NULL);
	Bytes a = file_map(job->arena, job->first), b = file_map(job->arena, job->second);
	if (a.size != b.size || memcmp(a.data, b.data, a.size) != 0)
		fail(NULL, "its second export differs from the first");
}

START_TEST(all_models_go_there_and_back)
{
	const char *folder = getenv("ONNX_TESTDATA");
	if (!folder || nftw(folder, note_path, 32, 0) != 0 || path_count == 0) {
		printf("skipped: for want of testdata: $ONNX_TESTDATA names no models\n");
		return;
	}
	char place[] = "/tmp/onnx_corpus.XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(place));
	int read_count = 0, wrong = 0;
	for (int i = 0; i < path_count; i++) {
		Arena *arena = arena_new("corpus");
		Job job = {arena, paths[i], arena_printf(arena, "%s/1.onnx", place),
		           arena_printf(arena, "%s/2.onnx", place), false};
		Failure failure;
		if (!try_run(there_and_back, &job, &failure) && job.is_read) {
			printf("%s: %s\n", paths[i], failure.text);
			wrong++;
		}
		read_count += job.is_read;
		unlink(job.first);
		unlink(job.second);
		arena_free(arena);
		free(paths[i]);
	}
	rmdir(place);
	printf("%d of %d models read, %d of these not written back\n", read_count, path_count, wrong);
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_ge(read_count, path_count < LEAST_READ ? 1 : LEAST_READ);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_corpus");
	tcase_add_test(t, all_models_go_there_and_back);
	return unit_run(t);
}
