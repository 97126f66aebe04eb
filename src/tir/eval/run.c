/* The interpreter of kernels: the oracle of every loop transformation and of the emitted code.
 *
 * All threads of a block go through the statements side by side: each statement is done by all that
 * reach it before any goes on to the next. A condition or a loop's bounds may leave some behind
 * until its end. So a barrier is reached by all or is a mistake, and operations of a warp find
 * their lanes at the same statement. That order hides no mistake of a program: what another order
 * could change is a race, and those are found (races.c).
 *
 * Blocks run one after another. A kernel without @block and @thread loops is one block of one
 * thread.
 */
#include "tir/eval/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
machine_fail(const Machine *m, FailKind kind, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fail_as(kind, m->stmt ? &m->stmt->loc : &m->kernel->loc, "kernel %s: %s", m->kernel->name,
	        text);
}

static void run_list(Machine *m, const Code *list, Active active);

/* ---- statements ------------------------------------------------------------------------------ */

static void
run_store(Machine *m, const Code *code)
{
	const Stmt *stmt = code->stmt;
	DType type = stmt->buffer->tensor.type;
	Scalar value = m->at[code->result[3]];
	int64_t at = locate_elements(m, code->to, 1);
	if (stmt->op != STORE_SET) {
		Scalar args[3] = {read_at(m, code->to.storage, at), value};
		value = scalar_eval(reduce_fold(stmt->op), type, args, type);
	}
	write_at(m, code->to.storage, at, value);
}

/* A loop bound to an axis is not repeated: its variable is the number there. */
static void
run_bound(Machine *m, const Code *code, Active active)
{
	int axis = code->stmt->bind - BIND_BLOCK_X;
	for (int i = 0; i < active.count; i++) {
		enter_thread(m, active.threads[i]);
		int64_t number = m->now.thread;
		for (int inner = THREAD_AXIS; inner < axis; inner++)
			number /= m->extent[inner] < 0 ? 1 : m->extent[inner];
		number = axis < THREAD_AXIS ? m->block[axis] : number % m->extent[axis];
		m->at[code->var].i64 = m->at[code->result[0]].i64 + number;
	}
	run_list(m, code->body, active);
}

/* How many turns of a long loop stand for all while something is counted: the first ones and the
 * last; 0: all run. */
static int64_t
turns_left_out(const Machine *m, const Code *code, Active active)
{
	enum { LONG = 8, TURNS = 3 };
	if (!m->watch || !m->watch->is_short || active.count == 0)
		return 0;
	const Scalar *first = m->threads[active.threads[0]].slots;
	int64_t lo = first[code->result[0]].i64, hi = first[code->result[1]].i64;
	for (int i = 1; i < active.count; i++) {
		const Scalar *slots = m->threads[active.threads[i]].slots;
		if (slots[code->result[0]].i64 != lo || slots[code->result[1]].i64 != hi)
			return 0;
	}
	return hi - lo > LONG ? hi - lo - TURNS : 0;
}

/* The turns of the loop, by those threads that have not come to its end. */
static void
run_turns(Machine *m, const Code *code, Active active)
{
	const Stmt *stmt = code->stmt, *inner = stmt->body;
	bool is_innermost_parallel =
		stmt->bind == BIND_PARALLEL && inner && inner->bind != BIND_PARALLEL;
	const int *begun = active.threads;
	Active going = {code->active[0], active.count};
	int64_t left_out = turns_left_out(m, code, active);
	for (int i = 0; i < active.count; i++) {
		Scalar *slots = m->threads[active.threads[i]].slots;
		slots[code->var] = slots[code->result[0]];
	}
	for (int turn = 0;; turn++) {
		int count = 0;
		for (int i = 0; i < going.count; i++) {
			const Scalar *slots = m->threads[begun[i]].slots;
			if (slots[code->var].i64 < slots[code->result[1]].i64)
				code->active[0][count++] = begun[i];
		}
		begun = going.threads;
		going.count = count;
		if (count == 0)
			return;
		m->now.unit += is_innermost_parallel;
		if (m->watch && stmt->bind != BIND_VECTOR)
			watch_turn(m->watch);
		run_list(m, code->body, going);
		for (int i = 0; i < count; i++)
			m->threads[going.threads[i]].slots[code->var].i64 += turn == 1 ? 1 + left_out : 1;
	}
}

static void
run_for(Machine *m, const Code *code, Active active)
{
	Watch *watch = m->watch;
	if (!watch) {
		run_turns(m, code, active);
		return;
	}
	double weight = watch->weight;
	bool was_merging = watch->is_merging;
	int64_t left_out = turns_left_out(m, code, active);
	watch->weight *= left_out ? (double)(left_out + 3) / 3 : 1;
	watch->is_merging |= code->stmt->bind == BIND_VECTOR;
	run_turns(m, code, active);
	watch->is_merging = was_merging;
	watch_flush(m);
	watch->weight = weight;
}

static void
run_if(Machine *m, const Code *code, Active active)
{
	int count[2] = {0, 0};
	for (int i = 0; i < active.count; i++) {
		int thread = active.threads[i];
		int is_not = m->threads[thread].slots[code->result[2]].u64 == 0;
		code->active[is_not][count[is_not]++] = thread;
	}
	run_list(m, code->body, (Active){code->active[0], count[0]});
	run_list(m, code->other, (Active){code->active[1], count[1]});
}

static void
run_sync(Machine *m, Active active)
{
	int missing = 0;
	while (missing < active.count && active.threads[missing] == missing)
		missing++;
	if (missing < m->count)
		machine_fail(m, FAIL_BUG, "thread %d waits at a barrier that thread %d does not reach",
		             active.threads[0], missing);
	m->now.epoch++;
	if (m->watch) {
		watch_barrier(m->watch);
	}
}

/* What one thread does at a statement without others inside. */
static void
run_simple(Machine *m, const Code *code)
{
	const Stmt *stmt = code->stmt;
	const Scalar *value = &m->at[code->result[3]];
	if (stmt->kind == STMT_STORE)
		run_store(m, code);
	else if (stmt->kind == STMT_LET)
		m->at[code->var] = *value;
	else if (stmt->kind == STMT_ALLOC)
		storage_make(m, code->to.storage, stmt->value ? value : NULL);
}

static void
run_stmt(Machine *m, const Code *code, Active active)
{
	const Stmt *stmt = code->stmt;
	m->stmt = stmt;
	for (int i = 0; i < active.count; i++) {
		enter_thread(m, active.threads[i]);
		run_code(m, code);
	}
	if (m->watch) {
		watch_code(m, code, active.count);
		m->watch->key = (int64_t)code->number << 32;
	}
	if (stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X)
		run_bound(m, code, active);
	else if (stmt->kind == STMT_FOR)
		run_for(m, code, active);
	else if (stmt->kind == STMT_IF)
		run_if(m, code, active);
	else if (stmt->kind == STMT_SYNC)
		run_sync(m, active);
	else if (stmt->kind == STMT_WARP_OP)
		run_warp_op(m, code, active);
	else
		for (int i = 0; i < active.count; i++) {
			enter_thread(m, active.threads[i]);
			run_simple(m, code);
		}
	if (m->watch)
		watch_flush(m);
}

static void
run_list(Machine *m, const Code *list, Active active)
{
	for (; list && active.count > 0; list = list->next)
		run_stmt(m, list, active);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* How many blocks there are, and threads in each, by axis; -1: no loop is bound to it. */
static void
find_extents(Machine *m)
{
	for (int axis = 0; axis < AXES; axis++)
		m->extent[axis] = -1;
	for (StmtWalk walk = stmt_walk(m->arena, m->kernel->body); stmt_step(&walk);) {
		const Stmt *loop = m->stmt = walk.stmt;
		m->is_shared |= loop->kind == STMT_FOR && loop->bind == BIND_PARALLEL;
		if (loop->kind != STMT_FOR || loop->bind < BIND_BLOCK_X)
			continue;
		int64_t *extent = &m->extent[loop->bind - BIND_BLOCK_X];
		int64_t here = dim_value(m, loop->hi) - dim_value(m, loop->lo);
		if (*extent >= 0 && *extent != here)
			machine_fail(m, FAIL_BUG, "loop %s binds an axis of %lld to %lld iterations",
			             loop->var->name, (long long)*extent, (long long)here);
		*extent = here > 0 ? here : 0;
		m->is_shared = true;
	}
	m->stmt = NULL;
	int64_t count = 1;
	for (int axis = THREAD_AXIS; axis < AXES; axis++)
		if (m->extent[axis] >= 0 && __builtin_mul_overflow(count, m->extent[axis], &count))
			count = INT64_MAX;
	if (count > MAX_THREADS)
		machine_fail(m, FAIL_BUG, "%lld threads in a block", (long long)count);
	m->count = (int)count;
}

enum { MOST_WATCHED = 1 << 20 }; /* elements of a result whose races are looked for then */

static void
bind_arguments(Machine *m, Array *const *buffers)
{
	for (int i = 0; i < m->kernel->buffers.count; i++) {
		const Buffer *buffer = m->kernel->buffers.data[i];
		if (!buffers[i])
			continue;
		Storage *storage = storage_of(m, &buffer->tensor);
		must(buffers[i]->type == buffer->tensor.type);
		storage->count = array_count(buffers[i]);
		storage->data = buffers[i]->data;
		if (m->is_shared && buffer->is_output && (!m->watch || storage->count <= MOST_WATCHED))
			storage->touched = NEW_N(m->arena, Touched, storage->count + 1);
	}
}

static void
make_threads(Machine *m)
{
	size_t slots = (size_t)m->slots.count;
	m->threads = NEW_N(m->arena, Thread, m->count + 1);
	for (int i = 0; i < m->count; i++)
		m->threads[i].slots = arena_memdup(m->arena, m->slots.data, slots * sizeof(Scalar));
}

static void
run_block(Machine *m, const Code *body)
{
	Active all = {m->all, m->count};
	storages_enter_block(m);
	m->now.unit++;
	m->now.epoch++;
	for (int i = 0; i < m->count; i++)
		m->threads[i].coming.count = m->threads[i].groups = 0;
	run_list(m, body, all);
}

static void
run_grid(Machine *m, const Code *body)
{
	m->all = NEW_N(m->arena, int, m->count + 1);
	for (int i = 0; i < m->count; i++)
		m->all[i] = i;
	int64_t *block = m->block, extent[THREAD_AXIS];
	for (int axis = 0; axis < THREAD_AXIS; axis++)
		extent[axis] = m->extent[axis] < 0 ? 1 : m->extent[axis];
	m->now = (Who){-1, 0, 0};
	if (m->watch) {
		watch_grid(m, body, run_block);
		return;
	}
	for (block[2] = 0; block[2] < extent[2]; block[2]++)
		for (block[1] = 0; block[1] < extent[1]; block[1]++)
			for (block[0] = 0; block[0] < extent[0]; block[0]++)
				run_block(m, body);
}

static void
eval(const Kernel *kernel, const Binding *binding, Array *const *buffers, OutsideIndices *reports,
     Watch *watch)
{
	Arena *arena = arena_new_in(kernel->arena, "interpreting a kernel");
	Machine m = {.kernel = kernel, .arena = arena, .binding = binding, .reports = reports};
	m.watch = watch;
	m.storages.arena = m.vars.arena = arena;
	new_slot(&m); /* slot 0: of statements without a condition */
	find_extents(&m);
	bind_arguments(&m, buffers);
	const Code *body = compile_list(&m, kernel->body);
	make_threads(&m);
	run_grid(&m, body);
	for (int i = 0; watch && i < kernel->buffers.count; i++) {
		const Storage *storage = storage_of(&m, &kernel->buffers.data[i]->tensor);
		double all = (double)storage->count * dtype_bits(storage->buffer->tensor.type) / 8;
		watch->counts.memory += storage->watched < all ? storage->watched : all;
	}
	arena_reset(arena);
}

void
kernel_eval_reporting(const Kernel *kernel, const Binding *binding, Array *const *buffers,
                      OutsideIndices *reports)
{
	eval(kernel, binding, buffers, reports, NULL);
}

void
kernel_watch(const Kernel *kernel, const Binding *binding, Array *const *buffers, Watch *watch)
{
	OutsideIndices outside = {.arena = watch->arena}; /* zeros are no indices of an empty dim */
	eval(kernel, binding, buffers, &outside, watch);
}

void
kernel_eval(const Kernel *kernel, const Binding *binding, Array *const *buffers)
{
	kernel_eval_reporting(kernel, binding, buffers, NULL);
}

bool
reports_equal(const OutsideIndices *a, const OutsideIndices *b)
{
	size_t size = (size_t)a->list.count * sizeof *a->list.data;
	return a->list.count == b->list.count &&
	       (size == 0 || memcmp(a->list.data, b->list.data, size) == 0);
}
