/* lower_take_codes: weights of 4 and 8 bits stay so; the sum of products that they serve unpacks
 * them in vectors.
 *
 *     Y[m,n] = sum(k) X[m,k] * ((f32(W[n,k]) - f32(Z[n,k/32])) * S[n,k/32])        W is u4[N,K]
 *     => words of eight terms, side by side for as many columns n as there are lanes:
 *        f32(W[n,k])    is  f32(i32(W'[n/16, k/8, n%16] >> 4*(k%8) & 15))          W' is u32
 *        Z[n,k/32]      is  Z'[n/16, k/32, n%16]
 *
 * A zero point in the middle of the range is taken off when compiling: the codes are signed then.
 */
#include <string.h>

#include "lower/weights.h"
#include "program/forms.h"
#include "target/maker.h"

typedef struct Codes {
	Lowering *low;
	ExprCtx *ctx;
	const Stage *main;
	const Expr *factor; /* of the product: what is computed of constants */
	const Expr *read;   /* of the codes, in it */
	int n;              /* loop of columns; the sum's only iterator counts terms */
	int64_t columns, terms, lanes;
	int ninput;
	Tensor **inputs; /* of the new program … */
	MBuffer **args;  /* … and where they lie */
} Codes;

/* ---- recognising ----------------------------------------------------------------------------- */

static const MBuffer *
constant_of(const Codes *c, const Tensor *tensor)
{
	for (int i = 0; i < c->ninput; i++)
		if (c->inputs[i] == tensor && c->args[i]->kind == PB_WEIGHT && !c->args[i]->layout)
			return c->args[i];
	return NULL;
}

static int
code_bits(const Codes *c)
{
	return dtype_bits(c->read->tensor->type);
}

/* An index by column, by term, or by block of terms. */
static bool
is_simple(const Codes *c, const Expr *index)
{
	int64_t block;
	bool is_block = index->op == EX_floordiv && expr_as_i64(index->arg[1], &block) && block > 0;
	const Expr *of = is_block ? index->arg[0] : index;
	return expr_is_const(index) ||
	       (of->op == EX_iter && (of->iter == c->n || of->iter == c->main->nloop));
}

/* Which of the factor's reads are the codes: the one that each term has another element of. */
static bool
find_codes(Codes *c)
{
	int sum = c->main->nloop;
	c->read = NULL;
	for (ExprWalk walk = expr_walk(c->factor); expr_step(&walk);) {
		const Expr *e = walk.e;
		if (e->op != EX_read)
			continue;
		bool by_term = false;
		for (int d = 0; d < e->argc; d++)
			by_term |= e->arg[d]->op == EX_iter && e->arg[d]->iter == sum;
		if (!constant_of(c, e->tensor) || (by_term && c->read))
			return false;
		c->read = by_term ? e : c->read;
	}
	if (!c->read || c->read->argc != 2 || !dtype_is_code(c->read->tensor->type))
		return false;
	const Expr *const *at = c->read->arg;
	const Expr *column = at[0]->op == EX_iter && at[0]->iter == sum ? at[1] : at[0];
	if (column->op != EX_iter || column->iter >= sum)
		return false;
	c->n = column->iter;
	for (ExprWalk walk = expr_walk(c->factor); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && d < walk.e->argc; d++)
			if (!is_simple(c, walk.e->arg[d]))
				return false;
	return true;
}

static bool
find_sizes(Codes *c)
{
	const Target *target = c->low->context->target;
	const Iter *column = &c->main->iters[c->n], *term = &c->main->iters[c->main->nloop];
	c->lanes = target_lanes(target, DT_F32);
	return dim_is(column->lo, 0) && dim_is(term->lo, 0) && dim_is_const(column->hi, &c->columns) &&
	       dim_is_const(term->hi, &c->terms) &&
	       target_unpacks(target, code_bits(c), c->columns, c->terms);
}

static bool
recognise(Codes *c)
{
	const Expr *product = stage_summed_product(c->main);
	if (!product || c->main->guard || c->main->nreduce != 1 || product->type != DT_F32)
		return false;
	for (int k = 0; k < 2; k++) {
		c->factor = product->arg[k];
		const Expr *x = expr_without_casts(product->arg[1 - k]);
		if (x->op == EX_read && c->factor->op != EX_read && !expr_reads(c->factor, x->tensor) &&
		    find_codes(c))
			return !expr_uses_iter(x, c->n) && find_sizes(c);
	}
	return false;
}

/* ---- what is stored -------------------------------------------------------------------------- */

/* The element of a constant that a read of the factor takes at this column and term. */
static int64_t
element_at(const Codes *c, const Expr *read, int64_t column, int64_t term)
{
	int64_t at = 0, extent, index = 0, block;
	for (int d = 0; d < read->argc; d++) {
		const Expr *e = read->arg[d];
		bool is_block = e->op == EX_floordiv && expr_as_i64(e->arg[1], &block);
		const Expr *of = is_block ? e->arg[0] : e;
		if (!expr_as_i64(e, &index))
			index = (of->iter == c->n ? column : term) / (is_block ? block : 1);
		must(dim_is_const(read->tensor->hi[d], &extent));
		at = at * extent + index;
	}
	return at;
}

/* A new input for a constant, and where it lies. */
static const Tensor *
add_input(Codes *c, const Tensor *like, const char *word, Array *data)
{
	Tensor *tensor = tensor_copy(c->ctx, like);
	MBuffer *buffer = lower_weight(c->low, constant_of(c, like), word, data);
	tensor->type = data->type;
	tensor->rank = data->rank;
	tensor->lo = NULL;
	tensor->hi = buffer->dims;
	c->inputs[c->ninput] = tensor;
	c->args[c->ninput++] = buffer;
	return tensor;
}

/* A read of [n/lanes, row, n%lanes]. */
static const Expr *
read_blocked(const Codes *c, const Tensor *tensor, const Expr *row)
{
	ExprCtx *ctx = c->ctx;
	const Expr *n = expr_iter(ctx, c->n), *lanes = expr_i64(ctx, c->lanes);
	return expr_read(
		ctx, tensor,
		(const Expr *[]){expr_floordiv(ctx, n, lanes), row, expr_floormod(ctx, n, lanes)});
}

/* The codes less `middle`, as many as a word has. */
static Array *
words_of(const Codes *c, int64_t middle)
{
	int bits = code_bits(c);
	int64_t count = 32 / bits, words = c->terms / count;
	const Array *data = constant_of(c, c->read->tensor)->data;
	Array *out = array_new(c->low->arena, DT_U32, 3,
	                       (const int64_t[]){c->columns / c->lanes, words, c->lanes});
	uint32_t *to = out->data, mask = (1u << bits) - 1;
	for (int64_t n = 0; n < c->columns; n++)
		for (int64_t k = 0; k < c->terms; k++) {
			int64_t code = dtype_load_i64(data->type, data->data, element_at(c, c->read, n, k));
			int64_t word = (n / c->lanes * words + k / count) * c->lanes + n % c->lanes;
			to[word] |= ((uint32_t)(code - middle) & mask) << k % count * bits;
		}
	return out;
}

/* Code k of its word as i32. */
static const Expr *
unpacked(const Codes *c, const Tensor *words, bool is_signed)
{
	ExprCtx *ctx = c->ctx;
	int bits = code_bits(c);
	const Expr *k = expr_iter(ctx, c->main->nloop), *count = expr_i64(ctx, 32 / bits);
	const Expr *word = read_blocked(c, words, expr_floordiv(ctx, k, count));
	const Expr *from = expr_mul(ctx, expr_floormod(ctx, k, count), expr_i64(ctx, bits));
	if (!is_signed) {
		const Expr *code = expr_shr(ctx, word, expr_cast(ctx, DT_U32, from));
		const Expr *mask = expr_const(ctx, DT_U32, (Scalar){.u64 = (1u << bits) - 1});
		return expr_cast(ctx, DT_I32, expr_bitand(ctx, code, mask));
	}
	const Expr *behind = expr_cast(ctx, DT_U32, expr_sub(ctx, expr_i64(ctx, 32 - bits), from));
	const Expr *top = expr_cast(ctx, DT_I32, expr_shl(ctx, word, behind));
	return expr_shr(ctx, top, expr_const(ctx, DT_I32, (Scalar){.i64 = 32 - bits}));
}

/* ---- the factor over them -------------------------------------------------------------------- */

/* A number where all elements of a constant are that. */
static const Expr *
common_number(const Codes *c, const Tensor *tensor)
{
	const Array *data = constant_of(c, tensor)->data;
	double first = array_count(data) > 0 ? dtype_load_f64(data->type, data->data, 0) : 0;
	for (int64_t i = 0; i < array_count(data); i++)
		if (dtype_load_f64(data->type, data->data, i) != first)
			return NULL;
	return expr_number(c->ctx, DT_F32, first);
}

/* The index of a read that counts terms or blocks of them; NULL: none does. */
static const Expr *
row_of(const Codes *c, const Expr *read)
{
	for (int d = 0; d < read->argc; d++)
		if (expr_uses_iter(read->arg[d], c->main->nloop))
			return read->arg[d];
	return NULL;
}

/* What a read of a scale or zero point gives at each column and block, as f32 or bytes. */
static Array *
parameters_of(const Codes *c, const Expr *read)
{
	const Array *data = constant_of(c, read->tensor)->data;
	const Expr *row = row_of(c, read);
	int64_t block = 1;
	if (row && row->op == EX_floordiv)
		expr_as_i64(row->arg[1], &block);
	int64_t rows = row ? (c->terms + block - 1) / block : 1;
	bool is_small = dtype_is_code(data->type);
	DType type = !is_small ? DT_F32 : data->type == DT_I4 || data->type == DT_I8 ? DT_I8 : DT_U8;
	Array *out =
		array_new(c->low->arena, type, 3, (const int64_t[]){c->columns / c->lanes, rows, c->lanes});
	for (int64_t n = 0; n < c->columns; n++)
		for (int64_t r = 0; r < rows; r++) {
			int64_t from = element_at(c, read, n, r * block);
			int64_t to = (n / c->lanes * rows + r) * c->lanes + n % c->lanes;
			dtype_store_f64(type, out->data, to, dtype_load_f64(data->type, data->data, from));
		}
	return out;
}

/* A scale or zero point as f32, read where it is stored for lanes. */
static const Expr *
parameter(Codes *c, const Expr *read)
{
	const Expr *number = common_number(c, read->tensor), *row = row_of(c, read);
	if (number)
		return number;
	if (!expr_uses_iter(read, c->n))
		return expr_cast(c->ctx, DT_F32, read);
	const Tensor *made = add_input(c, read->tensor, "blocks", parameters_of(c, read));
	return expr_cast(c->ctx, DT_F32, read_blocked(c, made, row ? row : expr_i64(c->ctx, 0)));
}

/* The factor with its scales and zero points read where they are stored now. */
static const Expr *
with_parameters(Codes *c)
{
	const Expr *reads[4], *factor = c->factor;
	size_t count = 0;
	for (ExprWalk walk = expr_walk(c->factor); expr_step(&walk);) {
		if (walk.e->op != EX_read || walk.e == c->read)
			continue;
		if (count < countof(reads))
			reads[count] = walk.e;
		count++;
	}
	if (count > countof(reads))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const Expr *wide = expr_cast(c->ctx, DT_F32, reads[i]);
		factor = expr_replace(c->ctx, factor, wide, parameter(c, reads[i]));
	}
	return factor;
}

/* What the codes less a zero point in the middle of their range, the same for all, are; NULL: it is
 * another one. */
static const Expr *
find_middle(const Codes *c, const Expr *factor, const Expr *code)
{
	const Expr *middle = expr_number(c->ctx, DT_F32, 1 << (code_bits(c) - 1));
	DType type = c->read->tensor->type;
	for (ExprWalk walk = expr_walk(factor); expr_step(&walk);)
		if (walk.e->op == EX_sub && walk.e->arg[0] == code && walk.e->arg[1] == middle &&
		    (type == DT_U4 || type == DT_U8))
			return walk.e;
	return NULL;
}

/* The factor over words; NULL: it does something else with the codes. */
static const Expr *
with_words(Codes *c, const Expr *factor)
{
	ExprCtx *ctx = c->ctx;
	const Expr *code = expr_cast(ctx, DT_F32, c->read), *less = find_middle(c, factor, code);
	DType type = c->read->tensor->type;
	bool is_signed = less || type == DT_I4 || type == DT_I8;
	const Expr *rest = expr_replace(ctx, factor, less ? less : code, expr_number(ctx, DT_F32, 0));
	if (expr_reads(rest, c->read->tensor))
		return NULL;
	const Tensor *words =
		add_input(c, c->read->tensor, "words", words_of(c, less ? 1 << (code_bits(c) - 1) : 0));
	return expr_replace(ctx, factor, less ? less : code,
	                    expr_cast(ctx, DT_F32, unpacked(c, words, is_signed)));
}

/* ---- the program ----------------------------------------------------------------------------- */

static const Program *
over_words(Codes *c, const Program *p)
{
	const Expr *factor = with_parameters(c);
	factor = factor ? with_words(c, factor) : NULL;
	if (!factor)
		return NULL;
	Stage *made = stage_clone(c->ctx, c->main);
	const Expr **body = NEW(c->low->arena, const Expr *);
	*body = expr_replace(c->ctx, c->main->body[0], c->factor, factor);
	made->body = body;
	Map results = {.arena = c->low->arena};
	map_set_ptr(&results, c->main->results[0], made->results[0]);
	const Program *q = program_substitute(p, &results);
	return program_new(c->ctx, q->name, c->ninput, c->inputs, q->noutput, q->outputs);
}

const Program *
lower_take_codes(Lowering *low, const Program *program, MBuffer ***args)
{
	enum { MOST_MADE = 5 }; /* constants in a factor */
	Codes c = {.low = low, .ctx = program->ctx, .ninput = program->ninput};
	bool *is_constant = NEW_N(low->arena, bool, c.ninput + 1);
	c.inputs = NEW_N(low->arena, Tensor *, c.ninput + MOST_MADE);
	c.args = NEW_N(low->arena, MBuffer *, c.ninput + MOST_MADE);
	for (int i = 0; i < c.ninput; i++) {
		c.inputs[i] = program->inputs[i];
		c.args[i] = (*args)[i];
		is_constant[i] = c.args[i]->kind == PB_WEIGHT && !c.args[i]->layout;
	}
	const Program *p = program_inline_codes(program, is_constant);
	if (p->nstage == 0)
		return program;
	c.main = p->stages[0];
	if (!recognise(&c) || !(p = over_words(&c, p)))
		return program;
	*args = c.args;
	return p;
}
