/* Plans: what a stranger's bundle may say of its steps is followed only if the verifier agrees. */
#include "fuzz.h"
#include "json.h"
#include "bundle/bundle.h"
#include "runtime/handle.h"

enum { WEIGHTS = 1 << 16 }; /* bytes that the bundle is said to have */

static void
read_plan(void *arg)
{
	FuzzCase *one = arg;
	char error[512] = "";
	Plan *plan;
	if (!plan_read((const char *)one->data, one->size, &plan, error, sizeof error)) {
		if (!*error)
			fuzz_found("a plan is refused without a word");
		return;
	}
	if (plan_verify(plan, WEIGHTS, error, sizeof error)) {
		signature_tensors(one->arena, plan, plan->ninput, plan->inputs);
		signature_tensors(one->arena, plan, plan->noutput, plan->outputs);
	}
	plan_free(plan);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_case(read_plan, data, size, NULL);
	return 0;
}

/* Mostly as JSON: few changed bytes leave a text that is read to the end. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint64_t state = seed;
	fuzz_random(&state);
	size_t made = fuzz_random(&state) % 8 ? fuzz_change_json(data, size, max_size, &state) : 0;
	return made ? made : fuzz_change_bytes(data, size, &state);
}
