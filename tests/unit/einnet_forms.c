/* The derivations that EinNet was made for, each found from the plain expression: the search meets
 * a candidate whose call has the form that the law says, computed here from the sizes.
 *
 *     conv of 3x3     => matmul 1 63 72 | 16      batch, rows, columns | sum: all offsets at once
 *     dilated by 2    => conv 4 8 7 7 | 16 3 3    images, filters, sides | channels, taps: phases
 *
 * What is found has the values of what was given, and its steps replayed lead there again; a second
 * search finds the same. Searches explore whatever it costs.
 *
 * usage: einnet_forms [DEPTH]    with a depth: the sizes of EinNet's study of operators (table 3),
 *                                as the compiler searches, and what that takes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "einnet/converge.h"
#include "einnet/search.h"
#include "einnet/derivation.h"
#include "einnet_texts.h"
#include "expr/stage/canon.h"
#include "expr/stage/hash.h"
#include "target/target.h"
#include "unit.h"

static ExprCtx *ctx;

/* ---- forms ----------------------------------------------------------------------------------- */

/* What an iterator of a call moves. */
typedef enum Role { ROLE_batch, ROLE_x, ROLE_w, ROLE_window, ROLE_sum, ROLE_tap, ROLE_COUNT } Role;

static bool
is_in_window(const Expr *read, int iter)
{
	for (int d = 0; d < read->argc; d++)
		if (read->arg[d]->op != EX_iter && expr_uses_iter(read->arg[d], iter))
			return true;
	return false;
}

static Role
role_of(const Stage *stage, const Expr *x, const Expr *w, int iter)
{
	bool in_x = expr_uses_iter(x, iter), in_w = expr_uses_iter(w, iter);
	bool in_window = is_in_window(x, iter) || is_in_window(w, iter);
	if (iter >= stage->nloop)
		return in_window ? ROLE_tap : ROLE_sum;
	return in_window ? ROLE_window : in_x && in_w ? ROLE_batch : in_x ? ROLE_x : ROLE_w;
}

static void
print_sorted(Buf *buf, int64_t *extents, int count)
{
	for (int i = 0; i < count; i++)
		for (int j = i; j > 0 && extents[j] > extents[j - 1]; j--) {
			int64_t larger = extents[j];
			extents[j] = extents[j - 1];
			extents[j - 1] = larger;
		}
	for (int i = 0; i < count && extents[i] > 1; i++)
		buf_printf(buf, " %d", (int)extents[i]);
}

/* The form of a call, as above; sides and taps by size. */
static void
print_call(Buf *buf, const VendorMatch *match)
{
	const Stage *stage = match->program->stages[0];
	const Expr *x = stage->body[0]->arg[0], *w = stage->body[0]->arg[1];
	if (x->tensor != match->operands[0].tensor)
		w = x, x = stage->body[0]->arg[1];
	int64_t product[ROLE_COUNT] = {1, 1, 1, 1, 1, 1}, sides[8], taps[8];
	int nside = 0, ntap = 0;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		int64_t extent = 0;
		dim_is_const(stage->iters[i].hi, &extent);
		Role role = role_of(stage, x, w, i);
		product[role] *= extent;
		if (role == ROLE_window && extent > 1 && nside < 8)
			sides[nside++] = extent;
		if (role == ROLE_tap && extent > 1 && ntap < 8)
			taps[ntap++] = extent;
	}
	buf_printf(buf, "%s %d", match->row->name, (int)product[ROLE_batch]);
	int64_t m = product[ROLE_x], n = product[ROLE_w];
	bool is_swapped = !nside && !ntap && n > m;
	buf_printf(buf, " %d %d", (int)(is_swapped ? n : m), (int)(is_swapped ? m : n));
	print_sorted(buf, sides, nside);
	buf_printf(buf, " | %d", (int)product[ROLE_sum]);
	print_sorted(buf, taps, ntap);
}

/* The calls of a candidate's program. */
static const char *
form_of(VendorForms *forms, const Program *candidate, const bool *constant)
{
	Buf buf = {.arena = arena};
	const Program *program = program_import(ctx, candidate, NULL);
	for (int s = 0; s < program->nstage; s++) {
		const VendorMatch *match =
			einnet_is_open(program, s, constant) ? einnet_match(forms, arena, program, s) : NULL;
		if (match) {
			buf_puts(&buf, buf.size ? "; " : "");
			print_call(&buf, match);
		}
	}
	return buf_text(&buf);
}

/* ---- searches -------------------------------------------------------------------------------- */

static SearchResult
search(const Program *program, const bool *constant, int depth, bool keeps_dear)
{
	Target target = {.device = device_find("cpu:x86-64-v3")};
	SearchOptions options = {
		.target = &target, .constant = constant, .depth = depth, .keeps_dear = keeps_dear};
	return einnet_search(arena, ctx, program, &options);
}

/* With that call and at most so many kernels beside it; NULL: there is none. */
static const Candidate *
find(VendorForms *forms, const SearchResult *result, const bool *constant, const char *form,
     int kernels)
{
	for (int i = 0; i < result->list.count; i++)
		if (result->list.data[i].cost.kernels <= kernels &&
		    strcmp(form_of(forms, result->list.data[i].program, constant), form) == 0)
			return &result->list.data[i];
	return NULL;
}

static void
print_forms(VendorForms *forms, const SearchResult *result, const bool *constant)
{
	for (int i = 0; i < result->list.count; i++)
		printf("%s and %d kernels: %s\n", form_of(forms, result->list.data[i].program, constant),
		       result->list.data[i].cost.kernels,
		       derivation_text(arena, &result->list.data[i].way));
}

static void
check_candidate(const Program *given, const bool *constant, const Candidate *candidate)
{
	Binding binding = {0};
	const Program *found = program_import(ctx, candidate->program, NULL);
	const char *difference = einnet_difference(arena, given, found, &binding);
	ck_assert_msg(!difference, "%s: %s", derivation_text(arena, &candidate->way), difference);
	const Program *again = derivation_replay(arena, given, constant, &candidate->way);
	ck_assert_msg(again && hash128_equal(program_fingerprint(again), program_fingerprint(found)),
	              "%s leads elsewhere when it is replayed",
	              derivation_text(arena, &candidate->way));
}

static void
check_same(const SearchResult *a, const SearchResult *b)
{
	ck_assert_int_eq(a->list.count, b->list.count);
	ck_assert_int_eq(a->states, b->states);
	for (int i = 0; i < a->list.count; i++) {
		const Candidate *x = &a->list.data[i], *y = &b->list.data[i];
		ck_assert_str_eq(derivation_text(arena, &x->way), derivation_text(arena, &y->way));
		ck_assert(hash128_equal(program_fingerprint(x->program), program_fingerprint(y->program)));
	}
}

/* A law: what it makes of an expression, found within so many steps. */
typedef struct Law {
	const char *name, *text, *form;
	int kernels; /* at most, beside the call */
	int depth;
	bool known; /* the second factor */
} Law;

static void
check_law(const Law *law)
{
	VendorForms *forms = vendor_forms_new(arena, NULL, vendor_loses_any);
	const Program *program = program_parse(ctx, law->name, law->text);
	program_check(program);
	bool constant[] = {false, law->known};
	SearchResult result = search(program, constant, law->depth, true);
	const Candidate *found = find(forms, &result, constant, law->form, law->kernels);
	if (!found)
		print_forms(forms, &result, constant);
	ck_assert_msg(found != NULL, "%s: no '%s' for\n%s", law->name, law->form, law->text);
	ck_assert_int_le(found->way.nstep, law->depth);
	check_candidate(program, constant, found);
}

static void
try_law(const char *name, int depth, const char *text, const char *form, int kernels)
{
	check_law(&(Law){name, text, form, kernels, depth, true});
}

static void
open_arena(void)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
}

static void
close_arena(void)
{
	arena_free(arena);
}

/* ---- laws ------------------------------------------------------------------------------------ */

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

static int
quotient_up(int a, int b)
{
	return (a + b - 1) / b;
}

/* "matmul B M N | K", the larger side first. */
static const char *
matmul_form(int b, int m, int n, int k)
{
	return arena_printf(arena, "matmul %d %d %d | %d", b, larger(m, n), m + n - larger(m, n), k);
}

/* Sides and taps of one place are not said; of one tap, sides are images. */
static void
print_pair(Buf *buf, int a, int b)
{
	int64_t extents[] = {a, b};
	print_sorted(buf, extents, 2);
}

static const char *
conv_form(int n, int f, int h, int w, int c, int r, int s)
{
	Buf buf = {.arena = arena};
	n *= (r == 1 ? h : 1) * (s == 1 ? w : 1);
	buf_printf(&buf, "conv 1 %d %d", n, f);
	print_pair(&buf, r == 1 ? 1 : h, s == 1 ? 1 : w);
	buf_printf(&buf, " | %d", c);
	print_pair(&buf, r, s);
	return buf_text(&buf);
}

static const Conv convs[] = {
	/* 3x3 of EinNet's study; even taps, one side padded, dilated, batches */
	{1, 5, 4, {7, 3, 1, 1, 1, 1}, {9, 3, 1, 1, 1, 1}},
	{2, 5, 4, {7, 2, 1, 1, 0, 1}, {6, 4, 1, 1, 2, 1}},
	{1, 6, 4, {8, 3, 1, 2, 2, 2}, {11, 3, 1, 3, 3, 3}},
	{3, 6, 7, {5, 5, 1, 1, 2, 2}, {7, 3, 1, 1, 0, 0}},
};

/* One product over all positions and taps, summed at offsets. */
START_TEST(convolutions_become_products_and_sums_at_offsets)
{
	const Conv *v = &convs[_i];
	open_arena();
	try_law("offsets", 3, conv_text(v),
	        matmul_form(1, v->n * v->h.in * v->w.in, v->f * v->h.taps * v->w.taps, v->c), 1);
	close_arena();
}
END_TEST

/* Every place that a tap reads is a row: im2col. */
START_TEST(convolutions_become_products_of_unfolded_places)
{
	const Conv *v = &convs[_i];
	open_arena();
	try_law("im2col", 1, conv_text(v),
	        matmul_form(1, v->n * conv_out(&v->h) * conv_out(&v->w), v->f,
	                    v->c * v->h.taps * v->w.taps),
	        2);
	close_arena();
}
END_TEST

static const Conv dilated[] = {
	{1, 5, 4, {14, 3, 1, 2, 2, 2}, {13, 3, 1, 2, 2, 2}},
	{2, 5, 4, {9, 3, 1, 2, 2, 2}, {10, 3, 1, 3, 3, 3}},
	{1, 4, 6, {17, 2, 1, 4, 4, 0}, {11, 3, 1, 2, 2, 2}},
};

/* Phases are images; 13 is not divided by 2, nor 10 by 3. */
START_TEST(dilated_convolutions_become_plain_ones_of_phases)
{
	const Conv *v = &dilated[_i];
	int a = v->h.dilation, b = v->w.dilation;
	open_arena();
	try_law("dilated", 2, conv_text(v),
	        conv_form(v->n * a * b, v->f, quotient_up(conv_out(&v->h), a),
	                  quotient_up(conv_out(&v->w), b), v->c, v->h.taps, v->w.taps),
	        2);
	close_arena();
}
END_TEST

static const Conv transposed[] = {
	/* DCGAN's and InfoGAN's; FSRCNN's; taps that the stride does not divide, output padding */
	{1, 6, 4, {5, 4, 2, 1, 1, 0}, {7, 4, 2, 1, 1, 0}},
	{2, 6, 3, {3, 9, 4, 1, 3, 1}, {4, 9, 4, 1, 3, 1}},
	{3, 6, 4, {5, 3, 2, 1, 1, 1}, {4, 3, 2, 1, 1, 0}},
	{1, 6, 4, {4, 5, 3, 1, 2, 0}, {3, 4, 2, 1, 0, 1}},
	{1, 6, 4, {3, 2, 2, 1, 0, 0}, {4, 6, 2, 1, 2, 0}},
};

START_TEST(transposed_convolutions_become_products_and_sums_at_offsets)
{
	const Conv *v = &transposed[_i];
	open_arena();
	try_law("transposed", 3, transposed_text(v),
	        matmul_form(1, v->n * v->h.in * v->w.in, v->f * v->h.taps * v->w.taps, v->c), 1);
	close_arena();
}
END_TEST

/* How many quotients the places of the result have, of those that a tap reads. */
static int
phase_side(const Window *w)
{
	int first = w->before / w->stride, end = (transposed_out(w) - 1 + w->before) / w->stride + 1;
	int read = w->in + quotient_up(w->taps, w->stride) - 1;
	return (end < read ? end : read) - first;
}

/* Also where the stride does not divide the taps: the kernel has zeros there. */
START_TEST(transposed_convolutions_become_plain_ones_of_phases)
{
	const Conv *v = &transposed[_i];
	int a = v->h.stride, b = v->w.stride;
	open_arena();
	try_law("phases", 2, transposed_text(v),
	        conv_form(v->n, v->f * a * b, phase_side(&v->h), phase_side(&v->w), v->c,
	                  quotient_up(v->h.taps, a), quotient_up(v->w.taps, b)),
	        1);
	close_arena();
}
END_TEST

/* A generator's first layer: of one place, all that is left is the product. */
START_TEST(transposed_convolutions_of_one_place_are_products)
{
	Conv v = {3, 6, 5, {1, 4, 1, 1, 0, 0}, {1, 4, 1, 1, 0, 0}};
	open_arena();
	try_law("one place", 3, transposed_text(&v), matmul_form(1, 3, 4 * 4 * 5, 6), 1);
	close_arena();
}
END_TEST

/* A row of places: 1 x K. */
static Conv
row_of(int in, int taps, int dilation, int before)
{
	return (Conv){2, 5, 4, {1, 1, 1, 1, 0, 0}, {in, taps, 1, dilation, before, before}};
}

/* Kernels of many taps become several of few, with more filters, summed at offsets. */
START_TEST(kernels_become_several_of_few_taps)
{
	static const int taps[] = {5, 7, 11, 5, 7}, by[] = {3, 4, 4, 2, 3};
	Conv v = row_of(29, taps[_i], 1, taps[_i] / 2);
	int side = 29 + (taps[_i] / 2 < by[_i] ? taps[_i] / 2 : by[_i] - 1);
	open_arena();
	try_law("terms", 3, conv_text(&v),
	        conv_form(2, 4 * quotient_up(taps[_i], by[_i]), side, 1, 5, by[_i], 1), 1);
	close_arena();
}
END_TEST

/* EinNet's fourth study: 5x5 as 3x3 with four times the filters. */
START_TEST(kernels_of_5x5_become_3x3)
{
	Conv v = {1, 5, 3, {11, 5, 1, 1, 2, 2}, {9, 5, 1, 1, 2, 2}};
	open_arena();
	try_law("5x5", 5, conv_text(&v), conv_form(1, 12, 13, 11, 5, 3, 3), 1);
	close_arena();
}
END_TEST

/* F(m, taps): m + taps - 1 products for m values; of all m, those that suit so many places. */
START_TEST(windows_become_products_of_sums)
{
	static const int taps[] = {3, 3, 3, 5, 5, 7, 2}, m[] = {2, 4, 6, 2, 4, 2, 5},
					 in[] = {4, 29, 29, 29, 29, 29, 29};
	Conv v = row_of(in[_i], taps[_i], 1, taps[_i] / 2);
	open_arena();
	try_law("bilinear", 1, conv_text(&v),
	        matmul_form(m[_i] + taps[_i] - 1, 2 * quotient_up(conv_out(&v.w), m[_i]), 4, 5), 2);
	close_arena();
}
END_TEST

START_TEST(windows_of_two_dims_become_products_of_sums)
{
	static const int m[] = {2, 4, 6}, in[] = {4, 8, 12};
	Conv v = {1, 5, 4, {in[_i], 3, 1, 1, 1, 1}, {in[_i], 3, 1, 1, 1, 1}};
	int tiles = quotient_up(in[_i], m[_i]);
	open_arena();
	try_law("Winograd", 2, conv_text(&v),
	        matmul_form((m[_i] + 2) * (m[_i] + 2), tiles * tiles, 4, 5), 4);
	close_arena();
}
END_TEST

/* The same of the phases that a dilation leaves. */
/* Points of many channels and images need millions of sums of the operands. */
START_TEST(large_programs_are_compared_a_few_points_at_a_time)
{
	Conv v = {16, 512, 512, {16, 3, 1, 1, 1, 1}, {16, 3, 1, 1, 1, 1}};
	const bool constant[] = {false, true};
	Binding binding = {0};
	Derivation way;
	open_arena();
	ck_assert(derivation_parse(arena, "bilinear 0 1 2 4 1; bilinear 5 0 3 4 0; converge 0", &way));
	const Program *given = program_parse(ctx, "large", conv_text(&v));
	const Program *derived = derivation_replay(arena, given, constant, &way);
	ck_assert_ptr_nonnull(derived);
	const char *difference = einnet_difference(arena, given, derived, &binding);
	ck_assert_msg(!difference, "%s", difference);
	close_arena();
}
END_TEST

START_TEST(dilated_windows_become_products_of_sums)
{
	Conv v = row_of(29, 3, 2, 2);
	open_arena();
	try_law("dilated bilinear", 2, conv_text(&v),
	        matmul_form(4 + 2, 2 * 2 * quotient_up(15, 4), 4, 5), 4);
	close_arena();
}
END_TEST

/* A band of every d-th place: plain of phases, which are in the batch, so that nothing crosses from
 * one to another; and a product of all places of a phase, of which the band is read. */
static const int band_places[] = {24, 22, 21, 10}, band_dilation[] = {4, 4, 2, 3};

START_TEST(dilated_bands_become_plain_ones_of_phases)
{
	int d = band_dilation[_i], rows = quotient_up(band_places[_i], d), wide = 2 * 3 + 1;
	open_arena();
	check_law(&(Law){"plain band", band_text(2, band_places[_i], 5, 3, d),
	                 arena_printf(arena, "g2bmm %d 1 1 %d %d | 5", 2 * d, larger(rows, wide),
	                              rows < wide ? rows : wide),
	                 3, 1, false});
	check_law(&(Law){"plain sums", band_sum_text(2, band_places[_i], 5, 3, d),
	                 arena_printf(arena, "gbmm %d 1 5 %d | 1 %d", 2 * d, rows, wide), 4, 1, false});
	close_arena();
}
END_TEST

START_TEST(dilated_bands_become_products_of_phases)
{
	const int *m = band_places, *d = band_dilation;
	int rows = quotient_up(m[_i], d[_i]);
	open_arena();
	check_law(&(Law){"band", band_text(2, m[_i], 5, 3, d[_i]),
	                 matmul_form(2 * d[_i], rows, rows, 5), 2, 2, false});
	close_arena();
}
END_TEST

START_TEST(searches_repeat)
{
	open_arena();
	const char *texts[] = {conv_text(&convs[0]), transposed_text(&transposed[2]),
	                       band_text(2, 22, 5, 3, 4)};
	bool constant[] = {false, true};
	for (size_t k = 0; k < countof(texts); k++) {
		const Program *program = program_parse(ctx, "repeat.e", texts[k]);
		SearchResult a = search(program, constant, 3, true);
		SearchResult b = search(program, constant, 3, true);
		ExprCtx *other = expr_ctx_new(arena);
		SearchOptions options = {.target = &(Target){.device = device_find("cpu:x86-64-v3")},
		                         .constant = constant,
		                         .depth = 3,
		                         .keeps_dear = true};
		SearchResult c =
			einnet_search(arena, other, program_import(other, program, NULL), &options);
		check_same(&a, &b);
		check_same(&a, &c);
	}
	close_arena();
}
END_TEST

/* ---- sizes of EinNet's study ----------------------------------------------------------------- */

/* When a candidate was met: by then so many states were explored, and so many programs derived. */
typedef struct Meeting {
	const Program *program;
	double seconds;
	int states, derivations;
} Meeting;

typedef struct Study {
	double start;
	int derivations;
	VEC(Meeting) met;
} Study;

/* Looks at no form: that is no part of the search. */
static void
note_visit(void *arg, const Visit *visit)
{
	Study *study = arg;
	study->derivations += visit->step != NULL;
	if (visit->fate == FATE_candidate)
		vec_push(arena, &study->met,
		         ((Meeting){visit->program, now_seconds() - study->start, visit->state + 1,
		                    study->derivations}));
}

/* The search as it goes, and when it first met the form, if it did. */
static bool
study_search(const char *name, const Program *program, const char *form, SearchOptions options)
{
	VendorForms *forms = vendor_forms_new(arena, NULL, vendor_loses_any);
	Target target = {.device = device_find("cpu:x86-64-v3")};
	Study study = {.start = now_seconds()};
	options.target = &target;
	options.visit = note_visit;
	options.arg = &study;
	SearchResult result = einnet_search(arena, ctx, program, &options);
	double seconds = now_seconds() - study.start;
	printf("%-12s %7d states %7d met %7d too dear %5d candidates %6.0f/s %7.2f s  ", name,
	       result.states, result.met, result.dear, result.list.count,
	       (double)result.derivations / seconds, seconds);
	const Candidate *found = find(forms, &result, options.constant, form, 9);
	printf("%s\n", found ? derivation_text(arena, &found->way) : "not found");
	const Meeting *m = study.met.data;
	while (found && strcmp(form_of(forms, m->program, options.constant), form) != 0)
		m++;
	if (found)
		printf("%-12s first met after %.2f s, %d states, %d derivations\n", "", m->seconds,
		       m->states, m->derivations);
	return found != NULL;
}

/* As the compiler searches; where that leaves the form out as too dear, also without a bound. */
static void
study(const char *name, const char *text, bool known, const char *form, int depth)
{
	const Program *program = program_parse(ctx, name, text);
	bool constant[] = {false, known};
	SearchOptions options = {.constant = constant, .depth = depth};
	bool is_found = study_search(name, program, form, options);
	options.keeps_dear = true;
	options.states = 1000;
	if (!is_found)
		study_search("  unbounded", program, form, options);
}

static int
study_all(int depth)
{
	Conv conv = {1, 512, 512, {7, 3, 1, 1, 1, 1}, {7, 3, 1, 1, 1, 1}};
	Conv transpose = {16, 448, 256, {2, 4, 2, 1, 1, 0}, {2, 4, 2, 1, 1, 0}};
	Conv large = {16, 32, 1, {224, 5, 1, 1, 2, 2}, {224, 5, 1, 1, 2, 2}};
	open_arena();
	study("Conv3x3", conv_text(&conv), true, matmul_form(1, 49, 4608, 512), depth);
	study("ConvTransp.", transposed_text(&transpose), true, matmul_form(1, 64, 4096, 448), depth);
	study("Conv5x5", conv_text(&large), true, conv_form(16, 4, 226, 226, 32, 3, 3), depth);
	study("G2BMM", band_text(8, 10000, 64, 1000, 4), false, matmul_form(32, 2500, 2500, 64), depth);
	close_arena();
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return study_all(atoi(argv[1]));
	TCase *t = tcase_create("einnet_forms");
	tcase_add_loop_test(t, convolutions_become_products_and_sums_at_offsets, 0, countof(convs));
	tcase_add_loop_test(t, convolutions_become_products_of_unfolded_places, 0, countof(convs));
	tcase_add_loop_test(t, dilated_convolutions_become_plain_ones_of_phases, 0, countof(dilated));
	tcase_add_loop_test(t, transposed_convolutions_become_products_and_sums_at_offsets, 0,
	                    countof(transposed));
	tcase_add_loop_test(t, transposed_convolutions_become_plain_ones_of_phases, 0,
	                    countof(transposed));
	tcase_add_test(t, transposed_convolutions_of_one_place_are_products);
	tcase_add_loop_test(t, kernels_become_several_of_few_taps, 0, 5);
	tcase_add_test(t, kernels_of_5x5_become_3x3);
	tcase_add_loop_test(t, windows_become_products_of_sums, 0, 7);
	tcase_add_loop_test(t, windows_of_two_dims_become_products_of_sums, 0, 3);
	tcase_add_test(t, large_programs_are_compared_a_few_points_at_a_time);
	tcase_add_test(t, dilated_windows_become_products_of_sums);
	tcase_add_loop_test(t, dilated_bands_become_plain_ones_of_phases, 0, countof(band_places));
	tcase_add_loop_test(t, dilated_bands_become_products_of_phases, 0, countof(band_places));
	tcase_add_test(t, searches_repeat);
	return unit_run(t);
}
