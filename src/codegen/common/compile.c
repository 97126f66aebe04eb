/* C text to machine code: the system's C compiler, started without a shell, in a private folder.
 *
 * A file of kernels is cut into units, a kernel each, which are compiled a few at a time
 * and linked into one shared object that imports nothing. Objects of units, and the whole, are kept
 * in the cache under a hash of text, flags and the compiler's own version: what is compiled again
 * with one kernel changed, as drafts of a model are, costs that kernel and the linker. Which units
 * there are depends on the text alone, so that equal texts give equal bytes.
 */
#include "codegen/common/codegen.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache.h"

extern char **environ;

enum { MAX_JOBS = 8 };

static const char *const FLAGS[] = {
	"-O3",
	"-fPIC",
	"-ffreestanding",
	"-fwrapv",
	"-ffp-contract=off",
	"-fno-math-errno",
	"-fno-trapping-math",
	"-fvisibility=hidden",
	"-fno-stack-protector",
	"-fno-asynchronous-unwind-tables",
	"-fno-ident",
	"-falign-functions=64", /* a kernel is as fast beside others as alone */
	"-fopenmp-simd",        /* of OpenMP no more than lanes of loops that are told to have them */
	"-Wno-psabi",
};
/* Loops are cut, unrolled and in lanes when gcc sees them, or it is told that they may be: what it
 * does besides at -O3 takes half of its time and makes no kernel faster. No branch becomes a mask
 * of gcc's making: where a loop that holds several iterations of another reads one of two places,
 * gcc 12 reads both under the mask of the first iterations. */
static const char *const GCC_FLAGS[] = {
	"-O1",
	"-fexpensive-optimizations",
	"-fgcse",
	"-fschedule-insns2",
	"-fstrict-aliasing",
	"-Werror=vector-operation-performance",
	"-fno-tree-loop-if-convert",
	"-fipa-ra", /* what calls exp keeps its sums in registers */
	/* a tenth each of gcc's time for nothing: which bits of values are known, and what the two
	 * functions of a kernel tell of one another */
	"-fno-tree-bit-ccp",
	"-fno-ipa-modref",
	"-fno-ipa-icf",
	"-fno-ipa-cp",
	"-fno-ipa-sra",
	"-fno-ipa-pure-const",
	"-fno-ipa-reference",
	"-fno-ipa-profile",
	"-fno-ipa-vrp",
};
static const char *const LINK_FLAGS[] = {
	"-shared", "-nostdlib", "-s", "-Wl,--no-undefined", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
};

/* CUDA C is full of templates and of names that nothing uses here. */
static const char *const CPP_FLAGS[] = {
	"-w", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-strict-aliasing",
};
/* Loops that clear memory would be calls of the functions that they stand in. */
static const char *const CPP_GCC_FLAGS[] = {"-O2", "-fno-tree-loop-distribute-patterns"};

typedef struct Words {
	size_t count;
	const char *const *words;
} Words;

#define WORDS(list) \
	{ \
		countof(list), list \
	}

typedef struct Language {
	const char *name, *standard, *suffix;
	const char *variable, *command; /* who compiles it: as the environment says, or this */
	const char *package;            /* that has it */
	Words flags, gcc_flags;         /* besides FLAGS */
} Language;

static const Language LANGUAGE_C = {"C",  "-std=gnu11", ".c",      "CC",
                                    "cc", "gcc",        {0, NULL}, WORDS(GCC_FLAGS)};
static const Language LANGUAGE_CPP = {
	"C++", "-std=gnu++20", ".cpp", "CXX", "c++", "g++", WORDS(CPP_FLAGS), WORDS(CPP_GCC_FLAGS)};

typedef struct Compiler {
	Arena *arena;
	const Language *language;
	const char *march;
	StrVec command; /* the compiler and its own arguments */
	const char *folder;
	const char *version;
	bool is_gcc;
	const Target *target;
	const CodegenWatch *watch; /* or NULL */
	Cache *cache;
	StrVec units;
} Compiler;

/* ---- processes ------------------------------------------------------------------------------- */

/* The environment, but for the place of temporary files: a compiler that is killed leaves its own,
 * and the private folder goes in any case. */
static char **
environment(const Compiler *compiler)
{
	StrVec words = {0};
	for (char **word = environ; *word; word++)
		if (strncmp(*word, "TMPDIR=", 7) != 0)
			vec_push(compiler->arena, &words, *word);
	vec_push(compiler->arena, &words, arena_printf(compiler->arena, "TMPDIR=%s", compiler->folder));
	vec_push(compiler->arena, &words, NULL);
	return (char **)(uintptr_t)words.data;
}

/* Start a command with standard output and error into the file `log`, in a group of its own: what
 * it starts ends with it. */
static pid_t
start(const Compiler *compiler, const StrVec *argv, const char *log)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid;
	int mode = O_WRONLY | O_CREAT | O_TRUNC;
	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
		fail_environment(NULL, "out of memory");
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, mode, 0600);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	int error = posix_spawnp(&pid, argv->data[0], &actions, &attributes, (char *const *)argv->data,
	                         environment(compiler));
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		fail_environment(
			NULL,
			"the %s compiler '%s' cannot be started: %s   [hint: install %s, or name one in $%s]",
			compiler->language->name, compiler->command.data[0], strerror(error),
			compiler->language->package, compiler->language->variable);
	litter_add_group(pid);
	return pid;
}

/* True when the command ended with exit code 0. */
static bool
finish(pid_t pid)
{
	int status, got;
	while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		continue;
	litter_remove_group(pid);
	return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
add_words(Arena *arena, StrVec *argv, size_t count, const char *const *words)
{
	for (size_t i = 0; i < count; i++)
		vec_push(arena, argv, words[i]);
}

static _Noreturn void
complain(const Compiler *compiler, const char *log)
{
	const char *words = file_text(compiler->arena, log);
	const char *error = strstr(words, "error:"), *unit = NULL;
	const char *from = error ? error : words, *kernel = "";
	for (const char *at = words; error && (at = strstr(at, "/unit")) && at < error; at += 5)
		unit = at + 5; /* "/unit3.cpp:17:4: error:" */
	if (unit && atoi(unit) < compiler->units.count)
		kernel = codegen_kernel_at(compiler->arena, compiler->units.data[atoi(unit)],
		                           atoi(unit + strcspn(unit, ":\n") + 1));
	fail_environment(NULL, "the %s compiler '%s' failed%s: %.600s", compiler->language->name,
	                 compiler->command.data[0], kernel, from);
}

/* ---- the compiler ---------------------------------------------------------------------------- */

/* The target's own, $CC or $CXX, cut at blanks, or the usual one. */
static void
find_compiler(Compiler *compiler)
{
	const Language *language = compiler->language;
	const char *own = compiler->target ? compiler->target->compiler : NULL;
	const char *named = own ? own : getenv(language->variable);
	char *words = arena_strdup(compiler->arena, named && *named ? named : language->command);
	char *rest = NULL;
	for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		vec_push(compiler->arena, &compiler->command, word);
	if (compiler->command.count == 0)
		vec_push(compiler->arena, &compiler->command, language->command);
	StrVec argv = strings_copy(compiler->arena, &compiler->command);
	vec_push(compiler->arena, &argv, "--version");
	vec_push(compiler->arena, &argv, NULL);
	const char *log = arena_printf(compiler->arena, "%s/version", compiler->folder);
	if (!finish(start(compiler, &argv, log)))
		complain(compiler, log);
	compiler->version = file_text(compiler->arena, log);
	compiler->is_gcc = strstr(compiler->version, "clang") == NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static const char *
unit_path(const Compiler *compiler, int unit, const char *suffix)
{
	return arena_printf(compiler->arena, "%s/unit%d%s", compiler->folder, unit, suffix);
}

static pid_t
start_unit(const Compiler *compiler, int unit)
{
	Arena *arena = compiler->arena;
	const Language *language = compiler->language;
	const char *text = compiler->units.data[unit];
	const char *path = unit_path(compiler, unit, language->suffix);
	StrVec argv = strings_copy(compiler->arena, &compiler->command);
	file_write(arena, path, text, strlen(text));
	vec_push(arena, &argv, language->standard);
	add_words(arena, &argv, countof(FLAGS), FLAGS);
	add_words(arena, &argv, language->flags.count, language->flags.words);
	if (compiler->is_gcc)
		add_words(arena, &argv, language->gcc_flags.count, language->gcc_flags.words);
	vec_push(arena, &argv, arena_printf(arena, "-march=%s", compiler->march));
	vec_push(arena, &argv, "-c");
	vec_push(arena, &argv, path);
	vec_push(arena, &argv, "-o");
	vec_push(arena, &argv, unit_path(compiler, unit, ".o"));
	vec_push(arena, &argv, NULL);
	return start(compiler, &argv, unit_path(compiler, unit, ".log"));
}

/* Whether an empty file compiles, with one more word unless it is NULL. */
static bool
compiles_nothing(const Compiler *compiler, const char *word)
{
	static const char *const words[] = {"-S", "-x", "c", "/dev/null", "-o", "/dev/null"};
	Arena *arena = compiler->arena;
	StrVec argv = strings_copy(compiler->arena, &compiler->command);
	add_words(arena, &argv, countof(words), words);
	vec_push(arena, &argv, word);
	vec_push(arena, &argv, NULL);
	return finish(start(compiler, &argv, arena_printf(arena, "%s/nothing", compiler->folder)));
}

const char *
codegen_kernel_at(Arena *arena, const char *text, int line)
{
	const char *kernel = "";
	for (int i = 1; i < line && *text; i++) {
		const char *end = strchr(text, '\n');
		int size = end ? (int)(end - text) : 0;
		bool is_comment =
			size > 6 && strncmp(text, "/* ", 3) == 0 && strncmp(end - 3, " */", 3) == 0;
		if (is_comment && (strncmp(end + 1, "extern \"C\" __global__", 21) == 0 ||
		                   strncmp(end + 1, "#undef TW_SHARED", 16) == 0))
			kernel = arena_printf(arena, ", in %.*s", size - 6, text + 3);
		text = end ? end + 1 : "";
	}
	return kernel;
}

/* A compiler for other machines is the likeliest reason; its own words do not say what to do. */
static _Noreturn void
complain_of_code(const Compiler *compiler, const char *log)
{
	const char *march = arena_printf(compiler->arena, "-march=%s", compiler->march);
	if (compiles_nothing(compiler, march) || !compiles_nothing(compiler, NULL))
		complain(compiler, log);
	fail_environment(NULL,
	                 "the %s compiler '%s' cannot make code for %s   [hint: name one in $%s, or "
	                 "by --cc %s=…, that can: for another processor a cross compiler such as "
	                 "aarch64-linux-gnu-gcc]",
	                 compiler->language->name, compiler->command.data[0],
	                 compiler->target->device->name, compiler->language->variable,
	                 compiler->target->device->name);
}

static void
tell(const Compiler *compiler, int done, int total)
{
	const CodegenWatch *watch = compiler->watch;
	const char *name = compiler->target->device->name;
	if (watch && watch->progress)
		watch->progress(watch->arg, arena_printf(compiler->arena, "compiling kernels for %s", name),
		                done, total);
}

/* Compile the units with these numbers, and keep their objects in the cache. */
static void
compile_units(const Compiler *compiler, int count, const int *numbers, const Hash128 *keys)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int jobs = cores < 1 ? 1 : cores > MAX_JOBS ? MAX_JOBS : (int)cores, failed = -1;
	pid_t running[MAX_JOBS];
	tell(compiler, 0, count);
	for (int i = 0; i < count + jobs; i++) {
		int ended = i - jobs;
		if (ended >= 0 && ended < count) {
			if (!finish(running[ended % jobs]) && failed < 0)
				failed = numbers[ended];
			tell(compiler, ended + 1, count);
		}
		if (i < count)
			running[i % jobs] = start_unit(compiler, numbers[i]);
	}
	if (failed >= 0)
		complain_of_code(compiler, unit_path(compiler, failed, ".log"));
	for (int i = 0; i < count; i++) {
		Bytes made = file_map(compiler->arena, unit_path(compiler, numbers[i], ".o"));
		cache_store(compiler->cache, keys[numbers[i]], made.data, made.size);
	}
}

/* The objects of all units, as files: from the cache, or compiled. */
static void
make_objects(const Compiler *compiler, const Hash128 *keys)
{
	Arena *arena = compiler->arena;
	int *missing = NEW_N(arena, int, compiler->units.count), count = 0;
	for (int unit = 0; unit < compiler->units.count; unit++) {
		Bytes found;
		if (cache_find(compiler->cache, arena, keys[unit], &found))
			file_write(arena, unit_path(compiler, unit, ".o"), found.data, found.size);
		else
			missing[count++] = unit;
	}
	compile_units(compiler, count, missing, keys);
}

static void
link_objects(const Compiler *compiler, const char *output)
{
	Arena *arena = compiler->arena;
	StrVec argv = strings_copy(compiler->arena, &compiler->command);
	add_words(arena, &argv, countof(LINK_FLAGS), LINK_FLAGS);
	vec_push(arena, &argv, arena_printf(arena, "-march=%s", compiler->march));
	for (int unit = 0; unit < compiler->units.count; unit++)
		vec_push(arena, &argv, unit_path(compiler, unit, ".o"));
	vec_push(arena, &argv, "-o");
	vec_push(arena, &argv, output);
	vec_push(arena, &argv, NULL);
	const char *log = arena_printf(arena, "%s/link", compiler->folder);
	if (!finish(start(compiler, &argv, log)))
		complain(compiler, log);
}

static Hash128
hash_words(Hash128 key, size_t count, const char *const *words)
{
	for (size_t i = 0; i < count; i++)
		key = hash128_combine(key, hash128(words[i], strlen(words[i])));
	return key;
}

/* All that decides about an object but its text. */
static Hash128
surrounding_key(const Compiler *compiler)
{
	const Language *language = compiler->language;
	const char *words[] = {compiler->version, compiler->march, language->standard};
	Hash128 key = hash_words(hash128("codegen 2", 9), countof(words), words);
	key = hash_words(key, countof(FLAGS), FLAGS);
	key = hash_words(key, language->flags.count, language->flags.words);
	key = hash_words(key, language->gcc_flags.count, language->gcc_flags.words);
	key = hash_words(key, countof(LINK_FLAGS), LINK_FLAGS);
	return hash_words(key, (size_t)compiler->command.count, compiler->command.data);
}

const char *
codegen_compiler(Arena *arena)
{
	Compiler compiler = {.arena = arena_new_in(arena, "the C compiler"), .language = &LANGUAGE_C};
	Buf text = {.arena = arena};
	compiler.folder = file_temporary_folder(compiler.arena);
	find_compiler(&compiler);
	for (int i = 0; i < compiler.command.count; i++)
		buf_printf(&text, "%s ", compiler.command.data[i]);
	buf_puts(&text, compiler.version);
	arena_reset(compiler.arena);
	return buf_text(&text);
}

/* The shared object of a text that is not in the cache. */
static Bytes
make_shared(Compiler *compiler, Hash128 surrounding, const char *text)
{
	Arena *arena = compiler->arena;
	const char *output = arena_printf(arena, "%s/kernels.so", compiler->folder);
	compiler->units = codegen_units(arena, compiler->target, text);
	Hash128 *keys = NEW_N(arena, Hash128, compiler->units.count);
	for (int unit = 0; unit < compiler->units.count; unit++)
		keys[unit] = hash_words(hash128_combine(surrounding, hash128("unit", 4)), 1,
		                        &compiler->units.data[unit]);
	make_objects(compiler, keys);
	link_objects(compiler, output);
	return file_map(arena, output);
}

static Bytes
compile(Arena *arena, Compiler compiler, const char *text)
{
	compiler.arena = arena_new("compiling kernels");
	arena_defer(arena, (void (*)(void *))arena_free, compiler.arena);
	compiler.folder = file_temporary_folder(compiler.arena);
	find_compiler(&compiler);
	compiler.cache = cache_open(compiler.arena, NULL, CACHE_LIMIT);
	Hash128 surrounding = surrounding_key(&compiler), key = hash_words(surrounding, 1, &text);
	Bytes found;
	if (!cache_find(compiler.cache, arena, key, &found)) {
		Bytes made = make_shared(&compiler, surrounding, text);
		cache_store(compiler.cache, key, made.data, made.size);
		found = (Bytes){arena_memdup(arena, made.data, made.size), made.size};
	}
	arena_reset(compiler.arena);
	return found;
}

Bytes
codegen_compile(Arena *arena, const Target *target, const char *text, const CodegenWatch *watch)
{
	if (!target->device->march)
		fail_as(FAIL_BUG, NULL, "%s is not a target of the C compiler", target->device->name);
	Compiler compiler = {
		.watch = watch, .target = target, .language = &LANGUAGE_C, .march = target->device->march};
	return compile(arena, compiler, text);
}

Bytes
codegen_compile_cpp(Arena *arena, const Target *target, const char *text, const CodegenWatch *watch)
{
	const Device *here = device_native();
	if (!here)
		fail_environment(NULL, "no row of devices is this machine, so no kernels run here");
	Compiler compiler = {
		.watch = watch, .target = target, .language = &LANGUAGE_CPP, .march = here->march};
	return compile(arena, compiler, text);
}

/* ---- artefacts ------------------------------------------------------------------------------- */

static const char *
march_of(Arena *arena, const Device *device)
{
	(void)arena;
	return device->march;
}

const Artefact artefact_object = {
	.name = "object",
	.suffix = ".so",
	.source_suffix = ".c",
	.emit = codegen_c,
	.compile = codegen_compile,
	.needs = march_of,
};

const Artefact *
artefact_of(const Device *device)
{
	static const Artefact *const all[] = {&artefact_object, &artefact_cubin, &artefact_simulation};
	for (size_t i = 0; device->artefact && i < countof(all); i++)
		if (strcmp(all[i]->name, device->artefact) == 0)
			return all[i];
	return NULL;
}
