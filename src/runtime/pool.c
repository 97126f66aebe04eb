/* The worker pool.
 *
 * One word, `state`, says everything about the current job: its number, whether workers may still
 * join, and how many have. A worker joins by compare-and-swap while the job is open; the caller
 * works too, then closes the job with one atomic operation and waits only for those who joined.
 *
 *     bits 63..17  number of the job      bit 16  open      bits 15..0  joined
 *
 * This is the only mutable state of the library that is not inside an object of the caller: it is
 * one per process because cores are. `lock` guards starting and ending threads and sleeping;
 * `busy` is held by the session whose job is running. A worker that another process stops is
 * missed: then fewer are asked for a while (backoff.h).
 */
#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/backoff.h"

enum {
	JOINED_MASK = 0xFFFF,
	OPEN = 0x10000,
	JOB_SHIFT = 17,
	SPINS_PER_LOOK = 32,
	/* Within a run the next task comes soon, and waking a worker takes longer than most steps. */
	RUN_SPIN_US = 2000,
	/* Who has looked so often for the last workers to be done asks whether they run. */
	LONG_WAIT = 4096,
};

typedef struct Pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t threads[POOL_MOST];
	int thread_count, users;
	bool is_hooked; /* the fork handlers are in place */
	atomic_bool busy, is_ending;
	_Atomic uint64_t state;
	_Atomic int finished, sleepers;
	/* The job: written before `state` opens it. */
	PoolTask *task;
	void *arg;
	_Atomic int width;
	_Atomic double until; /* who waits looks for work so long, by now_seconds(), then sleeps */
	atomic_bool is_inside[POOL_MOST]; /* of each thread: it works on the job */
	Backoff backoff;                  /* of who holds `busy` */
} Pool;

static Pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void
relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Take part in the open job, if it wants this worker: gives the number of the job it has seen. */
static uint64_t
take_part(int worker)
{
	uint64_t state = atomic_load(&pool.state);
	while (state & OPEN) {
		if (worker >= atomic_load(&pool.width))
			break;
		atomic_store(&pool.is_inside[worker - 1], true);
		if (atomic_compare_exchange_weak(&pool.state, &state, state + 1)) {
			pool.task(pool.arg, worker);
			atomic_store(&pool.is_inside[worker - 1], false);
			atomic_fetch_add(&pool.finished, 1);
			break;
		}
		atomic_store(&pool.is_inside[worker - 1], false);
	}
	return state >> JOB_SHIFT;
}

/* Wait until the job number differs from `seen`: spin for a while, then sleep. */
static void
await_job(uint64_t seen)
{
	do {
		for (int i = 0; i < SPINS_PER_LOOK; i++, relax())
			if (atomic_load(&pool.state) >> JOB_SHIFT != seen || atomic_load(&pool.is_ending))
				return;
	} while (now_seconds() < atomic_load(&pool.until));
	pthread_mutex_lock(&pool.lock);
	atomic_fetch_add(&pool.sleepers, 1);
	while (atomic_load(&pool.state) >> JOB_SHIFT == seen && !atomic_load(&pool.is_ending))
		pthread_cond_wait(&pool.wake, &pool.lock);
	atomic_fetch_sub(&pool.sleepers, 1);
	pthread_mutex_unlock(&pool.lock);
}

/* A worker has the same number in all jobs: what it wrote in one is in its cache in the next. */
static void *
work(void *number)
{
	int worker = (int)(intptr_t)number;
	while (!atomic_load(&pool.is_ending))
		await_job(take_part(worker));
	return NULL;
}

/* ---- fork ---- */

static void
before_fork(void)
{
	pthread_mutex_lock(&pool.lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&pool.lock);
}

/* In the child there are no workers, and nobody holds anything. */
static void
after_fork_child(void)
{
	for (int i = 0; i < pool.thread_count; i++)
		atomic_store(&pool.is_inside[i], false);
	pool.thread_count = 0;
	pthread_cond_init(&pool.wake, NULL);
	atomic_store(&pool.busy, false);
	atomic_store(&pool.is_ending, false);
	atomic_store(&pool.sleepers, 0);
	atomic_store(&pool.finished, 0);
	atomic_store(&pool.state, (atomic_load(&pool.state) >> JOB_SHIFT) << JOB_SHIFT);
	pthread_mutex_unlock(&pool.lock); /* this thread has it since before_fork() */
}

/* ---- Threads ---- */

void
pool_acquire(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.users++;
	if (!pool.is_hooked)
		pool.is_hooked = !pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	pthread_mutex_unlock(&pool.lock);
}

/* The last user ends the threads; `busy` keeps a session that comes meanwhile from using them. */
void
pool_release(void)
{
	pthread_mutex_lock(&pool.lock);
	bool is_last = --pool.users == 0 && pool.thread_count > 0 && !atomic_exchange(&pool.busy, true);
	if (is_last) {
		atomic_store(&pool.is_ending, true);
		pthread_cond_broadcast(&pool.wake);
	}
	pthread_mutex_unlock(&pool.lock);
	if (!is_last)
		return;
	for (int i = 0; i < pool.thread_count; i++)
		pthread_join(pool.threads[i], NULL);
	pthread_mutex_lock(&pool.lock);
	pool.thread_count = 0;
	atomic_store(&pool.is_ending, false);
	atomic_store(&pool.busy, false);
	pthread_mutex_unlock(&pool.lock);
}

/* Have at least `count` workers, or as many as the system gives. Signals go to other threads. */
static void
start_threads(int count)
{
	sigset_t all, old;
	if (count > POOL_MOST)
		count = POOL_MOST;
	if (pool.thread_count >= count)
		return;
	pthread_mutex_lock(&pool.lock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool.thread_count < count &&
	       pthread_create(&pool.threads[pool.thread_count], NULL, work,
	                      (void *)(intptr_t)(pool.thread_count + 1)) == 0)
		pool.thread_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_mutex_unlock(&pool.lock);
}

/* What a thread has computed, in seconds; -1: the system does not say. */
static double
seconds_by(clockid_t clock)
{
	struct timespec used;
	return clock_gettime(clock, &used) ? -1 : (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static double
seconds_of(pthread_t thread)
{
	clockid_t clock;
	return pthread_getcpuclockid(thread, &clock) ? -1 : seconds_by(clock);
}

/* A worker that somebody waits for. */
typedef struct Late {
	int thread; /* -1: none */
	double seconds, since;
} Late;

static Late
find_late(void)
{
	for (int i = 0; i < pool.thread_count; i++)
		if (atomic_load(&pool.is_inside[i]))
			return (Late){i, seconds_of(pool.threads[i]), now_seconds()};
	return (Late){.thread = -1};
}

/* Whether it was stopped for half of this time, or more: it did not merely have more to do. */
static bool
was_stopped(const Late *late, double now)
{
	static const double SHORT = 1e-4; /* seconds that do not matter */
	if (late->thread < 0 || late->seconds < 0 || now - late->since < SHORT)
		return false;
	double used = seconds_of(pool.threads[late->thread]) - late->seconds;
	return used >= 0 && used < (now - late->since) / 2;
}

/* The caller's clock: as long as it works on a job, each worker does. */
static double
caller_clock(bool is_wary)
{
	return is_wary ? seconds_by(CLOCK_THREAD_CPUTIME_ID) : now_seconds();
}

/* Close the job, on which the caller worked so long, and wait for those who joined. */
static void
finish(int width, double worked)
{
	double waits = now_seconds();
	uint64_t joined = atomic_fetch_and(&pool.state, ~(uint64_t)OPEN) & JOINED_MASK;
	Late late = {.thread = -1};
	for (int spins = 0; (uint64_t)atomic_load(&pool.finished) < joined; spins++) {
		relax();
		if (spins == LONG_WAIT)
			late = find_late();
		if (spins > LONG_WAIT)
			sched_yield(); /* a worker lost its core: let it have this one */
	}
	double now = late.thread < 0 ? waits : now_seconds();
	if (was_stopped(&late, now))
		backoff_lost(&pool.backoff, width, now - waits, now);
	else
		backoff_gained(&pool.backoff, (double)joined * worked);
}

void
pool_rest(int spin_us)
{
	atomic_store(&pool.until, now_seconds() + spin_us * 1e-6);
}

void
pool_run(int width, int spin_us, PoolTask *task, void *arg)
{
	if (width <= 1 || atomic_exchange(&pool.busy, true)) {
		task(arg, 0);
		return;
	}
	start_threads(width - 1);
	double begun = now_seconds();
	width = backoff_width(&pool.backoff, width, begun);
	if (width == 1) {
		task(arg, 0);
		atomic_store(&pool.busy, false);
		return;
	}
	pool.task = task;
	pool.arg = arg;
	atomic_store(&pool.width, width);
	pool_rest(spin_us);
	atomic_store(&pool.finished, 0);
	uint64_t job = (atomic_load(&pool.state) >> JOB_SHIFT) + 1;
	atomic_store(&pool.state, job << JOB_SHIFT | OPEN);
	if (atomic_load(&pool.sleepers) > 0) {
		pthread_mutex_lock(&pool.lock);
		pthread_cond_broadcast(&pool.wake);
		pthread_mutex_unlock(&pool.lock);
	}
	bool is_wary = backoff_is_wary(&pool.backoff, begun);
	double clock = caller_clock(is_wary);
	task(arg, 0);
	finish(width, caller_clock(is_wary) - clock);
	pool_rest(spin_us);
	atomic_store(&pool.busy, false);
}

void
workers_run(const Workers *workers, int width, PoolTask *task, void *arg)
{
	int run_spin = workers->spin_us < RUN_SPIN_US ? RUN_SPIN_US : workers->spin_us;
	if (width > workers->threads)
		width = workers->threads;
	if (width <= 1)
		task(arg, 0);
	else if (workers->parallel_for)
		workers->parallel_for(workers->context, width, task, arg);
	else
		pool_run(width, workers->spin_us ? run_spin : 0, task, arg);
}

void
workers_rest(const Workers *workers)
{
	if (workers->threads > 1 && !workers->parallel_for)
		pool_rest(workers->spin_us);
}

int
pool_threads(void)
{
	pthread_mutex_lock(&pool.lock);
	int count = pool.thread_count;
	pthread_mutex_unlock(&pool.lock);
	return count;
}

int
pool_cores(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
	return count < 1 ? 1 : count > POOL_MOST ? POOL_MOST : count;
}
