/* oneDNN as a vendor library: calls made of pieces, run one by one on any thread.
 *
 * A call is cut into boxes by its shape alone (call.h). Boxes of one size share a primitive;
 * each box has its own memory objects, so that boxes run at once. Everything is made in
 * call_make(); running sets addresses and executes. Weights are packed once per library,
 * weight and layout, under the lock; they stay until the bundle is closed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onednn/call.h"
#include "runtime/vendor.h"

/* One size of box, with the same borders: what its pieces share. */
typedef struct Shape {
	int64_t size[CALL_AXES], extents[CALL_OPERANDS][DNNL_RANK];
	int64_t first_scale;
	DnnlWindow window;
	void *primitive;
	DnnlMd *mds[CALL_OPERANDS];
	DnnlMd *scratch_md;
	size_t scratch;             /* bytes that the library needs */
	size_t copy[CALL_OPERANDS]; /* where behind them the operand's copy is; 0: none */
} Shape;

enum { COPY_ALIGN = 64 };

/* Where an operand of a piece lies, and the library's object for it. */
typedef struct PieceOperand {
	int64_t offset;    /* bytes from the argument */
	const void *fixed; /* packed weights: the address */
	void *memory, *last;
} PieceOperand;

typedef struct Piece {
	int shape;
	PieceOperand operands[CALL_OPERANDS];
	void *scratch, *last_scratch;
} Piece;

typedef struct DnnlCall {
	PreparedCall head;
	Dnnl *dnnl;
	CallPlan plan; /* .desc is not valid after making */
	int nshape, npiece;
	Shape *shapes;
	Piece *pieces;
} DnnlCall;

/* ---- The library ---- */

static Vendor *
open_library(char *error, size_t error_size)
{
	Dnnl *dnnl = calloc(1, sizeof *dnnl);
	if (!dnnl) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	if (!dnnl_load(&dnnl->api, error, error_size)) {
		free(dnnl);
		return NULL;
	}
	pthread_mutex_init(&dnnl->lock, NULL);
	dnnl->head.library = &vendor_onednn;
	snprintf(dnnl->head.version, sizeof dnnl->head.version, "oneDNN %d.%d.%d", dnnl->api.major,
	         dnnl->api.minor, dnnl->api.patch);
	return &dnnl->head;
}

static void
close_library(Vendor *vendor)
{
	Dnnl *dnnl = (Dnnl *)vendor;
	packed_free(dnnl);
	dnnl_unload(&dnnl->api);
	pthread_mutex_destroy(&dnnl->lock);
	free(dnnl);
}

/* ---- Shapes ---- */

/* Of a slab that is not dense as it lies the library gets a copy. */
static bool
needs_copy(const Shape *shape, const CallOperand *operand, int index)
{
	return operand->is_slab && !call_region_is_dense(&operand->tensor, shape->extents[index]);
}

/* Descriptors of all operands for a box; weights that are packed are left to the library. */
static bool
make_mds(DnnlCall *call, Shape *shape, const CallBox *box)
{
	const CallPlan *plan = &call->plan;
	for (int i = 0; i < plan->noperand; i++) {
		const CallOperand *operand = &plan->operands[i];
		const int64_t *size = shape->extents[i];
		CallRegion region;
		call_region(plan, operand, box, &region);
		memcpy(shape->extents[i], region.size, sizeof region.size);
		if (operand->is_packed)
			shape->mds[i] = dnnl_md_new(plan->api, operand->tensor.rank, size, operand->tensor.type,
			                            DNNL_TAG_ANY, NULL);
		else if (needs_copy(shape, operand, i))
			shape->mds[i] = call_dense_md(plan->api, &operand->tensor, size);
		else if (operand->is_slab)
			shape->mds[i] = call_image_md(plan->api, &operand->tensor, size);
		else
			shape->mds[i] = call_region_md(plan->api, &operand->tensor, size);
		if (!shape->mds[i])
			return call_refuse(&call->plan,
			                   "argument %d lies in a way that the library does not "
			                   "know",
			                   operand->arg);
	}
	return true;
}

/* Take over what the chosen implementation wants; refuse reference implementations. */
static bool
take_choice(DnnlCall *call, Shape *shape, const void *desc)
{
	enum { QUERY_IMPL = 8 };
	CallPlan *plan = &call->plan;
	const char *impl = "";
	plan->api->primitive_desc_query(desc, QUERY_IMPL, 0, (void *)&impl);
	snprintf(call->head.impl, sizeof call->head.impl, "%s", impl);
	if (strncmp(impl, "ref", 3) == 0 || strncmp(impl, "simple:any", 10) == 0)
		return call_refuse(plan, "the library has only the reference implementation %s", impl);
	for (int i = 0; i < plan->noperand; i++) {
		const DnnlMd *chosen = plan->operands[i].is_packed
		                           ? plan->api->primitive_desc_query_md(desc, DNNL_QUERY_WEIGHTS, 0)
		                           : NULL;
		if (!plan->operands[i].is_packed)
			continue;
		dnnl_md_free(plan->api, shape->mds[i]);
		shape->mds[i] = chosen ? dnnl_md_copy(plan->api, chosen) : NULL;
		if (!shape->mds[i])
			return call_refuse(plan, "out of memory");
	}
	const DnnlMd *scratch = plan->api->primitive_desc_query_md(desc, DNNL_QUERY_SCRATCHPAD, 0);
	shape->scratch = scratch ? plan->api->memory_desc_get_size(scratch) : 0;
	shape->scratch_md = shape->scratch ? dnnl_md_copy(plan->api, scratch) : NULL;
	return !shape->scratch || shape->scratch_md || call_refuse(plan, "out of memory");
}

/* Copies lie behind what the library needs; of what a sum adds, in the result's. */
static void
place_copies(DnnlCall *call, Shape *shape)
{
	const CallPlan *plan = &call->plan;
	size_t at = (shape->scratch + COPY_ALIGN) / COPY_ALIGN * COPY_ALIGN;
	for (int i = 0; i < plan->noperand; i++)
		if (plan->operands[i].code != 0 && needs_copy(shape, &plan->operands[i], i)) {
			shape->copy[i] = at;
			at += plan->api->memory_desc_get_size(shape->mds[i]);
			at = (at + COPY_ALIGN - 1) / COPY_ALIGN * COPY_ALIGN;
		}
	call->head.scratch = at > call->head.scratch ? at : call->head.scratch;
}

static bool
make_shape(DnnlCall *call, const CallBox *box, Shape *shape)
{
	CallPlan *plan = &call->plan;
	void *desc = NULL;
	memcpy(shape->size, box->size, sizeof shape->size);
	call_window(plan, box, &shape->window);
	shape->first_scale = call_first_scale(plan, box);
	if (!make_mds(call, shape, box))
		return false;
	void *attr = call_make_attr(plan, box, shape->mds);
	if (!attr)
		return call_refuse(plan, "the library does not know these post-ops");
	int status = plan->describe(plan, &shape->window, &desc, shape->mds, attr);
	plan->api->primitive_attr_destroy(attr);
	if (status)
		return call_refuse(plan, "the library has no implementation (status %d)", status);
	bool is_made = take_choice(call, shape, desc);
	if (is_made && plan->api->primitive_create(&shape->primitive, desc))
		is_made = call_refuse(plan, "the library could not make the primitive");
	plan->api->primitive_desc_destroy(desc);
	if (is_made)
		place_copies(call, shape);
	return is_made;
}

static bool
is_shape_of(const DnnlCall *call, const Shape *shape, const CallBox *box)
{
	DnnlWindow window;
	call_window(&call->plan, box, &window);
	return memcmp(shape->size, box->size, sizeof shape->size) == 0 &&
	       shape->first_scale == call_first_scale(&call->plan, box) &&
	       window.pads_lo[0] == shape->window.pads_lo[0] &&
	       window.pads_hi[0] == shape->window.pads_hi[0];
}

/* The shape of this box, made when it is new; -1 with a sentence. */
static int
find_shape(DnnlCall *call, const CallBox *box)
{
	for (int i = 0; i < call->nshape; i++)
		if (is_shape_of(call, &call->shapes[i], box))
			return i;
	Shape *shapes = realloc(call->shapes, (size_t)(call->nshape + 1) * sizeof *shapes);
	if (!shapes) {
		call_refuse(&call->plan, "out of memory");
		return -1;
	}
	call->shapes = shapes;
	shapes[call->nshape] = (Shape){.primitive = NULL};
	return make_shape(call, box, &shapes[call->nshape++]) ? call->nshape - 1 : -1;
}

/* ---- Pieces ---- */

static bool
make_operand(DnnlCall *call, Piece *piece, int index, const CallBox *box)
{
	CallPlan *plan = &call->plan;
	const CallOperand *operand = &plan->operands[index];
	const Shape *shape = &call->shapes[piece->shape];
	PieceOperand *at = &piece->operands[index];
	CallRegion region;
	call_region(plan, operand, box, &region);
	at->offset = call_region_offset(&operand->tensor, &region);
	if (operand->code == 0)
		return true;
	if (operand->is_packed && !plan->is_question) {
		at->fixed = packed_get(call->dnnl, &operand->tensor,
		                       (const unsigned char *)operand->constant + at->offset, region.size,
		                       shape->mds[index]);
		if (!at->fixed)
			return call_refuse(plan, "weights could not be packed");
	}
	if (plan->api->memory_create(&at->memory, shape->mds[index], plan->api->engine,
	                             (void *)(uintptr_t)at->fixed))
		return call_refuse(plan, "the library could not make a memory object");
	return true;
}

static bool
make_piece(DnnlCall *call, Piece *piece, CallBox *box)
{
	CallPlan *plan = &call->plan;
	for (int i = 0; i < CALL_AXES; i++) {
		int64_t left = plan->extent[i] - box->begin[i];
		box->size[i] = left < plan->chunk[i] ? left : plan->chunk[i];
	}
	piece->shape = find_shape(call, box);
	if (piece->shape < 0)
		return false;
	for (int i = 0; i < plan->noperand; i++)
		if (!make_operand(call, piece, i, box))
			return false;
	const Shape *shape = &call->shapes[piece->shape];
	return !shape->scratch_md ||
	       !plan->api->memory_create(&piece->scratch, shape->scratch_md, plan->api->engine, NULL) ||
	       call_refuse(plan, "the library could not make a memory object");
}

static bool
make_pieces(DnnlCall *call)
{
	CallPlan *plan = &call->plan;
	CallBox box = {.begin = {0}};
	int64_t pieces = call_cut(plan);
	if (pieces > INT32_MAX / 2 || !(call->pieces = calloc((size_t)pieces, sizeof *call->pieces)))
		return call_refuse(plan, "out of memory");
	while (call->npiece < pieces) {
		if (!make_piece(call, &call->pieces[call->npiece++], &box))
			return false;
		for (int axis = CALL_AXES - 1; axis >= 0; axis--) {
			box.begin[axis] += plan->chunk[axis];
			if (box.begin[axis] < plan->extent[axis])
				break;
			box.begin[axis] = 0;
		}
	}
	return true;
}

bool
call_has_slabs(const PreparedCall *call)
{
	const CallPlan *plan = &((const DnnlCall *)call)->plan;
	return plan->operands[0].is_window && plan->operands[plan->dst].is_slab &&
	       plan->chunk[AXIS_HEIGHT] < plan->extent[AXIS_HEIGHT];
}

static void
free_pieces(DnnlCall *call)
{
	const DnnlApi *api = call->plan.api;
	for (int i = 0; i < call->npiece; i++) {
		for (int j = 0; j < call->plan.noperand; j++)
			if (call->pieces[i].operands[j].memory)
				api->memory_destroy(call->pieces[i].operands[j].memory);
		if (call->pieces[i].scratch)
			api->memory_destroy(call->pieces[i].scratch);
	}
	for (int i = 0; i < call->nshape; i++) {
		for (int j = 0; j < call->plan.noperand; j++)
			dnnl_md_free(api, call->shapes[i].mds[j]);
		dnnl_md_free(api, call->shapes[i].scratch_md);
		if (call->shapes[i].primitive)
			api->primitive_destroy(call->shapes[i].primitive);
	}
	free(call->pieces);
	free(call->shapes);
	call->pieces = NULL;
	call->shapes = NULL;
	call->npiece = call->nshape = 0;
	call->head.scratch = 0;
}

/* Rows that the library computes only whole (few of them, or an algorithm that wants many) stay
 * so. */
static bool
make_attempt(DnnlCall *call)
{
	CallPlan *plan = &call->plan;
	if (!call_plan_row(plan))
		return false;
	if (make_pieces(call))
		return true;
	free_pieces(call);
	if (!call_has_slabs(&call->head))
		return false;
	plan->quantum[AXIS_HEIGHT] = plan->extent[AXIS_HEIGHT];
	return make_pieces(call);
}

/* A product goes as an image, or as what it is. */
static bool
make_call(DnnlCall *call)
{
	const CallPlan fresh = call->plan;
	bool is_made;
	for (int attempt = 0; !(is_made = make_attempt(call)) && call->plan.is_image; attempt++) {
		free_pieces(call);
		call->plan = fresh;
		call->plan.attempt = attempt + 1;
	}
	return is_made;
}

PreparedCall *
call_make(Dnnl *dnnl, const VendorCall *desc, bool is_question, char *error, size_t error_size)
{
	DnnlCall *call = calloc(1, sizeof *call);
	if (!call) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	call->head.library = &vendor_onednn;
	call->dnnl = dnnl;
	call->plan = (CallPlan){.api = &dnnl->api,
	                        .desc = desc,
	                        .is_question = is_question,
	                        .error = error,
	                        .error_size = error_size};
	int before = dnnl_enter(&dnnl->api);
	bool is_made = make_call(call);
	dnnl_leave(&dnnl->api, before);
	call->plan.desc = NULL;
	call->plan.error = NULL;
	call->head.pieces = call->npiece;
	if (is_made)
		return &call->head;
	call_drop(&call->head);
	return NULL;
}

static PreparedCall *
prepare(Vendor *vendor, const VendorCall *desc, char *error, size_t error_size)
{
	return call_make((Dnnl *)vendor, desc, false, error, error_size);
}

void
call_drop(PreparedCall *call)
{
	if (!call)
		return;
	free_pieces((DnnlCall *)call);
	free(call);
}

/* ---- Running ---- */

/* Point a memory object somewhere, if it is not there already: the library may clear padding. */
static bool
point(const DnnlApi *api, void *memory, void **last, void *data)
{
	if (*last == data)
		return true;
	*last = data;
	return api->memory_set_data_handle(memory, data) == DNNL_OK;
}

/* A sum adds to what the result holds: bring it there unless it lies there already. */
static void
bring_sum(const DnnlCall *call, const Piece *piece, int index, void *const *buffers, void *scratch)
{
	const CallOperand *dst = &call->plan.operands[call->plan.dst];
	const unsigned char *from = (const unsigned char *)buffers[call->plan.operands[index].arg] +
	                            piece->operands[index].offset;
	const Shape *shape = &call->shapes[piece->shape];
	const int64_t *size = shape->extents[call->plan.dst];
	unsigned char *to = (unsigned char *)buffers[dst->arg] + piece->operands[call->plan.dst].offset;
	size_t copy = shape->copy[call->plan.dst];
	if (copy)
		call_copy_in(&dst->tensor, size, from, (unsigned char *)scratch + copy);
	else if (from != to)
		call_copy_same(&dst->tensor, size, from, to);
}

/* Where the library finds or leaves the operand: its copy, or the argument. */
static void *
bring_operand(const DnnlCall *call, const Piece *piece, int index, void *const *buffers,
              void *scratch)
{
	const CallOperand *operand = &call->plan.operands[index];
	const Shape *shape = &call->shapes[piece->shape];
	unsigned char *at = (unsigned char *)buffers[operand->arg] + piece->operands[index].offset;
	unsigned char *copy = (unsigned char *)scratch + shape->copy[index];
	if (!shape->copy[index])
		return at;
	if (index != call->plan.dst)
		call_copy_in(&operand->tensor, shape->extents[index], at, copy);
	return copy;
}

static void
take_result(const DnnlCall *call, const Piece *piece, void *const *buffers, void *scratch)
{
	int index = call->plan.dst;
	const CallOperand *dst = &call->plan.operands[index];
	const Shape *shape = &call->shapes[piece->shape];
	unsigned char *at = (unsigned char *)buffers[dst->arg] + piece->operands[index].offset;
	if (shape->copy[index])
		call_copy_out(&dst->tensor, shape->extents[index],
		              (unsigned char *)scratch + shape->copy[index], at);
}

static bool
run_piece(DnnlCall *call, Piece *piece, void *const *buffers, void *scratch)
{
	const DnnlApi *api = call->plan.api;
	DnnlArg args[CALL_OPERANDS + 1];
	int count = 0;
	for (int i = 0; i < call->plan.noperand; i++) {
		const CallOperand *operand = &call->plan.operands[i];
		PieceOperand *at = &piece->operands[i];
		if (operand->code == 0) {
			bring_sum(call, piece, i, buffers, scratch);
			continue;
		}
		if (!at->fixed &&
		    !point(api, at->memory, &at->last, bring_operand(call, piece, i, buffers, scratch)))
			return false;
		args[count++] = (DnnlArg){operand->code, at->memory};
	}
	if (piece->scratch) {
		if (!point(api, piece->scratch, &piece->last_scratch, scratch))
			return false;
		args[count++] = (DnnlArg){DNNL_SCRATCHPAD, piece->scratch};
	}
	if (api->primitive_execute(call->shapes[piece->shape].primitive, api->stream, count, args))
		return false;
	take_result(call, piece, buffers, scratch);
	return true;
}

bool
call_run(PreparedCall *prepared, int piece, void *const *buffers, void *scratch, char *error,
         size_t error_size)
{
	DnnlCall *call = (DnnlCall *)prepared;
	int before = dnnl_enter(call->plan.api);
	bool is_done = run_piece(call, &call->pieces[piece], buffers, scratch);
	dnnl_leave(call->plan.api, before);
	if (!is_done)
		snprintf(error, error_size, "%s failed in %s", call->dnnl->head.version, call->head.impl);
	return is_done;
}

const VendorLibrary vendor_onednn = {
	.name = "onednn",
	.open = open_library,
	.close = close_library,
	.accept = dnnl_accept,
	.measure = dnnl_measure,
	.prepare = prepare,
	.drop = call_drop,
	.run = call_run,
	.use_weights = dnnl_use_weights,
	.use_memory = dnnl_use_memory,
	.packed = dnnl_packed,
};
