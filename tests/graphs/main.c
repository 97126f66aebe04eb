/* usage: graphs [-d|-q] [-j LANES] COUNT [SEED [FIRST]]  make and run graphs FIRST.. of a seed
 *        graphs -f FILE...               run texts of graphs; "# seed N" there says with what data
 *        graphs [-d|-q] -p SEED NUMBER   print a graph
 *
 * -d: graphs made so that derivation applies; of each, forms are taken that were derived, chosen by
 * chance. In a file "# derive" says so. -q: graphs of quantised numbers and of f16 and bf16.
 *
 * A worker process runs a batch; when it dies, the case it was at has failed, and another worker
 * goes on with the others. A case that fails is made small and printed, with the seed of its data.
 */
#include "graphs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/measure/executor.h"
#include "graph/infer.h"
#include "onnx/onnx.h"

/* So many of one sentence are made small, by each lane. */
enum { MAX_SHRUNK = 4, MEMORY_GIB = 12, MAX_LANES = 64 };

typedef struct Run {
	Arena *arena;
	Options options;
	Shared *shared; /* with the workers of this lane */
	uint64_t seed;
	int errors;              /* file of what workers say on standard error */
	bool has_ort, is_strict; /* is_strict: what is refused has failed */
	Theme theme;
	char model[64];
	int lanes; /* processes that run batches, each with workers and memory of its own */
	Shared *shares[MAX_LANES];
} Run;

/* What graphs of a theme must hold, and more than how many in a hundred of those that compile. */
typedef struct ThemeInfo {
	const char *option, *held;
	int percent;
} ThemeInfo;

static const ThemeInfo THEMES[] = {
	[THEME_any] = {NULL, NULL, 0},
	[THEME_derived] = {"-d", "something derived", 50},
	[THEME_quantised] = {"-q", "sums made of integers", 25},
};

static const char NO_END[] = "it does not end";

/* ---- workers --------------------------------------------------------------------------------- */

static void
work(Run *run)
{
	struct rlimit memory = {(rlim_t)MEMORY_GIB << 30, (rlim_t)MEMORY_GIB << 30};
	struct rlimit no_core = {0, 0};
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
	setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
	setrlimit(RLIMIT_CORE, &no_core);
	mallopt(M_PERTURB, 0xa5); /* memory begins with garbage */
	dup2(run->errors, STDERR_FILENO);
	run->options.arena = arena_new("worker");
	batch_run(run->shared, &run->options, run->has_ort ? run->model : NULL);
	_exit(0);
}

/* The line of an assertion, if the worker left one. */
static void
read_last_words(const Run *run, Sample *c, int status)
{
	char text[GRAPH_REASON] = "";
	ssize_t size = pread(run->errors, text, sizeof text - 1, 0);
	text[size > 0 ? size : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	bool is_late =
		WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
	if (is_late)
		snprintf(c->reason, sizeof c->reason, "%s", NO_END);
	else if (WIFSIGNALED(status))
		snprintf(c->reason, sizeof c->reason, "signal %d  %.250s", WTERMSIG(status), text);
	else
		snprintf(c->reason, sizeof c->reason, "exit code %d  %.250s", WEXITSTATUS(status), text);
}

static int
spawn(Run *run)
{
	int status = 0;
	fflush(stdout);
	if (ftruncate(run->errors, 0) != 0 || lseek(run->errors, 0, SEEK_SET) != 0)
		perror("graphs");
	run->shared->current = -1;
	pid_t worker = fork();
	if (worker == 0)
		work(run);
	if (worker < 0 || waitpid(worker, &status, 0) != worker) {
		perror("graphs: fork");
		exit(FAIL_ENVIRONMENT);
	}
	return status;
}

static int
open_count(const Shared *shared)
{
	int count = 0;
	for (int i = 0; i < shared->count; i++)
		count += shared->cases[i].verdict == VERDICT_open;
	return count;
}

/* Run all cases of the batch to a verdict. */
static void
run_batch(Run *run)
{
	Shared *shared = run->shared;
	while (open_count(shared)) {
		int before = open_count(shared), status = spawn(run);
		if (status && shared->current >= 0) {
			Sample *c = &shared->cases[shared->current];
			c->verdict = VERDICT_crash;
			read_last_words(run, c, status);
		} else if (open_count(shared) == before) {
			return; /* nobody is to blame: one by one */
		}
	}
}

static void
run_alone(Run *run, Sample *c)
{
	Shared *shared = run->shared;
	Sample *kept = malloc(sizeof shared->cases);
	int count = shared->count;
	if (!kept)
		exit(FAIL_ENVIRONMENT);
	memcpy(kept, shared->cases, sizeof shared->cases);
	shared->cases[0] = *c;
	shared->count = 1;
	int status = spawn(run);
	Sample result = shared->cases[0];
	if (result.verdict == VERDICT_open) {
		result.verdict = VERDICT_crash;
		read_last_words(run, &result, status);
	}
	memcpy(shared->cases, kept, sizeof shared->cases);
	shared->count = count;
	*c = result;
	free(kept);
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool
is_failure(const Run *run, const Sample *c)
{
	return c->verdict >= VERDICT_wrong || (run->is_strict && c->verdict == VERDICT_refused);
}

typedef struct Likeness {
	Run *run;
	Sample like;
} Likeness;

/* The same verdict at the same way; crashes by the same words. */
static bool
fails_alike(void *arg, const char *text)
{
	Likeness *l = arg;
	Sample *c = malloc(sizeof *c);
	if (!c)
		exit(FAIL_ENVIRONMENT);
	*c = (Sample){.seed = l->like.seed, .number = l->like.number, .theme = l->like.theme};
	snprintf(c->text, sizeof c->text, "%s", text);
	c->ways = l->like.way >= WAY_O0 ? 1u << l->like.way : 1u << WAY_O0;
	if (l->like.way == WAY_export)
		c->ways = 1u << WAY_ort;
	if (l->like.way == WAY_fallback)
		c->ways = 1u << WAY_O3;
	run_alone(l->run, c);
	char before[32], now[32];
	plain_sentence(before, sizeof before, l->like.reason);
	plain_sentence(now, sizeof now, c->reason);
	bool is_alike = c->verdict == l->like.verdict && c->way == l->like.way &&
	                strncmp(before, now, strlen("output #")) == 0 &&
	                (c->verdict == VERDICT_wrong || strcmp(before, now) == 0);
	if (is_alike)
		l->like = *c;
	free(c);
	return is_alike;
}

static const char *
derive_mark(const Sample *c)
{
	return c->theme == THEME_derived ? "# derive\n" : "";
}

static void
show_failure(Run *run, const Sample *c)
{
	printf("FAIL graphs: number %d of seed %llu, %s: %s\n", c->number,
	       (unsigned long long)run->seed, WAY_NAMES[c->way], c->reason);
	int64_t times = tallies_reason(&run->shared->tallies, "failed", c->reason);
	if (times == 0 || times > MAX_SHRUNK)
		return;
	if (c->verdict == VERDICT_crash && strcmp(c->reason, NO_END) == 0) { /* so would be every try */
		printf("# seed %llu\n%s%s", (unsigned long long)c->seed, derive_mark(c), c->text);
		return;
	}
	Likeness *likeness = malloc(sizeof *likeness);
	if (!likeness)
		exit(FAIL_ENVIRONMENT);
	*likeness = (Likeness){run, *c};
	Arena *arena = arena_new("shrink");
	Tallies before = run->shared->tallies;
	const char *text = graph_shrink(arena, c->text, c->seed, fails_alike, likeness);
	run->shared->tallies = before;
	printf("# seed %llu\n%s%s%s: %s\n", (unsigned long long)c->seed, derive_mark(c), text,
	       WAY_NAMES[c->way], likeness->like.reason);
	arena_free(arena);
	free(likeness);
}

static void
take_verdict(Run *run, Sample *c)
{
	Tallies *tallies = &run->shared->tallies;
	if (c->way == WAY_ort && c->verdict == VERDICT_crash) { /* it is not ours that died */
		tallies_reason(tallies, "ONNX Runtime died", c->reason);
		c->verdict = VERDICT_right;
	}
	tallies->verdicts[c->verdict]++;
	tallies->cases++;
	tallies->held += c->is_held;
	if (c->verdict == VERDICT_refused)
		tallies_reason(tallies, "refused", c->reason);
	if (c->verdict == VERDICT_unmade)
		tallies_reason(tallies, "not made", c->reason);
	if (is_failure(run, c)) {
		tallies->failed++;
		show_failure(run, c);
	}
}

/* The verdicts of a batch; what is left open when nobody is to blame is run alone. */
static void
finish_batch(Run *run)
{
	Sample *c = malloc(sizeof *c);
	for (int i = 0; c && i < run->shared->count; i++) {
		*c = run->shared->cases[i];
		if (c->verdict == VERDICT_open)
			run_alone(run, c);
		take_verdict(run, c);
	}
	free(c);
}

static void
run_cases(Run *run, int first, int count)
{
	Shared *shared = run->shared;
	shared->count = count;
	for (int i = 0; i < count; i++) {
		Sample *c = &shared->cases[i];
		c->number = first + i;
		c->seed = run->seed * 1000003 + (uint64_t)c->number;
		c->ways = 0;
		c->theme = run->theme;
		c->is_held = false;
		c->verdict = VERDICT_open;
		c->text[0] = 0;
	}
	run_batch(run);
	finish_batch(run);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* So many graphs that each operator must have come; that what the theme is about came. */
enum { ENOUGH_FOR_ALL = 2000, ENOUGH_FOR_SHARE = 20 };

/* In percent; of no graphs all. */
static double
share_held(const Tallies *s)
{
	int64_t compiled = s->cases - s->verdicts[VERDICT_refused] - s->verdicts[VERDICT_unmade];
	return compiled ? 100.0 * (double)s->held / (double)compiled : 100;
}

static int
report(const Run *run, const Tallies *s)
{
	int64_t failed = s->failed;
	for (int i = 0; i < GRAPH_REASONS && s->reasons[i].count; i++)
		printf("%6lld  %s\n", (long long)s->reasons[i].count, s->reasons[i].text);
	int missing = 0;
	if (run->theme == THEME_any)
		missing = coverage_print(&s->coverage, op_table_new(run->arena), s->cases);
	printf("%lld graphs: %lld right, %lld refused, %lld not made; %.3g points, %.2g%% undecided;",
	       (long long)s->cases, (long long)s->verdicts[VERDICT_right],
	       (long long)s->verdicts[VERDICT_refused], (long long)s->verdicts[VERDICT_unmade],
	       (double)s->points, s->points ? 100.0 * (double)s->undecided / (double)s->points : 0);
	for (int way = WAY_exact; way < WAY_COUNT; way++)
		printf(" %lld %s (%.2g)", (long long)s->runs[way], WAY_NAMES[way], s->worst[way]);
	printf("; %lld not taken by ONNX Runtime, %lld at one binding only\n",
	       (long long)s->ort_refused, (long long)s->unbound);
	const ThemeInfo *theme = &THEMES[run->theme];
	if (theme->held)
		printf("%lld graphs hold %s, %.0f %% of those that compile\n", (long long)s->held,
		       theme->held, share_held(s));
	if (theme->held && s->cases >= ENOUGH_FOR_SHARE && share_held(s) <= theme->percent)
		failed++, printf("FAIL graphs: at most %d %% of them do\n", theme->percent);
	if (missing && s->cases >= ENOUGH_FOR_ALL)
		failed++, printf("FAIL graphs: %d operators never came\n", missing);
	printf("%lld passed, %lld failed, %d skipped\n", (long long)(s->cases - s->failed),
	       (long long)failed, run->has_ort ? 0 : 1);
	return failed ? FAIL_COMPARISON : 0;
}

/* Whether ONNX Runtime is here: a model that any takes. */
static void
probe_ort(void *arg)
{
	const Run *run = arg;
	Graph *graph = graph_parse(run->arena, "probe", "graph g(%x: f32[1]) -> %y { %y = Relu(%x) }");
	graph_infer(graph);
	graph->ir_version = 8;
	vec_push(run->arena, &graph->opsets, (OpsetImport){"", 17});
	onnx_write(graph, run->model, NULL);
	executor_ort.open(run->arena, run->model, 1, true);
}

/* What a lane has of its own. */
static void
open_lane(Run *run)
{
	strcpy(run->model, "/tmp/tilewright-graphs-XXXXXX.onnx");
	int made = mkstemps(run->model, (int)strlen(".onnx"));
	run->errors = memfd_create("graphs-errors", MFD_CLOEXEC);
	if (run->errors < 0 || made < 0) {
		perror("graphs");
		exit(FAIL_ENVIRONMENT);
	}
	close(made);
}

static Shared *
new_shared(void)
{
	void *memory =
		mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("graphs");
		exit(FAIL_ENVIRONMENT);
	}
	return memory;
}

static void
run_lane(Run *run, int lane, int first, int count)
{
	run->shared = run->shares[lane];
	for (int at = lane * GRAPH_BATCH; at < count; at += run->lanes * GRAPH_BATCH)
		run_cases(run, first + at, count - at < GRAPH_BATCH ? count - at : GRAPH_BATCH);
}

static int
run_lanes(Run *run, int first, int count)
{
	Tallies *sum = NEW(run->arena, Tallies);
	int status, died = 0;
	for (int lane = 0; lane < run->lanes; lane++) {
		run->shares[lane] = new_shared();
		fflush(stdout);
		if (fork() != 0)
			continue;
		open_lane(run);
		run_lane(run, lane, first, count);
		fflush(stdout);
		unlink(run->model);
		_exit(0);
	}
	while (wait(&status) > 0)
		died += status != 0;
	for (int lane = 0; lane < run->lanes; lane++)
		tallies_add(sum, &run->shares[lane]->tallies);
	sum->failed += died;
	return report(run, sum);
}

static void
prepare(Run *run)
{
	static char file[] = "model.onnx", *arguments[] = {file};
	run->options = (Options){.arena = run->arena, .verb = verb_find("compile")};
	options_read(&run->options, 1, arguments);
	open_lane(run);
	/* In a process of its own: its threads would not live through fork(). */
	pid_t probe = fork();
	Failure failure;
	int status = 1;
	if (probe == 0)
		_exit(try_run(probe_ort, run, &failure) ? 0 : 1);
	run->has_ort = waitpid(probe, &status, 0) == probe && status == 0;
}

/* A text with the seed of its data, to be run in all ways. */
static void
read_sample(Run *run, Sample *c, const char *path)
{
	Bytes bytes = file_map(run->arena, path);
	const char *text = arena_strndup(run->arena, (const char *)bytes.data, bytes.size);
	const char *seed = strstr(text, "# seed ");
	*c = (Sample){.seed = seed ? strtoull(seed + strlen("# seed "), NULL, 10) : 1};
	c->ways = ~0u;
	c->theme = strstr(text, "# derive") ? THEME_derived : THEME_any;
	if (strlen(text) >= GRAPH_TEXT)
		fail(NULL, "%s is longer than a graph may be here", path);
	strcpy(c->text, text);
}

typedef struct Files {
	Run *run;
	int count;
	char **paths;
} Files;

static void
run_files(void *arg)
{
	const Files *files = arg;
	Run *run = files->run;
	run->shared = run->shares[0] = new_shared();
	run->is_strict = true;
	for (int at = 0; at < files->count; at += GRAPH_BATCH) {
		Shared *shared = run->shared;
		int left = files->count - at;
		shared->count = left < GRAPH_BATCH ? left : GRAPH_BATCH;
		for (int i = 0; i < shared->count; i++)
			read_sample(run, &shared->cases[i], files->paths[at + i]);
		run_batch(run);
		finish_batch(run);
	}
}

static void
print_graph(const Run *run, uint64_t seed, int number)
{
	const char *text =
		graph_make(run->arena, seed * 1000003 + (uint64_t)number, number, run->theme, NULL);
	fputs(text ? text : "nothing came of it\n", stdout);
}

int
main(int argc, char **argv)
{
	Run run = {.arena = arena_new("graphs"), .seed = 1, .lanes = 1};
	const char *missing = rows_check();
	for (size_t i = 1; i < countof(THEMES); i++)
		if (argc > 2 && strcmp(argv[1], THEMES[i].option) == 0) {
			run.theme = (Theme)i;
			argv++;
			argc--;
		}
	if (argc > 3 && strcmp(argv[1], "-j") == 0) {
		run.lanes = atoi(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (missing || argc < 2 || run.lanes < 1 || run.lanes > MAX_LANES) {
		fprintf(stderr,
		        missing ? "tests/graphs/operators.def has no row for %s\n"
		                : "usage: graphs [-d|-q] [-j LANES] COUNT [SEED [FIRST]]\n",
		        missing);
		return FAIL_USAGE;
	}
	prepare(&run);
	int failed = 0;
	if (strcmp(argv[1], "-f") == 0) {
		Files files = {&run, argc - 2, argv + 2};
		Failure failure;
		if (!try_run(run_files, &files, &failure))
			fprintf(stderr, "graphs: %s\n", failure.text);
		failed = run.shares[0]->tallies.failed > 0 || run.shares[0]->tallies.cases < argc - 2;
		printf("%lld passed, %lld failed, 0 skipped\n",
		       (long long)(run.shares[0]->tallies.cases - run.shares[0]->tallies.failed),
		       (long long)run.shares[0]->tallies.failed);
	} else if (strcmp(argv[1], "-p") == 0 && argc > 3) {
		print_graph(&run, strtoull(argv[2], NULL, 10), atoi(argv[3]));
	} else {
		run.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
		failed = run_lanes(&run, argc > 3 ? atoi(argv[3]) : 0, atoi(argv[1]));
	}
	unlink(run.model);
	arena_free(run.arena);
	return failed;
}
