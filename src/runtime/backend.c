/* Which backend runs a target's plan. */
#include "runtime/backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/library.h"

typedef struct BackendKind {
	const char *name;
	const Backend *backend;       /* NULL: it is in a library of its own, not loaded */
	const char *library, *symbol; /* which, and what gives it there */
} BackendKind;

/* The better ones first. The one that tests use stands last: no bundle runs there that runs
 * elsewhere. */
static BackendKind kinds[] = {
	{"cuda", NULL, "libtilewright_cuda.so", "tw_backend_cuda"},
	{"cpu", &backend_cpu, NULL, NULL},
	{"test", &backend_test, NULL, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The folder of the library that this is part of, or of the program, with '/' at the end. */
static bool
find_folder(char folder[PATH_MAX])
{
	Dl_info info;
	struct link_map *map = NULL;
	if (!dladdr1(kinds, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	bool is_program = !*map->l_name;
	ssize_t length = is_program ? readlink("/proc/self/exe", folder, PATH_MAX)
	                            : snprintf(folder, PATH_MAX, "%s", map->l_name);
	if (length <= 0 || length >= PATH_MAX)
		return false;
	folder[length] = 0;
	char *slash = strrchr(folder, '/');
	if (slash)
		slash[1] = 0;
	return slash != NULL;
}

/* Beside us, or in lib/ beside the folder of the program, or where the system looks. */
static void *
open_beside(const char *name)
{
	const char *const names[] = {name, NULL};
	char folder[PATH_MAX], lib[PATH_MAX + 16];
	void *library = NULL;
	if (find_folder(folder)) {
		library = library_open(folder, names);
		snprintf(lib, sizeof lib, "%s../lib/", folder);
		library = library ? library : library_open(lib, names);
	}
	return library ? library : library_open("", names);
}

static void
load_kinds(void)
{
	if (!library_can_load() || getauxval(AT_SECURE))
		return;
	for (int i = 0; i < KINDS; i++) {
		BackendEntry *entry = NULL;
		void *library = kinds[i].library ? open_beside(kinds[i].library) : NULL;
		if (library)
			library_find(library, kinds[i].symbol, &entry);
		if (entry)
			kinds[i].backend = entry(BACKEND_ABI);
	}
}

static BackendKind *
find_kind(const char *device)
{
	size_t length = strcspn(device, ":");
	for (int i = 0; i < KINDS; i++)
		if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, device, length) == 0)
			return &kinds[i];
	return NULL;
}

const Backend *
backend_find(const char *device)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const BackendKind *kind = find_kind(device);
	if (kind && kind->library)
		pthread_once(&once, load_kinds);
	return kind ? kind->backend : NULL;
}

const char *
backend_library(const char *device)
{
	const BackendKind *kind = find_kind(device);
	return kind ? kind->library : NULL;
}

int
backend_rank(const Backend *backend)
{
	int rank = 0;
	while (kinds[rank].backend != backend)
		rank++;
	return rank;
}
