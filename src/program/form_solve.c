/* See form.h: the numbers for which a form is a meaning. */
#include "program/form_inner.h"

#include <math.h>

bool
form_same_number(double a, double b)
{
	static const double TOLERANCE = 1e-6;
	return fabs(a - b) <= TOLERANCE * fabs(a);
}

double
form_times(const Form *meaning, const Form *form)
{
	double was = form_leading(meaning), is = form_leading(form);
	return was == 0 || is == 0 || form_same_number(was, is) ? 1 : is / was;
}

/* The number of a term gives its unknown, unless that is known: then it is compared. */
static bool
solve_number(const FormLeaves *leaves, const Term *meaning, const Term *term, Solved *solved)
{
	double rest = term->number / meaning->number;
	int open = -1;
	for (int i = 0; i < FORM_UNKNOWNS; i++) {
		int n = meaning->unknown[i];
		if (n != 0 && solved->is_known[i])
			rest /= pow(solved->value[i], n);
		else if (n != 0 && (open >= 0 || (n != 1 && n != -1)))
			return false;
		else if (n != 0)
			open = i;
	}
	if (open < 0)
		return form_same_number(1, rest) || fabs(1 - rest) <= leaves->within;
	solved->is_known[open] = true;
	solved->value[open] = meaning->unknown[open] == 1 ? rest : 1 / rest;
	return isfinite(solved->value[open]);
}

static bool solve_form(const FormLeaves *leaves, const Form *m, const Form *form, Solved *solved);

static bool
solve_atom(const FormLeaves *leaves, const Atom *m, const Atom *atom, Solved *solved)
{
	if (m->leaf && m->leaf == leaves->any && atom->leaf && atom->leaf->op == EX_read) {
		bool is_free = !solved->any || solved->any == atom->leaf;
		solved->any = atom->leaf;
		return is_free;
	}
	bool is_same = m->op == atom->op && m->leaf == atom->leaf && m->count == atom->count;
	for (int i = 0; is_same && i < m->count; i++)
		is_same = solve_form(leaves, m->args[i], atom->args[i], solved);
	return is_same;
}

static bool
solve_form(const FormLeaves *leaves, const Form *m, const Form *form, Solved *solved)
{
	/* An unknown limit may be 0, a form without terms. */
	static const Term zero;
	if (m->count == 1 && m->terms[0].count == 0 && form->count == 0)
		return solve_number(leaves, &m->terms[0], &zero, solved);
	if (m->count != form->count)
		return false;
	for (int i = 0; i < m->count; i++) {
		const Term *a = &m->terms[i], *b = &form->terms[i];
		if (a->hash != b->hash || a->count != b->count || !solve_number(leaves, a, b, solved))
			return false;
		for (int k = 0; k < a->count; k++)
			if (a->factors[k].power != b->factors[k].power ||
			    !solve_atom(leaves, a->factors[k].atom, b->factors[k].atom, solved))
				return false;
	}
	return true;
}

bool
form_solve(const FormLeaves *leaves, const Form *meaning, const Form *form, Solved *solved)
{
	*solved = (Solved){.any = NULL};
	return solve_form(leaves, meaning, form, solved);
}
