/* Machine code of NVIDIA's GPUs from sm_70 on, 16 bytes an instruction. There is no published
 * description.
 *
 *     bits 0-8      the operation; 9-11: where its operands are
 *     bits 12-15    the predicate: register (7: none), negated
 *     BRA           its target, in words of 4 bytes from the next instruction: bits 34-81, and from
 *                   sm_90 on these are all but the low 8 bits, which are bits 16-23
 */
#include "sass.h"

enum { INSTRUCTION = 16, MAX_DEPTH = 8 };

enum { NOP = 0x118, BRANCH = 0x147, BRANCH_INDEXED = 0x149, CALL = 0x144 };

static uint64_t
number_at(const CubinKernel *kernel, uint64_t at, int size)
{
	uint64_t number = 0;
	for (int i = size - 1; i >= 0; i--)
		number = number << 8 | kernel->code.data[at + (uint64_t)i];
	return number;
}

/* The instruction that a branch goes to; -1: none of these. */
static int64_t
branch_target(const CubinKernel *kernel, int64_t from, int64_t instructions)
{
	uint64_t low = number_at(kernel, (uint64_t)from * INSTRUCTION, 8);
	uint64_t high = number_at(kernel, (uint64_t)from * INSTRUCTION + 8, 8);
	uint64_t words = (low >> 34 | high << 30) & 0xffffffffffff; /* 48 bits, with a sign */
	if (words >> 47)
		words |= 0xffff000000000000;
	if (kernel->capability >= 90)
		words = words << 8 | (low >> 16 & 0xff);
	int64_t target = from + 1 + (int64_t)words / (INSTRUCTION / 4);
	return (int64_t)words % (INSTRUCTION / 4) == 0 && target >= 0 && target < instructions ? target
	                                                                                       : -1;
}

static int
operation(const CubinKernel *kernel, int64_t at)
{
	return (int)(number_at(kernel, (uint64_t)at * INSTRUCTION, 2) & (SASS_CODES - 1));
}

/* The padding: a branch to itself, and nothing behind it. */
static int64_t
without_padding(const CubinKernel *kernel, int64_t instructions)
{
	int64_t end = instructions;
	while (end > 0 && operation(kernel, end - 1) == NOP)
		end--;
	if (end > 0 && operation(kernel, end - 1) == BRANCH &&
	    branch_target(kernel, end - 1, instructions) == end - 1)
		end--;
	return end;
}

/* How many more loops begin (end) at each instruction: a loop is where branches go back to, up to
 * the last that does. */
static int64_t
find_loops(Arena *arena, const CubinKernel *kernel, int64_t instructions, int64_t *change)
{
	int64_t loops = 0, *last = NEW_N(arena, int64_t, instructions + 1);
	for (int64_t i = 0; i < instructions; i++) {
		int64_t target =
			operation(kernel, i) == BRANCH ? branch_target(kernel, i, instructions) : -1;
		if (target >= 0 && target <= i)
			last[target] = i + 1;
	}
	for (int64_t i = 0; i < instructions; i++)
		if (last[i]) {
			loops++;
			change[i]++;
			change[last[i]]--;
		}
	return loops;
}

void
sass_count(Arena *arena, const CubinKernel *kernel, SassCount *count)
{
	int64_t all = (int64_t)(kernel->code.size / INSTRUCTION), end = without_padding(kernel, all);
	int64_t depth = 0, *change = NEW_N(arena, int64_t, end + 2);
	*count = (SassCount){.instructions = end};
	count->loops = find_loops(arena, kernel, end, change);
	for (int64_t i = 0; i < end; i++) {
		int64_t weight = 1;
		depth += change[i];
		for (int64_t k = 0; k < depth && k < MAX_DEPTH; k++)
			weight *= 10;
		int code_of = operation(kernel, i);
		unsigned head = (unsigned)number_at(kernel, (uint64_t)i * INSTRUCTION, 2);
		count->count[code_of]++;
		count->weight[code_of] += weight;
		count->weighted += weight;
		count->predicated += head >> 12 != 7;
		count->branches += code_of == BRANCH || code_of == BRANCH_INDEXED || code_of == CALL;
	}
}

const char *
sass_name(int code)
{
#define SASS(number, name) [number] = #name,
	static const char *const names[SASS_CODES] = {
#include "sass.def"
	};
#undef SASS
	return names[code];
}
