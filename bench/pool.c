/* What handing work over costs: from pool_run() until every worker has begun and it has returned.
 *
 * usage: build/bench-pool      prints medians in microseconds for 2, 4, 8 … workers
 *
 *     spinning   the workers finished another task just now, and look for the next
 *     asleep     the last task is long over: the system has to wake them
 *     threads    the same through a caller's parallel_for, here a thread for each worker
 *     missed     what a step pays that is over before anyone comes
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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
	while (atomic_load(&meeting->begun) < meeting->wanted)
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
	pool_release();
	return 0;
}
