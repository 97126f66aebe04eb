/* vendor_match: the main stage of a group against the rows of vendor.def.
 *
 * Each iterator of a row is bound to one of the stage that moves the same tensors (the table of
 * EinNet), then each item of an operand to a dim that is read in its way; factors and offsets are
 * read off the indices. What was found is then put into the row's text, and the stage that results
 * must be the one given: every index equal, every guard as strong as the borders of the reads and
 * no stronger. So a mistake in solving loses a match, and never makes a wrong one.
 */
#include "program/match.h"

#include <string.h>

#include "program/match_solver.h"

/* ---- operands ---- */

/* The number before iterator i, whose coefficient is c: an iterator that does not move has any. */
static bool
take_factor(Solver *s, const RowItem *item, int i, int64_t c)
{
	bool is_still = c == 0 && dim_is(solver_extent(s, i), 1);
	if (item->factor[i])
		solver_name_number(s, item->factor[i], is_still ? 1 : c);
	return is_still || c > 0;
}

/* What of an item like (p + l)/s is divided; a division by 1 is not there. */
static const Expr *
solve_divisor(Solver *s, const RowItem *item, const Expr *index)
{
	int64_t over = 1;
	bool is_divided = index->op == EX_floordiv && expr_as_i64(index->arg[1], &over);
	solver_name_number(s, item->over, over);
	return is_divided ? index->arg[0] : index;
}

/* Solves the numbers of an item like s*p + d*r - l, or (p - d*r + l)/s. */
static bool
solve_linear(Solver *s, const RowItem *item, const Expr *index)
{
	index = item->over ? solve_divisor(s, item, index) : index;
	int count = s->main->nloop + s->main->nreduce;
	const Dim **coefficient = NEW_N(s->arena, const Dim *, count + 1);
	const Expr *rest;
	int64_t offset;
	if (!expr_affine(s->ctx, index, count, coefficient, &rest) || !expr_as_i64(rest, &offset))
		return false;
	for (int i = 0; i < s->form->niter; i++) {
		int64_t c = 0;
		if ((item->iters >> i & 1) == 0)
			continue;
		if ((s->bound[i] >= 0 && !dim_is_const(coefficient[s->bound[i]], &c)) ||
		    !take_factor(s, item, i, item->minus >> i & 1 ? -c : c))
			return false;
	}
	if (item->offset)
		solver_name_number(s, item->offset, item->is_added ? offset : -offset);
	return true;
}

/* Whether the index may be the item: it moves with no other iterators. */
static bool
fits(Solver *s, const RowItem *item, const Expr *index)
{
	for (int i = 0; i < s->form->niter; i++)
		if ((item->iters >> i & 1) == 0 && s->bound[i] >= 0 && expr_uses_iter(index, s->bound[i]))
			return false;
	if (item->iter < 0)
		return !item->is_linear || solve_linear(s, item, index);
	return (index->op == EX_iter && index->iter == s->bound[item->iter]) ||
	       (expr_is_zero(index) && (item->may_stand || dim_is(solver_extent(s, item->iter), 1)));
}

/* The dim is not there: an extent of 1, or a broadcast. */
static bool
may_lack(const Solver *s, const RowItem *item)
{
	return item->may_stand || (item->may_lack && dim_is(solver_extent(s, item->iter), 1));
}

/* How much of dim d of the operand there is: as much as an iterator alone moves over; of windows
 * and groups all of it, as its end is their border. */
static const Dim *
extent_read(const Solver *s, const RowItem *item, const Expr *read, int d)
{
	if (item->iter < 0)
		return read->tensor->hi[d];
	return read->arg[d]->op == EX_iter ? solver_extent(s, item->iter) : dim_const(s->ctx, 1);
}

/* Which dim of the operand each item is, from behind, as broadcasting counts. */
static bool
place_operand(Solver *s, int k, VendorOperand *operand)
{
	const RowTensor *row = &s->form->operands[k];
	const Expr *read = s->reads[k];
	unsigned used = 0;
	*operand = (VendorOperand){.tensor = read->tensor, .rank = row->rank};
	for (int i = row->rank - 1; i >= 0; i--) {
		const RowItem *item = &row->items[i];
		int d = read->argc - 1;
		while (d >= 0 && ((used >> d & 1) || !fits(s, item, read->arg[d])))
			d--;
		if (d < 0 && !may_lack(s, item))
			return false;
		operand->dims[i] = d;
		operand->extents[i] = d < 0 ? dim_const(s->ctx, 1) : extent_read(s, item, read, d);
		used |= d < 0 ? 0 : 1u << d;
		solver_name(s, item->extent, operand->extents[i]);
	}
	return used + 1 == 1u << read->argc;
}

static bool
place_result(Solver *s, VendorOperand *result)
{
	const RowTensor *row = &s->form->result;
	*result = (VendorOperand){.tensor = s->match->program->outputs[0], .rank = row->rank};
	for (int i = 0; i < row->rank; i++) {
		result->dims[i] = s->bound[i];
		result->extents[i] = solver_extent(s, i);
		if (s->bound[i] < 0 && !row->items[i].may_lack)
			return false;
	}
	return true;
}

/* ---- the gate ---- */

/* Each iterator has its place, and moves an operand: none repeats the terms of others. */
static bool
iterators_are_used(const Solver *s)
{
	int count = s->main->nloop + s->main->nreduce;
	for (int j = 0; j < count; j++)
		if (!dim_is(s->main->iters[j].hi, 1) && !expr_uses_iter(s->main->body[0], j))
			return false;
	return s->taken + 1 == 1u << count;
}

/* Every operand is read as the row's text says with what was solved, and is there. Of groups and
 * filters it is proved, as there may be one; a window without a second place is no window. */
static bool
reads_are_the_rows(Solver *s)
{
	for (int k = 0; k < s->form->noperand; k++)
		for (int i = 0; i < s->form->operands[k].rank; i++) {
			const RowItem *item = &s->form->operands[k].items[i];
			const Dim *extent = s->match->operands[k].extents[i];
			int d = s->match->operands[k].dims[i];
			if (d >= 0 && !dim_proves_le(s->ctx, extent, s->reads[k]->tensor->hi[d]))
				return false;
			if (d < 0 || (item->may_stand && dim_is(extent, 1)))
				continue;
			const Expr *index = s->reads[k]->arg[d],
					   *expected = solver_value(s, item->text, DT_I64);
			if (index != expected &&
			    !expr_is_zero(expr_simplify(s->facts, expr_sub(s->ctx, index, expected))) &&
			    (item->is_linear || !facts_prove(s->facts, expr_eq(s->ctx, index, expected))))
				return false;
		}
	return true;
}

/* That divisions in the row's indices leave no rest. */
static const Expr *
divisions_are_whole(const Solver *s)
{
	const Expr *all = NULL;
	for (int k = 0; k < s->form->noperand; k++)
		for (int i = 0; i < s->form->operands[k].rank; i++) {
			int d = s->match->operands[k].dims[i];
			const Expr *index = d < 0 ? NULL : s->reads[k]->arg[d];
			if (!s->form->operands[k].items[i].over || !index || index->op != EX_floordiv)
				continue;
			const Expr *rest = expr_floormod(s->ctx, index->arg[0], index->arg[1]);
			all = expr_both(s->ctx, all, expr_eq(s->ctx, rest, expr_i64(s->ctx, 0)));
		}
	return all;
}

/* The terms that the guard omits are those with a read outside its tensor, and `more`: each follows
 * from the other. Whatever the iterators are bound to. */
static bool
guard_is_the_border(Solver *s, const Expr *more)
{
	const Expr *borders = more;
	for (int k = 0; k < VENDOR_OPERANDS && s->reads[k]; k++) {
		const Expr *range = read_range(s->facts, s->reads[k]->tensor, s->reads[k]->arg);
		borders = expr_both(s->ctx, borders, range);
	}
	if (!s->main->guard || !borders)
		return !s->main->guard ? !borders : facts_prove(s->facts, s->main->guard);
	int mark = facts_mark(s->facts);
	facts_assume(s->facts, borders);
	bool is_border = facts_prove(s->facts, s->main->guard);
	facts_release(s->facts, mark);
	facts_assume(s->facts, s->main->guard);
	is_border = is_border && facts_prove(s->facts, borders);
	facts_release(s->facts, mark);
	return is_border;
}

/* ---- what the call is told ---- */

/* The lists of numbers; false when one is not known. */
static bool
tell(Solver *s, Arena *arena)
{
	const char *text = s->form->row->told, *word, *list, *items[ROW_LIST];
	while (row_entry(s->arena, &text, &word, &list)) {
		int count = row_list(s->arena, list, s->form->copies, items);
		int64_t *numbers = NEW_N(arena, int64_t, count + 1);
		for (int i = 0; i < count; i++)
			if (!solver_number(s, items[i], &numbers[i]))
				return false;
		match_add_attr(
			s->match,
			(StepAttr){.name = arena_strdup(arena, word), .count = count, .ints = numbers});
	}
	return true;
}

/* Algorithms whose limits hold, and which implementation works in passes. */
static void
choose_from(Solver *s, Arena *arena)
{
	VendorMatch *m = s->match;
	const char *text = m->row->choices, *word, *limits;
	while (row_entry(s->arena, &text, &word, &limits))
		if (solver_holds(s, limits))
			m->choices[m->nchoice++] = arena_strdup(arena, word);
	const char *items[ROW_LIST];
	text = m->row->passes;
	if (row_entry(s->arena, &text, &word, &limits) &&
	    row_list(s->arena, limits, s->form->copies, items) == 2 &&
	    solver_number(s, items[0], &m->serves) && solver_number(s, items[1], &m->window))
		m->passes = arena_strdup(arena, word);
}

/* ---- the search ---- */

/* All iterators are bound: the rest follows, or does not. */
static bool
solve(Solver *s, Arena *arena)
{
	VendorMatch *m = s->match;
	const char *text = s->form->row->numbers;
	*m = (VendorMatch){.row = s->form->row, .program = m->program};
	for (int k = s->form->noperand - 1; k >= 0; k--)
		if (!place_operand(s, k, &m->operands[k]))
			return false;
	solver_name_iters(s);
	if (text)
		solver_name(s, arena_strndup(s->arena, text, strcspn(text, " ")),
		            expr_simplify(s->facts, solver_value(s, strchr(text, '=') + 1, DT_I64)));
	if (!place_result(s, &m->result) || !iterators_are_used(s) || !reads_are_the_rows(s) ||
	    !solver_holds(s, s->form->row->limits) || !tell(s, arena))
		return false;
	if (s->form->is_divided && !guard_is_the_border(s, divisions_are_whole(s)))
		return false;
	for (int k = 0; k < s->form->noperand; k++) {
		match_tell_swapped(m, k);
		if (s->in_order && !match_is_in_order(m, s->form, k))
			return false;
		match_drop_leading(m, s->form, k);
	}
	if (m->row->kind)
		match_add_attr(
			m, (StepAttr){.name = "kind", .kind = SA_STRING, .count = 1, .string = m->row->kind});
	choose_from(s, arena);
	return solver_epilogue(s, arena);
}

/* Which iterators of the stage move what each of the row moves. */
static void
list_alike(Solver *s)
{
	unsigned still = 0; /* of one step */
	for (int j = 0; j < s->main->nloop + s->main->nreduce; j++)
		still |= (unsigned)dim_is(s->main->iters[j].hi, 1) << j;
	for (int i = 0; i < s->form->niter; i++)
		s->alike[i] = ~0u;
	for (int i = 0, n = s->form->niter; i < n * s->form->noperand; i++) {
		const RowTensor *row = &s->form->operands[i / n];
		unsigned moving = (unsigned)s->reads[i / n]->iters;
		s->alike[i % n] &= row->moved >> i % n & 1 ? ~0u : ~moving;
		s->alike[i % n] &= row->needed >> i % n & 1 ? moving | still : ~0u;
	}
}

/* Bind iterator i of the row and those behind it, each to one of its kind: the first way that
 * makes a match, so that dims in order come before others. */
static bool
bind_iters(Solver *s, Arena *arena, int i)
{
	if (i == s->form->niter)
		return solve(s, arena);
	bool is_loop = i < s->form->nloop;
	int from = is_loop ? 0 : s->main->nloop, left = 0;
	int to = is_loop ? s->main->nloop : s->main->nloop + s->main->nreduce;
	for (int j = from; j < to; j++) {
		if (s->taken >> j & 1)
			continue;
		left++;
		if (!(s->alike[i] >> j & 1) || (is_loop && s->in_order && left > 1))
			continue;
		s->bound[i] = j;
		s->taken |= 1u << j;
		if (bind_iters(s, arena, i + 1))
			return true;
		s->taken &= ~(1u << j);
	}
	s->bound[i] = -1;
	return left < (is_loop ? s->form->nloop : s->form->niter) - i && bind_iters(s, arena, i + 1);
}

/* The row has as many iterators as the stage, or more that may be of extent 1. */
static bool
has_room(const RowForm *form, const Stage *main)
{
	int lacking = 0;
	for (int d = 0; d < form->result.rank; d++)
		lacking += form->result.items[d].may_lack;
	return strcmp(reduce_info(main->reduce)->text, form->reduce) == 0 &&
	       main->nloop <= form->nloop && form->nloop - main->nloop <= lacking &&
	       main->nreduce <= form->niter - form->nloop;
}

static const RowForm *
row_form(VendorForms *forms, int row, int copies)
{
	const RowForm **slot = &forms->form[row][copies];
	must(row < MAX_ROWS && copies < MAX_COPIES);
	if (!*slot) {
		RowForm *form = NEW(forms->arena, RowForm);
		row_read(forms->arena, vendor_at(row), copies, form);
		*slot = form;
	}
	return *slot;
}

static bool
match_row(Solver *s, Arena *arena, int number)
{
	const Expr *first = s->reads[0], *second = s->reads[1];
	const VendorRow *row = vendor_at(number);
	for (int copies = row->least; copies <= row->most; copies++) {
		const RowForm *form = s->form = row_form(s->forms, number, copies);
		if (!has_room(form, s->main) || (form->noperand > 1) != (second != NULL))
			continue;
		for (int swap = 0; swap < form->noperand; swap++) {
			s->reads[0] = swap ? second : first;
			s->reads[1] = swap ? first : second;
			s->taken = 0;
			list_alike(s);
			if (match_has_types(s->match->program, s->reads, row) && bind_iters(s, arena, 0))
				return true;
		}
		s->reads[0] = first;
		s->reads[1] = second;
	}
	return false;
}

/* Derivation (no `found`) takes transposed convolutions apart, and looks for what they become. */
static bool
is_asked(Solver *s, const Target *target, int number)
{
	const VendorRow *row = vendor_at(number);
	if (!row->stage || (target && !target_calls(target, row->library)))
		return false;
	const RowForm *form = row_form(s->forms, number, row->least);
	if (form->is_divided && !s->found)
		return false;
	return s->rows == ROWS_all || (s->rows == ROWS_of_windows) == form->has_windows;
}

/* The stage to match; what holds of it whatever the row. */
static bool
begin(Solver *s, const Program *program)
{
	if (s->main == program->stages[0])
		return true;
	s->main = program->stages[0];
	if (!match_main_reads(program, s->main, s->reads))
		return false;
	s->facts = facts_of_stage(s->ctx, s->arena, s->main);
	s->is_border = guard_is_the_border(s, NULL);
	return true;
}

static bool
is_found(const VendorFound *found, const VendorRow *row)
{
	bool is = false;
	for (int i = 0; i < found->count; i++)
		is |= found->match[i].row == row;
	return is;
}

/* Whether a row that fits loses more than it may. */
static bool
is_lossy(Solver *s, const VendorRow *row)
{
	bool is = row->loses & ~LOSES_padding & ~s->forms->losses.calls;
	if (is && s->found)
		s->found->lossy = row;
	return is;
}

/* The first row that fits, or with `found` all; tensors in the order of the row come before any
 * others. */
static bool
match_rows(Solver *s, Arena *arena, const Target *target, const bool *fixed, VendorMatch *match)
{
	const Program *given = match->program, *joined = NULL;
	for (int i = 0; i < 2 * vendor_count(); i++) {
		int number = i % vendor_count();
		if (!is_asked(s, target, number) || (s->found && is_found(s->found, vendor_at(number))))
			continue;
		bool joins = vendor_at(number)->storage & STORAGE_joined;
		if (joins && !joined)
			joined = program_collapse_dims(arena, given, fixed);
		match->program = joins ? joined : given;
		s->in_order = i < vendor_count();
		if (!begin(s, match->program))
			return false;
		bool is_divided = row_form(s->forms, number, vendor_at(number)->least)->is_divided;
		if (!(s->is_border || is_divided) || !match_row(s, arena, number) ||
		    is_lossy(s, vendor_at(number)))
			continue;
		if (!s->found)
			return true;
		s->found->match[s->found->count++] = *match;
	}
	return false;
}

/* `asked` has the forms, and which rows. */
static bool
match_main(Solver asked, Arena *arena, const Program *program, const Target *target,
           const bool *fixed, VendorMatch *match)
{
	const Expr *reads[VENDOR_OPERANDS];
	if (program->nstage == 0 || program->noutput != 1 || !program->outputs[0] ||
	    !match_main_reads(program, program->stages[0], reads))
		return false;
	Arena *scratch = arena_new_in(arena, "vendor_match");
	Solver s = asked;
	s.arena = s.names.arena = scratch;
	s.ctx = program->ctx;
	s.match = match;
	match->program = program;
	bool is_match = match_rows(&s, arena, target, fixed, match);
	arena_reset(scratch);
	return is_match;
}

VendorFound
vendor_match(VendorForms *forms, Arena *arena, const Program *program, const Target *target,
             const bool *fixed)
{
	VendorMatch match, all[MAX_ROWS];
	VendorFound found = {.match = all};
	match_main((Solver){.forms = forms, .found = &found}, arena, program, target, fixed, &match);
	match_wholes(forms, arena, program, target, fixed, &found);
	found.match = arena_memdup(arena, all, (size_t)found.count * sizeof *all);
	return found;
}

VendorForms *
vendor_forms_new(Arena *arena, const TextOperators *operators, VendorLosses losses)
{
	VendorForms *forms = NEW(arena, VendorForms);
	forms->arena = arena;
	forms->losses = losses;
	if (operators)
		forms->operators = *operators;
	return forms;
}

bool
vendor_match_row(VendorForms *forms, Arena *arena, const Program *program, VendorRows rows,
                 VendorMatch *match)
{
	return match_main((Solver){.forms = forms, .rows = rows}, arena, program, NULL, NULL, match);
}
