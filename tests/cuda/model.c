/* A bundle with inputs, and what its runs give. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

enum { RUNS_ALIKE = 3, SIZE = 3 };

int failures;

void
lose(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
	failures++;
}

/* Another one for each symbol. */
int64_t
extent_of(const TwDim *dim)
{
	return dim->value >= 0 ? dim->value : SIZE + dim->symbol[0] % 4;
}

/* Numbers that make sense as floats and as indices. */
static void
fill(void *data, TwType type, size_t count, int seed)
{
	for (size_t i = 0; i < count; i++)
		if (type == TW_F32)
			((float *)data)[i] = (float)((i * 7 + (size_t)seed) % 23) / 16 - 0.5f;
		else if (type == TW_I64)
			((int64_t *)data)[i] = (int64_t)(i + (size_t)seed) % 2;
}

/* Other numbers in the memory that is bound: what was recorded stays. */
void
fill_inputs(Model *m, int seed)
{
	for (int i = 0; i < m->ninput; i++)
		fill(m->inputs[i], tw_input(m->bundle, i)->type, m->input_count[i], seed);
}

TwCode
bind_inputs(Model *m, int seed, TwError *error)
{
	TwCode code = TW_OK;
	for (int i = 0; i < m->ninput && !code; i++) {
		const TwTensorInfo *info = tw_input(m->bundle, i);
		int64_t dims[MOST];
		size_t count = 1;
		for (int d = 0; d < info->rank; d++) {
			dims[d] = extent_of(&info->dims[d]) + (info->dims[d].value < 0 ? m->more : 0);
			count *= (size_t)dims[d];
		}
		free(m->inputs[i]);
		m->inputs[i] = calloc(count + 1, sizeof(int64_t));
		m->input_count[i] = count;
		fill(m->inputs[i], info->type, count, seed);
		code = tw_bind_input(m->session, i, m->inputs[i], count * sizeof(int64_t), info->rank, dims,
		                     error);
	}
	return code;
}

/* What outputs hold after a run, kept. */
TwCode
take_outputs(Model *m, TwError *error)
{
	for (int i = 0; i < m->noutput; i++) {
		TwTensor tensor;
		TwCode code = tw_get_output(m->session, i, &tensor, error);
		if (code)
			return code;
		free(m->outputs[i]);
		m->outputs[i] = malloc(tensor.bytes + 1);
		memcpy(m->outputs[i], tensor.data, tensor.bytes);
		m->output_bytes[i] = tensor.bytes;
	}
	return TW_OK;
}

void
close_model(Model *m)
{
	tw_session_free(m->session);
	tw_close(m->bundle);
	for (int i = 0; i < MOST; i++) {
		free(m->inputs[i]);
		free(m->outputs[i]);
	}
	*m = (Model){0};
}

TwCode
open_model(Model *m, const char *path, const TwSessionOptions *options, TwError *error)
{
	*m = (Model){0};
	TwCode code = tw_open(path, NULL, &m->bundle, error);
	if (!code)
		code = tw_session_new(m->bundle, options, &m->session, error);
	m->ninput = tw_input_count(m->bundle);
	m->noutput = tw_output_count(m->bundle);
	return code;
}

/* Runs, of which the last of three is replayed; then with other memory, and again. */
TwCode
run_opened(Model *m, int seed, TwError *error)
{
	TwCode code = TW_OK;
	for (int i = 0; i < RUNS && !code; i++) {
		if (i % RUNS_ALIKE == 0)
			code = bind_inputs(m, seed, error);
		if (!code)
			fill_inputs(m, seed + i);
		if (!code)
			code = tw_run(m->session, error);
		if (!code)
			code = take_outputs(m, error);
	}
	return code;
}

/* From a file to the results of the last run. */
TwCode
run_model(Model *m, const char *path, int seed, TwError *error)
{
	TwCode code = open_model(m, path, NULL, error);
	return code ? code : run_opened(m, seed, error);
}

bool
has_outputs_of(const Model *a, const Model *b)
{
	bool is_same = a->noutput == b->noutput;
	for (int i = 0; i < a->noutput && is_same; i++)
		is_same = a->output_bytes[i] == b->output_bytes[i] &&
		          memcmp(a->outputs[i], b->outputs[i], a->output_bytes[i]) == 0;
	return is_same;
}
