/* Blocks of listed points: which elements there are, reads of them and of inputs where they lie. */
#include "expr/interp/listed.h"

#include <math.h>
#include <string.h>

/* ---- listings -------------------------------------------------------------------------------- */

Listing *
listing_new(Arena *arena, int64_t size)
{
	Listing *listing = NEW(arena, Listing);
	listing->arena = arena;
	listing->size = size;
	return listing;
}

/* Neighbours share a cache line, as lanes that step along a row read them; where in the line the
 * first stands differs from row to row, so that every 16th element alone fills lines evenly. */
static int *
slot_of(const Listing *listing, int64_t at)
{
	uint64_t mask = (uint64_t)listing->nslot - 1, hash = hash_mix(1, (uint64_t)at >> 4);
	uint64_t i = (hash << 4 | (((uint64_t)at ^ hash >> 60) & 15)) & mask;
	while (listing->slots[i] && listing->at[listing->slots[i] - 1] != at)
		i = (i + 17) & mask;
	return &listing->slots[i];
}

/* At most half of the slots are taken. */
static void
grow_slots(Listing *listing)
{
	listing->nslot = listing->nslot ? 2 * listing->nslot : 256;
	listing->slots = NEW_N(listing->arena, int, listing->nslot);
	for (int i = 0; i < listing->count; i++)
		*slot_of(listing, listing->at[i]) = i + 1;
}

void
listing_add(Listing *listing, int64_t at)
{
	if (listing->is_whole)
		return;
	if (2 * (listing->count + 1) > listing->nslot)
		grow_slots(listing);
	int *slot = slot_of(listing, at);
	if (*slot)
		return;
	if (listing->count == LISTING_MAX) {
		listing->is_full = true;
		return;
	}
	vec_reserve(listing->arena, (void **)&listing->at, listing->count, &listing->capacity,
	            sizeof *listing->at);
	listing->at[listing->count++] = at;
	*slot = listing->count;
}

void
listing_fill(Listing *listing)
{
	listing->is_whole = true;
	listing->is_full |= listing->size > LISTING_MAX;
	listing->at = NULL;
}

int64_t
listing_count(const Listing *listing)
{
	return listing->is_whole ? listing->size : listing->count;
}

int64_t
listing_find(const Listing *listing, int64_t at)
{
	if (listing->is_whole)
		return at;
	return listing->nslot ? *slot_of(listing, at) - 1 : -1;
}

/* ---- elements -------------------------------------------------------------------------------- */

void
listed_alloc(Store *store, Arena *arena)
{
	int64_t count = listing_count(store->listing);
	size_t bytes = 0;
	if (!dtype_bytes(store->type, count, &bytes))
		fail(NULL, "the size of a tensor overflows");
	store->data = arena_alloc_aligned(arena, bytes + 1, 64);
	store->bound = NEW_N(arena, double, count + 1);
	store->deviation = NEW_N(arena, double, count + 1);
}

/* Of an input: from a row-major number to where it is. */
static int64_t
address_of(const Store *store, int64_t at)
{
	int64_t address = 0;
	for (int d = store->rank - 1; d >= 0; d--) {
		address += at % store->dims[d] * store->stride[d];
		at /= store->dims[d];
	}
	return address;
}

Element
listed_get(const Store *store, int64_t at)
{
	int64_t place = store->listing ? listing_find(store->listing, at) : address_of(store, at);
	if (store->listing && place < 0)
		fail_as(FAIL_BUG, NULL, "a point is read that was not asked for");
	Element element = {.bound = store->bound ? store->bound[place] : 0,
	                   .deviation = store->deviation ? store->deviation[place] : 0};
	if (held_type(true, store->type) == DT_F64)
		element.value = dtype_load_f64(store->type, store->data, place);
	else
		element.integer = dtype_load_i64(store->type, store->data, place);
	return element;
}

void
listed_put(Store *store, int64_t place, Element element)
{
	if (store->type == DT_F64)
		((double *)store->data)[place] = element.value;
	else
		dtype_store_i64(store->type, store->data, place, element.integer);
	store->bound[place] = element.bound;
	store->deviation[place] = element.deviation;
}

/* ---- reads ----------------------------------------------------------------------------------- */

void
listed_casts(ReadInfo *info)
{
	DType held = held_type(true, info->tensor->type);
	info->ncast = 0;
	if (held != info->store->type)
		info->ncast = block_cast_steps(held, info->store->type, 0, info->cast);
}

static bool
is_doubtful(const Machine *m, const ReadInfo *info, int lane)
{
	for (int k = 0; k < info->nreg; k++)
		if (reg_lane(m, info->regs[k].which, lane).bound > 0)
			return true;
	return false;
}

/* An index of which nothing is known may be any. */
static void
collect(const Machine *m, const ReadInfo *info, const unsigned char *mask, int n)
{
	Listing *listing = info->store->listing;
	for (int i = 0; i < n && !listing->is_whole; i++) {
		if (mask && !mask[i])
			continue;
		if (is_doubtful(m, info, i))
			listing_fill(listing);
		else
			listing_add(listing, m->index[i]);
	}
}

/* A value of which nothing is known. An integer's bound is large but finite: times 0 it is 0. */
static void
know_nothing(Machine *m, int reg, int n)
{
	const Reg *r = &m->regs.data[reg];
	memset(r->own, 0, (size_t)n * block_size(r->type));
	double *bound = reg_bounds(m, reg);
	for (int i = 0; i < n; i++)
		bound[i] = r->type == DT_F64 ? (double)INFINITY : 1e300;
}

static void
find_slots(const Machine *m, const ReadInfo *info, int n)
{
	for (int i = 0; i < n; i++) {
		m->index[i] = listing_find(info->store->listing, m->index[i]);
		if (m->index[i] < 0)
			fail_as(FAIL_BUG, &m->stage->loc, "stage %s reads a point of %s that was not asked for",
			        m->stage->name, info->tensor->name);
	}
}

static void
load(const Machine *m, const ReadInfo *info, Reg *out, int n)
{
	double cell[2][BLOCK_LANES];
	const Store *store = info->store;
	block_load(store->type, n, info->ncast ? (void *)cell[0] : out->own, store->data, m->index);
	for (int k = 0; k < info->ncast; k++)
		info->cast[k].fn(n, k == info->ncast - 1 ? out->own : (void *)cell[(k + 1) & 1],
		                 &(Operand){cell[k & 1], 1});
}

/* Bounds and deviations of what was read; NULL when all of them are 0. */
static void
load_bounds(const Machine *m, const ReadInfo *info, Reg *out, int n)
{
	const Store *store = info->store;
	bool is_exact = true;
	if (!store->bound && info->nreg == 0)
		return;
	for (int i = 0; i < n; i++) {
		bool is_open = is_doubtful(m, info, i);
		out->own_bound[i] = is_open        ? (double)INFINITY
		                    : store->bound ? store->bound[m->index[i]]
		                                   : 0;
		out->own_deviation[i] =
			is_open || !store->bound ? out->own_bound[i] : store->deviation[m->index[i]];
		is_exact &= out->own_bound[i] == 0;
	}
	out->bound = is_exact ? NULL : out->own_bound;
	out->deviation = is_exact ? NULL : out->own_deviation;
}

void
run_listed_read(Machine *m, const Instr *in)
{
	MaskState state;
	const unsigned char *mask = mask_of(m, in->mask, &state);
	Reg *out = &m->regs.data[in->out];
	const ReadInfo *info = in->read;
	int n = out->is_uniform ? 1 : m->n;
	out->bound = out->deviation = NULL;
	out->data = out->own;
	if (state == MASK_none)
		return;
	/* an address that is the same in all lanes is good if any lane wants it */
	if (out->is_uniform || (in->mask != NO_MASK && m->regs.data[in->mask].is_uniform))
		mask = NULL;
	address_lanes(m, info, mask, n);
	if (m->is_collecting && info->store->listing) {
		collect(m, info, mask, n);
		know_nothing(m, in->out, n);
		return;
	}
	if (info->store->listing && !info->store->listing->is_whole)
		find_slots(m, info, n);
	load(m, info, out, n);
	load_bounds(m, info, out, n);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

void
listed_lanes(Machine *m)
{
	m->inner = m->chunk = 1;
	for (int i = 0; i < m->stage->nloop; i++) {
		m->is_lane[i] = true;
		m->rel[i] = NEW_N(m->arena, int64_t, BLOCK_LANES);
	}
}

void
listed_offsets(Machine *m, ReadInfo *info, const int64_t *coef)
{
	info->coef = arena_memdup(m->arena, coef, (size_t)m->niter * sizeof *coef);
	info->offset = NEW_N(m->arena, int64_t, BLOCK_LANES);
	info->row = 1;
	vec_push(m->arena, &m->listed_reads, info);
}

/* Iterators of lane `lane`, or of the one point of a folded block. */
static void
place_lane(Machine *m, int lane, int64_t at)
{
	for (int k = m->stage->nloop - 1; k >= 0; k--) {
		int64_t extent = m->hi[k] - m->lo[k], value = m->lo[k] + at % extent;
		at /= extent;
		if (m->is_folded)
			m->cur[k] = value;
		else
			m->rel[k][lane] = value;
	}
}

static void
place_offsets(const Machine *m)
{
	for (int r = 0; r < m->listed_reads.count; r++) {
		const ReadInfo *info = m->listed_reads.data[r];
		memset(info->offset, 0, (size_t)m->n * sizeof *info->offset);
		for (int k = 0; k < m->stage->nloop; k++)
			for (int i = 0; info->coef[k] != 0 && i < m->n; i++)
				info->offset[i] += info->coef[k] * m->rel[k][i];
	}
}

void
interp_run_listed(Machine *m, int64_t count, const int64_t *at, bool by_place)
{
	int64_t lanes = m->is_folded ? 1 : BLOCK_LANES;
	for (int64_t first = 0; first < count; first += lanes) {
		m->n = (int)(count - first < lanes ? count - first : lanes);
		for (int i = 0; i < m->n; i++) {
			int64_t point = at ? at[first + i] : first + i;
			m->slots[i] = by_place ? point : first + i;
			place_lane(m, i, point);
		}
		place_offsets(m);
		interp_run_block(m);
	}
}

double
interp_operations(const Machine *m, int64_t count)
{
	double sum = 0, times = (double)count;
	for (int level = 0; level <= m->nstep; level++) {
		sum += times * (m->code[level].count + m->guard_code[level].count);
		if (level == m->nstep)
			sum += times * (m->nstate + m->combine_code.count);
		else if (m->is_folded && level == m->nstep - 1)
			times = (double)count * (double)m->nterm;
		else
			times *= (double)(m->hi[m->step[level]] - m->lo[m->step[level]]);
	}
	return sum + (double)count * m->finish.count;
}
