/* Run a bundle with buffers of your own.
 *
 *     cc run.c -ltilewright -o run
 *     ./run model.twb [N=4 ...]
 *
 * Inputs are filled with a pattern; symbols of their dims are 1 unless given as NAME=VALUE. What is
 * shown is all that a program has to do: open, bind, run, read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tilewright.h>

static void
check(TwCode code, const TwError *error)
{
	if (code == TW_OK)
		return;
	fprintf(stderr, "run: %s\n", error->text);
	exit(1);
}

/* The value of a dim: its number, or what the command line says of its symbol. */
static int64_t
choose_dim(const TwDim *dim, int count, char **arguments)
{
	if (dim->value >= 0)
		return dim->value;
	size_t length = strlen(dim->symbol);
	for (int i = 0; i < count; i++)
		if (strncmp(arguments[i], dim->symbol, length) == 0 && arguments[i][length] == '=')
			return atoll(arguments[i] + length + 1);
	return dim->lo > 1 ? dim->lo : 1;
}

/* Bytes of an element of the types that this example fills; 0 for others. */
static size_t
type_bytes(TwType type)
{
	switch (type) {
	case TW_F64:
	case TW_I64:
	case TW_U64:
		return 8;
	case TW_F32:
	case TW_I32:
	case TW_U32:
		return 4;
	case TW_F16:
	case TW_BF16:
	case TW_I16:
	case TW_U16:
		return 2;
	case TW_I8:
	case TW_U8:
	case TW_BOOL:
		return 1;
	default:
		return 0;
	}
}

/* A buffer of `count` elements: floats between -1 and 1, zeros for anything else. */
static void *
make_data(TwType type, int64_t count)
{
	size_t bytes = (size_t)count * type_bytes(type);
	float *data = aligned_alloc(64, (bytes + 64) / 64 * 64);
	if (!data)
		exit(1);
	memset(data, 0, bytes);
	for (int64_t i = 0; i < count && type == TW_F32; i++)
		data[i] = (float)(i * 37 % 201) / 100 - 1;
	return data;
}

/* Bind input `index` to memory of ours, which is returned. */
static void *
bind_input(TwSession *session, const TwBundle *bundle, int index, int count, char **arguments)
{
	const TwTensorInfo *info = tw_input(bundle, index);
	int64_t dims[64], elements = 1;
	TwError error;
	printf("input  %s: %s[", info->name, tw_type_name(info->type));
	for (int i = 0; i < info->rank; i++) {
		dims[i] = choose_dim(&info->dims[i], count, arguments);
		elements *= dims[i];
		printf(i ? ",%lld" : "%lld", (long long)dims[i]);
	}
	puts("]");
	if (type_bytes(info->type) == 0) {
		fprintf(stderr, "run: this example has no data of type %s\n", tw_type_name(info->type));
		exit(1);
	}
	void *data = make_data(info->type, elements);
	check(tw_bind_input(session, index, data, (size_t)elements * type_bytes(info->type), info->rank,
	                    dims, &error),
	      &error);
	return data;
}

static void
print_output(TwSession *session, const TwBundle *bundle, int index)
{
	TwTensor tensor;
	TwError error;
	check(tw_get_output(session, index, &tensor, &error), &error);
	printf("output %s: %s[", tw_output(bundle, index)->name, tw_type_name(tensor.type));
	for (int i = 0; i < tensor.rank; i++)
		printf(i ? ",%lld" : "%lld", (long long)tensor.dims[i]);
	printf("]");
	const float *values = tensor.data;
	for (size_t i = 0; i < 5 && tensor.type == TW_F32 && i < tensor.bytes / sizeof *values; i++)
		printf(" %g", (double)values[i]);
	puts("");
}

int
main(int argc, char **argv)
{
	TwError error;
	TwBundle *bundle;
	TwSession *session;
	if (argc < 2) {
		fprintf(stderr, "usage: run BUNDLE [SYMBOL=VALUE ...]\n");
		return 2;
	}
	check(tw_open(argv[1], NULL, &bundle, &error), &error);
	printf("%s for %s, tilewright %s\n", argv[1], tw_target(bundle), tw_version_text());
	check(tw_session_new(bundle, NULL, &session, &error), &error);

	int ninput = tw_input_count(bundle), noutput = tw_output_count(bundle);
	void **inputs = calloc((size_t)ninput + 1, sizeof *inputs);
	void **outputs = calloc((size_t)noutput + 1, sizeof *outputs);
	if (!inputs || !outputs)
		return 1;
	for (int i = 0; i < ninput; i++)
		inputs[i] = bind_input(session, bundle, i, argc - 2, argv + 2);

	/* Sizes of outputs are known before the run, unless they depend on data. */
	check(tw_prepare(session, &error), &error);
	for (int i = 0; i < noutput; i++) {
		TwTensor tensor;
		if (tw_output(bundle, i)->is_data_dependent)
			continue;
		check(tw_get_output(session, i, &tensor, &error), &error);
		outputs[i] = malloc(tensor.bytes + 1);
		check(tw_bind_output(session, i, outputs[i], tensor.bytes, &error), &error);
	}
	check(tw_run(session, &error), &error);
	for (int i = 0; i < noutput; i++)
		print_output(session, bundle, i);

	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	check(tw_run(session, &error), &error);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("second run: %.3f ms\n", (double)(end.tv_sec - start.tv_sec) * 1e3 +
	                                    (double)(end.tv_nsec - start.tv_nsec) * 1e-6);

	tw_session_free(session);
	tw_close(bundle);
	for (int i = 0; i < ninput; i++)
		free(inputs[i]);
	for (int i = 0; i < noutput; i++)
		free(outputs[i]);
	free(inputs);
	free(outputs);
	return 0;
}
