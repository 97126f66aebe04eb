/* Which backend runs a target's plan. */
#include "runtime/backend.h"

#include <string.h>

/* The one that tests use stands last: no bundle runs there that runs elsewhere. */
static const Backend *const BACKENDS[] = {&backend_cpu, &backend_test};

const Backend *
backend_find(const char *device)
{
	size_t length = strcspn(device, ":");
	for (size_t i = 0; i < sizeof BACKENDS / sizeof *BACKENDS; i++) {
		const char *name = BACKENDS[i]->name;
		if (strlen(name) == length && strncmp(name, device, length) == 0)
			return BACKENDS[i];
	}
	return NULL;
}

int
backend_rank(const Backend *backend)
{
	int rank = 0;
	while (BACKENDS[rank] != backend)
		rank++;
	return rank;
}
