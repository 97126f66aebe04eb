/* From a sum of products to the main stage of a library call (EinNet's converging derivation).
 *
 * Iterators fall into groups by what they move (the iterator table): both factors and the result (a
 * batch), one factor and the result (rows, columns), both factors alone (the sum). What is left to
 * do is their order: loops are permuted into a few orders, boxes moved to 0, and an operand whose
 * dims are in no such order is stored in one. The matcher decides: what it does not take is no
 * candidate.
 */
#include "einnet/converge.h"

#include <string.h>

#include "einnet/rules_inner.h"
#include "expr/index/simplify.h"
#include "expr/stage/hash.h"
#include "program/forms.h"

/* ---- the parts of a product ------------------------------------------------------------------ */

typedef enum Role {
	ROLE_batch,  /* of both factors and the result */
	ROLE_outer,  /* of x and the result, in a dim of its own before those of the sum */
	ROLE_weight, /* of w and the result */
	ROLE_inner,  /* of x and the result, behind the first dim of the sum, or in a window */
	ROLE_sum,
} Role;

typedef struct Product {
	int number; /* of the stage in its program */
	const Stage *stage;
	const Expr *x, *w;
	bool is_window;  /* an index of x has several iterators */
	bool must_store; /* w: its indices are no iterators */
	bool is_known;   /* w follows from constants */
	Role role[RULE_ITERS];
	int place[RULE_ITERS]; /* the dim of x, or of w, that it moves first */
} Product;

static int
dim_moved(const Expr *read, int iter)
{
	int d = 0;
	while (d < read->argc && !expr_uses_iter(read->arg[d], iter))
		d++;
	return d;
}

static bool
is_plain(const Expr *read)
{
	for (int d = 0; d < read->argc; d++)
		if (read->arg[d]->op != EX_iter && !expr_is_const(read->arg[d]))
			return false;
	return true;
}

/* Of windows' calls all loops in dims of their own count images. */
static Role
role_of(const Product *p, int loop, int first_sum, bool in_x, bool in_w)
{
	int place = p->place[loop];
	if (in_x && in_w)
		return ROLE_batch;
	if (in_w)
		return ROLE_weight;
	if (p->is_window && in_x)
		return p->x->arg[place]->op == EX_iter ? ROLE_outer : ROLE_inner;
	return place < first_sum ? ROLE_outer : ROLE_inner;
}

/* x may be read through windows; w may not, unless it is stored anew. */
static bool
read_product(const Stage *stage, int swap, Product *p)
{
	const Expr *body = stage_summed_product(stage);
	p->stage = stage;
	p->x = expr_without_casts(body->arg[swap]);
	p->w = expr_without_casts(body->arg[1 - swap]);
	p->is_window = !is_plain(p->x);
	p->must_store = !is_plain(p->w);
	if (p->x->type != DT_F32 || p->w->type != DT_F32 || stage->acc != DT_F32)
		return false;
	int first_sum = p->x->argc;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		if (dim_moved(p->x, i) < first_sum)
			first_sum = dim_moved(p->x, i);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		bool in_x = expr_uses_iter(p->x, i), in_w = expr_uses_iter(p->w, i);
		p->place[i] = in_x ? dim_moved(p->x, i) : dim_moved(p->w, i);
		p->role[i] = ROLE_sum;
		if (!in_x && !in_w &&
		    !dim_is(dim_sub(stage->body[0]->ctx, stage->iters[i].hi, stage->iters[i].lo), 1))
			return false;
		if (i < stage->nloop)
			p->role[i] = role_of(p, i, first_sum, in_x, in_w);
	}
	return true;
}

/* An index with a loop and at most one of the sum, as windows of a call have it; or, in a band,
 * with two loops, of which both factors have one. */
static bool
is_window(const Product *p, const Expr *index)
{
	const Dim *coefficient[RULE_ITERS];
	const Expr *rest;
	int loops = 0, sums = 0, batches = 0, total = p->stage->nloop + p->stage->nreduce;
	if (!expr_affine(index->ctx, index, total, coefficient, &rest))
		return false;
	for (int i = 0; i < total; i++) {
		if (expr_is_zero(coefficient[i]))
			continue;
		*(i < p->stage->nloop ? &loops : &sums) += 1;
		batches += p->role[i] == ROLE_batch;
	}
	return (loops <= 1 && sums <= 1) || (loops == 2 && batches == 1 && sums == 0);
}

/* Whether some row could match: this is asked of every state, matching takes a thousand times as
 * long. */
static bool
is_near(const Product *p)
{
	if (!p->is_window)
		return !p->stage->guard || p->must_store;
	for (int d = 0; d < p->x->argc; d++)
		if (!is_window(p, p->x->arg[d]))
			return false;
	return true;
}

/* ---- orders of loops ------------------------------------------------------------------------- */

/* Groups of loops, as they follow one another. */
static const Role orders[][4] = {
	{ROLE_batch, ROLE_outer, ROLE_weight, ROLE_inner}, /* as x lies */
	{ROLE_batch, ROLE_outer, ROLE_inner, ROLE_weight}, /* weights last */
	{ROLE_batch, ROLE_weight, ROLE_outer, ROLE_inner}, /* and first */
};

/* Loop i by loop order[i], from 0, without loops of one iteration. */
static Program *
reorder(const Program *program, const Stage *stage, const int *order, int count)
{
	ExprCtx *ctx = program->ctx;
	const Expr *forward[RULE_ITERS], *inverse[RULE_ITERS];
	Iter iters[RULE_ITERS];
	for (int i = 0; i < stage->nloop; i++)
		inverse[i] = stage->iters[i].lo;
	for (int j = 0; j < count; j++) {
		const Iter *iter = &stage->iters[order[j]];
		forward[j] = expr_sub(ctx, expr_iter(ctx, order[j]), iter->lo);
		inverse[order[j]] = expr_add(ctx, expr_iter(ctx, j), iter->lo);
		iters[j] = (Iter){iter->name, dim_const(ctx, 0), dim_sub(ctx, iter->hi, iter->lo)};
	}
	Bijection map = {stage->nloop, count, forward, inverse, iters};
	return derive_substitute(program, stage, &map, NULL);
}

static bool
has_one_step(ExprCtx *ctx, const Iter *iter)
{
	return dim_is(dim_sub(ctx, iter->hi, iter->lo), 1);
}

/* Loops of a group by the dims that they move; those of w, which is stored anew in any order, by
 * their lengths, so that the last ones fill lanes. */
static int64_t
rank_of(const Product *p, int loop)
{
	const Iter *iter = &p->stage->iters[loop];
	int64_t lo, hi;
	if (p->role[loop] != ROLE_weight || !p->is_known)
		return p->place[loop];
	return dim_is_const(iter->lo, &lo) && dim_is_const(iter->hi, &hi) ? hi - lo : INT64_MAX;
}

static int
list_group(const Program *program, const Product *p, Role role, int *order)
{
	int count = 0;
	for (int i = 0; i < p->stage->nloop; i++) {
		if (p->role[i] != role || has_one_step(program->ctx, &p->stage->iters[i]))
			continue;
		int at = count++;
		for (; at > 0 && rank_of(p, order[at - 1]) > rank_of(p, i); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return count;
}

/* Images of a call of windows are counted, also where there is but one. */
static int
list_image(const Program *program, const Product *p, int *order)
{
	for (int i = 0; i < p->stage->nloop && p->is_window; i++)
		if (has_one_step(program->ctx, &p->stage->iters[i])) {
			order[0] = i;
			return 1;
		}
	return 0;
}

/* Gives their number. */
static int
list_order(const Program *program, const Product *p, const Role groups[4], int *order)
{
	int count = 0;
	for (int g = 0; g < 4; g++) {
		count += list_group(program, p, groups[g], order + count);
		if (groups[g] == ROLE_outer && count == 0)
			count = list_image(program, p, order);
	}
	return count;
}

/* The program itself where its loops are in this order. */
static const Program *
in_order(const Program *program, const Product *p, const int *order, int count)
{
	bool is_same = count == p->stage->nloop;
	for (int j = 0; j < count && is_same; j++)
		is_same = order[j] == j && dim_is(p->stage->iters[j].lo, 0);
	return is_same ? program : reorder(program, p->stage, order, count);
}

/* ---- operands -------------------------------------------------------------------------------- */

static int
new_product(const Program *before, const Program *after)
{
	for (int s = 0; s < after->nstage; s++)
		if (stage_is_product(after->stages[s]) && !program_has_stage(before, after->stages[s]))
			return s;
	return -1;
}

/* Where a call of windows has dim d of x: dims of loops alone, of the sum, of windows; each by the
 * first iterator that moves it, numbers last. */
static int
rank_of_dim(const Stage *stage, const Expr *x, int d)
{
	const Expr *index = x->arg[d];
	int total = stage->nloop + stage->nreduce, first = 0;
	if (index->op == EX_iter)
		return index->iter;
	while (first < total && !expr_uses_iter(index, first))
		first++;
	return total + first;
}

static void
order_windows(const Stage *stage, const Expr *x, int *order)
{
	for (int d = 0; d < x->argc; d++) {
		int at = d;
		for (; at > 0 && rank_of_dim(stage, x, order[at - 1]) > rank_of_dim(stage, x, d); at--)
			order[at] = order[at - 1];
		order[at] = d;
	}
}

/* The factor of this name stored in the order of the stage's iterators. */
static const Program *
store_operand(const Program *program, int *stage, const Tensor *tensor, bool keeps_windows)
{
	const Stage *product = program->stages[*stage];
	const Expr *read = NULL;
	int order[RULE_ITERS];
	for (int k = 0; !read || read->tensor != tensor; k++)
		if (!(read = stage_read_at(product, k)))
			return NULL;
	const Program *next;
	if (is_plain(read) || !keeps_windows) {
		next = derive_unfold(program, product, read, NULL);
	} else {
		order_windows(product, read, order);
		next = derive_permute_operand(program, product, read, order, NULL);
	}
	*stage = next ? new_product(program, next) : -1;
	return *stage >= 0 ? next : NULL;
}

/* ---- matching -------------------------------------------------------------------------------- */

const VendorMatch *
einnet_match(VendorForms *forms, Arena *arena, const Program *program, int stage)
{
	VendorMatch *match = NEW(arena, VendorMatch);
	const Stage *product = program->stages[stage];
	Product p;
	bool has_windows = read_product(product, 0, &p) && p.is_window;
	has_windows |= read_product(product, 1, &p) && p.is_window;
	VendorRows rows = has_windows ? ROWS_of_windows : ROWS_of_matrices;
	const Program *part = program_part(arena, program, stage, stage + 1);
	const Program *squeezed, *joined;
	if (vendor_match_row(forms, arena, part, rows, match))
		return match;
	squeezed = program_squeeze_dims(arena, part, NULL);
	if (squeezed != part && vendor_match_row(forms, arena, squeezed, rows, match))
		return match;
	joined = program_collapse_dims(arena, squeezed, NULL);
	return joined != squeezed && vendor_match_row(forms, arena, joined, rows, match) ? match : NULL;
}

Calls *
einnet_calls_new(Arena *arena, const Target *target)
{
	Calls *calls = NEW(arena, Calls);
	*calls = (Calls){
		.arena = arena, .target = target, .forms = vendor_forms_new(arena, NULL, vendor_loses_any)};
	return calls;
}

static Call *
new_call(const Calls *calls, const VendorMatch *match)
{
	Call *call = NEW(calls->arena, Call);
	if (match) {
		*call = (Call){match->row, match->nchoice, match->result.rank, {0}};
		for (int d = 0; d < call->rank; d++)
			call->extents[d] = probe_dim(calls->target, match->result.extents[d]);
	}
	return call;
}

const Call *
einnet_call(Calls *calls, Arena *arena, const Program *program, int stage)
{
	Hash128 text;
	if (!hash_text(program->ctx, program->stages[stage], &text))
		return NULL; /* no product: it reads nothing, or much */
	void **known = hash_set_value(calls->arena, &calls->matched, text);
	if (!*known)
		*known = new_call(calls, einnet_match(calls->forms, arena, program, stage));
	const Call *call = *known;
	return call->row ? call : NULL;
}

/* Whether what is read follows from constants. */
typedef struct Following {
	const Program *program;
	const bool *constant; /* inputs; NULL: none */
	const Stage *known[64];
	unsigned count;  /* of the last stages found to: what two reads lead to is walked once */
	bool is_certain; /* so far */
} Following;

static bool
is_constant_input(const Following *f, const Tensor *tensor)
{
	for (int i = 0; f->constant && i < f->program->ninput; i++)
		if (f->program->inputs[i] == tensor)
			return f->constant[i];
	return false;
}

static void
follow(const Tensor *tensor, void *arg)
{
	Following *f = arg;
	const Stage *stage = tensor->stage;
	if (!f->is_certain)
		return;
	if (!stage) {
		f->is_certain = is_constant_input(f, tensor);
		return;
	}
	for (unsigned i = 0; i < f->count && i < countof(f->known); i++)
		if (f->known[i] == stage)
			return;
	f->is_certain = !stage->scan;
	stage_visit_reads(stage, follow, f);
	if (f->is_certain)
		f->known[f->count++ % countof(f->known)] = stage;
}

bool
einnet_is_constant(const Program *program, const Tensor *tensor, const bool *constant)
{
	Following f;
	f.program = program;
	f.constant = constant;
	f.count = 0;
	f.is_certain = true;
	follow(tensor, &f);
	return f.is_certain;
}

bool
einnet_is_open(const Program *program, int stage, const bool *constant)
{
	const Stage *product = program->stages[stage];
	if (!stage_is_product(product) || einnet_is_constant(program, product->results[0], constant))
		return false;
	bool has_table = false;
	for (ExprWalk walk = expr_walk_reads(product->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read)
			has_table = has_table || einnet_is_constant(program, walk.e->tensor, NULL);
	return !has_table;
}

/* The program with these factors stored anew, where a row matches it then. */
static const Program *
fit_operands(Calls *calls, Arena *arena, const Program *program, int stage, const Product *p,
             bool stores_w, bool stores_x)
{
	if (stores_w)
		program = store_operand(program, &stage, p->w->tensor, false);
	if (program && stores_x)
		program = store_operand(program, &stage, p->x->tensor, true);
	return program && einnet_call(calls, arena, program, stage) ? program : NULL;
}

/* The forms of a product. */
typedef struct Forms {
	const Program **list; /* CONVERGED_MAX */
	int count;
} Forms;

static void
add_form(Forms *forms, const Program *form)
{
	if (forms->count < CONVERGED_MAX)
		forms->list[forms->count++] = form;
}

/* Forms with the loops in one order: with as little stored anew as the matcher takes, and with x
 * stored so that all its loops are the rows of one matrix. */
static void
try_order(Calls *calls, Arena *arena, const Program *program, const Product *p, const int *order,
          int count, Forms *forms)
{
	const Program *ordered = in_order(program, p, order, count);
	int stage = ordered == program ? p->number : ordered ? new_product(program, ordered) : -1;
	if (stage < 0)
		return;
	for (int stores_x = 0; stores_x < 2; stores_x++) {
		const Program *fit = NULL;
		for (int stores_w = p->must_store || p->is_known; stores_w < 2 && !fit; stores_w++)
			fit = fit_operands(calls, arena, ordered, stage, p, stores_w, stores_x);
		if (fit)
			add_form(forms, fit);
		if (fit && p->is_window)
			return;
	}
}

static bool
is_same_order(const int *a, int na, const int *b, int nb)
{
	return na == nb && memcmp(a, b, (size_t)na * sizeof *a) == 0;
}

/* An order met again has the forms that it had. */
static void
try_orders(Calls *calls, Arena *arena, const Program *program, const Product *p, Forms *forms)
{
	int order[countof(orders)][RULE_ITERS], count[countof(orders)], first[countof(orders) + 1];
	for (size_t k = 0; k < countof(orders); k++) {
		size_t same = 0;
		first[k] = forms->count;
		count[k] = list_order(program, p, orders[k], order[k]);
		while (!is_same_order(order[same], count[same], order[k], count[k]))
			same++;
		if (same == k)
			try_order(calls, arena, program, p, order[k], count[k], forms);
		for (int i = first[same]; same < k && i < first[same + 1]; i++)
			add_form(forms, forms->list[i]);
		first[k + 1] = forms->count;
	}
}

int
einnet_converge(Calls *calls, Arena *arena, const Program *program, int stage, const bool *constant,
                const Program *out[CONVERGED_MAX])
{
	Forms forms = {.list = out};
	const Stage *product = program->stages[stage];
	for (int swap = 0; swap < 2; swap++) {
		Product p = {.number = stage};
		if (!read_product(product, swap, &p) || !is_near(&p))
			continue;
		bool x_is_known = einnet_is_constant(program, p.x->tensor, constant);
		p.is_known = einnet_is_constant(program, p.w->tensor, constant);
		if (x_is_known && !p.is_known)
			continue; /* the other way round */
		try_orders(calls, arena, program, &p, &forms);
		if (!x_is_known && p.is_known)
			break;
	}
	return forms.count;
}
