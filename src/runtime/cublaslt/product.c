/* A call as a product of cuBLASLt's: which matrices it is told, and in which order they lie.
 *
 * The library's matrices lie in columns, ours in rows. One in rows is its transpose in columns,
 * so the library computes the transpose of our product, with the factors exchanged:
 *
 *     ours                      the library's
 *     Y[m,n] = A[m,k] B[k,n]    D[n,m] = A'[n,k] B'[k,m]     A' is our B, B' our A
 *     bias over n               bias over D's rows
 *     B lies transposed         A' is told as [k,n], to be transposed
 *
 * Dims before the last two are a batch: those that lie one behind the other become one, of which
 * the library is told the stride. What is left of them are several calls.
 */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/cublaslt/api.h"

/* A matrix in rows, one of many. Steps in elements, 0 where the tensor is broadcast. */
typedef struct Matrix {
	DType type;
	int64_t rows, columns, row_step, column_step, batch_steps[LT_OUTER];
} Matrix;

typedef struct Problem {
	const VendorCall *call;
	Matrix matrices[LT_MATRICES]; /* as the library names them */
	int nbatch;
	int64_t batch[LT_OUTER];
	int epilogue;
} Problem;

static bool
refuse(const LtMaker *maker, const char *words)
{
	return refuse_with(maker->error, maker->error_size, "%s", words);
}

static int
type_of(DType type)
{
	static const struct {
		DType ours;
		int theirs;
	} types[] = {{DT_F32, LT_F32}, {DT_F16, LT_F16}, {DT_BF16, LT_BF16}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].ours == type)
			return types[i].theirs;
	return -1;
}

/* ---- matrices of the call ---- */

static void
swap(int64_t *a, int64_t *b)
{
	int64_t kept = *a;
	*a = *b;
	*b = kept;
}

/* The last two dims of an argument, and how those before step along the result's. */
static bool
read_matrix(Problem *p, int arg, const char *swapped, Matrix *m)
{
	const VendorArg *a = &p->call->args[arg];
	int64_t strides[VENDOR_MAX_RANK], stride = 1;
	if (a->rank < 2 || a->rank > p->nbatch + 2 || a->layout)
		return false;
	for (int i = a->rank - 1; i >= 0; i--) {
		strides[i] = a->strides ? a->strides[i] : stride;
		stride *= a->dims[i];
	}
	int row = a->rank - 2, missing = p->nbatch - row;
	*m = (Matrix){a->type, a->dims[row], a->dims[row + 1], strides[row], strides[row + 1], {0}};
	for (int i = 0; i < row; i++) {
		if (a->dims[i] != 1 && a->dims[i] != p->batch[missing + i])
			return false;
		m->batch_steps[missing + i] = a->dims[i] == 1 ? 0 : strides[i];
	}
	if (swapped && step_attr_int(p->call->nattr, p->call->attrs, swapped, 0, 0)) {
		swap(&m->rows, &m->columns);
		swap(&m->row_step, &m->column_step);
	}
	return true;
}

static bool
read_matrices(Problem *p, LtProduct *product)
{
	static const char *const swapped[] = {[LT_A] = "transpose_b", [LT_B] = "transpose_a"};
	const VendorArg *result = &p->call->args[p->call->narg - 1];
	if (result->rank < 2 || result->rank > VENDOR_MAX_RANK)
		return false;
	p->nbatch = result->rank - 2;
	memcpy(p->batch, result->dims, (size_t)p->nbatch * sizeof *p->batch);
	for (int i = 0; i < LT_MATRICES; i++)
		if (!read_matrix(p, product->args[i], i < LT_C ? swapped[i] : NULL, &p->matrices[i]))
			return false;
	const Matrix *m = p->matrices;
	return m[LT_B].rows == m[LT_D].rows && m[LT_A].columns == m[LT_D].columns &&
	       m[LT_A].rows == m[LT_B].columns && m[LT_C].rows == m[LT_D].rows &&
	       m[LT_C].columns == m[LT_D].columns && m[LT_D].rows > 0 && m[LT_D].columns > 0 &&
	       m[LT_A].rows > 0;
}

/* ---- the batch ---- */

static void
remove_batch(Problem *p, int at)
{
	p->nbatch--;
	for (int i = at; i < p->nbatch; i++)
		p->batch[i] = p->batch[i + 1];
	for (int k = 0; k < LT_MATRICES; k++)
		for (int i = at; i < p->nbatch; i++)
			p->matrices[k].batch_steps[i] = p->matrices[k].batch_steps[i + 1];
}

/* Whether dim i of the batch and the one behind it are one, in all matrices. */
static bool
joins_next(const Problem *p, int i)
{
	bool joins = i + 1 < p->nbatch;
	for (int k = 0; k < LT_MATRICES && joins; k++) {
		const int64_t *steps = p->matrices[k].batch_steps;
		joins = steps[i] == steps[i + 1] * p->batch[i + 1];
	}
	return joins;
}

/* Whether the last dim of the batch is more rows of one product: its right factor is the same. */
static bool
joins_rows(const Problem *p)
{
	static const int in_rows[] = {LT_B, LT_C, LT_D};
	int last = p->nbatch - 1;
	bool joins = last >= 0 && p->matrices[LT_A].batch_steps[last] == 0;
	for (int k = 0; k < 3 && joins; k++) {
		const Matrix *m = &p->matrices[in_rows[k]];
		joins = m->batch_steps[last] == m->rows * m->row_step;
	}
	return joins;
}

static void
join_batch(Problem *p)
{
	for (int i = p->nbatch - 1; i >= 0; i--)
		if (p->batch[i] == 1) {
			remove_batch(p, i);
		} else if (joins_next(p, i)) {
			p->batch[i + 1] *= p->batch[i];
			remove_batch(p, i);
		}
	if (!joins_rows(p))
		return;
	p->matrices[LT_B].rows *= p->batch[p->nbatch - 1];
	p->matrices[LT_C].rows = p->matrices[LT_D].rows = p->matrices[LT_B].rows;
	remove_batch(p, p->nbatch - 1);
}

/* One dim is the library's batch, the largest; it is put last. */
static bool
choose_batch(Problem *p, LtProduct *product)
{
	int largest = 0, last = p->nbatch - 1;
	int64_t calls = 1;
	for (int i = 1; i < p->nbatch; i++)
		largest = p->batch[i] > p->batch[largest] ? i : largest;
	if (p->nbatch > 0)
		swap(&p->batch[largest], &p->batch[last]);
	for (int k = 0; k < LT_MATRICES && p->nbatch > 0; k++)
		swap(&p->matrices[k].batch_steps[largest], &p->matrices[k].batch_steps[last]);
	for (int i = 0; i < last; i++) {
		product->extents[i] = p->batch[i];
		for (int k = 0; k < LT_MATRICES; k++)
			product->steps[k][i] =
				p->matrices[k].batch_steps[i] * (dtype_bits(p->matrices[k].type) / 8);
		if (p->batch[i] < 1 || p->batch[i] > LT_MOST_CALLS ||
		    (calls *= p->batch[i]) > LT_MOST_CALLS)
			return false;
	}
	product->nouter = last < 0 ? 0 : last;
	return last < 0 || (0 < p->batch[last] && p->batch[last] <= INT32_MAX);
}

/* What the addresses of all matrices, and of the bias, are multiples of. */
static uint32_t
find_alignment(const VendorCall *call, const LtProduct *product)
{
	enum { MOST = 16 }; /* no algorithm gains by more */
	uint64_t bits = MOST;
	for (int i = 0; i < call->narg; i++)
		bits |= (uint64_t)call->args[i].offset;
	for (int k = 0; k < LT_MATRICES; k++)
		for (int d = 0; d < product->nouter; d++)
			bits |= (uint64_t)product->steps[k][d];
	return (uint32_t)(bits & -bits);
}

/* ---- what stands behind ---- */

/* An operand with the result's dims, or with its last alone. */
static bool
has_dims(const Problem *p, int arg, bool is_vector)
{
	const VendorArg *a = &p->call->args[arg], *y = &p->call->args[p->call->narg - 1];
	bool has = a->rank == y->rank && a->type == y->type && !a->layout;
	for (int i = 0; i < y->rank && has; i++)
		has = a->dims[i] == (is_vector && i < y->rank - 1 ? 1 : y->dims[i]);
	bool is_dense = !is_vector || !a->strides || a->strides[a->rank - 1] == 1;
	return has && is_dense;
}

/* A tensor that is added is C, and a vector a bias, as long as nothing stands before them but the
 * sum. */
static bool
take_addition(const Problem *p, int arg, LtProduct *product)
{
	if (p->epilogue != 0)
		return false;
	if (product->bias < 0 && has_dims(p, arg, true)) {
		product->bias = arg;
		return true;
	}
	if (product->beta != 0 || !has_dims(p, arg, false))
		return false;
	product->args[LT_C] = arg;
	product->beta = 1;
	return true;
}

static bool
take_post(Problem *p, const StepPost *post, bool is_first, LtProduct *product)
{
	if (post->kind == POST_linear && is_first && product->bias < 0 && post->numbers[1] == 0) {
		product->alpha = (float)post->numbers[0];
		return true;
	}
	if (post->kind == POST_add || post->kind == POST_sum)
		return take_addition(p, post->arg, product);
	if (p->epilogue != 0 || (post->kind != POST_relu && post->kind != POST_gelu_tanh))
		return false;
	p->epilogue = post->kind == POST_relu ? LT_RELU : LT_GELU;
	return true;
}

static bool
take_posts(Problem *p, const LtMaker *maker)
{
	StepPost posts[POST_MAX];
	LtProduct *product = maker->product;
	const VendorCall *call = p->call;
	const StepAttr *post = step_attr(call->nattr, call->attrs, "post");
	int count = post ? posts_read(post->string, posts, maker->error, maker->error_size) : 0;
	const VendorArg *bias = &call->args[2], *y = &call->args[call->narg - 1];
	product->bias = bias->type == DT_NONE ? -1 : 2;
	if (product->bias >= 0 && (bias->type != y->type || (bias->strides && bias->strides[0] != 1)))
		return refuse(maker, "a bias of another type than the result, or with strides");
	for (int i = 0; i < count; i++)
		if (!take_post(p, &posts[i], i == 0, product))
			return refuse(maker, "cuBLASLt has not all of this behind a product");
	p->epilogue |= product->bias < 0 ? 0 : LT_WITH_BIAS;
	p->epilogue = p->epilogue ? p->epilogue : LT_PLAIN;
	return count >= 0;
}

/* ---- as the library is told ---- */

/* Whether rows lie one behind the other, or columns, and how far apart. A single one may have any
 * stride. */
static bool
find_order(const Matrix *m, bool *is_transposed, int64_t *apart)
{
	bool in_rows =
		(m->column_step == 1 || m->columns == 1) && (m->rows == 1 || m->row_step >= m->columns);
	bool in_columns =
		(m->row_step == 1 || m->rows == 1) && (m->columns == 1 || m->column_step >= m->rows);
	*is_transposed = !in_rows;
	if (in_rows)
		*apart = m->rows == 1 ? m->columns : m->row_step;
	else
		*apart = m->columns == 1 ? m->rows : m->column_step;
	return in_rows || in_columns;
}

static bool
set(const LtMaker *maker, int attribute, int value)
{
	return LT_TRY(maker, MatmulDescSetAttribute, maker->product->matmul, attribute, &value,
	              sizeof value);
}

static bool
make_layout(const LtMaker *maker, const Problem *p, int which)
{
	const Matrix *m = &p->matrices[which];
	LtLayout **layout = &maker->product->layouts[which];
	bool is_transposed;
	int64_t apart, *steps = (int64_t *)(uintptr_t)m->batch_steps;
	if (!find_order(m, &is_transposed, &apart) || (is_transposed && which >= LT_C))
		return refuse(maker,
		              "a matrix lies neither in rows nor in columns, or the result not in rows");
	int64_t rows = is_transposed ? m->rows : m->columns;
	int64_t columns = is_transposed ? m->columns : m->rows;
	int count = p->nbatch ? (int)p->batch[p->nbatch - 1] : 1;
	if (which < LT_C && is_transposed && !set(maker, LT_TRANSPOSE_A + which, 1))
		return false;
	return LT_TRY(maker, MatrixLayoutCreate, layout, type_of(m->type), (uint64_t)rows,
	              (uint64_t)columns, apart) &&
	       (!p->nbatch || (LT_TRY(maker, MatrixLayoutSetAttribute, *layout, LT_BATCH_COUNT, &count,
	                              sizeof count) &&
	                       LT_TRY(maker, MatrixLayoutSetAttribute, *layout, LT_BATCH_STRIDE,
	                              &steps[p->nbatch - 1], sizeof *steps)));
}

static bool
make(const LtMaker *maker, const Problem *p)
{
	bool is_made = LT_TRY(maker, MatmulDescCreate, &maker->product->matmul, LT_SUM_F32, LT_F32) &&
	               set(maker, LT_EPILOGUE, p->epilogue);
	for (int i = 0; i < LT_MATRICES && is_made; i++)
		is_made = make_layout(maker, p, i);
	return is_made;
}

/* Factors of one type, the result and what is added of that, too, or of 16 bits with a result of
 * f32. (cuBLAS's manual has a table of them, by sums of f32.) */
static bool
has_types(const Problem *p)
{
	DType factor = p->matrices[LT_A].type, result = p->matrices[LT_D].type;
	return type_of(factor) >= 0 && p->matrices[LT_B].type == factor &&
	       p->matrices[LT_C].type == result && (result == factor || result == DT_F32);
}

bool
lt_product(const LtMaker *maker, const VendorCall *call)
{
	Problem p = {.call = call};
	LtProduct *product = maker->product;
	int result = call->narg - 1;
	*product = (LtProduct){.api = product->api, .alpha = 1, .args = {1, 0, result, result}};
	if (strcmp(call->row, "matmul") != 0 || call->narg < 4)
		return refuse(maker, "cuBLASLt is not asked for this call");
	if (!take_posts(&p, maker))
		return false;
	if (!read_matrices(&p, product))
		return refuse(maker, "the matrices are empty, or do not fit each other");
	if (!has_types(&p))
		return refuse(maker, "cuBLASLt is not asked for such numbers");
	join_batch(&p);
	if (!choose_batch(&p, product))
		return refuse(maker, "a batch whose matrices lie in too many runs");
	product->alignment = find_alignment(call, product);
	return make(maker, &p);
}

void
lt_product_free(LtProduct *product)
{
	for (int i = 0; i < LT_MATRICES; i++)
		if (product->layouts[i])
			product->api->MatrixLayoutDestroy(product->layouts[i]);
	if (product->matmul)
		product->api->MatmulDescDestroy(product->matmul);
	*product = (LtProduct){.api = product->api};
}
