/* The process's worker threads: one pool, bounded, made when first needed.
 *
 * Work is handed out as tasks that take pieces from a shared counter, so any number of workers,
 * none included, gives the same result:
 *
 *     pool_run(width, spin_us, task, arg);    calls task(arg, 0) here and task(arg, w) on up to
 *                                             width-1 workers, 0 < w < width, each w at most once
 *
 * It returns when all calls have returned. A worker that is asleep and comes late finds the work
 * done and is not waited for. When another session is using the workers, the caller does all of
 * the work itself: two sessions never wait for one another.
 *
 * Threads do not survive fork(): a child begins with no workers and makes its own when needed.
 */
#ifndef RUNTIME_POOL_H
#define RUNTIME_POOL_H

#include <stdbool.h>

enum { POOL_MOST = 256 };

typedef void PoolTask(void *arg, int worker);

/* Say that a session will use the pool, and that it no longer does; the last one to go ends the
 * threads. Threads are started by pool_run(). */
void pool_acquire(void);
void pool_release(void);

/* `spin_us`: how long workers look for the next task before they sleep. */
void pool_run(int width, int spin_us, PoolTask *task, void *arg);
/* From now on they look for `spin_us`. */
void pool_rest(int spin_us);

/* Whose threads a session works with: the pool's, or the caller's. */
typedef struct Workers {
	int threads, spin_us;
	void (*parallel_for)(void *context, int count, void (*task)(void *arg, int index), void *arg);
	void *context; /* of parallel_for, which is NULL for the pool */
} Workers;

/* Call task(arg, worker) on up to `width` of them. */
void workers_run(const Workers *workers, int width, PoolTask *task, void *arg);

/* A run is over: they look for work for spin_us more. Between the tasks of a run they do so for
 * longer. */
void workers_rest(const Workers *workers);

/* Threads running now (for tests). */
int pool_threads(void);

/* Cores that this process may use, at least 1. */
int pool_cores(void);

#endif
