/* Operations of threads, by the rows of target/warp.def. */
#include "tir/eval/machine.h"

#include <math.h>
#include <string.h>

/* ---- shuffles -------------------------------------------------------------------------------- */

/* All lanes have computed what they give. */
static void
run_shuffle(Machine *m, const Code *code, const int *threads)
{
	DType type = code->stmt->buffer->tensor.type;
	Scalar given[WARP_LANES];
	for (int lane = 0; lane < WARP_LANES; lane++)
		given[lane] = m->threads[threads[lane]].slots[code->arg[0]];
	for (int lane = 0; lane < WARP_LANES; lane++) {
		enter_thread(m, threads[lane]);
		int64_t by = m->at[code->arg[1]].i64, at = locate_elements(m, code->to, 1);
		if (by < 0 || by >= WARP_LANES)
			machine_fail(m, FAIL_BUG, "%s by %lld in a warp of %d", code->stmt->warp_op->name,
			             (long long)by, WARP_LANES);
		int from = code->stmt->warp_op->lane(lane, (int)by);
		Scalar value = given[from < 0 || from >= WARP_LANES ? lane : from];
		if (code->stmt->op != STORE_SET) {
			Scalar args[3] = {read_at(m, code->to.storage, at), value};
			value = scalar_eval(reduce_fold(code->stmt->op), type, args, type);
		}
		write_at(m, code->to.storage, at, value);
	}
}

/* ---- matrices -------------------------------------------------------------------------------- */

enum { MAX_SIDE = 32 };

/* A number as a tensor core sees it: so many bits behind the point, ties away from zero. */
static double
round_fraction(float value, int fraction)
{
	uint32_t bits, half = 1u << (22 - fraction);
	memcpy(&bits, &value, sizeof bits);
	if (isfinite(value))
		bits = (bits + half) & ~(2 * half - 1);
	memcpy(&value, &bits, sizeof bits);
	return (double)value;
}

static double
factor(const WarpOp *op, DType type, Scalar value)
{
	Scalar wide = scalar_cast(DT_F32, 0, type, value);
	return round_fraction(wide.f32, op->fraction);
}

static void
gather(Machine *m, const WarpOp *op, const Fragment *fragment, Place place, const int *threads,
       double matrix[MAX_SIDE][MAX_SIDE])
{
	for (int lane = 0; lane < WARP_LANES; lane++) {
		enter_thread(m, threads[lane]);
		int64_t at = locate_elements(m, place, fragment->count);
		for (int i = 0; i < fragment->count; i++)
			matrix[fragment->row(lane, i)][fragment->col(lane, i)] =
				factor(op, place.storage->buffer->tensor.type, read_at(m, place.storage, at + i));
	}
}

/* Whole numbers are exact up to here, and wrap. */
static Scalar
sum_of(const WarpOp *op, double sum)
{
	if (op->sum == DT_F32)
		return (Scalar){.f32 = (float)sum};
	return scalar_cast(op->sum, 0, DT_I64, (Scalar){.i64 = (int64_t)sum});
}

static void
run_mma(Machine *m, const Code *code, const int *threads)
{
	const WarpOp *op = code->stmt->warp_op;
	const Fragment *d = op->d;
	double a[MAX_SIDE][MAX_SIDE], b[MAX_SIDE][MAX_SIDE];
	if (m->watch)
		watch_product(m, op);
	gather(m, op, op->a, code->from[0], threads, a);
	gather(m, op, op->b, code->from[1], threads, b);
	for (int lane = 0; lane < WARP_LANES; lane++) {
		enter_thread(m, threads[lane]);
		int64_t at = locate_elements(m, code->to, d->count);
		for (int i = 0; i < d->count; i++) {
			Scalar old = read_at(m, code->to.storage, at + i);
			double sum = op->sum == DT_F32 ? (double)old.f32 : (double)old.i64;
			for (int k = 0; k < op->a->cols; k++)
				sum += a[d->row(lane, i)][k] * b[k][d->col(lane, i)];
			write_at(m, code->to.storage, at + i, sum_of(op, sum));
		}
	}
}

static int64_t
locate_aligned(const Machine *m, Place place, int count)
{
	const Tensor *tensor = &place.storage->buffer->tensor;
	int64_t at = locate_elements(m, place, count);
	if (at % count != 0)
		machine_fail(m, FAIL_BUG, "element %lld of %s is not aligned to %d bytes", (long long)at,
		             tensor->name, count * dtype_bits(tensor->type) / 8);
	return at;
}

/* Lane r says where row r begins; who gets an element reads it. */
static void
run_load(Machine *m, const Code *code, const int *threads)
{
	const Fragment *d = code->stmt->warp_op->d;
	int64_t rows[WARP_LANES] = {0};
	for (int row = 0; row < d->rows; row++) {
		enter_thread(m, threads[row]);
		rows[row] = locate_aligned(m, code->from[0], d->cols);
	}
	for (int lane = 0; lane < WARP_LANES; lane++) {
		enter_thread(m, threads[lane]);
		int64_t at = locate_elements(m, code->to, d->count);
		for (int i = 0; i < d->count; i++) {
			int64_t from = rows[d->row(lane, i)] + d->col(lane, i);
			write_at(m, code->to.storage, at + i, read_at(m, code->from[0].storage, from));
		}
	}
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static Scalar
take_element(Machine *m, const Coming *coming, int i)
{
	return coming->from ? read_at(m, coming->from, coming->from_at + i) : (Scalar){.u64 = 0};
}

/* From here until it has been waited for, the element is nobody's. */
static void
run_copy(Machine *m, const Code *code)
{
	Thread *thread = &m->threads[m->now.thread];
	int count = stmt_width(code->stmt, 0);
	Coming coming = {code->from[0].storage, code->to.storage, 0, 0, count, thread->groups};
	coming.to_at = locate_aligned(m, code->to, count);
	if (code->stmt->warp_op->nargs == 3 && !m->at[code->arg[2]].u64)
		coming.from = NULL;
	else
		coming.from_at = locate_aligned(m, code->from[0], count);
	for (int i = 0; i < count; i++) {
		take_element(m, &coming, i);
		write_at(m, coming.to, coming.to_at + i, (Scalar){.u64 = 0});
		coming.to->state[coming.to_at + i] = ELEMENT_COMING;
	}
	vec_push(m->arena, &thread->coming, coming);
}

static void
arrive(Machine *m, const Coming *coming)
{
	for (int i = 0; i < coming->count; i++) {
		coming->to->state[coming->to_at + i] = ELEMENT_EMPTY;
		write_at(m, coming->to, coming->to_at + i, take_element(m, coming, i));
	}
}

/* Copies of all groups but the last so many have arrived, for this thread. */
static void
run_wait(Machine *m, const Code *code)
{
	Thread *thread = &m->threads[m->now.thread];
	int64_t left = m->at[code->arg[0]].i64;
	int kept = 0;
	for (int i = 0; i < thread->coming.count; i++) {
		const Coming *coming = &thread->coming.data[i];
		if (coming->group + left < thread->groups)
			arrive(m, coming);
		else
			thread->coming.data[kept++] = *coming;
	}
	thread->coming.count = kept;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void
run_of_thread(Machine *m, const Code *code)
{
	if (code->stmt->warp_op->kind == WARP_COPY)
		run_copy(m, code);
	else if (code->stmt->warp_op->kind == WARP_WAIT)
		run_wait(m, code);
	else
		m->threads[m->now.thread].groups++;
}

static void
run_of_warp(Machine *m, const Code *code, const int *threads)
{
	if (code->stmt->warp_op->kind == WARP_SHUFFLE)
		run_shuffle(m, code, threads);
	else if (code->stmt->warp_op->kind == WARP_LOAD)
		run_load(m, code, threads);
	else
		run_mma(m, code, threads);
}

/* The lanes of a warp have numbers side by side. */
static void
expect_warp(const Machine *m, const Code *code, Active active, int first)
{
	int warp = active.threads[first] / WARP_LANES * WARP_LANES;
	for (int lane = 0; lane < WARP_LANES; lane++)
		if (first + lane >= active.count || active.threads[first + lane] != warp + lane)
			machine_fail(m, FAIL_BUG, "thread %d is at %s without thread %d of its warp",
			             active.threads[first], code->stmt->warp_op->name, warp + lane);
}

void
run_warp_op(Machine *m, const Code *code, Active active)
{
	bool is_of_warp = warp_op_is_of_warp(code->stmt->warp_op);
	if (code->stmt->warp_op->kind == WARP_HINT)
		return;
	for (int i = 0; i < active.count; i += is_of_warp ? WARP_LANES : 1) {
		enter_thread(m, active.threads[i]);
		if (is_of_warp) {
			expect_warp(m, code, active, i);
			run_of_warp(m, code, &active.threads[i]);
		} else {
			run_of_thread(m, code);
		}
	}
}
