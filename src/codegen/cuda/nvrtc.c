/* CUDA C to a cubin, in this process. The result is kept in the cache under a hash of the text, the
 * architecture and the compiler's version.
 */
#include "codegen/cuda/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/library.h"
#include "codegen/common/codegen.h"
#include "codegen/cuda/cuda.h"

enum { PATH_MOST = 4096, ERROR_MOST = 256 };

/* Results have the bits that the interpreter gets: no contraction but those written down. */
static const char *const OPTIONS[] = {"--std=c++20", "--fmad=false"};

/* What kernels take from <stdint.h>, which NVRTC does not bring. */
static const char STDINT[] = "typedef int int32_t;\ntypedef unsigned uint32_t;\n"
							 "typedef long long int64_t;\n";

/* ---- the library ----------------------------------------------------------------------------- */

static void *
open_library(const char *home)
{
	static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
	char folder[PATH_MOST];
	if (home) {
		snprintf(folder, sizeof folder, "%s/lib64/", home);
		return library_open(folder, names);
	}
	void *library = library_open("", names);
	return library ? library : library_open("/usr/local/cuda/lib64/", names);
}

static const char *
named_home(void)
{
	static const char *const names[] = {"CUDA_HOME", "CUDA_PATH"};
	for (size_t i = 0; i < countof(names); i++) {
		const char *home = getenv(names[i]);
		if (home && *home)
			return home;
	}
	return NULL;
}

bool
nvrtc_load(Nvrtc *nvrtc, char *error, size_t size)
{
	const char *home = named_home();
	*nvrtc = (Nvrtc){.library = open_library(home)};
	if (!nvrtc->library) {
		snprintf(error, size, "NVRTC (libnvrtc.so.13 or libnvrtc.so.12) is not %s%s",
		         home ? "in " : "installed", home ? home : "");
		return false;
	}
#define F(name) \
	library_find(nvrtc->library, "nvrtc" #name, &nvrtc->name); \
	if (!nvrtc->name) { \
		snprintf(error, size, "NVRTC has no function nvrtc" #name); \
		return false; \
	}
	NVRTC_FUNCTIONS(F)
#undef F
	if (nvrtc->Version(&nvrtc->major, &nvrtc->minor) == NVRTC_OK)
		return true;
	snprintf(error, size, "NVRTC does not say its version");
	return false;
}

/* ---- compiling ------------------------------------------------------------------------------- */

typedef struct Compilation {
	Arena *arena;
	Nvrtc nvrtc;
	NvrtcProgram *program;
} Compilation;

static void
destroy_program(void *arg)
{
	Compilation *compilation = arg;
	if (compilation->program)
		compilation->nvrtc.DestroyProgram(&compilation->program);
}

/* The compiler's own words, from the first error on, and which kernel that is of. */
static _Noreturn void
complain(Compilation *compilation, const char *text, int capability)
{
	const Nvrtc *nvrtc = &compilation->nvrtc;
	const char *words = "";
	size_t size = 0;
	if (nvrtc->GetProgramLogSize(compilation->program, &size) == NVRTC_OK && size > 0) {
		char *log = arena_alloc(compilation->arena, size + 1);
		if (nvrtc->GetProgramLog(compilation->program, log) == NVRTC_OK)
			words = log;
	}
	const char *error = strstr(words, "error");
	const char *line = strstr(words, "kernels.cu(");
	const char *kernel =
		codegen_kernel_at(compilation->arena, text, line ? atoi(strchr(line, '(') + 1) : 0);
	fail_environment(NULL, "NVRTC %d.%d failed for sm_%d%s: %.600s", nvrtc->major, nvrtc->minor,
	                 capability, kernel, error ? error : words);
}

/* What comes of it: machine code, or the text that a later chip's driver compiles. */
typedef enum Form { FORM_CUBIN, FORM_PTX } Form;

static void
compile(Compilation *compilation, const char *text, int capability)
{
	const Nvrtc *nvrtc = &compilation->nvrtc;
	const char *options[countof(OPTIONS) + 1], *headers[] = {STDINT}, *names[] = {"stdint.h"};
	memcpy(options, OPTIONS, sizeof OPTIONS);
	options[countof(OPTIONS)] = arena_printf(compilation->arena, "-arch=sm_%d", capability);
	if (nvrtc->CreateProgram(&compilation->program, text, "kernels.cu", 1, headers, names) !=
	    NVRTC_OK)
		fail_environment(NULL, "NVRTC makes no program: out of memory");
	if (nvrtc->CompileProgram(compilation->program, (int)countof(options), options) != NVRTC_OK)
		complain(compilation, text, capability);
}

static Bytes
take(Compilation *compilation, Form form)
{
	const Nvrtc *nvrtc = &compilation->nvrtc;
	NvrtcProgram *program = compilation->program;
	bool is_ptx = form == FORM_PTX;
	size_t size = 0;
	char *code = NULL;
	if ((is_ptx ? nvrtc->GetPTXSize : nvrtc->GetCUBINSize)(program, &size) == NVRTC_OK)
		code = arena_alloc(compilation->arena, size + 1);
	if (!code || (is_ptx ? nvrtc->GetPTX : nvrtc->GetCUBIN)(program, code) != NVRTC_OK)
		fail_environment(NULL, "NVRTC does not give what it compiled");
	return (Bytes){(unsigned char *)code, is_ptx ? strlen(code) : size};
}

static Hash128
cache_key(const Nvrtc *nvrtc, const char *text, int capability, Form form)
{
	int numbers[] = {nvrtc->major, nvrtc->minor, capability, (int)form};
	Hash128 key = hash128_combine(hash128("cubin 2", 7), hash128(text, strlen(text)));
	for (size_t i = 0; i < countof(OPTIONS); i++)
		key = hash128_combine(key, hash128(OPTIONS[i], strlen(OPTIONS[i])));
	return hash128_combine(key, hash128(numbers, sizeof numbers));
}

bool
cuda_compiler(char *text, size_t size)
{
	Nvrtc nvrtc;
	if (!nvrtc_load(&nvrtc, text, size))
		return false;
	snprintf(text, size, "NVRTC %d.%d", nvrtc.major, nvrtc.minor);
	return true;
}

static Bytes
compile_cached(Arena *arena, const char *text, int capability, Form form)
{
	Arena *own = arena_new_in(arena, "compiling for a GPU");
	Compilation compilation = {.arena = own};
	char error[ERROR_MOST];
	if (!nvrtc_load(&compilation.nvrtc, error, sizeof error))
		fail_environment(
			NULL,
			"%s   [hint: install NVIDIA's CUDA toolkit 12 or 13 (of it NVRTC is enough, "
			"and no GPU is needed), or name its folder in $CUDA_HOME]",
			error);
	Cache *cache = cache_open(own, NULL, CACHE_LIMIT);
	Hash128 key = cache_key(&compilation.nvrtc, text, capability, form);
	Bytes found;
	if (!cache_find(cache, arena, key, &found)) {
		Compilation *running = arena_memdup(own, &compilation, sizeof compilation);
		arena_defer(own, destroy_program, running);
		compile(running, text, capability);
		for (Form of = FORM_CUBIN; of <= FORM_PTX; of++) { /* whoever wants one wants both */
			Bytes made = take(running, of);
			cache_store(cache, cache_key(&running->nvrtc, text, capability, of), made.data,
			            made.size);
			if (of == form)
				found = (Bytes){arena_memdup(arena, made.data, made.size), made.size};
		}
	}
	arena_reset(own);
	return found;
}

Bytes
cuda_compile(Arena *arena, const char *text, int capability)
{
	return compile_cached(arena, text, capability, FORM_CUBIN);
}

Bytes
cuda_compile_ptx(Arena *arena, const char *text, int capability)
{
	return compile_cached(arena, text, capability, FORM_PTX);
}
