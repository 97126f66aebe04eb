/* Einsum: a sum of products over named axes.
 *
 *     "bij,bjk->bik"     Y[b,i,k] = sum(j:J) A[b,i,j] * B[b,j,k]
 *
 * A letter is one extent wherever it stands; `...` stands for the leading axes, aligned from behind
 * and broadcast. Without `->` the result has the axes of `...` and the letters that occur once, in
 * alphabetical order.
 */
#include <string.h>

#include "graph/einsum.h"
#include "graph/ops/helpers.h"

_Noreturn static void
fail_equation(const Node *node, const char *why)
{
	fail(&node->loc, "equation \"%s\": %s", attr_string(node, "equation"), why);
}

static void
add_label(const Node *node, EinsumTerm *term, int label)
{
	if (term->rank >= MAX_RANK)
		fail_equation(node, "too many axes");
	term->label[term->rank++] = label;
}

static void
add_dots(const Node *node, EinsumTerm *term, int count)
{
	for (int i = count - 1; i >= 0; i--)
		add_label(node, term, EINSUM_DOTS + i);
}

/* Letters of one term at *at, which is moved behind it; dots >= 0 says how many axes `...` has,
 * otherwise it follows from `rank`. */
static void
parse_term(const Node *node, const char **at, EinsumTerm *term, int rank, int dots)
{
	int letters = 0;
	for (const char *c = *at; *c && *c != ',' && *c != '-'; c++)
		letters += *c != ' ' && *c != '.';
	bool has_dots = false;
	for (; **at && **at != ',' && **at != '-'; (*at)++) {
		char c = **at;
		if (c == ' ')
			continue;
		if (c == '.' && !has_dots && (*at)[1] == '.' && (*at)[2] == '.') {
			int count = dots >= 0 ? dots : rank - letters;
			if (count < 0)
				fail_equation(node, "an operand has too few axes");
			add_dots(node, term, count);
			has_dots = true;
			*at += 2;
		} else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
			add_label(node, term, c);
		} else {
			fail_equation(node, "unexpected character");
		}
	}
	if (rank >= 0 && term->rank != rank)
		fail_equation(node, "an operand has another number of axes than letters");
}

/* ---- the equation ---------------------------------------------------------------------------- */

static void
implicit_output(const Node *node, Einsum *eq)
{
	add_dots(node, &eq->out, eq->ndots);
	for (int label = 0; label < EINSUM_DOTS; label++)
		if (eq->uses[label] == 1)
			add_label(node, &eq->out, label);
}

static void
count_uses(Einsum *eq)
{
	for (int k = 0; k < eq->nin; k++) {
		for (int i = 0; i < eq->in[k].rank; i++) {
			int label = eq->in[k].label[i];
			eq->uses[label]++;
			if (label >= EINSUM_DOTS && label - EINSUM_DOTS >= eq->ndots)
				eq->ndots = label - EINSUM_DOTS + 1;
		}
	}
}

static void
check_output(const Node *node, const Einsum *eq)
{
	bool is_seen[EINSUM_LABELS] = {false};
	for (int i = 0; i < eq->out.rank; i++) {
		int label = eq->out.label[i];
		if (eq->uses[label] == 0 || is_seen[label])
			fail_equation(node, "a letter of the result is unknown or stands twice");
		is_seen[label] = true;
	}
}

void
einsum_parse(const Node *node, int nin, const int *ranks, Einsum *eq)
{
	const char *at = attr_string(node, "equation");
	*eq = (Einsum){.nin = nin};
	if (nin > EINSUM_OPERANDS)
		fail_unsupported(&node->loc, "%d operands, at most %d are supported", nin, EINSUM_OPERANDS);
	for (int k = 0; k < nin; k++) {
		parse_term(node, &at, &eq->in[k], ranks[k], -1);
		if (k < nin - 1 && *at++ != ',')
			fail_equation(node, "fewer terms than operands");
	}
	if (*at == ',')
		fail_equation(node, "more terms than operands");
	count_uses(eq);
	if (!*at) {
		implicit_output(node, eq);
		return;
	}
	if (at[1] != '>')
		fail_equation(node, "expected -> before the result");
	at += 2;
	parse_term(node, &at, &eq->out, -1, eq->ndots);
	if (*at)
		fail_equation(node, "unexpected text behind the result");
	check_output(node, eq);
}

void
infer_Einsum(Infer *infer)
{
	int nin = infer->node->ninput, ranks[EINSUM_OPERANDS] = {0};
	const Dim *extent[EINSUM_LABELS] = {NULL};
	const Dim *dims[MAX_RANK];
	Einsum eq;
	for (int k = 0; k < nin && k < EINSUM_OPERANDS; k++) {
		if (!infer_input(infer, k))
			infer_fail(infer, "operand %d is missing", k);
		ranks[k] = infer_input(infer, k)->rank;
	}
	einsum_parse(infer->node, nin, ranks, &eq);
	for (int k = 0; k < nin; k++) {
		for (int i = 0; i < eq.in[k].rank; i++) {
			const Dim **e = &extent[eq.in[k].label[i]], *dim = infer_input(infer, k)->dims[i];
			*e = *e ? infer_broadcast_dim(infer, *e, dim, "extents of one letter") : dim;
		}
	}
	for (int i = 0; i < eq.out.rank; i++)
		dims[i] = extent[eq.out.label[i]];
	infer_set(infer, 0, infer_dtype(infer, 0), eq.out.rank, dims);
}

/* ---- meaning --------------------------------------------------------------------------------- */

typedef struct EinsumAxis {
	const Dim *extent;
	const Expr *at;
} EinsumAxis;

static void
find_extents(const Build *b, const Einsum *eq, EinsumAxis *axes)
{
	for (int k = 0; k < eq->nin; k++) {
		for (int i = 0; i < eq->in[k].rank; i++) {
			EinsumAxis *axis = &axes[eq->in[k].label[i]];
			const Dim *dim = b->in[k]->hi[i];
			axis->extent = axis->extent ? broadcast_dim(axis->extent, dim) : dim;
		}
	}
}

void
build_Einsum(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Type *type = b->out_types[0];
	DType work = work_type(type->dtype);
	int ranks[EINSUM_OPERANDS] = {0};
	EinsumAxis axes[EINSUM_LABELS] = {{NULL, NULL}};
	Einsum eq;
	for (int k = 0; k < b->nin && k < EINSUM_OPERANDS; k++)
		ranks[k] = b->in[k]->rank;
	einsum_parse(b->node, b->nin, ranks, &eq);
	find_extents(b, &eq, axes);
	StageBuilder *y = output_open(b, 0);
	for (int i = 0; i < eq.out.rank; i++) {
		axes[eq.out.label[i]].at = stage_iter(y, i);
		axes[eq.out.label[i]].extent = type->dims[i];
	}
	bool is_sum = false;
	for (int label = 0; label < EINSUM_LABELS; label++) {
		if (!axes[label].extent || axes[label].at)
			continue;
		axes[label].at = stage_over(y, "k", dim_const(ctx, 0), axes[label].extent);
		is_sum = true;
	}
	const Expr *body = NULL;
	for (int k = 0; k < b->nin; k++) {
		const Expr *index[MAX_RANK];
		for (int i = 0; i < b->in[k]->rank; i++) {
			const EinsumAxis *axis = &axes[eq.in[k].label[i]];
			const Dim *dim = b->in[k]->hi[i];
			index[i] =
				dim_is(dim, 1) ? expr_i64(ctx, 0) : index_within(ctx, axis->at, axis->extent, dim);
		}
		const Expr *factor = expr_cast(ctx, work, stage_read(y, b->in[k], index));
		body = body ? expr_mul(ctx, body, factor) : factor;
	}
	b->out[0] = is_sum ? stage_reduce_acc(y, REDUCE_sum, type->dtype, work, body)
	                   : stage_map(y, type->dtype, expr_cast(ctx, type->dtype, body));
}
