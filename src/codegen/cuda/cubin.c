/* What stands in a cubin: an ELF file of 64 bits in which .text.NAME is a kernel's code, 16 bytes
 * an instruction. There is no published description; what is read here was compared with what ptxas
 * says of its work (-v) for sm_80 and sm_90.
 *
 *     bits 0-8      the operation; 9-11: where its operands are
 *     bits 12-15    the predicate: register (7: none), negated
 *     BRA           its target, in words of 4 bytes from the next instruction: bits 34-81, and from
 *                   sm_90 on these are all but the low 8 bits, which are bits 16-23
 *
 * Sizes and numbers of a file are believed only after they were compared with where it ends.
 */
#include <string.h>

#include "codegen/cuda/cuda.h"

enum {
	ELF_HEADER = 64,
	SECTION_SIZE = 64,
	SYMBOL_SIZE = 24,
	CUDA_MACHINE = 190,
	NO_BITS = 8,
	INSTRUCTION = 16,
	MAX_DEPTH = 8,
	RESERVED_SHARED = 1024, /* of each block, by sm_90's driver */
};

/* Entries of .nv.info with a symbol and a number. */
enum { INFO_VALUE = 4, INFO_FRAME = 0x11, INFO_REGISTERS = 0x2f };

enum { NOP = 0x118, BRANCH = 0x147, BRANCH_INDEXED = 0x149, CALL = 0x144 };

typedef struct Section {
	const char *name;
	uint32_t type, link;
	Bytes data; /* of one without bits the size alone */
} Section;

typedef struct Cubin {
	Bytes bytes;
	int capability, count;
	Section *sections;
} Cubin;

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint64_t
number_at(Bytes bytes, uint64_t at, int size)
{
	uint64_t number = 0;
	if (at > bytes.size || bytes.size - at < (size_t)size)
		fail(NULL, "a cubin ends at byte %zu, within a number", bytes.size);
	for (int i = size - 1; i >= 0; i--)
		number = number << 8 | bytes.data[at + (uint64_t)i];
	return number;
}

static Bytes
part_of(Bytes bytes, uint64_t offset, uint64_t size)
{
	if (offset > bytes.size || size > bytes.size - offset)
		fail(NULL, "a cubin ends at byte %zu, before its sections do", bytes.size);
	return (Bytes){bytes.data + offset, size};
}

static const char *
string_at(Bytes strings, uint64_t at)
{
	if (at >= strings.size || !memchr(strings.data + at, '\0', strings.size - at))
		fail(NULL, "a cubin has a name that does not end");
	return (const char *)strings.data + at;
}

/* ---- sections -------------------------------------------------------------------------------- */

static Section
read_section(Bytes bytes, Bytes table, int index)
{
	uint64_t at = (uint64_t)index * SECTION_SIZE;
	Section section = {.type = (uint32_t)number_at(table, at + 4, 4),
	                   .link = (uint32_t)number_at(table, at + 40, 4)};
	uint64_t offset = number_at(table, at + 24, 8), size = number_at(table, at + 32, 8);
	section.data = section.type == NO_BITS ? (Bytes){NULL, size} : part_of(bytes, offset, size);
	return section;
}

/* The version in the flags has moved a byte up with CUDA 13. */
static int
capability_of(uint64_t flags)
{
	int low = (int)(flags & 0xff), high = (int)(flags >> 8 & 0xff);
	return low >= 70 ? low : high;
}

static Cubin
open_cubin(Arena *arena, Bytes bytes)
{
	Cubin cubin = {.bytes = bytes};
	if (bytes.size < ELF_HEADER || memcmp(bytes.data, "\177ELF\2\1", 6) != 0 ||
	    number_at(bytes, 18, 2) != CUDA_MACHINE || number_at(bytes, 58, 2) != SECTION_SIZE)
		fail(NULL, "these %zu bytes are no cubin", bytes.size);
	cubin.capability = capability_of(number_at(bytes, 48, 4));
	if (cubin.capability < 70)
		fail(NULL, "a cubin for sm_%d has other instructions than those from sm_70 on",
		     cubin.capability);
	cubin.count = (int)number_at(bytes, 60, 2);
	uint64_t names = number_at(bytes, 62, 2);
	Bytes table = part_of(bytes, number_at(bytes, 40, 8), (uint64_t)cubin.count * SECTION_SIZE);
	/* the loader's table, mostly the end of the file */
	part_of(bytes, number_at(bytes, 32, 8), number_at(bytes, 54, 2) * number_at(bytes, 56, 2));
	cubin.sections = NEW_N(arena, Section, cubin.count + 1);
	for (int i = 0; i < cubin.count; i++)
		cubin.sections[i] = read_section(bytes, table, i);
	if (names >= (uint64_t)cubin.count || cubin.sections[names].type == NO_BITS)
		fail(NULL, "a cubin has no names of sections");
	for (int i = 0; i < cubin.count; i++)
		cubin.sections[i].name =
			string_at(cubin.sections[names].data, number_at(table, (uint64_t)i * SECTION_SIZE, 4));
	return cubin;
}

/* NULL: none is called prefix and name. */
static const Section *
find_section(const Cubin *cubin, const char *prefix, const char *name)
{
	size_t size = strlen(prefix);
	for (int i = 0; i < cubin->count; i++) {
		const char *found = cubin->sections[i].name;
		if (strncmp(found, prefix, size) == 0 && strcmp(found + size, name) == 0)
			return &cubin->sections[i];
	}
	return NULL;
}

/* ---- what is said of a kernel ---------------------------------------------------------------- */

static const char *
symbol_name(const Cubin *cubin, uint64_t index)
{
	const Section *symbols = find_section(cubin, ".symtab", "");
	if (!symbols || symbols->type == NO_BITS || symbols->link >= (uint32_t)cubin->count ||
	    cubin->sections[symbols->link].type == NO_BITS)
		fail(NULL, "a cubin has no symbols");
	return string_at(cubin->sections[symbols->link].data,
	                 number_at(symbols->data, index * SYMBOL_SIZE, 4));
}

static void
read_info(const Cubin *cubin, const char *kernel, CubinCount *count)
{
	const Section *info = find_section(cubin, ".nv.info", "");
	if (!info || info->type == NO_BITS)
		fail(NULL, "a cubin has no .nv.info");
	for (uint64_t at = 0; at < info->data.size;) {
		int form = (int)number_at(info->data, at, 1), what = (int)number_at(info->data, at + 1, 1);
		uint64_t size = form == INFO_VALUE ? number_at(info->data, at + 2, 2) : 0;
		bool is_ours = form == INFO_VALUE && size == 8 &&
		               (what == INFO_REGISTERS || what == INFO_FRAME) &&
		               strcmp(symbol_name(cubin, number_at(info->data, at + 4, 4)), kernel) == 0;
		if (is_ours && what == INFO_REGISTERS)
			count->registers = (int64_t)number_at(info->data, at + 8, 4);
		else if (is_ours)
			count->local_bytes = (int64_t)number_at(info->data, at + 8, 4);
		at += 4 + size;
	}
	const Section *shared = find_section(cubin, ".nv.shared.", kernel);
	const Section *reserved = find_section(cubin, ".nv.shared.reserved.0", "");
	uint64_t bytes = shared ? shared->data.size : 0, own = reserved ? RESERVED_SHARED : 0;
	count->shared_bytes = bytes > own && bytes - own < INT32_MAX ? (int64_t)(bytes - own) : 0;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* The instruction that a branch goes to; -1: none of these. */
static int64_t
branch_target(const Cubin *cubin, Bytes code, int64_t from, int64_t instructions)
{
	uint64_t low = number_at(code, (uint64_t)from * INSTRUCTION, 8);
	uint64_t high = number_at(code, (uint64_t)from * INSTRUCTION + 8, 8);
	uint64_t words = (low >> 34 | high << 30) & 0xffffffffffff; /* 48 bits, with a sign */
	if (words >> 47)
		words |= 0xffff000000000000;
	if (cubin->capability >= 90)
		words = words << 8 | (low >> 16 & 0xff);
	int64_t target = from + 1 + (int64_t)words / (INSTRUCTION / 4);
	return (int64_t)words % (INSTRUCTION / 4) == 0 && target >= 0 && target < instructions ? target
	                                                                                       : -1;
}

static int
operation(Bytes code, int64_t at)
{
	return (int)(number_at(code, (uint64_t)at * INSTRUCTION, 2) & (SASS_CODES - 1));
}

/* The padding: a branch to itself, and nothing behind it. */
static int64_t
without_padding(const Cubin *cubin, Bytes code, int64_t instructions)
{
	int64_t end = instructions;
	while (end > 0 && operation(code, end - 1) == NOP)
		end--;
	if (end > 0 && operation(code, end - 1) == BRANCH &&
	    branch_target(cubin, code, end - 1, instructions) == end - 1)
		end--;
	return end;
}

/* How many more loops begin (end) at each instruction: a loop is where branches go back to, up to
 * the last that does. */
static int64_t
find_loops(Arena *arena, const Cubin *cubin, Bytes code, int64_t instructions, int64_t *change)
{
	int64_t loops = 0, *last = NEW_N(arena, int64_t, instructions + 1);
	for (int64_t i = 0; i < instructions; i++) {
		int64_t target =
			operation(code, i) == BRANCH ? branch_target(cubin, code, i, instructions) : -1;
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

static void
count_code(Arena *arena, const Cubin *cubin, Bytes code, CubinCount *count)
{
	int64_t all = (int64_t)(code.size / INSTRUCTION), end = without_padding(cubin, code, all);
	int64_t depth = 0, *change = NEW_N(arena, int64_t, end + 2);
	count->instructions = end;
	count->loops = find_loops(arena, cubin, code, end, change);
	for (int64_t i = 0; i < end; i++) {
		int64_t weight = 1;
		depth += change[i];
		for (int64_t k = 0; k < depth && k < MAX_DEPTH; k++)
			weight *= 10;
		int code_of = operation(code, i);
		unsigned head = (unsigned)number_at(code, (uint64_t)i * INSTRUCTION, 2);
		count->count[code_of]++;
		count->weight[code_of] += weight;
		count->weighted += weight;
		count->predicated += head >> 12 != 7;
		count->branches += code_of == BRANCH || code_of == BRANCH_INDEXED || code_of == CALL;
	}
}

/* ---- what others ask ------------------------------------------------------------------------- */

void
cubin_count(Arena *arena, Bytes bytes, const char *kernel, CubinCount *count)
{
	Arena *own = arena_new_in(arena, "reading a cubin");
	Cubin cubin = open_cubin(own, bytes);
	const Section *code = find_section(&cubin, ".text.", kernel);
	if (!code || code->type == NO_BITS)
		fail(NULL, "a cubin has no kernel %s", kernel);
	memset(count, 0, sizeof *count);
	read_info(&cubin, kernel, count);
	count_code(own, &cubin, code->data, count);
	arena_reset(own);
}

StrVec
cubin_kernels(Arena *arena, Bytes bytes)
{
	StrVec names = {0};
	Cubin cubin = open_cubin(arena, bytes);
	for (int i = 0; i < cubin.count; i++)
		if (strncmp(cubin.sections[i].name, ".text.", 6) == 0)
			vec_push(arena, &names, arena_strdup(arena, cubin.sections[i].name + 6));
	return names;
}

const char *
sass_name(int code)
{
#define SASS(number, name) [number] = #name,
	static const char *const names[SASS_CODES] = {
#include "codegen/cuda/sass.def"
	};
#undef SASS
	return names[code];
}
