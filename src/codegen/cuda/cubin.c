/* What stands in a cubin: an ELF file of 64 bits in which .text.NAME is a kernel's code. There is
 * no published description; what is read here was compared with what ptxas says of its work (-v)
 * for sm_80 and sm_90.
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
	RESERVED_SHARED = 1024, /* of each block, by sm_90's driver */
};

/* Entries of .nv.info with a symbol and a number. */
enum { INFO_VALUE = 4, INFO_FRAME = 0x11, INFO_REGISTERS = 0x2f };

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
read_info(const Cubin *cubin, const char *kernel, CubinKernel *found)
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
			found->registers = (int64_t)number_at(info->data, at + 8, 4);
		else if (is_ours)
			found->local_bytes = (int64_t)number_at(info->data, at + 8, 4);
		at += 4 + size;
	}
	const Section *shared = find_section(cubin, ".nv.shared.", kernel);
	const Section *reserved = find_section(cubin, ".nv.shared.reserved.0", "");
	uint64_t bytes = shared ? shared->data.size : 0, own = reserved ? RESERVED_SHARED : 0;
	found->shared_bytes = bytes > own && bytes - own < INT32_MAX ? (int64_t)(bytes - own) : 0;
}

/* ---- what others ask ------------------------------------------------------------------------- */

CubinKernel
cubin_kernel(Arena *arena, Bytes bytes, const char *kernel)
{
	Cubin cubin = open_cubin(arena, bytes);
	const Section *code = find_section(&cubin, ".text.", kernel);
	if (!code || code->type == NO_BITS)
		fail(NULL, "a cubin has no kernel %s", kernel);
	CubinKernel found = {.capability = cubin.capability, .code = code->data};
	read_info(&cubin, kernel, &found);
	return found;
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
