/* Bundles: any bytes are opened, or refused in a sentence. No code is loaded. The hashes of parts
 * would refuse most changes at once: those of the weights are not looked at. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/bundle.h"

static void
open_bundle(void *arg)
{
	FuzzCase *one = arg;
	char error[512] = "";
	Bundle bundle;
	bool is_open = bundle_open(&bundle, (Bytes){one->data, one->size}, BUNDLE_VERIFY_CODE, error,
	                           sizeof error);
	for (int i = 0; is_open && i < bundle.manifest->ntarget; i++) {
		Plan *plan;
		if (bundle_read_plan(&bundle, i, &plan, error, sizeof error))
			plan_free(plan);
		bundle_packed(&bundle, i);
	}
	if (is_open)
		bundle_close(&bundle);
	else if (!*error)
		fuzz_found("a bundle is refused without a word");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The reader wants what a mapped file has: an address at the start of a page. */
	unsigned char *aligned = aligned_alloc(4096, (size + 4096) / 4096 * 4096);
	if (!aligned)
		return 0;
	memcpy(aligned, data, size);
	fuzz_case(open_bundle, aligned, size, NULL);
	free(aligned);
	return 0;
}
