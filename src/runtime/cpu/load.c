/* Kernels of a bundle as code of this process.
 *
 * They become code through a memory file that the dynamic linker opens by its /proc path. The
 * descriptor stays open as long as the library: the linker knows libraries by path, and a number
 * used again would give the old one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/cpu/cpu.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3: asks for what was the default before */
#endif

static bool
write_all(int file, Bytes bytes)
{
	while (bytes.size > 0) {
		ssize_t written = write(file, bytes.data, bytes.size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes.data += written;
		bytes.size -= (size_t)written;
	}
	return true;
}

/* A memory file; where the system has none or does not let it run, a file without a name. */
static int
make_file(void)
{
	int file = memfd_create("tilewright-kernels", MFD_CLOEXEC | MFD_EXEC);
	if (file < 0)
		file = memfd_create("tilewright-kernels", MFD_CLOEXEC);
	if (file < 0)
		file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	return file;
}

static bool
take_table(CpuCode *code, char *error, size_t size)
{
	const TwKernels *kernels = dlsym(code->library, "tw_kernels_v1");
	if (!kernels)
		return refuse_with(error, size, "the bundle's kernels do not export tw_kernels_v1");
	if (kernels->abi != TW_KERNEL_ABI)
		return refuse_with(error, size,
		                   "the bundle's kernels have ABI %u and this library has %u: "
		                   "compile the model again",
		                   kernels->abi, TW_KERNEL_ABI);
	code->head.count = (int)kernels->count;
	code->table = kernels->table;
	return true;
}

/* The kernels' bytes in a file; TW_FILE with a sentence when it cannot be made. */
static TwCode
fill_file(int *file, Bytes bytes, char *error, size_t size)
{
	*file = make_file();
	if (*file >= 0 && write_all(*file, bytes))
		return TW_OK;
	bool is_memory = errno == ENOMEM;
	refuse_with(error, size, "cannot make a file for the kernels: %s", strerror(errno));
	return is_memory ? TW_MEMORY : TW_FILE;
}

static TwCode
link_file(CpuCode *code, const char *name, char *error, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", code->file);
	errno = 0;
	code->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!code->library) {
		bool is_memory = errno == ENOMEM;
		refuse_with(error, size, "the kernels %.80s cannot be loaded: %s", name, dlerror());
		return is_memory ? TW_MEMORY : TW_DAMAGED;
	}
	return take_table(code, error, size) ? TW_OK : TW_DAMAGED;
}

TwCode
cpu_load(Bytes image, const char *name, BackendCode **loaded, char *error, size_t error_size)
{
	CpuCode *code = calloc(1, sizeof *code);
	*loaded = NULL;
	if (!code) {
		refuse_with(error, error_size, "out of memory for the kernels");
		return TW_MEMORY;
	}
	TwCode result = fill_file(&code->file, image, error, error_size);
	if (!result)
		result = link_file(code, name, error, error_size);
	*loaded = &code->head;
	if (!result)
		return TW_OK;
	cpu_unload(*loaded);
	*loaded = NULL;
	return result;
}

void
cpu_unload(BackendCode *loaded)
{
	CpuCode *code = (CpuCode *)loaded;
	if (!code)
		return;
	if (code->library)
		dlclose(code->library);
	if (code->file >= 0)
		close(code->file);
	free(code);
}
