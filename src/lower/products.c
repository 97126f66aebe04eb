/* lower_products: a group of which a vendor library computes only the products.
 *
 * What stands behind the sum may be more than the library absorbs: then it is a kernel of its own.
 * A sum over windows that no vendor kernel computes is a product that one does and a sum of its
 * results at offsets (program/offsets.c):
 *
 *     Y[f,p] = relu(B[f] + sum(c, r where (p+1-r)%2 == 0, ...) X[c,(p+1-r)/2] * W[c,f,r])
 * =>  T[f,r,i] = sum(c) X[c,i] * W'[f,r,c]                                        vendor call
 *     Y[f,p] = relu(B[f] + sum(r where (p+1-r)%2 == 0, ...) T[f,r,(p+1-r)/2])     kernel
 *
 * for transposed convolutions above all. Constant weights are stored with c last, where the matrix
 * product reads them in runs; few positions i become its rows instead, with weights as they are.
 * Sums are reordered: from level 2.
 */
#include <math.h>
#include <string.h>

#include "lower/inner.h"
#include "program/derive.h"
#include "program/reindex.h"
#include "target/vendor.h"

/* ---- weights with the summed dim last ---- */

/* The elements of `data` with dim d moved behind the others. */
static Array *
rotated(Arena *arena, const Array *data, int d)
{
	int64_t dims[ARRAY_MAX_RANK];
	int rank = 0;
	for (int k = 0; k < data->rank; k++)
		if (k != d)
			dims[rank++] = data->dims[k];
	dims[rank++] = data->dims[d];
	Array *out = array_new(arena, data->type, rank, dims);
	Blocking blocking = blocking_of(data, d, data->dims[d]);
	blocking_copy(&blocking, data->data, out->data);
	return out;
}

typedef struct SumDim {
	const Tensor *tensor;
	int dim;
	const Dim *zero;
} SumDim;

/* The dim of the tensor's read that the iterator stands at; -1: none. */
static int
find_dim(const Expr *body, const Tensor *tensor, int iter)
{
	int dim = -1;
	for (ExprWalk walk = expr_walk(body); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && walk.e->tensor == tensor && d < walk.e->argc; d++)
			if (walk.e->arg[d]->op == EX_iter && walk.e->arg[d]->iter == iter)
				dim = d;
	return dim;
}

/* That dim behind the others. */
static int
rotate_tensor(void *self, const Tensor *tensor, NewDim *dims)
{
	const SumDim *sum = self;
	if (tensor != sum->tensor)
		return -1;
	for (int d = 0; d < tensor->rank; d++) {
		int from = d < sum->dim ? d : d + 1 < tensor->rank ? d + 1 : sum->dim;
		dims[d] = (NewDim){.dim = from, .lo = sum->zero, .hi = tensor->hi[from]};
	}
	return tensor->rank;
}

/* The product with the summed dim of constant input k last; the program itself when it is. */
static const Program *
rotate_weight(Lowering *low, const Program *product, int k, MBuffer **buffer)
{
	const Stage *stage = product->stages[0];
	const Tensor *weight = product->inputs[k];
	SumDim sum = {weight, find_dim(stage->body[0], weight, stage->nloop),
	              dim_const(product->ctx, 0)};
	if ((*buffer)->kind != MB_WEIGHT || stage->nreduce != 1 || sum.dim < 0 ||
	    sum.dim == weight->rank - 1 || weight->rank != (*buffer)->data->rank)
		return product;
	Array *data = rotated(low->arena, (*buffer)->data, sum.dim);
	Type type = type_of_array(low->graph->ctx, data);
	MBuffer *made = lower_temp(low, arena_printf(low->arena, "%s.rotated", (*buffer)->name),
	                           type.dtype, type.rank, type.dims);
	made->kind = MB_WEIGHT;
	made->data = data;
	*buffer = made;
	return program_reindex(
		&(Reindex){low->arena, product, rotate_tensor, NULL, &sum, .is_simplified = false});
}

/* ---- the two parts ---- */

static bool
is_plain(Lowering *low, const Program *program, MBuffer *const *inputs, MBuffer *const *outputs)
{
	if (outputs[0]->layout || lower_is_strided(low, outputs[0]))
		return false;
	for (int i = 0; i < program->ninput; i++)
		if (inputs[i]->layout || lower_is_strided(low, inputs[i]))
			return false;
	return true;
}

/* For what the library computes; it lies as the group's result does. */
static MBuffer *
result_buffer(Lowering *low, const Tensor *tensor, const MBuffer *output)
{
	MBuffer *result = lower_temp(low, tensor->name, tensor->type, tensor->rank, tensor->hi);
	result->layout = output->layout;
	return result;
}

static int64_t
points_of(Lowering *low, const Stage *stage)
{
	return probe_dim(low->context->target, stage_points(low->graph->ctx, stage));
}

/* The factor that does not move with the product's last loop, a position. */
static const Expr *
weights_of(const Stage *product)
{
	const Expr *body = expr_without_casts(product->body[0]);
	const Expr *a = expr_without_casts(body->arg[0]), *b = expr_without_casts(body->arg[1]);
	return expr_uses_iter(a, product->nloop - 1) ? b : a;
}

/* How many positions there are: they are the product's last loops, and weights have none. */
static int64_t
positions_of(Lowering *low, const Stage *product)
{
	const Expr *weights = weights_of(product);
	int64_t positions = 1;
	for (int i = product->nloop - 1; i >= 0 && !expr_uses_iter(weights, i); i--)
		positions *= probe_dim(low->context->target, product->iters[i].hi);
	return positions;
}

/* Whether elements of the operands are used more than a few times each. A matrix times a vector
 * waits for memory, and loops do that as well: 0.01 ms for 960 x 240; a library that takes 240 x 1
 * for a matrix 0.29. */
static bool
is_reused(Lowering *low, const Stage *product)
{
	static const double LEAST = 4;
	double read = 0;
	for (ExprWalk walk = expr_walk(product->body[0]); expr_step(&walk);) {
		double count = 1;
		for (int d = 0; walk.e->op == EX_read && d < walk.e->tensor->rank; d++)
			count *= (double)probe_dim(low->context->target, walk.e->tensor->hi[d]);
		read += walk.e->op == EX_read ? count : 0;
	}
	return (double)points_of(low, product) >= LEAST * read;
}

/* Whether product and sum take less time than the loops as they are, by the device's row: a library
 * comes nearer to the peak than our windows do, but the product's result is written and read again,
 * which is as much as the window has elements. */
static bool
saves_time(Lowering *low, const Stage *stage, const Stage *product)
{
	const Device *device = low->context->target->device;
	double bytes = 4;
	for (int i = 0; i < product->nloop; i++)
		bytes *= (double)probe_dim(low->context->target, product->iters[i].hi);
	double traffic = 2 * device_traffic_seconds(device, bytes);
	double share = probe_share(low->context->target, stage);
	double direct =
		device_work_seconds(device, WORK_loops, 2 * share * (double)points_of(low, stage));
	double call = device_work_seconds(device, WORK_library, 2 * (double)points_of(low, product));
	return is_reused(low, product) && call + traffic < direct;
}

/* The program with the product as its first stage; NULL where that would not help. */
static const Program *
with_product(Lowering *low, const Program *program, bool *weights_last)
{
	const Stage *stage = program->stages[0], *product;
	const Device *device = low->context->target->device;
	const Program *derived = derive_offsets(program, stage, false, &product, NULL);
	if (!derived || product->nloop == 0 || !saves_time(low, stage, product))
		return NULL;
	*weights_last = positions_of(low, product) < device->vector_bytes / 4;
	if (*weights_last)
		derived = derive_offsets(program, stage, true, &product, NULL);
	return derived && derived->nstage > 1 && derived->stages[0] == product ? derived : NULL;
}

/* The buffers of a part's inputs. */
static MBuffer **
part_buffers(Lowering *low, const Map *buffers, const Program *part)
{
	MBuffer **found = NEW_N(low->arena, MBuffer *, part->ninput + 1);
	for (int i = 0; i < part->ninput; i++)
		found[i] = map_find_ptr(buffers, part->inputs[i]);
	return found;
}

/* The program's first stage, as `product` has it, by a vendor call, and the others by kernels. */
static bool
lower_both(Lowering *low, const Node *node, const Program *program, const Program *product,
           MBuffer **operands, Map *buffers, MBuffer *const *outputs)
{
	const Program *rest = program_part(low->arena, program, 1, program->nstage);
	MBuffer *result = result_buffer(low, product->outputs[0], outputs[0]);
	if (!lower_vendor(low, node, product, operands, &result))
		return false;
	map_set_ptr(buffers, program->stages[0]->results[0], result);
	lower_program(low, node, rest, part_buffers(low, buffers, rest), outputs);
	return true;
}

static bool
lower_at_offsets(Lowering *low, const Node *node, const Program *program, Map *buffers,
                 MBuffer *const *outputs)
{
	bool weights_last = false;
	const Program *derived = with_product(low, program, &weights_last);
	if (!derived)
		return false;
	const Program *product = program_part(low->arena, derived, 0, 1);
	MBuffer **operands = part_buffers(low, buffers, product);
	for (int k = 0; k < product->ninput && !weights_last; k++)
		if (product->inputs[k] == weights_of(product->stages[0])->tensor)
			product = rotate_weight(low, product, k, &operands[k]);
	return lower_both(low, node, derived, product, operands, buffers, outputs);
}

/* The sum as it is: the library has it, but not with what stands behind. */
static bool
lower_apart(Lowering *low, const Node *node, const Program *program, Map *buffers,
            MBuffer *const *outputs)
{
	const Stage *stage = program->stages[0];
	if (program->nstage < 2 || stage->nreduce == 0 || !saves_time(low, stage, stage))
		return false;
	const Program *product = program_part(low->arena, program, 0, 1);
	MBuffer **operands = part_buffers(low, buffers, product);
	return lower_both(low, node, program, product, operands, buffers, outputs);
}

/* ---- measured ---- */

/* Seconds of the kernel for what stands behind the sum: it reads and writes the result, mostly in
 * cache, and computes as fast as plain loops do. */
static double
seconds_behind(Lowering *low, const Program *program)
{
	const Device *device = low->context->target->device;
	double operations = 0, bytes = 0;
	for (int s = 1; s < program->nstage; s++) {
		double points = (double)points_of(low, program->stages[s]);
		operations += points * expr_cost(program->stages[s]->body[0]);
		bytes += points * 8;
	}
	return device_work_seconds(device, WORK_loops, operations) +
	       device_traffic_seconds(device, bytes);
}

/* What is chosen for the sum alone; NULL: there is no such call. */
static const PassChoice *
choice_alone(Lowering *low, const Node *node, const Program *program, Map *buffers,
             const MBuffer *output)
{
	const Program *sum = program_part(low->arena, program, 0, 1);
	int before = low->module->buffers.count;
	MBuffer *result = result_buffer(low, sum->outputs[0], output);
	const PassChoice *alone =
		lower_vendor_choice(low, node, sum, part_buffers(low, buffers, sum), &result);
	low->module->buffers.count = before;
	return alone;
}

/* Whether the sum alone is so much faster that a kernel behind it pays. Noted as a choice; where
 * one is recorded, all that was asked then is noted again. */
static bool
is_faster_apart(Lowering *low, const Node *node, const Program *program, const PassChoice *whole,
                Map *buffers, MBuffer *const *outputs)
{
	PassContext *context = low->context;
	PassChoice choice = {.key = arena_printf(context->arena, "apart %s", whole->key),
	                     .candidates = ""};
	choice.chosen = map_find(&context->recorded, choice.key);
	if (!choice.chosen && (!whole->has_refused || whole->seconds <= 0))
		return false;
	const PassChoice *alone = choice_alone(low, node, program, buffers, outputs[0]);
	if (!choice.chosen) {
		double apart =
			alone && alone->seconds > 0 ? alone->seconds + seconds_behind(low, program) : INFINITY;
		choice.chosen = apart < whole->seconds ? "apart" : "whole";
		choice.candidates = arena_printf(context->arena, "whole %.1f us, apart %.1f us",
		                                 whole->seconds * 1e6, apart * 1e6);
		map_set(&context->recorded, choice.key, (void *)(uintptr_t)choice.chosen);
	}
	lower_note_choice(context, choice);
	return strcmp(choice.chosen, "apart") == 0;
}

bool
lower_faster_apart(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                   MBuffer *const *outputs)
{
	bool is_sum = program->nstage > 1 && program->stages[0]->nreduce > 0;
	if (low->context->level < 3 || !is_sum || program->noutput != 1 || !outputs[0] ||
	    !vendor_calls(low->context->target))
		return false;
	const PassChoice *whole = lower_vendor_choice(low, node, program, inputs, outputs);
	Map buffers = {.arena = low->arena};
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(&buffers, program->inputs[i], inputs[i]);
	if (!whole || !is_faster_apart(low, node, program, whole, &buffers, outputs))
		return false;
	const Program *sum = program_part(low->arena, program, 0, 1);
	MBuffer **operands = part_buffers(low, &buffers, sum);
	return lower_both(low, node, program, sum, operands, &buffers, outputs);
}

bool
lower_products(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
               MBuffer *const *outputs)
{
	if (low->context->level < 2 || program->nstage == 0 || program->noutput != 1 || !outputs[0] ||
	    !vendor_calls(low->context->target))
		return false;
	int before = low->module->buffers.count;
	Map buffers = {.arena = low->arena};
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(&buffers, program->inputs[i], inputs[i]);
	if (lower_apart(low, node, program, &buffers, outputs))
		return true;
	low->module->buffers.count = before;
	if (is_plain(low, program, inputs, outputs) &&
	    lower_at_offsets(low, node, program, &buffers, outputs))
		return true;
	low->module->buffers.count = before;
	return false;
}
