/* kernel_count(): the interpreter runs some blocks, and notes each access of their threads.
 *
 * Accesses of a warp's threads by one instruction are one; so are those of a @vector loop's lanes,
 * which codegen makes one access of up to 16 bytes. What straight code reads again is in registers,
 * and the places of registers and of lanes are numbers there: NVRTC's code was compared.
 */
#include "tir/count.h"

#include <stdlib.h>
#include <string.h>

#include "tir/eval/machine.h"

enum { SECTOR = 32, WORD = 4, BANKS = 32, WARP = 32 };

/* ---- accesses -------------------------------------------------------------------------------- */

void
watch_access(Machine *m, const Storage *storage, int64_t at, bool is_write)
{
	if (storage->is_private)
		return;
	int bits = dtype_bits(storage->buffer->tensor.type);
	vec_push(m->watch->arena, &m->watch->log,
	         (Logged){m->watch->key, storage, at * bits / 8, bits < 8 ? 1 : bits / 8,
	                  m->now.thread / WARP, is_write});
}

static int
compare(const void *a, const void *b)
{
	const Logged *p = a, *q = b;
	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	if (p->is_write != q->is_write)
		return p->is_write - q->is_write;
	if (p->warp != q->warp)
		return p->warp - q->warp;
	return (p->byte > q->byte) - (p->byte < q->byte);
}

static bool
is_one_access(const Logged *a, const Logged *b)
{
	return a->key == b->key && a->is_write == b->is_write && a->warp == b->warp;
}

/* Whether the block touches the sector for the first time. */
static bool
is_new(Watch *watch, const Storage *storage, int64_t sector)
{
	const int64_t key[] = {storage->buffer->param, sector};
	Hash128 hash = hash128(key, sizeof key);
	for (uint64_t i = hash.low;; i++) {
		uint64_t *place = &watch->seen[i % WATCH_SECTORS];
		if (*place == hash.high)
			return false;
		if (*place == 0 && watch->nseen < WATCH_SECTORS * 3 / 4) {
			*place = hash.high;
			watch->nseen++;
			return true;
		}
		if (*place == 0)
			return true;
	}
}

static void
count_sectors(Watch *watch, const Logged *first, int count)
{
	KernelCounts *c = &watch->counts;
	double *touched = &((Storage *)(uintptr_t)first->storage)->watched;
	int64_t last = -1, byte = -1;
	for (int i = 0; i < count; i++) {
		if (first[i].byte != byte)
			c->asked += watch->weight * first[i].size;
		byte = first[i].byte;
		if (byte / SECTOR == last)
			continue;
		last = byte / SECTOR;
		c->sectors += watch->weight;
		if (!is_new(watch, first->storage, last))
			continue;
		c->reused += watch->weight;
		*touched += watch->weight * SECTOR;
	}
}

static void
count_words(Watch *watch, const Logged *first, int count)
{
	int of_bank[BANKS] = {0}, most = 0, words = 0;
	int64_t last = -1;
	for (int i = 0; i < count; i++) {
		if (first[i].byte / WORD == last)
			continue;
		for (last = first[i].byte / WORD; last * WORD < first[i].byte + first[i].size; last++) {
			int *bank = &of_bank[last % BANKS];
			most = ++*bank > most ? *bank : most;
			words++;
		}
		last--;
	}
	watch->counts.rounds += watch->weight * most;
	int least = (words + BANKS - 1) / BANKS;
	watch->counts.words += watch->weight * least;
}

void
watch_turn(Watch *watch)
{
	watch->turn++;
}

void
watch_barrier(Watch *watch)
{
	KernelCounts *c = &watch->counts;
	c->barriers += watch->weight;
	c->fetches += watch->has_read ? watch->weight : 0;
	c->ahead += watch->has_begun ? watch->weight : 0;
	watch->has_read = watch->has_begun = false;
	watch_turn(watch);
}

/* Whether the warp has read just this already, and nobody has stored since. */
static bool
is_known(Watch *watch, const Logged *first, int count)
{
	if (first->is_write) {
		watch->turn++;
		return false;
	}
	const int64_t key[] = {(int64_t)(uintptr_t)first->storage, first->warp, (int64_t)watch->turn};
	Hash128 hash = hash128(key, sizeof key);
	for (int i = 0; i < count; i++)
		hash = hash128_combine(hash, hash128(&first[i].byte, sizeof first[i].byte));
	uint64_t *place = &watch->recent[hash.low % WATCH_RECENT];
	bool is_same = *place == hash.high;
	*place = hash.high;
	return is_same;
}

void
watch_flush(Machine *m)
{
	Watch *watch = m->watch;
	if (watch->is_merging || watch->log.count == 0)
		return;
	qsort(watch->log.data, (size_t)watch->log.count, sizeof *watch->log.data, compare);
	for (int i = 0, next; i < watch->log.count; i = next) {
		const Logged *first = &watch->log.data[i];
		for (next = i + 1; next < watch->log.count && is_one_access(first, &watch->log.data[next]);)
			next++;
		if (is_known(watch, first, next - i))
			continue;
		if (first->storage->buffer->scope == SCOPE_SHARED)
			count_words(watch, first, next - i);
		else
			count_sectors(watch, first, next - i);
		bool is_read = first->storage->buffer->scope != SCOPE_SHARED && !first->is_write;
		watch->has_read |= is_read && m->stmt->kind != STMT_WARP_OP;
		watch->has_begun |= is_read && m->stmt->kind == STMT_WARP_OP;
		watch->counts.instructions += watch->weight * WARP;
	}
	watch->log.count = 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Whether the statement's places are numbers in straight code, or so many elements behind one that
 * is known: instructions have room for those. */
static bool
has_fixed_places(const Machine *m, const Stmt *stmt)
{
	bool is_private = stmt->buffer && stmt->buffer->scope == SCOPE_REG;
	bool is_near = stmt->kind == STMT_LET && stmt->value->op == EX_read &&
	               ((const Buffer *)stmt->value->tensor)->scope == SCOPE_SHARED;
	return m->watch->is_merging || is_near || (stmt->kind == STMT_STORE && is_private);
}

/* Operations of a statement for one thread: lazy ones count, whether they run or not. */
void
watch_code(Machine *m, const Code *code, int threads)
{
	double all = 0, floats = 0;
	bool is_fixed = has_fixed_places(m, code->stmt);
	for (int i = 0; i < code->ins.count; i++) {
		const Instruction *ins = &code->ins.data[i];
		bool is_scalar = ins->op >= EX_at + 1 || ins->op == EX_at || ins->op == EX_cast;
		all += is_scalar && !(is_fixed && ins->type == DT_I64);
		floats += is_scalar && ins->op != EX_cast && dtype_is_float(ins->type);
	}
	if (code->stmt->kind == STMT_STORE && code->stmt->op != STORE_SET) {
		all += code->stmt->value->op != EX_mul; /* else it is a multiply-add */
		floats += dtype_is_float(code->stmt->buffer->tensor.type);
	}
	m->watch->counts.instructions += m->watch->weight * all * threads;
	m->watch->counts.operations += m->watch->weight * floats * threads;
}

void
watch_product(Machine *m, const WarpOp *op)
{
	double work = 2.0 * op->d->rows * op->d->cols * op->a->cols;
	m->watch->counts.operations += m->watch->weight * work;
	m->watch->counts.products += m->watch->weight * work;
	m->watch->counts.instructions += m->watch->weight * WARP;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

enum { SAMPLES = 3 };

/* Blocks by number: the first, one between, the last. */
static int
pick_blocks(int64_t count, int64_t picked[SAMPLES])
{
	const int64_t all[SAMPLES] = {0, count / 2, count - 1};
	int found = 0;
	for (int i = 0; i < SAMPLES && i < count; i++)
		if (found == 0 || picked[found - 1] < all[i])
			picked[found++] = all[i];
	return found;
}

void
watch_grid(Machine *m, const Code *body, RunBlock *run)
{
	Watch *watch = m->watch;
	int64_t extent[THREAD_AXIS], count = 1, picked[SAMPLES];
	for (int axis = 0; axis < THREAD_AXIS; axis++) {
		extent[axis] = m->extent[axis] < 0 ? 1 : m->extent[axis];
		count *= extent[axis];
	}
	int samples = pick_blocks(count, picked);
	watch->counts.blocks = (double)count;
	watch->counts.threads = m->count;
	for (int i = 0; i < samples; i++) {
		watch->weight = (double)count / samples;
		watch->nseen = 0;
		memset(watch->seen, 0, WATCH_SECTORS * sizeof *watch->seen);
		m->block[0] = picked[i] % extent[0];
		m->block[1] = picked[i] / extent[0] % extent[1];
		m->block[2] = picked[i] / extent[0] / extent[1];
		run(m, body);
	}
}

static int64_t
shared_bytes(Arena *arena, const Kernel *kernel, const Binding *binding)
{
	int64_t bytes = 0, extent;
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);) {
		if (walk.stmt->kind != STMT_ALLOC || walk.stmt->buffer->scope != SCOPE_SHARED)
			continue;
		const Tensor *tensor = &walk.stmt->buffer->tensor;
		int64_t size = (dtype_bits(tensor->type) + 7) / 8;
		for (int d = 0; d < tensor->rank; d++)
			size *= dim_eval(tensor->hi[d], binding, &extent) ? extent : 1;
		bytes += (size + 15) / 16 * 16;
	}
	return bytes;
}

typedef struct Counting {
	const Kernel *kernel;
	const Binding *binding;
	Watch *watch;
	Array *const *arguments;
} Counting;

static void
run(void *arg)
{
	const Counting *counting = arg;
	kernel_watch(counting->kernel, counting->binding, counting->arguments, counting->watch);
}

static void
release(void *memory)
{
	free(memory);
}

/* Zeros, of which only what is touched takes memory. */
static Array *
zeros(Arena *arena, const Buffer *buffer, const Binding *binding)
{
	const Tensor *tensor = &buffer->tensor;
	Array *array = NEW(arena, Array);
	int64_t last = 1;
	size_t bytes;
	array->type = tensor->type;
	array->rank = 1;
	for (int d = 0; d < tensor->rank; d++) {
		int64_t extent = 1, stride = 0;
		must(dim_eval(tensor->hi[d], binding, &extent));
		if (extent <= 0) {
			last = 0;
			break;
		}
		if (buffer->stride && dim_eval(buffer->stride[d], binding, &stride))
			last += (extent - 1) * stride;
		else
			last = last * extent;
	}
	array->dims = arena_memdup(arena, &last, sizeof last);
	if (!dtype_bytes(tensor->type, last, &bytes))
		fail_environment(&(Loc){0}, "an argument is too large to count what is done to it");
	array->data = calloc(bytes + 1, 1);
	if (!array->data)
		fail_environment(&(Loc){0}, "memory is out");
	arena_defer(arena, release, array->data);
	return array;
}

KernelCounts
kernel_count(const Kernel *kernel, const Binding *binding)
{
	Arena *arena = arena_new_in(kernel->arena, "counting a kernel");
	Watch watch = {.arena = arena, .is_short = true};
	watch.seen = NEW_N(arena, uint64_t, WATCH_SECTORS);
	Array **arguments = NEW_N(arena, Array *, kernel->buffers.count + 1);
	for (int i = 0; i < kernel->buffers.count; i++)
		arguments[i] = zeros(arena, kernel->buffers.data[i], binding);
	Counting counting = {kernel, binding, &watch, arguments};
	Failure failure;
	if (!try_run(run, &counting, &failure)) {
		/* what a turn that was left out writes may be missing: all turns, and it fails again */
		watch = (Watch){.arena = arena, .seen = watch.seen};
		run(&counting);
	}
	watch.counts.shared = shared_bytes(arena, kernel, binding);
	KernelCounts counts = watch.counts;
	arena_reset(arena);
	return counts;
}
