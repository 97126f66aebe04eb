/* Random programs, each written twice: what differs only in names, in the order of sums, operands
 * and conditions, and in how these are nested has one fingerprint; and programs of one fingerprint
 * have equal values. These are of the same text with i32 for f32: there every order is exact.
 *
 * usage: expr_fingerprint [COUNT [FIRST]]    programs; 20,000 in make test, 1,000,000 for all
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/interp/interp.h"
#include "expr/stage/canon.h"
#include "random_number.h"
#include "unit.h"

static int count = 20000, first_turn;

enum { MAX_TERMS = 6, MAX_LOOPS = 2, MAX_SUMS = 3 };

/* One program in two spellings. */
typedef struct Twin {
	uint64_t state;
	Buf text[2];
	int nloop, nsum;     /* of the stage being written */
	int extent[8];       /* of its iterators */
	char name[2][8];     /* of its iterators, in each spelling */
	bool is_free;        /* in a term whose sums and products may be regrouped */
	bool has_first;      /* the stage T is there to be read */
	const char *numbers; /* dims of the inputs */
} Twin;

static int
pick(Twin *twin, int below)
{
	return (int)random_below(&twin->state, (unsigned)below);
}

static void
both(Twin *twin, const char *text)
{
	buf_puts(&twin->text[0], text);
	buf_puts(&twin->text[1], text);
}

/* A part in both spellings, to be joined with others. */
typedef struct Part {
	const char *text[2];
} Part;

static Arena *arena;

static Part
part(const char *a, const char *b)
{
	return (Part){{a, b}};
}

/* ---- indices --------------------------------------------------------------------------------- */

/* The terms of a linear form, in another order in the second spelling. */
static Part
linear(Twin *twin)
{
	int n = twin->nloop + twin->nsum, terms = 1 + pick(twin, 2), constant = pick(twin, 5) - 2;
	Part sum = part(arena_printf(arena, "%d", constant), arena_printf(arena, "%d", constant));
	for (int k = 0; k < terms && n > 0; k++) {
		int i = pick(twin, n), c = pick(twin, 4) - 1;
		c += c <= 0;
		const char *a = arena_printf(arena, "%d*%c", c, twin->name[0][i]);
		const char *b = arena_printf(arena, "%c*%d", twin->name[1][i], c);
		sum = part(arena_printf(arena, "%s + %s", a, sum.text[0]),
		           pick(twin, 2) ? arena_printf(arena, "%s + %s", sum.text[1], b)
		                         : arena_printf(arena, "%s + %s", b, sum.text[1]));
	}
	return sum;
}

static Part
condition(Twin *twin)
{
	static const char *const op[] = {"<", "<=", "==", "!="}, *const flipped[] = {">",
	                                                                             ">=", "==", "!="};
	int which = pick(twin, 9);
	Part a = linear(twin);
	if (which == 8)
		return part(arena_printf(arena, "(%s) %% 2 == 0", a.text[0]),
		            arena_printf(arena, "0 == (%s) %% 2", a.text[1]));
	Part b = linear(twin);
	which = which < 3 ? 0 : which < 6 ? 1 : which < 7 ? 2 : 3;
	const char *first = arena_printf(arena, "%s %s %s", a.text[0], op[which], b.text[0]);
	if (which == 0 && pick(twin, 2))
		return part(first, arena_printf(arena, "%s + 1 <= %s", a.text[1], b.text[1]));
	return part(first, arena_printf(arena, "%s %s %s", b.text[1], flipped[which], a.text[1]));
}

/* An index of a dim: always in range. */
static Part
position(Twin *twin, int extent)
{
	int i = pick(twin, 8);
	if (i < twin->nloop + twin->nsum && twin->extent[i] <= extent)
		return part(arena_printf(arena, "%c", twin->name[0][i]),
		            arena_printf(arena, "%c", twin->name[1][i]));
	Part at = linear(twin);
	return part(arena_printf(arena, "(%s)%%%d", at.text[0], extent),
	            arena_printf(arena, "(%s)%%%d", at.text[1], extent));
}

/* ---- scalars --------------------------------------------------------------------------------- */

static Part scalar(Twin *twin, int depth);

static Part
leaf(Twin *twin)
{
	int which = pick(twin, 4);
	if (which == 0) {
		const char *number = arena_printf(arena, "f32(%d)", pick(twin, 5) - 2);
		return part(number, number);
	}
	if (which == 1) {
		Part i = position(twin, 5);
		return part(arena_printf(arena, "V[%s]", i.text[0]),
		            arena_printf(arena, "V[%s]", i.text[1]));
	}
	bool is_first = which == 2 && twin->has_first;
	Part i = position(twin, 4), j = position(twin, 5);
	if (pick(twin, 6) == 0) {
		Part k = linear(twin);
		return part(arena_printf(arena, "(V[%s] else 1)", k.text[0]),
		            arena_printf(arena, "(V[%s] else 1)", k.text[1]));
	}
	return part(arena_printf(arena, "%s[%s, %s]", is_first ? "T" : "X", i.text[0], j.text[0]),
	            arena_printf(arena, "%s[%s, %s]", is_first ? "Q" : "X", i.text[1], j.text[1]));
}

/* Parts joined by an operator: in the same grouping, operands of each pair in any order; or, where
 * the operation is on a set, in any order and grouping. */
static Part
join(Twin *twin, const char *op, int n, const Part *parts, bool is_set)
{
	const char *list[2][MAX_TERMS];
	for (int k = 0; k < n; k++)
		for (int s = 0; s < 2; s++)
			list[s][k] = parts[k].text[s];
	for (int left = n; left > 1; left--) {
		int at = pick(twin, left - 1), with = at + 1;
		list[0][at] = arena_printf(arena, "(%s %s %s)", list[0][at], op, list[0][with]);
		memmove(&list[0][with], &list[0][with + 1], (size_t)(left - with - 1) * sizeof **list);
		if (is_set) {
			at = pick(twin, left);
			with = (at + 1 + pick(twin, left - 1)) % left;
		}
		bool is_swapped = pick(twin, 2);
		const char *a = list[1][is_swapped ? with : at], *b = list[1][is_swapped ? at : with];
		list[1][at] = arena_printf(arena, "(%s %s %s)", a, op, b);
		memmove(&list[1][with], &list[1][with + 1], (size_t)(left - with - 1) * sizeof **list);
	}
	return part(list[0][0], list[1][0]);
}

static Part
scalar(Twin *twin, int depth)
{
	Part parts[MAX_TERMS];
	if (depth == 0)
		return leaf(twin);
	int n = 2 + pick(twin, 2), which = pick(twin, 9);
	for (int k = 0; k < n; k++)
		parts[k] = scalar(twin, depth - 1 - pick(twin, depth));
	if (which < 6)
		return join(twin, which % 2 ? "*" : "+", n, parts, twin->is_free);
	if (which == 6)
		return part(arena_printf(arena, "(%s - %s)", parts[0].text[0], parts[1].text[0]),
		            arena_printf(arena, "(%s - %s)", parts[0].text[1], parts[1].text[1]));
	if (which == 7) {
		const char *f = pick(twin, 2) ? "max" : "min";
		return part(arena_printf(arena, "%s(%s, %s)", f, parts[0].text[0], parts[1].text[0]),
		            arena_printf(arena, "%s(%s, %s)", f, parts[1].text[1], parts[0].text[1]));
	}
	Part c = condition(twin);
	bool is_turned = pick(twin, 2);
	return part(
		arena_printf(arena, "(%s ? %s : %s)", c.text[0], parts[0].text[0], parts[1].text[0]),
		is_turned
			? arena_printf(arena, "(!(%s) ? %s : %s)", c.text[1], parts[1].text[1],
	                       parts[0].text[1])
			: arena_printf(arena, "(%s ? %s : %s)", c.text[1], parts[0].text[1], parts[1].text[1]));
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void
shuffle(Twin *twin, int *order, int n)
{
	for (int k = 0; k < n; k++)
		order[k] = k;
	for (int k = n - 1; k > 0; k--) {
		int with = pick(twin, k + 1), old = order[k];
		order[k] = order[with];
		order[with] = old;
	}
}

static void
write_stage(Twin *twin, const char *const *names, bool is_first)
{
	static const char *const rows[] = {"sum", "sum", "sum", "max", "prod"};
	static const int extents[] = {1, 2, 3, 3, 5};
	int order[MAX_SUMS], nguard = pick(twin, 4), what = pick(twin, 6);
	twin->nloop = is_first ? 2 : pick(twin, MAX_LOOPS + 1);
	twin->nsum = what == 0 ? 0 : 1 + pick(twin, MAX_SUMS);
	twin->is_free = what > 0 && strcmp(rows[what - 1], "max") != 0;
	for (int i = 0; i < twin->nloop + twin->nsum; i++) {
		twin->extent[i] = is_first && i < 2 ? 4 + i : extents[pick(twin, 5)];
		twin->name[0][i] = (char)('a' + i);
		twin->name[1][i] = (char)('z' - (i * 3 + 1) % 8);
	}
	for (int s = 0; s < 2; s++) {
		buf_printf(&twin->text[s], " %s[", names[s]);
		for (int i = 0; i < twin->nloop; i++)
			buf_printf(&twin->text[s], "%s%c:%d", i ? ", " : "", twin->name[s][i], twin->extent[i]);
	}
	both(twin, "]: f32 = ");
	if (what > 0) {
		shuffle(twin, order, twin->nsum);
		for (int s = 0; s < 2; s++) {
			buf_printf(&twin->text[s], "%s(", rows[what - 1]);
			for (int k = 0; k < twin->nsum; k++) {
				int i = twin->nloop + (s ? order[k] : k);
				buf_printf(&twin->text[s], "%s%c:%d", k ? ", " : "", twin->name[s][i],
				           twin->extent[i]);
			}
		}
		Part terms[MAX_TERMS];
		for (int k = 0; k < nguard; k++)
			terms[k] = condition(twin);
		if (nguard > 0) {
			Part guard = join(twin, "&&", nguard, terms, true);
			buf_printf(&twin->text[0], " where %s", guard.text[0]);
			buf_printf(&twin->text[1], " where %s", guard.text[1]);
		}
		both(twin, ") ");
	}
	Part body = scalar(twin, 2);
	buf_printf(&twin->text[0], "%s\n", body.text[0]);
	buf_printf(&twin->text[1], "%s\n", body.text[1]);
}

static void
write_program(Twin *twin)
{
	both(twin, "expr f(X: f32[4,5], V: f32[5]) -> Y {\n");
	twin->has_first = false;
	if (pick(twin, 2)) {
		write_stage(twin, (const char *const[]){"T", "Q"}, true);
		twin->has_first = true;
	}
	write_stage(twin, (const char *const[]){"Y", "Y"}, false);
	both(twin, "}\n");
}

/* ---- values ---------------------------------------------------------------------------------- */

static const Array *
make_input(Arena *owner, int rank, const int64_t *dims, uint64_t seed)
{
	Array *array = array_new(owner, DT_I32, rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_i64(DT_I32, array->data, i, (int64_t)random_below(&seed, 7) - 3);
	return array;
}

static Program *
with_integers(const char *text)
{
	char *copy = arena_strdup(arena, text);
	for (char *at = strstr(copy, "f32"); at; at = strstr(at, "f32"))
		*at = 'i';
	return program_parse(expr_ctx_new(arena), "integers.e", copy);
}

/* What the program computes. */
static uint64_t
value_of(const Program *program, const Array *const *inputs)
{
	Array *out = NULL;
	program_eval(arena, program, NULL, inputs, &out);
	uint64_t hash = hash64(out->dims, (size_t)out->rank * sizeof *out->dims);
	return hash_mix(hash, hash64(out->data, array_bytes(out)));
}

typedef struct Known {
	Hash128 fingerprint;
	uint64_t value;
} Known;

START_TEST(random_programs)
{
	Arena *owner = arena_new("inputs");
	const Array *inputs[] = {make_input(owner, 2, (int64_t[]){4, 5}, 1),
	                         make_input(owner, 1, (int64_t[]){5}, 2)};
	size_t slots = 1, repeated = 0;
	while (slots < 2 * (size_t)count)
		slots *= 2;
	Known *known = NEW_N(owner, Known, slots);
	arena = arena_new("programs");
	for (int turn = first_turn; turn < first_turn + count; turn++) {
		ArenaMark mark = arena_mark(arena);
		Twin twin = {.state = (uint64_t)turn, .text = {{.arena = arena}, {.arena = arena}}};
		write_program(&twin);
		const char *first = buf_text(&twin.text[0]), *second = buf_text(&twin.text[1]);
		const Program *a = program_parse(expr_ctx_new(arena), "first.e", first);
		const Program *b = program_parse(expr_ctx_new(arena), "second.e", second);
		Hash128 hash = program_fingerprint(a);
		ck_assert_msg(hash128_equal(hash, program_fingerprint(b)), "program %d has two\n%s%s", turn,
		              first, second);
		uint64_t value = value_of(with_integers(first), inputs);
		if (turn % 16 == 0) {
			const Program *other = with_integers(second);
			ck_assert_msg(value == value_of(other, inputs), "program %d\n%s%s", turn, first,
			              second);
			ck_assert_msg(value == value_of(program_canon(other), inputs),
			              "the canonical form of program %d\n%s", turn, second);
		}
		size_t at = hash.low & (slots - 1);
		while (known[at].fingerprint.low && !hash128_equal(known[at].fingerprint, hash))
			at = (at + 1) & (slots - 1);
		repeated += known[at].fingerprint.low != 0;
		ck_assert_msg(!known[at].fingerprint.low || known[at].value == value,
		              "program %d has the fingerprint of another\n%s", turn, first);
		known[at] = (Known){hash, value};
		arena_release(arena, mark);
	}
	if (count > 20000)
		printf("%d programs, %zu with a fingerprint met before\n", count, repeated);
	arena_free(arena);
	arena_free(owner);
}
END_TEST

int
main(int argc, char **argv)
{
	count = argc > 1 ? atoi(argv[1]) : count;
	first_turn = argc > 2 ? atoi(argv[2]) : 0;
	TCase *t = tcase_create("expr_fingerprint");
	tcase_add_test(t, random_programs);
	return unit_run_for(t, 0); /* as long as its count takes */
}
