/* Rows that are a program of several stages (vendor.def, `program`): the group is it, for some
 * operands, extents and one number.
 *
 *     s[h,i,j] = sum(d) q[h,i,d] * k[h,j,d]       S[h,i,j] = sum(d) X[i,h,d]*0.5 * (W[j,h,d]*0.5)
 *     y[h,i,e] = sum(j) exp(a*s[h,i,j]) * …       Y[h,i,e] = sum(j) exp(S[h,i,j]) * …
 *
 * Stages are paired in order and their iterators by position: that binds extents, and operands by
 * the iterators that move them. The row's program with these must then be the group's, in the
 * normal form that post-ops are matched by (solve.h), which solves the number. So a mistake in
 * pairing loses a match, and never makes a wrong one. Both are compared in f32, without what is
 * rounded to 16 bits on the way, and as if nothing were infinite: rows say what they lose.
 */
#include <math.h>
#include <string.h>

#include "program/forms.h"
#include "program/match_inner.h"
#include "program/solve.h"

enum { MOST_STAGES = 16 }; /* of a group that is looked at: all its maps are put into others */

typedef struct Whole {
	Arena *arena;
	ExprCtx *ctx;
	const VendorRow *row;
	const Program *meant, *given; /* the row's, in a ctx of its own, and the group's; both flat */
	Map widened;                  /* Tensor of the group to what it is in `given` */
	Map given_to, names;          /* what the row's symbols and inputs are; symbols by name */
	int input[VENDOR_INPUTS + 1]; /* of the group, which each of the row's is; -1: not found yet */
	int dims[VENDOR_INPUTS + 1][VENDOR_DIMS]; /* of it, which each dim of the row's is; -1: none */
	const Dim *extents[VENDOR_INPUTS + 1][VENDOR_DIMS];
} Whole;

/* ---- the row's program ---- */

/* Flat; of the outermost extents B0, B1 … so many are there. */
static const Program *
read_program(Arena *arena, const VendorRow *row, int copies)
{
	ExprCtx *ctx = expr_ctx_new(arena);
	const Program *program = program_parse(ctx, "vendor.def", row->program);
	int64_t ones[VENDOR_DIMS] = {0};
	bool is_one[VENDOR_DIMS] = {false};
	for (int i = 0; i < row->most - copies; i++) {
		int id = symbol_get(ctx, arena_printf(arena, "B%d", i))->id;
		must(id < VENDOR_DIMS);
		ones[id] = is_one[id] = true;
	}
	program = program_bind(program, &(Binding){VENDOR_DIMS, ones, is_one});
	return program_squeeze_dims(arena, program_flatten(arena, program), NULL);
}

/* The input that is a number to be solved. */
static bool
is_number(const Tensor *input)
{
	return input->rank == 0;
}

/* ---- the group's program in f32 ---- */

/* What a tensor is in f32; what is in f32 already is itself. */
static void
set_widened(Whole *w, const Tensor *tensor, const Tensor *wide)
{
	map_set_ptr(&w->widened, tensor, (void *)(uintptr_t)wide);
	map_set_ptr(&w->widened, wide, (void *)(uintptr_t)wide);
}

static const Tensor *
widened(Whole *w, const Tensor *tensor)
{
	const Tensor *known = map_find_ptr(&w->widened, tensor);
	if (known)
		return known;
	Tensor *wide = tensor_copy(w->ctx, tensor);
	wide->type = dtype_is_short_float(wide->type) ? DT_F32 : wide->type;
	set_widened(w, tensor, wide);
	return wide;
}

static const Expr *
widen(ExprCtx *ctx, const Expr *e, void *arg)
{
	if (e->op == EX_read)
		return expr_read(ctx, widened(arg, e->tensor), e->arg);
	if (e->op == EX_select && e->arg[0]->op == EX_eq && expr_is_const(e->arg[0]->arg[1]) &&
	    isinf(expr_const_f64(e->arg[0]->arg[1])))
		return e->arg[2];
	if (!dtype_is_short_float((DType)e->type))
		return e;
	return expr_cast(ctx, DT_F32, e->op == EX_cast ? e->arg[0] : e);
}

/* NULL: it has stages that no row has. */
static const Program *
plain_program(Whole *w, const Program *p)
{
	for (int i = 0; i < p->nstage; i++) {
		const Stage *stage = p->stages[i];
		if (stage->kind != STAGE_reduce || stage->scan || stage->nresult != 1 || stage->guard)
			return NULL;
		Stage *wide = stage_clone(w->ctx, stage);
		const Expr **body = NEW_N(w->arena, const Expr *, 1);
		*body = expr_rewrite(w->ctx, stage->body[0], widen, w);
		wide->body = body;
		wide->results[0]->type = DT_F32;
		set_widened(w, stage->results[0], wide->results[0]);
	}
	Tensor **inputs = NEW_N(w->arena, Tensor *, p->ninput + 1);
	for (int i = 0; i < p->ninput; i++)
		inputs[i] = (Tensor *)(uintptr_t)widened(w, p->inputs[i]);
	const Tensor *output = widened(w, p->outputs[0]);
	return program_new(w->ctx, p->name, p->ninput, inputs, 1, &output);
}

/* ---- pairing ---- */

static int
find_input(const Program *p, const Tensor *tensor)
{
	int i = p->ninput - 1;
	while (i >= 0 && p->inputs[i] != tensor)
		i--;
	return i;
}

/* Which dim of a read of the group's each iterator of the row's read moves, and how many there are.
 * -1: others move it, or it moves in another way. */
static int
pair_dims(const Expr *meant, const Expr *given, int dims[VENDOR_DIMS])
{
	unsigned used = 0;
	int count = 0;
	if (given->argc > VENDOR_DIMS)
		return -1;
	for (int c = 0; c < meant->argc; c++) {
		int iter = meant->arg[c]->iter, d = given->argc - 1;
		while (d >= 0 && !(given->arg[d]->op == EX_iter && given->arg[d]->iter == iter))
			d--;
		dims[c] = d;
		used |= dims[c] < 0 ? 0 : 1u << dims[c];
		count += dims[c] >= 0;
	}
	for (int d = 0; d < given->argc; d++)
		if (!(used >> d & 1) && !read_is_one(given, d))
			return -1;
	return count;
}

/* The group's operand for input k of the row, which this stage reads so: what has most of its
 * dims. Others are broadcast along those that they lack. */
static void
pair_operand(Whole *w, int k, const Expr *read, const Stage *given)
{
	int best = 0, dims[VENDOR_DIMS];
	for (ExprWalk walk = stage_walk(given); expr_step(&walk);) {
		int input = walk.e->op == EX_read ? find_input(w->given, walk.e->tensor) : -1;
		int count = input < 0 ? -1 : pair_dims(read, walk.e, dims);
		if (count <= best)
			continue;
		best = count;
		w->input[k] = input;
		memcpy(w->dims[k], dims, sizeof dims);
	}
	for (int c = 0; c < read->argc; c++)
		w->extents[k][c] =
			w->dims[k][c] < 0 ? dim_const(w->ctx, 1) : given->iters[read->arg[c]->iter].hi;
}

static bool
pair_stage(Whole *w, const Stage *meant, const Stage *given)
{
	if (meant->reduce != given->reduce || meant->nloop != given->nloop ||
	    meant->nreduce != given->nreduce)
		return false;
	for (int i = 0; i < meant->nloop + meant->nreduce; i++) {
		const Symbol *symbol = meant->iters[i].hi->symbol;
		void *extent = (void *)(uintptr_t)given->iters[i].hi;
		map_set_ptr(&w->given_to, symbol, extent);
		map_set(&w->names, symbol->name, extent);
	}
	for (ExprWalk walk = stage_walk(meant); expr_step(&walk);) {
		int k = walk.e->op == EX_read ? find_input(w->meant, walk.e->tensor) : -1;
		if (k >= 0 && w->input[k] < 0 && !is_number(walk.e->tensor))
			pair_operand(w, k, walk.e, given);
	}
	return true;
}

static bool
pair_stages(Whole *w)
{
	bool is = w->given->nstage == w->meant->nstage;
	for (int k = 0; k < w->meant->ninput; k++)
		w->input[k] = -1;
	for (int i = 0; is && i < w->meant->nstage; i++)
		is = pair_stage(w, w->meant->stages[i], w->given->stages[i]);
	for (int k = 0; is && k < w->meant->ninput; k++)
		is = w->input[k] >= 0 || is_number(w->meant->inputs[k]);
	return is;
}

/* ---- comparing ---- */

/* A read of the row's input as one of the group's tensor. */
static const Expr *
read_given(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Whole *w = arg;
	const Expr *index[VENDOR_DIMS];
	for (int k = 0; e->op == EX_read && k < w->meant->ninput; k++) {
		if (e->tensor != map_find_ptr(&w->given_to, w->meant->inputs[k]) || is_number(e->tensor))
			continue;
		const Tensor *tensor = w->given->inputs[w->input[k]];
		for (int d = 0; d < tensor->rank; d++)
			index[d] = expr_i64(ctx, 0);
		for (int c = 0; c < e->argc; c++)
			if (w->dims[k][c] >= 0)
				index[w->dims[k][c]] = e->arg[c];
		return expr_read(ctx, tensor, index);
	}
	return e;
}

/* Whether the row's program on these operands is the group's, for which number. */
static bool
means(Whole *w, Solved *solved)
{
	FormLeaves leaves = {.unknown = {NULL}};
	int *place = NEW_N(w->arena, int, w->given->ninput + 1);
	for (int k = 0; k < w->meant->ninput; k++) {
		const Tensor *input = w->meant->inputs[k];
		const Dim *dims[VENDOR_DIMS];
		for (int d = 0; d < input->rank; d++)
			dims[d] = map_find_ptr(&w->given_to, input->hi[d]->symbol);
		Tensor *here = tensor_new(w->ctx, input->name, input->type, input->rank, dims);
		map_set_ptr(&w->given_to, input, here);
		if (is_number(input))
			leaves.unknown[0] = expr_read(w->ctx, here, NULL);
	}
	const Program *meant = program_apply(w->ctx, w->meant, &w->given_to);
	meant = program_rewrite(meant, read_given, w);
	for (int i = 0; i < w->given->ninput; i++)
		place[i] = -1;
	return program_solve(w->arena, &leaves, meant, w->given, place, solved);
}

static bool
holds(Whole *w)
{
	const char *items[ROW_LIST];
	int count = row_list(w->arena, w->row->limits, 0, items);
	for (int i = 0; i < count; i++) {
		Scanner scan;
		TextScope scope = {.names = &w->names};
		scan_open(&scan, w->arena, "vendor.def", items[i]);
		if (!facts_prove(facts_new(w->ctx, w->arena),
		                 expr_parse_in(w->ctx, &scan, &scope, DT_BOOL)))
			return false;
	}
	return true;
}

/* ---- the match ---- */

/* One type of all operands that the row's sums of products read, and of the result; what is added
 * may be f32. */
static bool
has_types(const Whole *w, const Program *p)
{
	DType result = p->outputs[0]->type;
	bool has = dtype_is_among(result, w->row->result);
	for (int k = 0; k < w->meant->ninput; k++) {
		const Tensor *input = w->meant->inputs[k];
		DType type = is_number(input) ? result : p->inputs[w->input[k]]->type;
		has = has && (type == result || (type == DT_F32 && k == VENDOR_ADDED));
	}
	return has;
}

static void
fill_match(const Whole *w, Arena *arena, const Program *p, const Solved *solved, VendorMatch *m)
{
	const char *text = w->row->told, *word, *list;
	*m = (VendorMatch){.row = w->row, .program = p};
	for (int k = 0; k < w->meant->ninput; k++) {
		if (is_number(w->meant->inputs[k]))
			continue;
		VendorOperand *operand = &m->operands[k];
		*operand = (VendorOperand){p->inputs[w->input[k]], w->meant->inputs[k]->rank, {0}, {NULL}};
		memcpy(operand->dims, w->dims[k], sizeof operand->dims);
		memcpy(operand->extents, w->extents[k], sizeof operand->extents);
	}
	m->result = (VendorOperand){.tensor = p->outputs[0], .rank = p->outputs[0]->rank};
	for (int d = 0; d < m->result.rank; d++) {
		m->result.dims[d] = d;
		m->result.extents[d] = m->result.tensor->hi[d];
	}
	if (row_entry(arena, &text, &word, &list)) {
		float *number = NEW(arena, float);
		*number = solved->is_known[0] ? (float)solved->value[0] : 1;
		match_add_attr(m,
		               (StepAttr){.name = word, .kind = SA_FLOATS, .count = 1, .floats = number});
	}
}

static bool
match_whole(Arena *arena, const VendorRow *row, const Program *meant, const Program *program,
            const bool *fixed, VendorMatch *match)
{
	Arena *scratch = arena_new_in(arena, "match_whole");
	Whole w = {.arena = scratch, .ctx = program->ctx, .row = row, .meant = meant};
	Solved solved;
	w.widened.arena = w.given_to.arena = w.names.arena = scratch;
	const Program *squeezed = program_squeeze_dims(arena, program, fixed);
	w.given = plain_program(&w, program_flatten(scratch, squeezed));
	bool is =
		w.given && pair_stages(&w) && has_types(&w, squeezed) && holds(&w) && means(&w, &solved);
	if (is)
		fill_match(&w, arena, squeezed, &solved, match);
	arena_reset(scratch);
	return is;
}

/* What is not reduced at last, or but once, is none of them. */
void
match_wholes(VendorForms *forms, Arena *arena, const Program *program, const Target *target,
             const bool *fixed, VendorFound *found)
{
	const Tensor *output = program->noutput == 1 ? program->outputs[0] : NULL;
	bool may_be = 2 < program->nstage && program->nstage <= MOST_STAGES && output &&
	              output->stage && output->stage->kind == STAGE_reduce;
	for (int i = 0; may_be && i < vendor_count(); i++) {
		const VendorRow *row = vendor_at(i);
		bool is_asked = row->program && (!target || target_calls(target, row->library)) &&
		                !(row->loses & ~forms->losses.calls);
		for (int copies = row->least; is_asked && copies <= row->most; copies++) {
			const Program **meant = &forms->programs[i][copies];
			if (!*meant)
				*meant = read_program(forms->arena, row, copies);
			VendorMatch *match = &found->match[found->count];
			found->count += match_whole(arena, row, *meant, program, fixed, match);
		}
	}
}
