/* Signals that end the process: a sentence, no litter, exit code 5; or 6 where memory is used up,
 * which some libraries do not survive.
 *
 * The handler runs on a stack of its own, since the end of the stack is one of the reasons. It
 * trusts nothing: it allocates nothing, calls only what may be called in a handler, and when the
 * record of the work under way is itself what cannot be read, the second signal says less. Under
 * AddressSanitizer signals are left to it, which says more.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/file.h"

enum { STACK_BYTES = 64 << 10, SHOWN = 256 };

#ifdef __SANITIZE_ADDRESS__
enum { REPORTS_ITSELF = true };
#else
enum { REPORTS_ITSELF = false };
#endif

static const struct {
	int number;
	const char *words;
} BUGS[] = {
	{SIGSEGV, "crashed: invalid memory access (SIGSEGV)"},
	{SIGFPE, "crashed: division by zero or without a result (SIGFPE)"},
	{SIGILL, "crashed: invalid instruction (SIGILL)"},
	{SIGABRT, "crashed: a library or an assertion gave up (SIGABRT)"},
	{SIGBUS, "crashed: memory or a mapped file cannot be read (SIGBUS)"},
};

static const int KILLS[] = {SIGINT, SIGTERM, SIGHUP};

typedef struct Line {
	char text[1536];
	size_t used;
} Line;

/* At most SHOWN characters, control characters replaced. */
static void
add(Line *line, const char *words)
{
	for (int left = SHOWN; left > 0 && *words && line->used < sizeof line->text; left--, words++)
		line->text[line->used++] = (unsigned char)*words < ' ' && *words != '\n' ? '?' : *words;
}

static void
add_place(Line *line, const Work *work)
{
	if (work->loc.file) {
		add(line, work->loc.file);
		add(line, ": ");
	}
	if (work->loc.node) {
		add(line, "node \"");
		add(line, work->loc.node);
		add(line, "\"");
	}
	if (work->loc.op) {
		add(line, " (");
		add(line, work->loc.op);
		add(line, ")");
	}
	if (work->loc.node || work->loc.op)
		add(line, ": ");
}

static void
add_advice(Line *line, const Work *work)
{
	add(line, "\nthis is a bug in Tilewright");
	if (work->pass) {
		add(line, ", met in pass ");
		add(line, work->pass);
	}
	add(line, "; a way round it may be ");
	if (work->pass) {
		add(line, "--disable ");
		add(line, work->pass);
		add(line, ", or ");
	}
	add(line, "-O0\n");
}

/* Whether not even this much can be had any more. */
static bool
is_memory_gone(void)
{
	enum { LITTLE = 8 << 20 };
	return mmap(NULL, LITTLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static void
die_of_bug(int number)
{
	static volatile sig_atomic_t entered;
	Line line = {.used = 0};
	Work work = {0};
	if (entered++ == 0) {
		litter_sweep();
		work = work_now();
		add_place(&line, &work);
	}
	bool is_gone = is_memory_gone();
	for (size_t i = 0; i < countof(BUGS) && !is_gone; i++)
		if (BUGS[i].number == number)
			add(&line, BUGS[i].words);
	if (is_gone)
		add(&line, "out of memory, which a library did not survive\n");
	else
		add_advice(&line, &work);
	FailKind kind = is_gone ? FAIL_ENVIRONMENT : FAIL_BUG;
	if (write(STDERR_FILENO, line.text, line.used) < 0)
		_exit(kind);
	_exit(kind);
}

static void
die_of_kill(int number)
{
	litter_sweep();
	signal(number, SIG_DFL);
	raise(number);
}

static void
on_signal(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
	sigemptyset(&action.sa_mask);
	if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void
crash_watch(void)
{
	for (size_t i = 0; i < countof(KILLS); i++)
		on_signal(KILLS[i], die_of_kill, 0);
	if (REPORTS_ITSELF)
		return;
	void *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED ||
	    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL) < 0)
		return;
	for (size_t i = 0; i < countof(BUGS); i++)
		on_signal(BUGS[i].number, die_of_bug, SA_ONSTACK | SA_NODEFER);
}
