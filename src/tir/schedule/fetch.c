/* fetch: cache lines that the next iteration uses are on their way while this one computes.
 *
 *     for i in 8192                            for i in 8192
 *       for ko in 4 {                            for ko in 4 {
 *         for ki in 256                            for X_line in 16
 *           … X[i, 256*ko + ki] …       =>       fetch.near(X[i + 1, 256*ko + 16*X_line])
 *       }                                          for ki in 256
 *                                                    … X[i, 256*ko + ki] …
 *     fetch i X 1 at ko                            }
 *
 * What the body of one loop (ko) will use of a buffer in the next iteration of a loop around it, or
 * of itself (i), is a box, moved on. The last iteration names places behind the end, which a hint
 * may do. Nothing depends on hints, and they are no accesses to other steps.
 */
#include <string.h>

#include "target/warp.h"
#include "tir/schedule/inner.h"
#include "tir/text.h"

enum { LINE_BITS = 64 * 8 };

/* How many elements of the buffer a hint serves, along the last dim. */
static int64_t
line_of(const Tensor *tensor)
{
	const Buffer *buffer = (const Buffer *)tensor;
	int bits = dtype_bits(tensor->type);
	bool is_dense = !buffer->stride || dim_is(buffer->stride[tensor->rank - 1], 1);
	return is_dense ? LINE_BITS / bits : 1;
}

/* The dim from which on all of the box lies in one run, since what follows is whole. */
static int
run_of(const Tensor *tensor, const Box *box)
{
	int d = tensor->rank - 1;
	while (d > 0 && !((const Buffer *)tensor)->stride && box->size[d] == tensor->hi[d])
		d--;
	return d;
}

/* Whether runs of `width` elements for each index of the dim begin where a line does, if the buffer
 * does. */
static bool
begins_lines(const Scheduling *s, Facts *facts, const Box *box, const Tensor *tensor, int run,
             const Dim *width)
{
	const Expr *line = expr_i64(s->ctx, line_of(tensor));
	const Expr *row = expr_floormod(s->ctx, expr_mul(s->ctx, tensor->hi[run], width), line);
	const Expr *first = expr_floormod(s->ctx, expr_mul(s->ctx, box->lo[run], width), line);
	return expr_is_zero(expr_simplify(facts, first)) &&
	       (run == 0 || expr_is_zero(expr_simplify(facts, row)));
}

/* Loops over the lines of the box, one iteration of `loop` further on. */
static Stmt *
hints(const Scheduling *s, Facts *facts, const Stmt *loop, const Tensor *tensor, const Box *box,
      const WarpOp *op)
{
	ExprCtx *ctx = s->ctx;
	const Expr *next = expr_add(ctx, expr_var(ctx, loop->var), expr_i64(ctx, 1));
	const Expr *index[ARRAY_MAX_RANK];
	const Var *vars[ARRAY_MAX_RANK] = {NULL};
	int last = tensor->rank - 1, run = run_of(tensor, box);
	const Dim *width = dim_product(ctx, last - run, tensor->hi + run + 1);
	for (int d = 0; d < tensor->rank; d++)
		index[d] = expr_replace_var(box->lo[d], loop->var, next);
	for (int d = 0; d <= run; d++) {
		int64_t step = d == run ? line_of(tensor) : 1;
		const Dim *size = d == run ? dim_mul(ctx, box->size[d], width) : box->size[d];
		const Dim *count = dim_ceildiv(ctx, size, dim_const(ctx, step));
		if (d == run && !begins_lines(s, facts, box, tensor, run, width))
			count = dim_add(ctx, count, dim_const(ctx, 1));
		if (dim_is(count, 1))
			continue;
		const char *name = arena_printf(s->kernel->arena, "%s_line_%d", tensor->name, d);
		vars[d] = var_new(ctx, name, DT_I64, expr_i64(ctx, 0), count);
		const Expr *first = expr_mul(ctx, expr_var(ctx, vars[d]), expr_i64(ctx, step));
		const Expr *end = expr_sub(ctx, size, expr_i64(ctx, 1));
		const Expr **of = &index[d == run ? last : d];
		facts_var(facts, vars[d], vars[d]->lo, vars[d]->hi);
		*of = expr_add(ctx, *of, expr_simplify(facts, expr_min(ctx, first, end)));
	}
	const Expr *place = expr_read(ctx, tensor, index);
	Stmt *body = stmt_warp_op(s->kernel, op, NULL, NULL, STORE_SET, &place);
	for (int d = run; d >= 0; d--)
		if (vars[d])
			body = stmt_for(s->kernel, vars[d], vars[d]->lo, vars[d]->hi, BIND_SERIAL, body);
	return body;
}

/* The buffer that the step calls so, among what is used. */
static const Tensor *
used_tensor(const Scheduling *s, const AccessVec *all, const char *name)
{
	const Tensor *tensor = NULL;
	for (int i = 0; i < all->count; i++)
		if (strcmp(all->data[i].tensor->name, name) == 0)
			tensor = all->data[i].tensor;
	bool is_param = tensor && ((const Buffer *)tensor)->scope == SCOPE_PARAM;
	if (!is_param || tensor->rank == 0 || dtype_bits(tensor->type) < 8)
		refuse_step(s, "%s is no array of whole bytes that is used there, an argument", name);
	return tensor;
}

void
primitive_fetch(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0), *at = named_loop(s, 1), *list = NULL;
	AccessVec all = {0};
	bool holds = loop == at;
	for (StmtWalk walk = stmt_walk(s->kernel->arena, loop->body); stmt_step(&walk);)
		holds |= walk.stmt == at;
	if (!holds)
		refuse_step(s, "loop %s does not stand in it", at->var->name);
	if (s->step->number != 1 && s->step->number != 2)
		refuse_step(s, "there is no cache %lld to fetch to", (long long)s->step->number);
	if (at->bind == BIND_VECTOR)
		refuse_step(s, "loop %s runs in lanes", at->var->name);
	find_accesses(s->kernel, at->body, &all);
	for (int b = 0; b < s->step->buffers.count; b++) {
		Facts *facts = facts_at(s, at->body);
		const Tensor *tensor = used_tensor(s, &all, s->step->buffers.data[b]);
		const Box box = find_box(s, facts, &all, tensor);
		const WarpOp *op = warp_op_find(s->step->number == 1 ? "fetch.near" : "fetch.far");
		list = stmt_append(list, hints(s, facts, loop, tensor, &box, op));
		facts_close(facts);
	}
	at->body = stmt_append(list, at->body);
	kernel_name_apart(s->kernel);
}
