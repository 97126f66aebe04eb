/* Making, storing and running the self-test sample. */
#include "driver/proof/selftest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bundle/fields.h"
#include "driver/parts.h"
#include "driver/proof/compare.h"
#include "runtime/handle.h"

/* Elements of each output; and what a reader accepts. */
enum { SAMPLES = 32, SAMPLES_LIMIT = 4096, LIST_LIMIT = 65536 };
/* Data made up while compiling, of all inputs; a model that takes more is left to its user. */
static const size_t MADE_UP_LIMIT = (size_t)256 << 20;

/* ---- inputs ---- */

static bool
has_random(const Region *region)
{
	const Node *node = region->first;
	while (node && node_effect(node) != EFFECT_random)
		node = region_step(region, node);
	return node != NULL;
}

static TestInput
input_of(Arena *arena, const Value *value, const Binding *probe, const InputRanges *ranges)
{
	const Type *type = &value->type;
	int64_t *dims = NEW_N(arena, int64_t, type->rank + 1);
	for (int d = 0; d < type->rank; d++)
		if (!dim_eval(type->dims[d], probe, &dims[d]))
			dims[d] = 1;
	InputRange range = {0};
	input_range_at(ranges, value->name, probe, &range);
	return (TestInput){
		arena_strdup(arena, value->name), type->dtype, type->rank, dims, range.low, range.extent};
}

size_t
selftest_bytes(const SelfTest *test)
{
	size_t total = 0, bytes;
	for (int i = 0; i < test->ninput; i++) {
		int64_t count = 1;
		for (int d = 0; d < test->inputs[i].rank; d++)
			if (__builtin_mul_overflow(count, test->inputs[i].dims[d], &count))
				return SIZE_MAX;
		if (!dtype_bytes(test->inputs[i].type, count, &bytes) ||
		    __builtin_add_overflow(total, bytes, &total))
			return SIZE_MAX;
	}
	return total;
}

SelfTest *
selftest_new(Arena *arena, const Graph *graph, const Binding *probe, const InputRanges *ranges,
             int64_t seed)
{
	SelfTest *test = NEW(arena, SelfTest);
	const Region *body = graph->body;
	*test = (SelfTest){.seed = seed, .ninput = body->nparam};
	test->inputs = NEW_N(arena, TestInput, body->nparam + 1);
	if (has_random(body))
		test->left_out = "the model has random operators";
	for (int i = 0; i < body->nparam; i++) {
		const Type *type = &body->params[i]->type;
		if (type->kind != TYPE_TENSOR || type->rank < 0 || dtype_class(type->dtype) == DC_X) {
			test->left_out =
				arena_printf(arena, "no data is made up for input %s", body->params[i]->name);
			return test;
		}
		test->inputs[i] = input_of(arena, body->params[i], probe, ranges);
	}
	if (!test->left_out && selftest_bytes(test) > MADE_UP_LIMIT)
		test->left_out = arena_printf(arena, "its inputs take more than %zu MB at these sizes",
		                              MADE_UP_LIMIT >> 20);
	return test;
}

static Array *
make_input(const SelfTest *test, Arena *arena, const InputRanges *ranges, const TestInput *input)
{
	InputRange own = {input->name, input->end, NULL, input->low};
	const InputRanges only = {.count = 1, .data = &own};
	return input_make(arena, (uint64_t)test->seed, input->end > input->low ? &only : ranges,
	                  input->name, input->type, input->rank, input->dims);
}

const Array **
selftest_inputs(const SelfTest *test, Arena *arena, const InputRanges *ranges)
{
	const Array **arrays = NEW_N(arena, const Array *, test->ninput + 1);
	for (int i = 0; i < test->ninput; i++)
		arrays[i] = make_input(test, arena, ranges, &test->inputs[i]);
	return arrays;
}

void
selftest_bind(const SelfTest *test, Arena *arena, Session *session)
{
	Loc loc = {.file = session->name};
	for (int i = 0; i < session->ninput; i++) {
		const TwTensorInfo *info = tw_input(session->bundle, i);
		const TestInput *input = NULL;
		if (info->has_default)
			continue;
		for (int k = 0; k < test->ninput; k++)
			if (strcmp(test->inputs[k].name, info->name) == 0)
				input = &test->inputs[k];
		if (!input || input->type != (DType)info->type || input->rank != info->rank)
			fail(&loc, "the self-test has no data for input %s", info->name);
		session->inputs[i] = make_input(test, arena, &session->ranges, input);
	}
	session_bind(session);
}

/* ---- outputs ---- */

void
selftest_judge(SelfTest *test, Arena *arena, const Plan *plan)
{
	const TwTensorInfo *outputs = signature_tensors(arena, plan, plan->noutput, plan->outputs);
	for (int i = 0; i < plan->noutput && !test->left_out; i++) {
		const char *name = arena_strdup(arena, outputs[i].name);
		if (dtype_class((DType)outputs[i].type) == DC_X)
			test->left_out = arena_printf(arena, "output %s is of type %s", name,
			                              dtype_name((DType)outputs[i].type));
		else if (outputs[i].is_data_dependent)
			test->left_out = arena_printf(arena, "the size of output %s depends on data", name);
	}
}

/* Quantised models jump by a step where a sum is a hair off; half precision is what it says. */
static bool
is_narrow(const Plan *plan)
{
	for (int i = 0; i < plan->nbuffer; i++) {
		DType type = plan->buffers[i].type;
		bool is_half = dtype_is_float(type) && dtype_bits(type) <= 16;
		bool is_small = type != DT_BOOL && dtype_class(type) != DC_X && dtype_bits(type) <= 8;
		if (is_half || is_small)
			return true;
	}
	for (int i = 0; i < plan->nstep; i++)
		for (int k = 0; k < plan->steps[i].nbody; k++)
			if (is_narrow(plan->steps[i].bodies[k]))
				return true;
	return false;
}

/* Indices, counts and bools; not 8-bit numbers, which are rounded quantities. */
static bool
is_exact(DType type)
{
	return type == DT_BOOL || (dtype_is_integer(type) && dtype_bits(type) > 8);
}

static double
tolerance_of(const Array *whole, bool narrow)
{
	double largest = 0;
	int64_t count = array_count(whole);
	if (is_exact(whole->type))
		return 0;
	for (int64_t i = 0; i < count; i++) {
		double value = fabs(dtype_load_f64(whole->type, whole->data, i));
		largest = isfinite(value) ? fmax(largest, value) : largest;
	}
	double least = dtype_is_float(whole->type) ? 1e-7 : 1;
	return fmax(least, (narrow ? 5e-2 : 1e-3) * largest);
}

/* The elements at `at` in the type they are stored in. */
static Array *
gather(Arena *arena, const Array *whole, int64_t count, const int64_t *at)
{
	Array *values = array_new(arena, is_exact(whole->type) ? DT_I64 : DT_F64, 1, &count);
	for (int64_t i = 0; i < count; i++)
		if (values->type == DT_I64)
			((int64_t *)values->data)[i] = dtype_load_i64(whole->type, whole->data, at[i]);
		else
			((double *)values->data)[i] = dtype_load_f64(whole->type, whole->data, at[i]);
	return values;
}

/* One position from each of so many equal stretches, at an uneven place: even steps would see
 * only some channels. */
static const int64_t *
places(Arena *arena, int64_t total, int64_t count)
{
	int64_t *at = NEW_N(arena, int64_t, count + 1);
	for (int64_t i = 0; i < count; i++) {
		int64_t from = total / count * i, to = i + 1 < count ? from + total / count : total;
		at[i] = from + (int64_t)(hash_mix((uint64_t)i, (uint64_t)total) % (uint64_t)(to - from));
	}
	return at;
}

void
selftest_sample(SelfTest *test, Arena *arena, const Plan *plan, const Array *arrays)
{
	bool narrow = is_narrow(plan);
	test->noutput = plan->noutput;
	test->outputs = NEW_N(arena, TestOutput, plan->noutput + 1);
	for (int i = 0; i < plan->noutput; i++) {
		const Array *whole = &arrays[i];
		int64_t total = array_count(whole), count = total < SAMPLES ? total : SAMPLES;
		const int64_t *at = places(arena, total, count);
		const Array *values = gather(arena, whole, count, at);
		test->outputs[i] = (TestOutput){
			.name = arena_strdup(arena, plan->buffers[plan->outputs[i]].name),
			.type = whole->type,
			.rank = whole->rank,
			.dims = arena_memdup(arena, whole->dims, (size_t)whole->rank * sizeof *whole->dims),
			.tolerance = tolerance_of(whole, narrow),
			.count = (int)count,
			.at = at,
			.is_exact = is_exact(whole->type),
			.whole = values->data,
			.real = values->data,
		};
	}
}

/* ---- as text ---- */

static void
check_type(const FieldReader *reader, void *record)
{
	const TestInput *input = record;
	if (dims_count(input->rank, input->dims) < 0)
		json_fail(reader->json, "'%.60s' has a wrong shape", input->name);
}

/* The type says which of the two lists of values there is. */
static void
choose_values(const FieldReader *reader, void *record)
{
	TestOutput *output = record;
	if (dims_count(output->rank, output->dims) < 0)
		json_fail(reader->json, "'%.60s' has a wrong shape", output->name);
	output->is_exact = is_exact(output->type);
}

static void
check_values(const FieldReader *reader, void *record)
{
	TestOutput *output = record;
	for (int i = 0; i < output->count; i++)
		if (output->at[i] < 0 || output->at[i] >= dims_count(output->rank, output->dims))
			json_fail(reader->json, "'%.60s' has no element %lld", output->name,
			          (long long)output->at[i]);
}

static const Field input_fields[] = {
	{FIELD("name", TestInput, name)},
	{FIELD("type", TestInput, type)},
	{FIELD_LIST("dims", TestInput, dims, rank), .most = PLAN_MAX_RANK, .hi = INT64_MAX,
     .check = check_type},
	{FIELD_OR("low", TestInput, low, 0), .lo = INT32_MIN, .hi = INT32_MAX},
	{FIELD_OR("end", TestInput, end, 0), .lo = INT32_MIN, .hi = INT32_MAX},
};
static const Record input_record = {RECORD(TestInput, input_fields)};

static const Field output_fields[] = {
	{FIELD("name", TestOutput, name)},
	{FIELD("type", TestOutput, type)},
	{FIELD_LIST("dims", TestOutput, dims, rank), .most = PLAN_MAX_RANK, .hi = INT64_MAX,
     .check = choose_values},
	{FIELD_OR("tolerance", TestOutput, tolerance, 0)},
	{FIELD_LIST("at", TestOutput, at, count), .most = SAMPLES_LIMIT, .hi = INT64_MAX},
	{FIELD_LIST("values", TestOutput, whole, count), .has_count = true, .most = SAMPLES_LIMIT,
     .lo = INT64_MIN, .hi = INT64_MAX, .when = FIELD_WHEN(true)},
	{FIELD_LIST("values", TestOutput, real, count), .has_count = true, .most = SAMPLES_LIMIT,
     .when = FIELD_WHEN(false), .check = check_values},
};
static const Record output_record = {RECORD(TestOutput, output_fields),
                                     .kind_at = offsetof(TestOutput, is_exact)};

static const Field sample_fields[] = {
	{FIELD("oracle", SelfTest, oracle)},
	{FIELD("seed", SelfTest, seed), .lo = INT64_MIN, .hi = INT64_MAX},
	{FIELD_LIST("inputs", SelfTest, inputs, ninput), .most = LIST_LIMIT, .of = &input_record,
     .is_long = true},
	{FIELD_LIST("outputs", SelfTest, outputs, noutput), .most = LIST_LIMIT, .of = &output_record,
     .is_long = true},
};
static const Record sample_record = {RECORD(SelfTest, sample_fields)};

static const Field left_out_fields[] = {{FIELD_OR("left_out", SelfTest, left_out, 1)}};
static const Record left_out_record = {RECORD(SelfTest, left_out_fields)};

const char *
selftest_text(Arena *arena, const SelfTest *test)
{
	Buf json = {.arena = arena};
	record_write(&json, test->left_out ? &left_out_record : &sample_record, test);
	buf_putc(&json, '\n');
	return buf_text(&json);
}

SelfTest *
selftest_read(Arena *arena, const char *path, Bytes text)
{
	SelfTest *test = NEW(arena, SelfTest);
	bundle_part_read(arena, path, "the self-test", text, &left_out_record, test);
	if (!test->left_out)
		bundle_part_read(arena, path, "the self-test", text, &sample_record, test);
	return test;
}

const char *
selftest_summary(Arena *arena, const SelfTest *test)
{
	if (test->left_out)
		return arena_printf(arena, "left out: %s", test->left_out);
	int64_t count = 0;
	for (int i = 0; i < test->noutput; i++)
		count += test->outputs[i].count;
	return arena_printf(arena, "%lld element%s of %d output%s, by %s", (long long)count,
	                    count == 1 ? "" : "s", test->noutput, test->noutput == 1 ? "" : "s",
	                    test->oracle);
}

/* ---- running ---- */

static Array *
values_of(Arena *arena, const TestOutput *output)
{
	int64_t count = output->count;
	return output->is_exact ? array_from(arena, DT_I64, 1, &count, output->whole)
	                        : array_from(arena, DT_F64, 1, &count, output->real);
}

/* "element [0,3] is 0.5, expected 0.25, within 0.001; 7 of 32 are wrong, …" */
static const char *
difference_text(Arena *arena, const TestOutput *output, const Comparison *c, const Array *seen)
{
	int64_t index[PLAN_MAX_RANK], rest = output->at[c->first];
	Buf buf = {.arena = arena};
	for (int d = output->rank - 1; d >= 0; d--) {
		index[d] = rest % output->dims[d];
		rest /= output->dims[d];
	}
	buf_puts(&buf, "element [");
	for (int d = 0; d < output->rank; d++)
		buf_printf(&buf, "%s%lld", d ? "," : "", (long long)index[d]);
	buf_printf(&buf,
	           "] is %.9g, expected %.9g within %.3g; %lld of %lld samples are wrong, the "
	           "largest error is %.3g",
	           dtype_load_f64(seen->type, seen->data, c->first),
	           output->is_exact ? (double)output->whole[c->first] : output->real[c->first],
	           output->tolerance, (long long)c->wrong, (long long)c->count, c->worst);
	return buf_text(&buf);
}

bool
selftest_check(Session *session, const TestOutput *output, Comparison *c)
{
	Arena *arena = session->arena;
	int index = tw_find_output(session->bundle, output->name);
	*c = (Comparison){.reason = "the bundle has no such output"};
	Array whole = {0}, expected = {output->type, output->rank, output->dims, NULL};
	Array *seen = NULL;
	if (index >= 0) {
		whole = session_output(session, index);
		c->reason = shape_difference(arena, &expected, &whole);
	}
	if (!c->reason) {
		seen = gather(arena, &whole, output->count, output->at);
		*c = compare_arrays(arena, values_of(arena, output), seen, 0, output->tolerance);
	}
	if (!c->reason && c->wrong == 0)
		return true;
	fprintf(stderr, "self-test: output %s: %s\n", output->name,
	        c->reason ? c->reason : difference_text(arena, output, c, seen));
	return false;
}
