/* Kernels: an object of fibers in the place of machine code for a GPU. */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/library.h"
#include "bundle/abi.h"
#include "bundle/plan.h"
#include "standin.h"

/* host::Kernel of fibers.hpp. */
typedef struct FiberKernel {
	void *body;
	unsigned char *shared, *shared_end;
	size_t dynamic;
	unsigned threads[3];
	bool has_barriers;
} FiberKernel;

typedef struct NamedKernel {
	const char *function;
	int nbuffer, nsymbol;
	const FiberKernel *kernel;
} NamedKernel;

typedef struct Simulated {
	const NamedKernel *kernels;
	void (*launch)(const FiberKernel *kernel, const int64_t *grid, int64_t begin, int64_t end,
	               void *const *buffers, const int64_t *symbols, void *status, int step);
} Simulated;

struct CudaKernel {
	CudaKernel *next;
	const Simulated *code;
	const NamedKernel *named;
	size_t allowed; /* shared memory that a launch may ask for */
};

struct CudaLibrary {
	Handle head;
	void *object;
	const Simulated *code;
	CudaKernel *kernels;
};

/* Its headers of sections are the end of the file. */
static size_t
object_size(const void *image)
{
	const Elf64_Ehdr *head = image;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_machine == 190)
		return 0;
	return head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
}

static void *
load(const void *image)
{
	char path[64];
	size_t size = object_size(image);
	int file = size ? memfd_create("kernels", MFD_CLOEXEC) : -1;
	if (file < 0 || write(file, image, size) != (ssize_t)size)
		return NULL;
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(file);
	return object;
}

int
cudaLibraryLoadData(CudaLibrary **library, const void *code, const int *options,
                    void *const *values, unsigned count, const int *library_options,
                    void *const *library_values, unsigned library_count)
{
	int error = enter();
	(void)options;
	(void)values;
	(void)library_options;
	(void)library_values;
	*library = NULL;
	void *object = error || count || library_count ? NULL : load(code);
	if (object) {
		CudaLibrary *made = calloc(1, sizeof *made);
		handle_add(made, IS_LIBRARY);
		made->object = object;
		made->code = dlsym(object, "tw_simulated_v1");
		*library = made;
	}
	leave();
	return error ? error : object ? CUDA_OK : 200;
}

int
cudaLibraryUnload(CudaLibrary *library)
{
	int error = enter();
	handle_check(library, IS_LIBRARY);
	if (!error)
		work_all();
	while (library->kernels) {
		CudaKernel *kernel = library->kernels;
		library->kernels = kernel->next;
		free(kernel);
	}
	dlclose(library->object);
	handle_remove(library);
	leave();
	return error;
}

int
cudaLibraryGetKernel(CudaKernel **kernel, CudaLibrary *library, const char *name)
{
	int error = enter();
	handle_check(library, IS_LIBRARY);
	*kernel = NULL;
	const NamedKernel *named = library->code->kernels;
	while (named->function && strcmp(named->function, name) != 0)
		named++;
	if (!error && !named->function)
		error = 500;
	if (!error) {
		*kernel = calloc(1, sizeof **kernel);
		**kernel = (CudaKernel){library->kernels, library->code, named, PLAN_STATIC_SHARED};
		library->kernels = *kernel;
	}
	leave();
	return error;
}

int
cudaKernelSetAttributeForDevice(CudaKernel *kernel, int attribute, int value, int device)
{
	int error = enter();
	(void)device;
	if (attribute != CUDA_DYNAMIC_SHARED || value > 227 << 10)
		error = 1;
	if (!error)
		kernel->allowed = (size_t)value;
	leave();
	return error;
}

struct Start {
	const CudaKernel *kernel;
	int64_t grid[3];
	int step;
	void *status, **buffers;
	int64_t symbols[];
};

/* Numbers of blocks and threads that a GPU takes, and those that the kernel was made for. */
static bool
are_sizes_right(const CudaKernel *kernel, CudaDim grid, CudaDim block, size_t shared)
{
	const FiberKernel *fibers = kernel->named->kernel;
	bool is_grid = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.y < 65536 && grid.z < 65536;
	bool is_block = block.x == fibers->threads[0] && block.y == fibers->threads[1] &&
	                block.z == fibers->threads[2];
	return is_grid && is_block && shared == fibers->dynamic && shared <= kernel->allowed;
}

int
start_new(Start **made, const CudaKernel *kernel, CudaDim grid, CudaDim block, void **args,
          size_t shared)
{
	int nbuffer = kernel->named->nbuffer, nsymbol = kernel->named->nsymbol;
	if (!are_sizes_right(kernel, grid, block, shared))
		return 9;
	size_t room = (size_t)nbuffer * sizeof(void *) + (size_t)nsymbol * sizeof(int64_t);
	Start *start = calloc(1, sizeof *start + room);
	start->kernel = kernel;
	start->grid[0] = grid.x;
	start->grid[1] = grid.y;
	start->grid[2] = grid.z;
	for (int i = 0; i < nsymbol; i++)
		memcpy(&start->symbols[i], args[nbuffer + i], sizeof *start->symbols);
	start->buffers = (void **)(void *)(start->symbols + nsymbol);
	for (int i = 0; i < nbuffer; i++)
		memcpy(&start->buffers[i], args[i], sizeof *start->buffers);
	memcpy(&start->status, args[nbuffer + nsymbol], sizeof start->status);
	memcpy(&start->step, args[nbuffer + nsymbol + 1], sizeof start->step);
	*made = start;
	return CUDA_OK;
}

void
start_run(void *work)
{
	const Start *start = work;
	const NamedKernel *named = start->kernel->named;
	void *buffers[256];
	HandleKind kind;
	for (int i = 0; i < named->nbuffer && i < 256; i++) {
		buffers[i] = memory_bytes(start->buffers[i], 0, &kind);
		if (!buffers[i])
			misuse("%s: argument %d is in no memory of the device's", named->function, i);
		if ((uintptr_t)start->buffers[i] % 16)
			misuse("%s: argument %d is not aligned to 16 bytes", named->function, i);
	}
	void *status = memory_bytes(start->status, sizeof(TwStatus), &kind);
	if (!status)
		misuse("%s: the status is in no memory of the device's", named->function);
	start->kernel->code->launch(named->kernel, start->grid, 0, INT64_MAX, buffers, start->symbols,
	                            status, start->step);
}
