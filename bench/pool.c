/* What handing work over costs: from pool_run() until every worker has begun and it has returned;
 * and what a run takes on all cores while another process is busy on one of them.
 *
 * usage: build/bench-pool      prints medians in microseconds for 2, 4, 8 … workers
 *
 *     spinning   the workers finished another task just now, and look for the next
 *     asleep     the last task is long over: the system has to wake them
 *     threads    the same through a caller's parallel_for, here a thread for each worker
 *     missed     what a step pays that is over before anyone comes
 *
 * then milliseconds of a run of 60 steps of 16 pieces, medians and the tenth part that is slowest,
 * by one worker and by all, in turns: alone, beside a process of the lowest priority, and of equal.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/pool.h"

enum { ROUNDS = 501, MOST = 64, SPIN_US = 1000, PAUSE_US = 5 * SPIN_US };

typedef struct Meeting {
	_Atomic int begun;
	int wanted;
} Meeting;

/* Everybody waits for everybody: only then has the work been handed over. */
static void
meet(void *arg, int worker)
{
	Meeting *meeting = arg;
	(void)worker;
	atomic_fetch_add(&meeting->begun, 1);
	double late = now_seconds() + 1; /* beside other work fewer may take part */
	while (atomic_load(&meeting->begun) < meeting->wanted && now_seconds() < late)
		continue;
}

typedef struct Call {
	pthread_t thread;
	void (*task)(void *arg, int index);
	void *arg;
	int index;
} Call;

static void *
run_call(void *arg)
{
	Call *call = arg;
	call->task(call->arg, call->index);
	return NULL;
}

static void
threads_for(void *context, int count, void (*task)(void *arg, int index), void *arg)
{
	Call calls[MOST];
	(void)context;
	for (int i = 1; i < count; i++) {
		calls[i] = (Call){.task = task, .arg = arg, .index = i};
		if (pthread_create(&calls[i].thread, NULL, run_call, &calls[i]) != 0)
			exit(1);
	}
	task(arg, 0);
	for (int i = 1; i < count; i++)
		pthread_join(calls[i].thread, NULL);
}

static int
order_seconds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median of a round, in microseconds; `wanted` workers have to begin. */
static double
median_us(const Workers *workers, int wanted, int pause_us)
{
	static double seconds[ROUNDS];
	int rounds = pause_us ? ROUNDS / 5 : ROUNDS;
	for (int i = 0; i < rounds; i++) {
		Meeting meeting = {.wanted = wanted};
		if (pause_us)
			usleep((unsigned)pause_us);
		double start = now_seconds();
		workers_run(workers, workers->threads, meet, &meeting);
		seconds[i] = now_seconds() - start;
	}
	qsort(seconds, (size_t)rounds, sizeof *seconds, order_seconds);
	return seconds[rounds / 2] * 1e6;
}

/* ---- beside another process ---- */

enum { STEPS = 60, PIECES = 16, TURNS = 10000, RUNS = 101, LOWEST = 19 };

typedef struct Step {
	_Atomic int next;
	_Atomic unsigned sum;
} Step;

static void
do_pieces(void *arg, int worker)
{
	Step *step = arg;
	(void)worker;
	while (atomic_fetch_add(&step->next, 1) < PIECES) {
		unsigned x = 1;
		for (int i = 0; i < TURNS; i++)
			x = x * 1664525 + 1013904223;
		atomic_fetch_add(&step->sum, x);
	}
}

static double
run_ms(const Workers *workers)
{
	double start = now_seconds();
	for (int i = 0; i < STEPS; i++) {
		Step step = {0};
		workers_run(workers, workers->threads, do_pieces, &step);
	}
	workers_rest(workers);
	return (now_seconds() - start) * 1e3;
}

static void
print_beside(const char *what, int cores, int priority)
{
	static double ms[2][RUNS];
	const Workers one = {.threads = 1}, all = {.threads = cores, .spin_us = 50};
	pid_t other = priority < 0 ? 0 : fork();
	if (priority >= 0 && other == 0) {
		if (nice(priority) != -1)
			for (volatile unsigned i = 0;;)
				i++;
		_exit(1);
	}
	for (int i = 0; i < RUNS; i++) {
		ms[0][i] = run_ms(&one);
		ms[1][i] = run_ms(&all);
	}
	if (other > 0) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	for (int k = 0; k < 2; k++)
		qsort(ms[k], RUNS, sizeof **ms, order_seconds);
	printf("%-16s %7.2f %7.2f   %7.2f %7.2f   %5.2f\n", what, ms[0][RUNS / 2], ms[0][RUNS * 9 / 10],
	       ms[1][RUNS / 2], ms[1][RUNS * 9 / 10], ms[0][RUNS / 2] / ms[1][RUNS / 2]);
}

int
main(void)
{
	int cores = pool_cores() < MOST ? pool_cores() : MOST;
	pool_acquire();
	printf("workers  spinning  asleep  threads  missed   (us)\n");
	for (int count = 2; count <= cores; count *= 2) {
		Workers own = {.threads = count, .spin_us = SPIN_US};
		Workers given = {.threads = count, .parallel_for = threads_for};
		double spinning = median_us(&own, count, 0), asleep = median_us(&own, count, PAUSE_US);
		double threads = median_us(&given, count, 0), missed = median_us(&own, 1, 0);
		printf("%7d  %8.2f  %6.1f  %7.1f  %6.2f\n", count, spinning, asleep, threads, missed);
	}
	printf("\n%-16s %15s   %15s   one/all\n", "beside", "one worker", "all");
	print_beside("nothing", cores, -1);
	print_beside("lowest priority", cores, LOWEST);
	print_beside("equal priority", cores, 0);
	pool_release();
	return 0;
}
