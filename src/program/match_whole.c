/* Rows that are a program of several stages (vendor.def, `program`): the group is it, for some
 * operands, extents and one number.
 *
 *     s[h,i,j] = sum(d) q[h,i,d] * k[h,j,d]       S[h,i,j] = sum(d) X[i,h,d]*0.5 * (W[j,h,d]*0.5)
 *     y[h,i,e] = sum(j) exp(a*s[h,i,j]) * …       Y[h,i,e] = sum(j) exp(S[h,i,j]) * …
 *
 * Stages are paired in order and their iterators by position: that binds extents, and operands by
 * the iterators that move them; those that the same iterators move (a factor and a bias) in each
 * way that there is. Where the row has h/G, G is what the group divides h by. The row's program
 * with these must then be the group's, in the
 * normal form that post-ops are matched by (solve.h), which solves the number. So a mistake in
 * pairing loses a match, and never makes a wrong one. Both are compared in f32, without what is
 * rounded to 16 bits on the way, and as if nothing were infinite: rows say what they lose.
 */
#include <math.h>
#include <string.h>

#include "program/forms.h"
#include "program/match_inner.h"
#include "program/solve.h"

enum {
	MOST_STAGES = 16, /* of a group that is looked at: all its maps are put into others */
	MOST_ALIKE = 4,   /* of its operands, for one of the row's */
};

/* An operand of the group's, and which of its dims those of the row's are; -1: none. */
typedef struct Candidate {
	int input, dims[VENDOR_DIMS];
	int by[VENDOR_DIMS]; /* what an index is divided by, where the row divides it */
} Candidate;

typedef struct Whole {
	Arena *arena;
	ExprCtx *ctx;
	const VendorRow *row;
	const Program *meant, *given; /* the row's, in a ctx of its own, and the group's; both flat */
	Map widened;                  /* Tensor of the group to what it is in `given` */
	Map given_to, names;          /* what the row's symbols and inputs are; symbols by name */
	Candidate alike[VENDOR_INPUTS + 1][MOST_ALIKE]; /* what each of the row's inputs may be */
	int count[VENDOR_INPUTS + 1];                   /* of these */
	const Candidate *chosen[VENDOR_INPUTS + 1];
	const Tensor *here[VENDOR_INPUTS + 1]; /* the row's inputs with the group's extents */
	const Expr *read[VENDOR_INPUTS + 1];   /* how the row's first reader reads each */
	FormLeaves leaves;                     /* the number */
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
		DType type = stage->results[0]->type;
		bool is_plain = stage->kind == STAGE_reduce || stage->kind == STAGE_map;
		if (!is_plain || (type != DT_F32 && !dtype_is_short_float(type)) || stage->scan ||
		    stage->nresult != 1 || stage->guard)
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

/* The iterator of a row's index, which may be divided. */
static const Expr *
index_iter(const Expr *index)
{
	return index->op == EX_floordiv ? index->arg[0] : index;
}

/* By what the group divides an iterator that the row divides, or 1; 0: its index is another one. */
static int
index_divisor(const Expr *meant, const Expr *given)
{
	int64_t by = 1;
	if (meant->op == EX_floordiv && given->op == EX_floordiv && dim_is_const(given->arg[1], &by))
		given = given->arg[0];
	return given->op == EX_iter && given->iter == index_iter(meant)->iter ? (int)by : 0;
}

/* Which dim of a read of the group's each index of the row's read moves, and how many there are.
 * -1: others move it, or it moves in another way. */
static int
pair_dims(const Expr *meant, const Expr *given, Candidate *found)
{
	unsigned used = 0;
	int count = 0;
	if (given->argc > VENDOR_DIMS)
		return -1;
	for (int c = 0; c < meant->argc; c++) {
		int d = given->argc - 1;
		while (d >= 0 && !(found->by[c] = index_divisor(meant->arg[c], given->arg[d])))
			d--;
		found->dims[c] = d;
		used |= d < 0 ? 0 : 1u << d;
		count += d >= 0;
	}
	for (int d = 0; d < given->argc; d++)
		if (!(used >> d & 1) && !read_is_one(given, d))
			return -1;
	return count;
}

/* The group's operands for input k of the row, which this stage reads so: what has most of its
 * dims. Of what is added any, which is broadcast along those that it lacks. */
static void
list_alike(Whole *w, int k, const Expr *read, const Stage *given)
{
	int best = 0;
	bool is_added = k >= VENDOR_ADDED;
	w->read[k] = read;
	for (ExprWalk walk = stage_walk(given); expr_step(&walk);) {
		Candidate found = {.input = -1};
		if (walk.e->op == EX_read)
			found.input = find_input(w->given, walk.e->tensor);
		int count = found.input < 0 ? -1 : pair_dims(read, walk.e, &found);
		if (count > best && !is_added)
			w->count[k] = 0;
		best = count > best ? count : best;
		bool is_new = (is_added || count == best) && count > 0 && w->count[k] < MOST_ALIKE;
		for (int i = 0; i < w->count[k]; i++)
			is_new &= memcmp(&w->alike[k][i], &found, sizeof found) != 0;
		if (is_new)
			w->alike[k][w->count[k]++] = found;
	}
}

static void
set_symbol(Whole *w, const Symbol *symbol, const Dim *dim)
{
	map_set_ptr(&w->given_to, symbol, (void *)(uintptr_t)dim);
	map_set(&w->names, symbol->name, (void *)(uintptr_t)dim);
}

static bool
pair_stage(Whole *w, const Stage *meant, const Stage *given)
{
	if (meant->kind != given->kind || meant->nloop != given->nloop ||
	    meant->nreduce != given->nreduce ||
	    (meant->kind == STAGE_reduce && meant->reduce != given->reduce))
		return false;
	for (int i = 0; i < meant->nloop + meant->nreduce; i++)
		set_symbol(w, meant->iters[i].hi->symbol, given->iters[i].hi);
	for (ExprWalk walk = stage_walk(meant); expr_step(&walk);) {
		int k = walk.e->op == EX_read ? find_input(w->meant, walk.e->tensor) : -1;
		if (k >= 0 && !w->read[k] && !is_number(walk.e->tensor))
			list_alike(w, k, walk.e, given);
	}
	return true;
}

static bool
pair_stages(Whole *w)
{
	bool is = w->given->nstage == w->meant->nstage;
	for (int i = 0; is && i < w->meant->nstage; i++)
		is = pair_stage(w, w->meant->stages[i], w->given->stages[i]);
	for (int k = 0; is && k < w->meant->ninput; k++)
		is = w->count[k] > 0 || is_number(w->meant->inputs[k]);
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
		const Candidate *chosen = w->chosen[k];
		const Tensor *tensor = w->given->inputs[chosen->input];
		for (int d = 0; d < tensor->rank; d++)
			index[d] = expr_i64(ctx, 0);
		for (int c = 0; c < e->argc; c++)
			if (chosen->dims[c] >= 0)
				index[chosen->dims[c]] = chosen->by[c] == 1 ? index_iter(e->arg[c]) : e->arg[c];
		return expr_read(ctx, tensor, index);
	}
	return e;
}

/* What the row divides by, as the chosen operands do. */
static void
set_divisors(Whole *w)
{
	for (int k = 0; k < w->meant->ninput; k++)
		for (int c = 0; w->read[k] && c < w->read[k]->argc; c++) {
			const Expr *index = w->read[k]->arg[c];
			if (index->op == EX_floordiv)
				set_symbol(w, index->arg[1]->symbol,
				           dim_const(w->ctx, w->chosen[k]->dims[c] < 0 ? 1 : w->chosen[k]->by[c]));
		}
}

/* The row's inputs with the group's extents. */
static void
make_inputs(Whole *w)
{
	for (int k = 0; k < w->meant->ninput; k++) {
		const Tensor *input = w->meant->inputs[k];
		const Dim *dims[VENDOR_DIMS];
		for (int d = 0; d < input->rank; d++)
			dims[d] = dim_from_expr(w->ctx, expr_apply(w->ctx, input->hi[d], &w->given_to));
		Tensor *here = tensor_new(w->ctx, input->name, input->type, input->rank, dims);
		map_set_ptr(&w->given_to, input, here);
		w->here[k] = here;
		if (is_number(input))
			w->leaves.unknown[0] = expr_read(w->ctx, here, NULL);
	}
}

/* Whether the row's program on the chosen operands is the group's, for which number. */
static bool
means(Whole *w, Solved *solved)
{
	int *place = NEW_N(w->arena, int, w->given->ninput + 1);
	make_inputs(w);
	const Program *meant = program_apply(w->ctx, w->meant, &w->given_to);
	meant = program_rewrite(meant, read_given, w);
	for (int i = 0; i < w->given->ninput; i++)
		place[i] = -1;
	return program_solve(w->arena, &w->leaves, meant, w->given, place, solved);
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

/* One type of all operands and of the result; what is only added, or may be f32 by the row's list,
 * may be that. */
static bool
has_types(const Whole *w, const Program *p)
{
	DType result = p->outputs[0]->type;
	bool has = dtype_is_among(result, w->row->result);
	for (int k = 0; k < w->meant->ninput; k++) {
		const Tensor *input = w->meant->inputs[k];
		DType type = is_number(input) ? result : p->inputs[w->chosen[k]->input]->type;
		bool may_be = k >= VENDOR_ADDED || dtype_is_among(DT_F32, w->row->operands[k > 0]);
		has = has && (type == result || (type == DT_F32 && may_be));
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
		const Candidate *chosen = w->chosen[k];
		*operand =
			(VendorOperand){p->inputs[chosen->input], w->meant->inputs[k]->rank, {0}, {NULL}};
		memcpy(operand->dims, chosen->dims, sizeof operand->dims);
		for (int c = 0; c < operand->rank; c++)
			operand->extents[c] = chosen->dims[c] < 0 ? dim_const(w->ctx, 1) : w->here[k]->hi[c];
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

/* Chooses operands for the row's inputs from k on: the first way that makes the group's program. */
static bool
choose(Whole *w, const Program *p, int k, Solved *solved)
{
	if (k == w->meant->ninput) {
		set_divisors(w);
		return has_types(w, p) && holds(w) && means(w, solved);
	}
	if (is_number(w->meant->inputs[k]))
		return choose(w, p, k + 1, solved);
	for (int i = 0; i < w->count[k]; i++) {
		w->chosen[k] = &w->alike[k][i];
		if (choose(w, p, k + 1, solved))
			return true;
	}
	return false;
}

static bool
match_whole(Arena *arena, const VendorRow *row, const Program *meant, const Program *program,
            const bool *fixed, VendorMatch *match)
{
	Arena *scratch = arena_new_in(arena, "match_whole");
	Whole w = {.arena = scratch, .ctx = program->ctx, .row = row, .meant = meant};
	Solved solved;
	w.widened.arena = w.given_to.arena = w.names.arena = scratch;
	const Program *given = program_squeeze_dims(arena, program, fixed);
	if (row->storage & STORAGE_joined)
		given = program_collapse_dims(arena, given, fixed);
	w.given = plain_program(&w, program_flatten(scratch, given));
	bool is = w.given && pair_stages(&w) && choose(&w, given, 0, &solved);
	if (is)
		fill_match(&w, arena, given, &solved, match);
	arena_reset(scratch);
	return is;
}

/* What is seen at once: the group ends as the row, and has its reductions, in order; others are of
 * what is put away where nothing is infinite. */
static bool
looks_alike(const Program *given, const Program *meant)
{
	int found = 0;
	if (given->outputs[0]->stage->kind != meant->outputs[0]->stage->kind)
		return false;
	for (int i = 0; i < meant->nstage; i++) {
		const Stage *m = meant->stages[i];
		while (m->kind == STAGE_reduce && found < given->nstage &&
		       !(given->stages[found]->kind == STAGE_reduce &&
		         given->stages[found]->reduce == m->reduce))
			found++;
		found += m->kind == STAGE_reduce;
	}
	return found <= given->nstage;
}

void
match_wholes(VendorForms *forms, Arena *arena, const Program *program, const Target *target,
             const bool *fixed, VendorFound *found)
{
	bool may_be =
		program->noutput == 1 && program->outputs[0]->stage && program->nstage <= MOST_STAGES;
	for (int i = 0; may_be && i < vendor_count(); i++) {
		const VendorRow *row = vendor_at(i);
		bool is_asked = row->program && (!target || target_calls(target, row->library)) &&
		                !(row->loses & ~forms->losses.calls);
		for (int copies = row->least; is_asked && copies <= row->most; copies++) {
			const Program **meant = &forms->programs[i][copies];
			if (!*meant)
				*meant = read_program(forms->arena, row, copies);
			VendorMatch *match = &found->match[found->count];
			found->count += looks_alike(program, *meant) &&
			                match_whole(arena, row, *meant, program, fixed, match);
		}
	}
}
