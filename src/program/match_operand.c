/* How an operand of a match lies: which words and dims the call gets of it. */
#include <string.h>

#include "program/match_inner.h"

void
match_add_attr(VendorMatch *m, StepAttr attr)
{
	must(m->nattr < VENDOR_ATTRS);
	m->attrs[m->nattr++] = attr;
}

void
match_tell_swapped(VendorMatch *m, int k)
{
	static const int64_t one = 1;
	VendorOperand *operand = &m->operands[k];
	int last = operand->rank - 1, d = operand->tensor->rank - 1;
	const char *word = m->row->swapped[k];
	if (!word || operand->dims[last] != d - 1 || operand->dims[last - 1] != d)
		return;
	const Dim *extent = operand->extents[last];
	operand->extents[last] = operand->extents[last - 1];
	operand->extents[last - 1] = extent;
	operand->dims[last - 1] = d - 1;
	operand->dims[last] = d;
	match_add_attr(m, (StepAttr){.name = word, .count = 1, .ints = &one});
}

bool
match_is_in_order(const VendorMatch *m, const RowForm *form, int k)
{
	const VendorOperand *operand = &m->operands[k];
	int last = -1;
	for (int i = 0; i < operand->rank; i++) {
		int d = operand->dims[i];
		if (d < 0 ? !form->operands[k].items[i].may_stand : d < last)
			return false;
		last = d < 0 ? last : d;
	}
	return true;
}

void
match_drop_leading(VendorMatch *m, const RowForm *form, int k)
{
	VendorOperand *operand = &m->operands[k];
	int count = 0;
	while (operand->dims[count] < 0 && form->operands[k].items[count].may_stand)
		count++;
	operand->rank -= count;
	memmove(operand->dims, operand->dims + count, (size_t)operand->rank * sizeof *operand->dims);
	memmove(operand->extents, operand->extents + count,
	        (size_t)operand->rank * sizeof *operand->extents);
}

bool
vendor_operand_is_whole(const VendorOperand *operand)
{
	for (int i = 0; i < operand->rank; i++)
		if (operand->dims[i] != i || operand->extents[i] != operand->tensor->hi[i])
			return false;
	return operand->rank == operand->tensor->rank;
}
