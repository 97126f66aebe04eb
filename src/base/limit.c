/* run_limited: a forked child, a pipe for its result, and a clock. A thread would share this
 * process's memory and locks, and could not be ended while it computes. */
#include "base/fail.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* The child's part. It does not outlive who waits for it, and leaves nothing of the parent's. */
static _Noreturn void
work(pid_t parent, int pipe, void (*step)(void *), void *arg, const char *result, size_t size)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	step(arg);
	for (size_t done = 0; done < size;) {
		ssize_t put = write(pipe, result + done, size - done);
		if (put < 0 && errno != EINTR)
			_exit(1);
		done += put > 0 ? (size_t)put : 0;
	}
	_exit(0);
}

/* NULL: all of it came. */
static const char *
receive(int pipe, double end, char *result, size_t size)
{
	for (size_t done = 0; done < size;) {
		double left = end - now_seconds();
		struct pollfd ready = {.fd = pipe, .events = POLLIN};
		if (left <= 0)
			return "it takes too long";
		if (poll(&ready, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		ssize_t got = read(pipe, result + done, size - done);
		if (got == 0 || (got < 0 && errno != EINTR))
			return "its process died";
		done += got > 0 ? (size_t)got : 0;
	}
	return NULL;
}

bool
run_limited(double seconds, void (*step)(void *), void *arg, void *result, size_t size,
            const char **why)
{
	double end = now_seconds() + seconds;
	pid_t parent = getpid(), child = -1;
	int ends[2], status;
	*why = "a process cannot be started";
	if (pipe(ends) != 0)
		return false;
	child = fork();
	if (child == 0)
		work(parent, ends[1], step, arg, result, size);
	close(ends[1]);
	if (child > 0)
		*why = receive(ends[0], end, result, size);
	close(ends[0]);
	if (child > 0 && *why)
		kill(child, SIGKILL);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return !*why;
}
