/* Kernels of a bundle as code of this process.
 *
 * The object is freestanding: it imports nothing and exports one symbol. So its segments are copied
 * into memory, moved there by the few kinds of relocation that such an object has, and made
 * readable or executable as they say. No file is made, /proc and /tmp are not asked for, and a
 * program without a dynamic linker runs kernels, too. Nothing of the object is trusted to lie
 * within it; what its code does is bounded by nothing.
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpu.h"
#include "runtime/cpu/cpu.h"

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, MOVE_BASE = R_AARCH64_RELATIVE };
#else
enum { MACHINE = EM_X86_64, MOVE_BASE = R_X86_64_RELATIVE };
#endif

enum { PACKED = 19 }; /* SHT_RELR, which older headers lack */

typedef struct Object {
	Bytes image;
	const Elf64_Ehdr *head;
	const Elf64_Phdr *segments;
	const Elf64_Shdr *sections;
	unsigned char *memory;
	size_t size;
} Object;

static bool
is_within(uint64_t from, uint64_t size, uint64_t whole)
{
	return from <= whole && size <= whole - from;
}

/* A table of the file; NULL where it lies not in it, or at an odd place. */
static const void *
table_at(const Object *o, uint64_t from, uint64_t count, size_t size)
{
	bool is_there = count <= o->image.size / size && is_within(from, count * size, o->image.size);
	const unsigned char *at = is_there ? o->image.data + from : NULL;
	return at && (uintptr_t)at % _Alignof(uint64_t) == 0 ? at : NULL;
}

/* The head, and how much memory the segments take. */
static bool
read_head(Object *o)
{
	o->head = table_at(o, 0, 1, sizeof *o->head);
	if (!o->head || memcmp(o->head->e_ident, ELFMAG "\2\1\1", 7) != 0 ||
	    o->head->e_type != ET_DYN || o->head->e_machine != MACHINE ||
	    o->head->e_phentsize != sizeof *o->segments || o->head->e_shentsize != sizeof *o->sections)
		return false;
	o->segments = table_at(o, o->head->e_phoff, o->head->e_phnum, sizeof *o->segments);
	o->sections = table_at(o, o->head->e_shoff, o->head->e_shnum, sizeof *o->sections);
	if (!o->segments || !o->sections)
		return false;
	for (int i = 0; i < o->head->e_phnum; i++) {
		const Elf64_Phdr *s = &o->segments[i];
		if (s->p_type != PT_LOAD)
			continue;
		if (!is_within(s->p_offset, s->p_filesz, o->image.size) || s->p_filesz > s->p_memsz ||
		    !is_within(s->p_vaddr, s->p_memsz, SIZE_MAX / 4))
			return false;
		size_t end = s->p_vaddr + s->p_memsz;
		o->size = end > o->size ? end : o->size;
	}
	return o->size > 0;
}

static bool
add_base(const Object *o, uint64_t at, uint64_t value)
{
	value += (uint64_t)(uintptr_t)o->memory;
	if (!is_within(at, sizeof value, o->size))
		return false;
	memcpy(o->memory + at, &value, sizeof value);
	return true;
}

/* The base is added to the address that stands in the object already. */
static bool
add_base_there(const Object *o, uint64_t at)
{
	uint64_t value;
	if (!is_within(at, sizeof value, o->size))
		return false;
	memcpy(&value, o->memory + at, sizeof value);
	return add_base(o, at, value);
}

/* Packed relative relocations, as some systems' linkers write them by default: an even entry is a
 * place, an odd one has a bit for each of the 63 words that follow the last place. */
static bool
relocate_packed(const Object *o, const Elf64_Shdr *section)
{
	uint64_t count = section->sh_size / sizeof(uint64_t), next = 0;
	const uint64_t *list = table_at(o, section->sh_offset, count, sizeof *list);
	for (uint64_t k = 0; list && k < count; k++) {
		if (list[k] % 2 == 0) {
			if (!add_base_there(o, list[k]))
				return false;
			next = list[k] + sizeof next;
			continue;
		}
		for (int bit = 1; bit < 64; bit++)
			if (list[k] >> bit & 1 && !add_base_there(o, next + (uint64_t)(bit - 1) * sizeof next))
				return false;
		next += 63 * sizeof next;
	}
	return list != NULL;
}

static bool
relocate(const Object *o)
{
	for (int i = 0; i < o->head->e_shnum; i++) {
		const Elf64_Shdr *section = &o->sections[i];
		bool is_other = section->sh_type == SHT_REL || section->sh_type == SHT_INIT_ARRAY;
		if (section->sh_flags & SHF_ALLOC && section->sh_type == PACKED &&
		    !relocate_packed(o, section))
			return false;
		if (!(section->sh_flags & SHF_ALLOC) || (section->sh_type != SHT_RELA && !is_other))
			continue;
		uint64_t count = section->sh_size / sizeof(Elf64_Rela);
		const Elf64_Rela *list = table_at(o, section->sh_offset, count, sizeof *list);
		for (uint64_t k = 0; list && k < count; k++)
			if (ELF64_R_TYPE(list[k].r_info) != MOVE_BASE ||
			    !add_base(o, list[k].r_offset, (uint64_t)list[k].r_addend))
				return false;
		if (!list || is_other)
			return false;
	}
	return true;
}

/* The table of kernels, by the name of its symbol; NULL: there is none. */
static const TwKernels *
find_kernels(const Object *o)
{
	static const char name[] = "tw_kernels_v1";
	for (int i = 0; i < o->head->e_shnum; i++) {
		const Elf64_Shdr *section = &o->sections[i];
		if (section->sh_type != SHT_DYNSYM || section->sh_link >= o->head->e_shnum)
			continue;
		const Elf64_Shdr *names = &o->sections[section->sh_link];
		uint64_t count = section->sh_size / sizeof(Elf64_Sym);
		const Elf64_Sym *list = table_at(o, section->sh_offset, count, sizeof *list);
		bool has_names = is_within(names->sh_offset, names->sh_size, o->image.size);
		for (uint64_t k = 0; list && has_names && k < count; k++)
			if (list[k].st_shndx != SHN_UNDEF &&
			    is_within(list[k].st_name, sizeof name, names->sh_size) &&
			    memcmp(o->image.data + names->sh_offset + list[k].st_name, name, sizeof name) ==
			        0 &&
			    is_within(list[k].st_value, sizeof(TwKernels), o->size) &&
			    list[k].st_value % _Alignof(TwKernels) == 0)
				return (const TwKernels *)(const void *)(o->memory + list[k].st_value);
	}
	return NULL;
}

/* Each segment as it asks to be, up to whole pages. */
static bool
protect(const Object *o)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < o->head->e_phnum; i++) {
		const Elf64_Phdr *s = &o->segments[i];
		if (s->p_type != PT_LOAD || s->p_memsz == 0)
			continue;
		size_t from = s->p_vaddr / page * page;
		int how = (s->p_flags & PF_R ? PROT_READ : 0) | (s->p_flags & PF_W ? PROT_WRITE : 0) |
		          (s->p_flags & PF_X ? PROT_EXEC : 0);
		if (mprotect(o->memory + from, s->p_vaddr + s->p_memsz - from, how))
			return false;
	}
	__builtin___clear_cache((char *)o->memory, (char *)o->memory + o->size);
	return true;
}

static TwCode
load(CpuCode *code, Object *o, const char *name, char *error, size_t size)
{
	if (!read_head(o)) {
		refuse_with(error, size, "the bundle's kernels %.80s are no object for this machine", name);
		return TW_DAMAGED;
	}
	void *memory = mmap(NULL, o->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		refuse_with(error, size, "no memory for the kernels: %s", strerror(errno));
		return TW_MEMORY;
	}
	code->memory = o->memory = memory;
	code->size = o->size;
	for (int i = 0; i < o->head->e_phnum; i++)
		if (o->segments[i].p_type == PT_LOAD)
			memcpy(o->memory + o->segments[i].p_vaddr, o->image.data + o->segments[i].p_offset,
			       o->segments[i].p_filesz);
	const TwKernels *kernels = relocate(o) ? find_kernels(o) : NULL;
	if (!kernels) {
		refuse_with(error, size, "the bundle's kernels %.80s do not export tw_kernels_v1 alone",
		            name);
		return TW_DAMAGED;
	}
	if (kernels->abi != TW_KERNEL_ABI) {
		refuse_with(error, size,
		            "the bundle's kernels have ABI %u and this library has %u: "
		            "compile the model again",
		            kernels->abi, TW_KERNEL_ABI);
		return TW_DAMAGED;
	}
	code->head.count = (int)kernels->count;
	code->table = kernels->table;
	if (protect(o))
		return TW_OK;
	refuse_with(error, size, "this system lets no memory become code (mprotect: %s)",
	            strerror(errno));
	return errno == ENOMEM ? TW_MEMORY : TW_FILE;
}

BackendFit
cpu_fit(const char *needs)
{
	int row = cpu_row(needs);
	int value = row < 0 ? INT_MIN : cpu_runs(row) ? row : -1 - row;
	const char *lack =
		cpu_has_kernels() ? NULL : "kernels are made for no processor as small as this one";
	return (BackendFit){value, row < 0 ? needs : cpu_adds(row), cpu_name(), lack};
}

TwCode
cpu_load(Bytes image, const char *name, const Plan *plan, BackendCode **loaded, char *error,
         size_t error_size)
{
	Object object = {.image = image};
	CpuCode *code = calloc(1, sizeof *code);
	(void)plan; /* kernels are known by their place in the table */
	*loaded = NULL;
	if (!code) {
		refuse_with(error, error_size, "out of memory for the kernels");
		return TW_MEMORY;
	}
	TwCode result = load(code, &object, name, error, error_size);
	if (result)
		cpu_unload(&code->head);
	else
		*loaded = &code->head;
	return result;
}

void
cpu_unload(BackendCode *loaded)
{
	CpuCode *code = (CpuCode *)loaded;
	if (code && code->memory)
		munmap(code->memory, code->size);
	free(code);
}
