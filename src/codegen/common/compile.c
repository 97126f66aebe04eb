/* C text to machine code: the system's C compiler, started without a shell, in a private folder.
 *
 * A file of many kernels is compiled in parts (TW_PARTS, see kernel.c), a few compilers at a time,
 * and linked into one shared object that imports nothing. How many parts depends on the text alone,
 * so that equal texts give equal bytes. The result is kept in the cache under a hash of text, flags
 * and the compiler's own version.
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

enum { MAX_PARTS = 8, KERNELS_PER_PART = 6, MAX_JOBS = 8 };

static const char *const FLAGS[] = {
	"-std=gnu11",
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
	"-Wno-psabi",
};
/* No branch becomes a mask of gcc's making: where a loop that holds several iterations of another
 * reads one of two places, gcc 12 reads both under the mask of the first iterations. */
static const char *const GCC_FLAGS[] = {
	"-Werror=vector-operation-performance",
	"-fno-tree-loop-if-convert",
};
static const char *const LINK_FLAGS[] = {
	"-shared", "-nostdlib", "-s", "-Wl,--no-undefined", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
};

typedef struct Compiler {
	Arena *arena;
	StrVec command; /* the compiler and its own arguments */
	const char *folder;
	const char *version;
	bool is_gcc;
	const CodegenWatch *watch; /* or NULL */
} Compiler;

/* ---- processes ------------------------------------------------------------------------------- */

/* Start a command with standard output and error into the file `log`. */
static pid_t
start(const Compiler *compiler, const StrVec *argv, const char *log)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int mode = O_WRONLY | O_CREAT | O_TRUNC;
	if (posix_spawn_file_actions_init(&actions) != 0)
		fail_environment(NULL, "out of memory");
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, mode, 0600);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	int error =
		posix_spawnp(&pid, argv->data[0], &actions, NULL, (char *const *)argv->data, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		fail_environment(
			NULL,
			"the C compiler '%s' cannot be started: %s   [hint: install gcc, or name one in $CC]",
			compiler->command.data[0], strerror(error));
	return pid;
}

/* True when the command ended with exit code 0. */
static bool
finish(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static StrVec
command_of(const Compiler *compiler)
{
	StrVec argv = {0};
	for (int i = 0; i < compiler->command.count; i++)
		vec_push(compiler->arena, &argv, compiler->command.data[i]);
	return argv;
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
	const char *error = strstr(words, "error:");
	const char *from = error ? error : words;
	fail_environment(NULL, "the C compiler '%s' failed: %.600s", compiler->command.data[0], from);
}

/* ---- the compiler ---------------------------------------------------------------------------- */

/* $CC, cut at blanks, or cc. */
static void
find_compiler(Compiler *compiler)
{
	const char *named = getenv("CC");
	char *words = arena_strdup(compiler->arena, named && *named ? named : "cc"), *rest = NULL;
	for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		vec_push(compiler->arena, &compiler->command, word);
	if (compiler->command.count == 0)
		vec_push(compiler->arena, &compiler->command, "cc");
	StrVec argv = command_of(compiler);
	vec_push(compiler->arena, &argv, "--version");
	vec_push(compiler->arena, &argv, NULL);
	const char *log = arena_printf(compiler->arena, "%s/version", compiler->folder);
	if (!finish(start(compiler, &argv, log)))
		complain(compiler, log);
	compiler->version = file_text(compiler->arena, log);
	compiler->is_gcc = strstr(compiler->version, "clang") == NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static int
count_parts(const char *text)
{
	static const char mark[] = "\nTW_BODY\n";
	int kernels = 0;
	for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark))
		kernels++;
	int parts = (kernels + KERNELS_PER_PART - 1) / KERNELS_PER_PART;
	return parts < 1 ? 1 : parts > MAX_PARTS ? MAX_PARTS : parts;
}

static const char *
part_path(const Compiler *compiler, int part)
{
	return arena_printf(compiler->arena, "%s/part%d.o", compiler->folder, part);
}

static pid_t
start_part(const Compiler *compiler, const Target *target, int part, int parts)
{
	Arena *arena = compiler->arena;
	StrVec argv = command_of(compiler);
	add_words(arena, &argv, countof(FLAGS), FLAGS);
	if (compiler->is_gcc)
		add_words(arena, &argv, countof(GCC_FLAGS), GCC_FLAGS);
	vec_push(arena, &argv, arena_printf(arena, "-march=%s", target->device->march));
	vec_push(arena, &argv, arena_printf(arena, "-DTW_PARTS=%d", parts));
	vec_push(arena, &argv, arena_printf(arena, "-DTW_PART=%d", part));
	vec_push(arena, &argv, "-c");
	vec_push(arena, &argv, arena_printf(arena, "%s/kernels.c", compiler->folder));
	vec_push(arena, &argv, "-o");
	vec_push(arena, &argv, part_path(compiler, part));
	vec_push(arena, &argv, NULL);
	return start(compiler, &argv, arena_printf(arena, "%s/log%d", compiler->folder, part));
}

/* Whether an empty file compiles, with one more word unless it is NULL. */
static bool
compiles_nothing(const Compiler *compiler, const char *word)
{
	static const char *const words[] = {"-S", "-x", "c", "/dev/null", "-o", "/dev/null"};
	Arena *arena = compiler->arena;
	StrVec argv = command_of(compiler);
	add_words(arena, &argv, countof(words), words);
	vec_push(arena, &argv, word);
	vec_push(arena, &argv, NULL);
	return finish(start(compiler, &argv, arena_printf(arena, "%s/nothing", compiler->folder)));
}

/* A compiler for other machines is the likeliest reason; its own words do not say what to do. */
static _Noreturn void
complain_of_code(const Compiler *compiler, const Target *target, const char *log)
{
	const char *march = arena_printf(compiler->arena, "-march=%s", target->device->march);
	if (compiles_nothing(compiler, march) || !compiles_nothing(compiler, NULL))
		complain(compiler, log);
	fail_environment(NULL,
	                 "the C compiler '%s' cannot make code for %s   [hint: name one in $CC that "
	                 "can, for another processor a cross compiler such as aarch64-linux-gnu-gcc]",
	                 compiler->command.data[0], target->device->name);
}

static void
tell(const Compiler *compiler, const Target *target, int done, int total)
{
	const CodegenWatch *watch = compiler->watch;
	const char *name = target->device->name;
	if (watch && watch->progress)
		watch->progress(watch->arg, arena_printf(compiler->arena, "compiling kernels for %s", name),
		                done, total);
}

static void
compile_parts(const Compiler *compiler, const Target *target, int parts)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int jobs = cores < 1 ? 1 : cores > MAX_JOBS ? MAX_JOBS : (int)cores;
	pid_t running[MAX_PARTS];
	int failed = -1;
	tell(compiler, target, 0, parts);
	for (int part = 0; part < parts + jobs; part++) {
		int ended = part - jobs;
		if (ended >= 0 && ended < parts) {
			if (!finish(running[ended]) && failed < 0)
				failed = ended;
			tell(compiler, target, ended + 1, parts);
		}
		if (part < parts)
			running[part] = start_part(compiler, target, part, parts);
	}
	if (failed >= 0)
		complain_of_code(compiler, target,
		                 arena_printf(compiler->arena, "%s/log%d", compiler->folder, failed));
}

static void
link_parts(const Compiler *compiler, const Target *target, int parts, const char *output)
{
	Arena *arena = compiler->arena;
	StrVec argv = command_of(compiler);
	add_words(arena, &argv, countof(LINK_FLAGS), LINK_FLAGS);
	vec_push(arena, &argv, arena_printf(arena, "-march=%s", target->device->march));
	for (int part = 0; part < parts; part++)
		vec_push(arena, &argv, part_path(compiler, part));
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

static Hash128
cache_key(const Compiler *compiler, const Target *target, const char *text)
{
	const char *words[] = {text, compiler->version, target->device->march};
	Hash128 key = hash_words(hash128("codegen 1", 9), countof(words), words);
	key = hash_words(key, countof(FLAGS), FLAGS);
	key = hash_words(key, countof(GCC_FLAGS), GCC_FLAGS);
	key = hash_words(key, countof(LINK_FLAGS), LINK_FLAGS);
	return hash_words(key, (size_t)compiler->command.count, compiler->command.data);
}

const char *
codegen_compiler(Arena *arena)
{
	Compiler compiler = {.arena = arena_new_in(arena, "the C compiler")};
	Buf text = {.arena = arena};
	compiler.folder = file_temporary_folder(compiler.arena);
	find_compiler(&compiler);
	for (int i = 0; i < compiler.command.count; i++)
		buf_printf(&text, "%s ", compiler.command.data[i]);
	buf_puts(&text, compiler.version);
	arena_reset(compiler.arena);
	return buf_text(&text);
}

Bytes
codegen_compile(Arena *arena, const Target *target, const char *text, const CodegenWatch *watch)
{
	Compiler compiler = {.watch = watch};
	if (!target->device->march)
		fail_as(FAIL_BUG, NULL, "%s is not a target of the C compiler", target->device->name);
	compiler.arena = arena_new("compiling kernels");
	arena_defer(arena, (void (*)(void *))arena_free, compiler.arena);
	compiler.folder = file_temporary_folder(compiler.arena);
	find_compiler(&compiler);
	Cache *cache = cache_open(compiler.arena, NULL, CACHE_LIMIT);
	Hash128 key = cache_key(&compiler, target, text);
	Bytes found;
	if (!cache_find(cache, arena, key, &found)) {
		int parts = count_parts(text);
		const char *output = arena_printf(compiler.arena, "%s/kernels.so", compiler.folder);
		file_write(compiler.arena, arena_printf(compiler.arena, "%s/kernels.c", compiler.folder),
		           text, strlen(text));
		compile_parts(&compiler, target, parts);
		link_parts(&compiler, target, parts, output);
		Bytes made = file_map(compiler.arena, output);
		cache_store(cache, key, made.data, made.size);
		found = (Bytes){arena_memdup(arena, made.data, made.size), made.size};
	}
	arena_reset(compiler.arena);
	return found;
}

/* ---- artefacts ------------------------------------------------------------------------------- */

static const char *
march_of(const Device *device)
{
	return device->march;
}

const Artefact *
artefact_of(const Device *device)
{
	static const Artefact object = {
		.suffix = ".so",
		.source_suffix = ".c",
		.emit = codegen_c,
		.compile = codegen_compile,
		.needs = march_of,
	};
	return device->march ? &object : NULL;
}
