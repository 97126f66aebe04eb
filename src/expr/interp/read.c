/* Reads: a block of elements from a tensor in memory, at an address made of a coefficient per
 * iterator, and of registers for indices that are not affine.
 *
 * Lanes side by side in memory are not copied: the register is that place in the tensor. X[c, p, q]
 * with lanes p and q is one stretch of a plane.
 */
#include <string.h>

#include "expr/interp/code.h"

static int64_t
address_scalars(const Machine *m, const ReadInfo *info)
{
	int64_t at = info->base;
	for (int i = 0; i < info->nscalar; i++)
		at += info->scalars[i].factor * m->cur[info->scalars[i].which];
	return at;
}

/* Add factor * (index - lo); an index outside of the tensor in a lane that is taken is our bug. */
static void
add_term(Machine *m, const ReadInfo *info, const Term *term, const unsigned char *mask, int n)
{
	const Reg *index = &m->regs.data[term->which];
	const int64_t *x = index->data;
	int step = !index->is_uniform;
	for (int i = 0; i < n; i++) {
		int64_t v = x[i * step] - term->shift;
		if (v >= 0 && v < term->limit)
			m->index[i] += term->factor * v;
		else if (!mask || mask[i])
			fail_as(FAIL_BUG, &m->stage->loc,
			        "stage %s reads %s at index %lld, outside of its range", m->stage->name,
			        info->tensor->name, (long long)v);
	}
}

void
address_lanes(Machine *m, const ReadInfo *info, const unsigned char *mask, int n)
{
	int64_t first = address_scalars(m, info), *index = m->index;
	for (int i = 0; i < n; i++)
		index[i] = info->offset ? first + info->offset[i] : first;
	for (int k = 0; k < info->nreg; k++)
		add_term(m, info, &info->regs[k], mask, n);
	if (!mask)
		return;
	int64_t safe = 0;
	for (int i = n - 1; i >= 0; i--)
		safe = mask[i] ? index[i] : safe;
	for (int i = 0; i < n; i++)
		index[i] = mask[i] ? index[i] : safe;
}

bool
is_stretch(const Machine *m, const ReadInfo *info, int n, int64_t *first)
{
	if (info->nreg > 0 || n == 1 || !info->is_strided || info->stride != 1)
		return false;
	*first = address_scalars(m, info);
	return *first >= 0 && *first + n <= info->store->count;
}

/* Whether memory holds elements as blocks do, so that a register can be a place in it. */
static bool
is_direct(DType type)
{
	return type != DT_BOOL && block_size(type) * 8 == (size_t)dtype_bits(type);
}

const Runs *
runs_of(const Machine *m, int mask)
{
	const Runs *runs = m->regs.data[mask].runs;
	return runs && runs->count >= 0 ? runs : NULL;
}

/* Lanes first..last-1 from where each is, stretches side by side at once. */
static void
read_run(const ReadInfo *info, const char *place, Reg *out, int first, int last)
{
	size_t size = block_size(out->type);
	if (info->row < 8) {
		block_load(out->type, last - first, (char *)out->own + (size_t)first * size, place,
		           info->offset + first);
		return;
	}
	for (int i = first; i < last;) {
		int end = i / info->row * info->row + info->row;
		end = end < last ? end : last;
		memcpy((char *)out->own + (size_t)i * size, place + info->offset[i] * (int64_t)size,
		       (size_t)(end - i) * size);
		i = end;
	}
}

static void
read_runs(Machine *m, const ReadInfo *info, Reg *out, const Runs *runs)
{
	const char *place = (const char *)info->store->data +
	                    address_scalars(m, info) * (int64_t)block_size(info->store->type);
	if (!runs)
		read_run(info, place, out, 0, m->n);
	for (int k = 0; runs && k < runs->count; k++)
		read_run(info, place, out, runs->first[k], runs->first[k] + runs->length[k]);
}

void
run_read(Machine *m, const Instr *in)
{
	MaskState state;
	const unsigned char *mask = mask_of(m, in->mask, &state);
	Reg *out = &m->regs.data[in->out];
	const ReadInfo *info = in->read;
	const Store *store = info->store;
	int n = out->is_uniform ? 1 : m->n;
	out->bound = NULL;
	out->data = out->own;
	if (state == MASK_none)
		return;
	/* an address that is the same in all lanes is good if any lane wants it */
	if (out->is_uniform || (in->mask != NO_MASK && m->regs.data[in->mask].is_uniform))
		mask = NULL;
	if (!mask && info->nreg == 0 && (info->is_strided || out->is_uniform)) {
		int64_t first = address_scalars(m, info);
		if (is_direct(store->type) && (out->is_uniform || info->stride == 1))
			out->data = (char *)store->data + first * (int64_t)block_size(store->type);
		else
			block_load_stride(store->type, n, out->own, store->data, first, info->stride);
		if (store->bound)
			in->bound(m, in, n);
		return;
	}
	int64_t first;
	if (is_direct(store->type) && is_stretch(m, info, n, &first)) { /* unwanted lanes do no harm */
		out->data = (char *)store->data + first * (int64_t)block_size(store->type);
	} else if (info->nreg == 0 && is_direct(store->type) && (!mask || runs_of(m, in->mask))) {
		read_runs(m, info, out, mask ? runs_of(m, in->mask) : NULL);
	} else {
		address_lanes(m, info, mask, n);
		block_load(store->type, n, out->own, store->data, m->index);
	}
	if (in->bound)
		in->bound(m, in, n);
}
