/* usage: bench-roller [DEVICE] [ID…]        (make build/bench-roller)
 *
 * Tiles of the 119 operators of Roller's evaluation: the best that the model ranks for each, how
 * many tiles were looked at and how long that took. For cuda:v100 beside the published times of
 * Roller's best of ten: the rank correlation (Spearman's) and the geometric error. No constant of
 * the model is fitted to them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "program/forms.h"
#include "roller/roller.h"
#include "roller_ops.h"

enum { BEST = 10 };

typedef struct Result {
	const RollerOp *op;
	double predicted, took; /* milliseconds */
} Result;

static void
print_tile(const TileTask *task, const TileProgram *program)
{
	for (int l = task->nlevel - 1; l >= 0; l--) {
		printf("%s", l == task->nlevel - 1 ? "" : " ");
		for (int a = 0; a < task->naxis; a++)
			printf("%c%lld", a == 0 ? '[' : ',', (long long)program->tile[l][a]);
		printf("]");
	}
}

static Result
try_op(const RollerOp *op, const Device *device, bool is_asked)
{
	Arena *arena = arena_new("operator");
	const Target target = {.device = device};
	const char *reason;
	int visited = 0;
	const Program *program = program_parse(expr_ctx_new(arena), op->id, op->text);
	double start = used_seconds();
	program = program_collapse_dims(arena, program_squeeze_dims(arena, program, NULL), NULL);
	const TileTask *task = roller_task(arena, program, &target, &reason);
	TilePrograms found = {0};
	if (task)
		found = roller_tiles(task, BEST, &visited);
	Result result = {op, 0, (used_seconds() - start) * 1e3};
	if (found.count == 0) {
		printf("%-4s %-10s nothing: %s\n", op->id, op->kind, task ? "no tile fits" : reason);
		arena_free(arena);
		return result;
	}
	result.predicted = found.data[0].seconds * 1e3;
	for (int i = 0; i < (is_asked ? found.count : 1); i++) {
		const TileProgram *p = &found.data[i];
		printf("%-4s %-10s %9.4f ms %9.4f published, %-10s x%lld/%lld %5d tiles %6.2f ms  ", op->id,
		       op->kind, p->seconds * 1e3, op->best, p->reason, (long long)p->pieces,
		       (long long)p->cut, visited, result.took);
		print_tile(task, p);
		printf("\n");
	}
	arena_free(arena);
	return result;
}

/* Of the operators of a kind; NULL: all. */
static void
compare(const Result *all, int count, const char *kind)
{
	double predicted[ROLLER_OPS], published[ROLLER_OPS], error = 0, bias = 0;
	int n = 0;
	for (int i = 0; i < count; i++) {
		if (all[i].predicted <= 0 || (kind && strcmp(all[i].op->kind, kind) != 0))
			continue;
		double off = log(all[i].predicted / all[i].op->best);
		predicted[n] = all[i].predicted;
		published[n++] = all[i].op->best;
		error += fabs(off);
		bias += off;
	}
	printf("%-10s %3d: rank correlation %.3f, geometric error %.3f, predicted/published %.3f\n",
	       kind ? kind : "all", n, rank_correlation(n, predicted, published), exp(error / n),
	       exp(bias / n));
}

int
main(int argc, char **argv)
{
	const Device *device = device_find(argc > 1 ? argv[1] : "cuda:v100");
	RollerOp ops[ROLLER_OPS];
	Result results[ROLLER_OPS];
	Arena *arena = arena_new("operators");
	int count = roller_ops(arena, ops), tried = 0;
	double most = 0;
	if (!device) {
		fprintf(stderr, "there is no device '%s'\n", argv[1]);
		return 2;
	}
	for (int i = 0; i < count; i++) {
		bool is_asked = false;
		for (int k = 2; k < argc; k++)
			is_asked |= strcmp(argv[k], ops[i].id) == 0;
		if (argc > 2 && !is_asked)
			continue;
		results[tried++] = try_op(&ops[i], device, is_asked);
		most = fmax(most, results[tried - 1].took);
	}
	printf("%d operators on %s, the slowest built in %.1f ms\n", tried, device->name, most);
	for (int k = 0; argc <= 2 && strcmp(device->name, "cuda:v100") == 0 && k < 7; k++)
		compare(results, tried,
		        (const char *[]){"matmul", "conv", "depthwise", "pool", "relu", "reduce", NULL}[k]);
	arena_free(arena);
	return 0;
}
