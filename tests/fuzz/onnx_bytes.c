/* Fuzzing of the ONNX reader: any bytes are either read, or refused with one sentence. */
#include "fuzz.h"
#include "onnx/onnx.h"

static void
read_model(void *arg)
{
	FuzzCase *one = arg;
	onnx_read_bytes(one->arena, "fuzz.onnx", (Bytes){one->data, one->size}, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_case(read_model, data, size, NULL);
	return 0;
}
