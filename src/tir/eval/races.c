/* Races: two threads touch an element, one of them writes, and nothing orders the two.
 *
 * Accesses of one block are ordered by the program within a thread and by barriers between threads;
 * nothing orders blocks, nor iterations of @parallel loops. So two accesses are unordered when they
 * are of different units, or of different threads in the same epoch. To find each race it is enough
 * to remember the last writer and two readers of an element: the last, and one that is unordered
 * with it, of another unit if there was one.
 */
#include "tir/eval/machine.h"

static bool
are_unordered(Who a, Who b)
{
	return a.epoch > 0 && (a.unit != b.unit || (a.thread != b.thread && a.epoch == b.epoch));
}

static bool
is_grid(const Machine *m)
{
	for (int axis = 0; axis < AXES; axis++)
		if (m->extent[axis] >= 0)
			return true;
	return false;
}

static _Noreturn void
fail_race(const Machine *m, const Storage *storage, int64_t at, const char *does, const char *did,
          Who other)
{
	bool is_unit = other.unit != m->now.unit;
	const char *what = !is_unit ? "thread" : is_grid(m) ? "block" : "iteration";
	machine_fail(m, FAIL_BUG, "%s %d %s element %lld of %s, which %s %d %s: nothing orders them",
	             what, is_unit ? m->now.unit : m->now.thread, does, (long long)at,
	             storage->buffer->tensor.name, what, is_unit ? other.unit : other.thread, did);
}

void
note_read(const Machine *m, const Storage *storage, int64_t at)
{
	Touched *touched = &storage->touched[at];
	if (are_unordered(touched->writer, m->now))
		fail_race(m, storage, at, "reads", "wrote", touched->writer);
	Who last = touched->readers[0];
	bool knows_unit = touched->readers[1].epoch > 0 && touched->readers[1].unit != m->now.unit;
	if (are_unordered(last, m->now) && !knows_unit)
		touched->readers[1] = last;
	touched->readers[0] = m->now;
}

void
note_write(const Machine *m, const Storage *storage, int64_t at)
{
	Touched *touched = &storage->touched[at];
	if (are_unordered(touched->writer, m->now))
		fail_race(m, storage, at, "writes", "wrote", touched->writer);
	for (int i = 0; i < 2; i++)
		if (are_unordered(touched->readers[i], m->now))
			fail_race(m, storage, at, "writes", "reads", touched->readers[i]);
	touched->writer = m->now;
}
