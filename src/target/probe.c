/* Sizes to choose at: what dims are where symbols have their typical values. */
#include "target/target.h"

int64_t
probe_dim(const Target *target, const Dim *dim)
{
	enum { MAX_SYMBOLS = 256 };
	int64_t value[MAX_SYMBOLS];
	bool bound[MAX_SYMBOLS];
	for (int i = 0; i < MAX_SYMBOLS; i++) {
		bool known =
			target && target->probe && i < target->probe->count && target->probe->is_bound[i];
		value[i] = known ? target->probe->value[i] : 1;
		bound[i] = true;
	}
	int64_t result;
	if (!dim_eval(dim, &(Binding){MAX_SYMBOLS, value, bound}, &result))
		return 1;
	return result;
}

int64_t
probe_times(int64_t a, int64_t b)
{
	int64_t product;
	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
