/* Handles, memory, and what goes wrong when it shall. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/test/space.h"
#include "standin.h"

enum { STICKY = 700, FORKED = 3, DEVICES = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Handle *handles;
static long calls, failing;
static int failing_with;
static bool is_failing;
static unsigned long random_state;
static pid_t process; /* another one has nothing of this one's devices */
static _Thread_local int current;

void
misuse(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("stand-in: ", stderr);
	vfprintf(stderr, format, args);
	fputs("\n", stderr);
	va_end(args);
	abort();
}

/* ---- Handles ---- */

void
handle_add(void *object, HandleKind kind)
{
	Handle *handle = object;
	*handle = (Handle){handles, kind, current};
	handles = handle;
}

static Handle **
find(const void *object)
{
	Handle **at = &handles;
	while (*at && *at != object)
		at = &(*at)->next;
	return at;
}

void
handle_remove(void *object)
{
	Handle **at = find(object);
	if (!*at)
		misuse("%p is given back twice, or never was anything", object);
	*at = (*at)->next;
	free(object);
}

void *
handle_find(const void *object, HandleKind kind)
{
	Handle *handle = *find(object);
	if (!handle || handle->kind != kind)
		misuse("%p is none that is open, of kind %d", object, (int)kind);
	return handle;
}

void *
handle_check(const void *object, HandleKind kind)
{
	Handle *handle = handle_find(object, kind);
	if (handle->device != current)
		misuse("%p is device %d's, and this thread's is %d", object, handle->device, current);
	return handle;
}

size_t
handle_list(HandleKind kind, void **found, size_t most)
{
	size_t count = 0;
	for (Handle *handle = handles; handle && count < most; handle = handle->next)
		if (handle->kind == kind)
			found[count++] = handle;
	return count;
}

static int
count_handles(void)
{
	int count = 0;
	for (const Handle *handle = handles; handle; handle = handle->next)
		count++;
	return count;
}

/* ---- Calls ---- */

int
chance(int below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)(random_state >> 33) % below;
}

int
enter(void)
{
	pthread_mutex_lock(&lock);
	calls++;
	if (getpid() != process)
		return FORKED;
	if (random_state && !is_failing)
		work_some();
	is_failing = is_failing || (failing && calls == failing);
	int error = is_failing ? failing_with : CUDA_OK;
	if (error == STICKY)
		work_none();
	is_failing = is_failing && failing_with == STICKY;
	return error;
}

void
leave(void)
{
	pthread_mutex_unlock(&lock);
}

static long
count_calls(void)
{
	return calls;
}

static void
fail_at(long call, int error)
{
	calls = 0;
	failing = call;
	failing_with = error;
	is_failing = false;
}

static void
set_seed(unsigned long seed)
{
	random_state = seed;
}

static void
use_device(int device)
{
	current = device;
}

static int
device_now(void)
{
	return current;
}

extern const Standin standin;
const Standin standin = {count_calls, fail_at,    count_handles, set_seed,
                         use_device,  device_now, copied_bytes};

__attribute__((constructor)) static void
begin(void)
{
	const char *seed = getenv("STANDIN_SEED"), *fail = getenv("STANDIN_FAIL");
	process = getpid();
	random_state = seed ? strtoul(seed, NULL, 10) : 1;
	if (fail)
		sscanf(fail, "%ld:%d", &failing, &failing_with);
}

/* A program that is done has given all back. */
__attribute__((destructor)) static void
end(void)
{
	if (handles)
		fprintf(stderr, "stand-in: %d handles and blocks were not given back\n", count_handles());
}

/* ---- The device ---- */

static int
number_of(const char *name, int otherwise)
{
	const char *text = getenv(name);
	return text ? atoi(text) : otherwise;
}

const char *
cudaGetErrorString(int error)
{
	return error == CUDA_NO_MEMORY ? "out of memory" : "an error of the stand-in";
}

int
cudaGetLastError(void)
{
	return CUDA_OK;
}

int
cudaDriverGetVersion(int *version)
{
	int error = enter();
	*version = number_of("STANDIN_DRIVER", 13000);
	leave();
	return error;
}

int
cudaGetDevice(int *device)
{
	int error = enter();
	*device = current;
	leave();
	return error;
}

int
cudaSetDevice(int device)
{
	int error = enter();
	if (!error && (device < 0 || device >= DEVICES))
		error = 101;
	if (!error)
		current = device;
	leave();
	return error;
}

int
cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	int error = enter(), sm = number_of("STANDIN_SM", 90);
	if (device < 0 || device >= DEVICES)
		misuse("there is no device %d", device);
	*value = attribute == CUDA_CAPABILITY_MAJOR ? sm / 10 : sm % 10;
	leave();
	return error;
}

/* ---- Memory ---- */

typedef struct Memory {
	Handle head;
	unsigned char *address; /* of a pinned one its bytes */
	size_t size;
} Memory;

static Memory *
find_memory(const void *address)
{
	uintptr_t wanted = (uintptr_t)address;
	for (Handle *handle = handles; handle; handle = handle->next) {
		Memory *memory = (Memory *)handle;
		if (handle->kind >= IS_DEVICE_BLOCK && wanted >= (uintptr_t)memory->address &&
		    wanted - (uintptr_t)memory->address <= memory->size)
			return memory;
	}
	return NULL;
}

unsigned char *
memory_bytes(const void *address, size_t bytes, HandleKind *kind)
{
	const Memory *memory = find_memory(address);
	if (!memory)
		return NULL;
	size_t offset = (size_t)((const unsigned char *)address - memory->address);
	if (bytes > memory->size - offset)
		misuse("%zu bytes at byte %zu of a block of %zu", bytes, offset, memory->size);
	*kind = memory->head.kind;
	unsigned char *first =
		*kind == IS_DEVICE_BLOCK ? space_bytes(memory->address) : memory->address;
	return first + offset;
}

void
block_release(void *address)
{
	Memory *memory = find_memory(address);
	if (!memory || memory->address != address)
		misuse("%p is no block that can be given back", address);
	if (memory->head.kind == IS_DEVICE_BLOCK)
		space_release(address);
	else
		free(address);
	handle_remove(memory);
}

static int
allocate(void **address, size_t bytes, HandleKind kind, const CudaStream *stream)
{
	int error = enter();
	if (stream)
		handle_check(stream, IS_STREAM);
	*address = NULL; /* and so it stays where nothing is asked for: seen on an H100 */
	Memory *memory = error || bytes == 0 ? NULL : calloc(1, sizeof *memory);
	if (memory) {
		handle_add(memory, kind);
		memory->size = bytes;
		memory->address = kind == IS_DEVICE_BLOCK ? space_alloc(bytes) : malloc(bytes + 1);
		*address = memory->address;
		if (kind == IS_PINNED_BLOCK)
			memset(memory->address, 0xff, bytes);
	}
	leave();
	return error;
}

int
cudaMalloc(void **address, size_t bytes)
{
	return allocate(address, bytes, IS_DEVICE_BLOCK, NULL);
}

int
cudaMallocAsync(void **address, size_t bytes, CudaStream *stream)
{
	return allocate(address, bytes, IS_DEVICE_BLOCK, stream);
}

int
cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
	(void)flags;
	return allocate(address, bytes, IS_PINNED_BLOCK, NULL);
}

/* Waits for the device; gives memory back whatever it says. */
static int
release(void *address)
{
	int error = enter();
	if (!error)
		work_all();
	block_release(address);
	leave();
	return error;
}

int
cudaFree(void *address)
{
	return release(address);
}

int
cudaFreeHost(void *address)
{
	return release(address);
}

int
cudaPointerGetAttributes(CudaPointer *pointer, const void *address)
{
	int error = enter();
	const Memory *memory = find_memory(address);
	*pointer = (CudaPointer){.type = !memory                                ? CUDA_PAGEABLE
	                                 : memory->head.kind == IS_PINNED_BLOCK ? CUDA_PINNED
	                                                                        : CUDA_DEVICE};
	leave();
	return error;
}

int
cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CudaStream *stream)
{
	return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
