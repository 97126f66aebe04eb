/* PlaceRegisters: where the elements of a register buffer live.
 *
 *     acc: f32[2,24] @reg = 0                 acc_0: f32[16] @reg(16) = 0
 *     for k in N                              acc_1: f32[8] @reg(16) = 0 …
 *       for i in 16 @vector(i32x16)     =>    for k in N
 *         acc[0, i] += X[k*24+i]                for i in 16 @vector(i32x16)
 *       for i in 8 @vector(i32x16)                acc_0[i] += X[k*24+i]
 *         acc[0, i+16] += X[k*24+i+16]          for i in 8 @vector(i32x16)
 *       …                                         acc_1[i] += X[k*24+i+16] …
 *
 * A buffer whose every index is a constant becomes a register per element; one that is used by
 * whole vectors of so many lanes, a vector register for each: `@reg(16)`. So accumulators stay in
 * registers, whatever the C compiler thinks of arrays. Any other is a row of memory on the stack;
 * but for one made inside a vector, of which each lane has its own: that becomes a row of vectors;
 * and for those that operations of threads name, whose elements lie side by side: they stay.
 *
 * needs    flat kernels, loops unrolled: that is what makes indices constants
 * keeps    values, statements
 * breaks   registers with dims
 */
#include "expr/index/poly.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { MAX_PARTS = 512 };

typedef struct Place {
	const Buffer *buffer;
	Stmt *alloc;
	bool is_own;                    /* made inside a vector */
	bool has_scalars, has_unknowns; /* used by elements; at indices known at run time alone */
	int lanes;                      /* used by vectors of so many lanes */
	int64_t count, width;           /* elements; of them in the last dim */
	bool is_row;
	int64_t parts_count;
	const Buffer **parts; /* by position; or one row */
} Place;

typedef struct Placing {
	Kernel *kernel;
	VEC(Place *) all;
	Map places;         /* Tensor to Place */
	const Stmt *vector; /* the vector around */
} Placing;

/* ---- how they are used ----------------------------------------------------------------------- */

/* The variable in var + offset; NULL where the index is no such sum. */
static const Expr *
lane_offset(const Expr *index, int64_t *offset)
{
	Poly poly;
	poly_of_any(index, &poly);
	*offset = poly_constant(&poly);
	if (poly.count != 1 + (*offset != 0) || poly.term[0].coef != 1 || poly.term[0].natom != 1)
		return NULL;
	return poly.term[0].atom[0]->op == EX_var ? poly.term[0].atom[0] : NULL;
}

/* Whether the vector around uses its lanes' elements as one vector register would. */
static bool
is_whole_vector(const Placing *placing, const Place *place, const Expr *index)
{
	int64_t offset;
	const Stmt *vector = placing->vector;
	DType type = place->buffer->tensor.type;
	if (!vector || place->is_own || type == DT_BOOL || dtype_class(type) == DC_S)
		return false;
	const Expr *lane = lane_offset(index, &offset);
	return lane && lane->var == vector->var && offset % vector->lanes == 0 &&
	       dtype_bits(type) <= vector->lane_bytes * 8 &&
	       (place->lanes == 0 || place->lanes == vector->lanes);
}

static void
note_access(const Placing *placing, const Tensor *tensor, const Expr *const *index)
{
	int64_t value;
	Place *place = map_find_ptr(&placing->places, tensor);
	if (!place)
		return;
	const Expr *last = index[tensor->rank - 1];
	for (int d = 0; d < tensor->rank - 1; d++)
		place->has_unknowns |= !expr_as_i64(index[d], &value);
	if (expr_as_i64(last, &value))
		place->has_scalars = true;
	else if (is_whole_vector(placing, place, last))
		place->lanes = placing->vector->lanes;
	else
		place->has_unknowns = true;
}

static void
note_register(Placing *placing, Stmt *alloc)
{
	int64_t extent;
	const Tensor *tensor = &alloc->buffer->tensor;
	if (alloc->buffer->scope != SCOPE_REG || tensor->rank == 0 || alloc->buffer->lanes)
		return;
	Place *place = NEW(placing->kernel->arena, Place);
	*place = (Place){alloc->buffer, alloc, .is_own = placing->vector, .count = 1};
	for (int d = 0; d < tensor->rank; d++, place->count *= extent)
		must(dim_is_const(tensor->hi[d], &extent));
	place->width = extent;
	map_set_ptr(&placing->places, tensor, place);
	vec_push(placing->kernel->arena, &placing->all, place);
}

/* What an operation of threads names is no longer to be placed; numbers it takes are reads. */
static void
note_operands(Placing *placing, const Stmt *stmt, ExprWalk *walk)
{
	for (int i = 0; i < stmt->warp_op->nargs; i++) {
		expr_walk_add(walk, stmt->args[i]);
		if (warp_op_takes_place(stmt->warp_op, i))
			map_set_ptr(&placing->places, stmt->args[i]->tensor, NULL);
	}
	if (stmt->buffer)
		map_set_ptr(&placing->places, &stmt->buffer->tensor, NULL);
}

static void
note_list(Placing *placing, Stmt *list)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		ExprWalk walk = expr_walk(stmt->value);
		expr_walk_add(&walk, stmt->condition);
		expr_walk_add(&walk, stmt->lo);
		expr_walk_add(&walk, stmt->hi);
		for (int d = 0; stmt->index && d < stmt->buffer->tensor.rank; d++)
			expr_walk_add(&walk, stmt->index[d]);
		if (stmt->kind == STMT_WARP_OP)
			note_operands(placing, stmt, &walk);
		while (expr_step(&walk))
			if (walk.e->op == EX_read)
				note_access(placing, walk.e->tensor, walk.e->arg);
		if (stmt->kind == STMT_STORE)
			note_access(placing, &stmt->buffer->tensor, stmt->index);
		if (stmt->kind == STMT_ALLOC)
			note_register(placing, stmt);
		const Stmt *outer = placing->vector;
		if (stmt->lanes)
			placing->vector = stmt;
		note_list(placing, stmt->body);
		note_list(placing, stmt->other);
		placing->vector = outer;
	}
}

/* ---- where they go --------------------------------------------------------------------------- */

/* The vectors of a row; its elements where they are none. */
static int64_t
parts_in_row(const Place *place)
{
	return place->lanes ? (place->width + place->lanes - 1) / place->lanes : place->width;
}

/* A register at that position; or the row. */
static const Buffer *
make_part(const Placing *placing, const Place *place, int64_t position)
{
	Kernel *kernel = placing->kernel;
	const Tensor *tensor = &place->buffer->tensor;
	int64_t rest = place->width - position % parts_in_row(place) * place->lanes;
	int64_t extent = place->is_row ? place->count : rest < place->lanes ? rest : place->lanes;
	const Dim *dim = dim_const(kernel->ctx, extent);
	const char *name = tensor->name;
	if (!place->is_row)
		name = arena_printf(kernel->arena, "%s_%lld", name, (long long)position);
	Buffer *part = kernel_local(kernel, name, tensor->type, place->is_row || place->lanes, &dim,
	                            place->is_row && !place->is_own ? SCOPE_STACK : SCOPE_REG);
	part->lanes = place->lanes;
	return part;
}

/* The buffers that take the place of one, and their definitions that of its. */
static void
divide(const Placing *placing, Place *place)
{
	Kernel *kernel = placing->kernel;
	place->is_row = place->has_unknowns || (place->has_scalars && place->lanes) ||
	                place->count > MAX_PARTS || place->count == 0;
	if (place->is_row)
		place->lanes = 0;
	place->parts_count = place->is_row ? 1 : place->count / place->width * parts_in_row(place);
	place->parts = NEW_N(kernel->arena, const Buffer *, place->parts_count);
	Stmt *alloc = place->alloc, *next = alloc->next;
	for (int64_t i = 0; i < place->parts_count; i++) {
		place->parts[i] = make_part(placing, place, i);
		if (i > 0)
			alloc = alloc->next = stmt_alloc(kernel, place->parts[i], alloc->value);
		alloc->buffer = place->parts[i];
	}
	alloc->next = next;
}

/* The buffer that holds an element or the lanes' elements now, and the index there, if any. */
static const Buffer *
locate(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	const Placing *placing = arg;
	const Place *place = map_find_ptr(&placing->places, &buffer->tensor);
	const Expr **at = NEW(kernel->arena, const Expr *);
	int64_t position = 0, value, extent;
	if (!place)
		return NULL;
	if (place->is_row)
		*at = flat_index(kernel->ctx, buffer, *index);
	for (int d = 0; d < buffer->tensor.rank && !place->is_row; d++) {
		must(dim_is_const(buffer->tensor.hi[d], &extent));
		if (!expr_as_i64((*index)[d], &value)) {
			*at = lane_offset((*index)[d], &value);
			value /= place->lanes;
			extent = parts_in_row(place);
		}
		position = position * extent + value;
	}
	must(position < place->parts_count);
	*index = at;
	return place->parts[position];
}

bool
pass_PlaceRegisters(Kernel *kernel, PassContext *context)
{
	(void)context;
	bool has_rows = false;
	Placing placing = {.kernel = kernel, .places.arena = kernel->arena};
	note_list(&placing, kernel->body);
	for (int i = 0; i < placing.all.count; i++) {
		Place *place = placing.all.data[i];
		if (!map_find_ptr(&placing.places, &place->buffer->tensor))
			continue;
		divide(&placing, place);
		has_rows |= place->is_row;
	}
	stmt_redirect(kernel, kernel->body, locate, &placing);
	if (has_rows)
		tir_simplify(kernel);
	return placing.all.count > 0;
}
