/* Operators that read or write by index: negative indices, ties, duplicates. */
#include "random.h"

#include <string.h>

static int
random_dims(Trial *t, int least, int most, int64_t largest, int64_t *dims)
{
	int rank = (int)roll(t, least, most);
	for (int i = 0; i < rank; i++)
		dims[i] = roll(t, 1, i ? largest : 4);
	return rank;
}

static DType
random_type(Trial *t)
{
	return (DType)PICK(t, DT_F32, DT_F32, DT_F32, DT_I64, DT_I32, DT_F64, DT_U8, DT_I8);
}

void
try_Gather(Trial *t)
{
	int64_t dims[TRIAL_MAX_RANK], at[TRIAL_MAX_RANK];
	int rank = random_dims(t, 1, 4, 9, dims), nat = random_dims(t, 0, 3, 5, at);
	int axis = (int)roll(t, 0, rank - 1);
	DType type = random_type(t), index = (DType)PICK(t, DT_I32, DT_I64);
	int64_t extent = dims[axis];
	Array *indices = trial_integers(t, index, nat, at, -extent, extent - 1);
	Array *data = trial_array(t, type, rank, dims, type == DT_U8 ? 0 : -100, 100);
	/* The batch may be gathered from or not; indices are below its value of this run. */
	Value *inputs[] = {trial_input(t, "data", data, axis > 0), trial_data(t, "at", indices)};
	trial_int(t, "axis", chance(t, 30) ? axis - rank : axis);
	Value *y = *trial_node(t, "Gather", 2, inputs, 1);
	if (chance(t, 30) && type == DT_F32)
		y = *trial_node(t, "Relu", 1, &y, 1);
	trial_finish(t, 1, &y);
}

void
try_ArgMax(Trial *t)
{
	int64_t dims[TRIAL_MAX_RANK];
	int rank = random_dims(t, 1, 4, 12, dims);
	if (chance(t, 20))
		dims[rank - 1] = roll(t, 30, 150);
	DType type = random_type(t);
	double least = type == DT_U8 ? 0 : -3;
	Value *x = trial_input(t, "x", trial_array(t, type, rank, dims, least, 3), true);
	trial_int(t, "axis", roll(t, -rank, rank - 1));
	trial_int(t, "keepdims", chance(t, 50));
	trial_int(t, "select_last_index", chance(t, 50));
	Value *y = *trial_node(t, "ArgMax", 1, &x, 1);
	trial_finish(t, 1, &y);
}

/* Indices along `axis`: one of each at most where duplicates are not wanted. */
static Array *
scatter_indices(Trial *t, DType type, int rank, const int64_t *dims, int axis, int64_t extent,
                bool has_duplicates)
{
	Array *at = trial_integers(t, type, rank, dims, -extent, extent - 1);
	int64_t inner = 1, count = array_count(at), length = dims[axis];
	for (int d = axis + 1; d < rank; d++)
		inner *= dims[d];
	for (int64_t i = 0; i < count && !has_duplicates; i++) {
		int64_t line = i / inner / length * length * inner + i % inner;
		int64_t turn = line % extent, place = i / inner % length; /* a rotation per line */
		int64_t index = (place + turn) % extent;
		dtype_store_i64(type, at->data, i, chance(t, 30) ? index - extent : index);
	}
	return at;
}

void
try_ScatterElements(Trial *t)
{
	static const char *const reductions[] = {"none", "add", "mul", "min", "max"};
	int64_t dims[TRIAL_MAX_RANK], at[TRIAL_MAX_RANK];
	int rank = random_dims(t, 1, 4, 7, dims), axis = (int)roll(t, 0, rank - 1);
	for (int d = 0; d < rank; d++)
		at[d] = roll(t, 1, dims[d]);
	const char *reduction = reductions[roll(t, 0, 4)];
	bool has_duplicates = chance(t, 60);
	if (has_duplicates && chance(t, 50))
		at[axis] = roll(t, 1, 2 * dims[axis]);
	else if (!has_duplicates && at[axis] > dims[axis])
		at[axis] = dims[axis];
	DType type = (DType)PICK(t, DT_F32, DT_F32, DT_F32, DT_I32, DT_I64, DT_F64);
	DType index = (DType)PICK(t, DT_I32, DT_I64);
	double span = strcmp(reduction, "mul") == 0 ? 2 : 50;
	Array *indices = scatter_indices(t, index, rank, at, axis, dims[axis], has_duplicates);
	Value *inputs[] = {
		trial_input(t, "data", trial_array(t, type, rank, dims, -span, span), axis > 0),
		trial_data(t, "at", indices),
		trial_data(t, "updates", trial_array(t, type, rank, at, -span, span)),
	};
	trial_int(t, "axis", chance(t, 30) ? axis - rank : axis);
	trial_string(t, "reduction", reduction);
	Value *y = *trial_node(t, "ScatterElements", 3, inputs, 1);
	trial_finish(t, 1, &y);
}
