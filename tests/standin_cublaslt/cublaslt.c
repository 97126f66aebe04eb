/* What stands for cuBLASLt where there is no GPU: libcublasLt.so.13, with the
 * functions that runtime/cublaslt calls. A product is work of a stream of the stand-in's for CUDA,
 * and computed by its meaning: sums in double, rounded once.
 *
 * Heuristics list an algorithm that does not work, then one that does, with a workspace that it
 * writes to. What cuBLASLt leaves undefined is no error here but the end of the process: an
 * algorithm for another product, a workspace too small, memory of the host's or beyond a block, an
 * address that is aligned to less than was said.
 *
 * Its calls are counted with CUDA's, and fail with them (standin.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "runtime/cublaslt/api.h"
#include "../standin/standin.h"

#define F(name, parameters) int cublasLt##name parameters;
CUBLASLT_FUNCTIONS(F)
#undef F
size_t cublasLtGetVersion(void);
const char *cublasLtGetStatusString(int status);

enum { NOT_SUPPORTED = 15, WORKSPACE = 1000, SUMS_IN_F32 = 2, NUMBERS = 16 };

struct LtHandle {
	Handle head;
};

/* Attributes of each are a few numbers, by their names. */
typedef struct Numbers {
	int64_t of[NUMBERS];
} Numbers;

struct LtMatmul {
	Handle head;
	Numbers numbers;
};

struct LtWish {
	Handle head;
	Numbers numbers;
};

struct LtLayout {
	Handle head;
	Numbers numbers;
	int type;
	int64_t rows, columns, apart;
};

size_t
cublasLtGetVersion(void)
{
	return 130000;
}

const char *
cublasLtGetStatusString(int status)
{
	(void)status;
	return "an error of the stand-in";
}

/* ---- objects ---- */

static int
create(void *to, size_t size, HandleKind kind)
{
	int error = enter();
	void *made = error ? NULL : calloc(1, size);
	if (made)
		handle_add(made, kind);
	memcpy(to, &made, sizeof made);
	leave();
	return error;
}

static int
destroy(void *object, HandleKind kind)
{
	int error = enter();
	handle_find(object, kind);
	handle_remove(object);
	leave();
	return error;
}

static int
set(void *object, HandleKind kind, Numbers *numbers, int attribute, const void *value, size_t size)
{
	int error = enter();
	int64_t number = 0;
	handle_find(object, kind);
	memcpy(&number, value, size);
	if (attribute < 0 || attribute >= NUMBERS)
		misuse("cuBLASLt's attribute %d", attribute);
	if (!error)
		numbers->of[attribute] = number;
	leave();
	return error;
}

int
cublasLtCreate(LtHandle **handle)
{
	return create(handle, sizeof **handle, IS_CUBLASLT);
}

int
cublasLtDestroy(LtHandle *handle)
{
	handle_check(handle, IS_CUBLASLT);
	return destroy(handle, IS_CUBLASLT);
}

int
cublasLtMatmulDescCreate(LtMatmul **matmul, int sum, int factors)
{
	if (sum != LT_SUM_F32 || factors != LT_F32)
		misuse("sums of kind %d, factors of type %d", sum, factors);
	int error = create(matmul, sizeof **matmul, IS_MATMUL);
	if (!error)
		(*matmul)->numbers.of[LT_EPILOGUE] = LT_PLAIN;
	return error;
}

int
cublasLtMatmulDescDestroy(LtMatmul *matmul)
{
	return destroy(matmul, IS_MATMUL);
}

int
cublasLtMatmulDescSetAttribute(LtMatmul *matmul, int attribute, const void *value, size_t size)
{
	return set(matmul, IS_MATMUL, &matmul->numbers, attribute, value, size);
}

int
cublasLtMatrixLayoutCreate(LtLayout **layout, int type, uint64_t rows, uint64_t columns,
                           int64_t apart)
{
	int error = create(layout, sizeof **layout, IS_LAYOUT);
	if (rows == 0 || columns == 0 || apart < (int64_t)rows)
		misuse("columns of %llu elements that begin %lld apart", (unsigned long long)rows,
		       (long long)apart);
	if (error)
		return error;
	(*layout)->numbers.of[LT_BATCH_COUNT] = 1;
	(*layout)->type = type;
	(*layout)->rows = (int64_t)rows;
	(*layout)->columns = (int64_t)columns;
	(*layout)->apart = apart;
	return LT_OK;
}

int
cublasLtMatrixLayoutDestroy(LtLayout *layout)
{
	return destroy(layout, IS_LAYOUT);
}

int
cublasLtMatrixLayoutSetAttribute(LtLayout *layout, int attribute, const void *value, size_t size)
{
	return set(layout, IS_LAYOUT, &layout->numbers, attribute, value, size);
}

int
cublasLtMatmulPreferenceCreate(LtWish **wish)
{
	return create(wish, sizeof **wish, IS_WISH);
}

int
cublasLtMatmulPreferenceDestroy(LtWish *wish)
{
	return destroy(wish, IS_WISH);
}

int
cublasLtMatmulPreferenceSetAttribute(LtWish *wish, int attribute, const void *value, size_t size)
{
	return set(wish, IS_WISH, &wish->numbers, attribute, value, size);
}

/* ---- a product ---- */

typedef struct Matrix {
	int type;
	int64_t rows, columns, apart, count, stride; /* as stored */
	bool is_transposed;
	const unsigned char *address; /* on the device */
	unsigned char *data;          /* as the host has it */
} Matrix;

typedef struct Product {
	Matrix m[LT_MATRICES];
	int epilogue;
	double alpha, beta;
	const void *bias, *workspace;
} Product;

static int64_t
size_of(int type)
{
	return type == LT_F32 ? 4 : 2;
}

static Matrix
read_layout(LtLayout *layout, bool is_transposed)
{
	handle_find(layout, IS_LAYOUT);
	const int64_t *numbers = layout->numbers.of;
	return (Matrix){.type = layout->type,
	                .rows = layout->rows,
	                .columns = layout->columns,
	                .apart = layout->apart,
	                .count = numbers[LT_BATCH_COUNT],
	                .stride = numbers[LT_BATCH_STRIDE],
	                .is_transposed = is_transposed};
}

/* What both the heuristics and the product are told. */
static Product
read_product(LtMatmul *matmul, LtLayout *const *layouts)
{
	handle_find(matmul, IS_MATMUL);
	const int64_t *numbers = matmul->numbers.of;
	Product p = {.epilogue = (int)numbers[LT_EPILOGUE],
	             .bias = (const void *)(uintptr_t)numbers[LT_BIAS]};
	for (int i = 0; i < LT_MATRICES; i++)
		p.m[i] = read_layout(layouts[i], i < LT_C && numbers[LT_TRANSPOSE_A + i]);
	const Matrix *a = &p.m[LT_A], *b = &p.m[LT_B], *d = &p.m[LT_D];
	int64_t rows = a->is_transposed ? a->columns : a->rows;
	int64_t terms = a->is_transposed ? a->rows : a->columns;
	bool fits = rows == d->rows && (b->is_transposed ? b->rows : b->columns) == d->columns &&
	            (b->is_transposed ? b->columns : b->rows) == terms && p.m[LT_C].rows == d->rows &&
	            p.m[LT_C].columns == d->columns;
	for (int i = 0; i < LT_MATRICES; i++)
		fits = fits && p.m[i].count == d->count;
	fits = fits && a->type == b->type && p.m[LT_C].type == d->type &&
	       (a->type == d->type || d->type == LT_F32);
	if (!fits)
		misuse("matrices do not fit each other");
	if ((p.epilogue & LT_WITH_BIAS) ? !p.bias : p.bias != NULL)
		misuse("a bias is missing, or nobody adds it");
	return p;
}

/* An algorithm knows what it was listed for. */
static uint64_t
mark_of(const Product *p)
{
	uint64_t mark = (uint64_t)p->epilogue;
	for (int i = 0; i < LT_MATRICES; i++) {
		const Matrix *m = &p->m[i];
		const int64_t numbers[] = {m->type,  m->rows,   m->columns,      m->apart,
		                           m->count, m->stride, m->is_transposed};
		for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
			mark = mark * 6364136223846793005u + (uint64_t)numbers[k];
	}
	return mark;
}

int
cublasLtMatmulAlgoGetHeuristic(LtHandle *handle, LtMatmul *matmul, LtLayout *a, LtLayout *b,
                               LtLayout *c, LtLayout *d, LtWish *wish, int most, LtFound *found,
                               int *count)
{
	int error = enter();
	Product p = read_product(matmul, (LtLayout *[]){a, b, c, d});
	handle_check(handle, IS_CUBLASLT);
	handle_find(wish, IS_WISH);
	const int64_t *wanted = wish->numbers.of;
	if (wanted[LT_REDUCTIONS] != SUMS_IN_F32 || wanted[LT_WORKSPACE] < WORKSPACE || most < 2)
		misuse("partial sums may be rounded, or there is no workspace");
	*count = error ? 0 : 2;
	for (int i = 0; i < *count; i++) {
		found[i] = (LtFound){.workspace = WORKSPACE, .status = i == 0 ? NOT_SUPPORTED : LT_OK};
		found[i].algorithm[0] = (uint64_t)i;
		found[i].algorithm[1] = mark_of(&p);
		for (int k = 0; k < LT_MATRICES; k++)
			found[i].algorithm[2 + k] = (uint64_t)wanted[LT_ALIGNMENT_A + k];
		found[i].algorithm[2 + LT_MATRICES] = (uintptr_t)p.bias & -(uintptr_t)p.bias;
	}
	leave();
	return error;
}

/* ---- its meaning ---- */

static double
load(const unsigned char *data, int type, int64_t at)
{
	float f32;
	uint16_t bits;
	memcpy(type == LT_F32 ? (void *)&f32 : (void *)&bits, data + at * size_of(type),
	       (size_t)size_of(type));
	return type == LT_F32 ? (double)f32 : (double)(type == LT_F16 ? f16_to_f32 : bf16_to_f32)(bits);
}

static void
store(const Matrix *m, int64_t at, double value)
{
	float f32 = (float)value;
	uint16_t bits = m->type == LT_F16 ? f64_to_f16(value) : f64_to_bf16(value);
	memcpy(m->data + at * size_of(m->type), m->type == LT_F32 ? (void *)&f32 : (void *)&bits,
	       (size_t)size_of(m->type));
}

/* Where element (row, column) of op(m) lies. */
static int64_t
place(const Matrix *m, int64_t batch, int64_t row, int64_t column)
{
	return batch * m->stride +
	       (m->is_transposed ? row * m->apart + column : column * m->apart + row);
}

static double
epilogue(const Product *p, double x)
{
	if (p->epilogue & LT_RELU)
		return x > 0 ? x : 0;
	if (p->epilogue & LT_GELU)
		return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
	return x;
}

static double
element(const Product *p, const unsigned char *bias, int64_t batch, int64_t row, int64_t column)
{
	const Matrix *a = &p->m[LT_A], *b = &p->m[LT_B], *c = &p->m[LT_C];
	int64_t terms = a->is_transposed ? a->rows : a->columns;
	double sum = 0;
	for (int64_t k = 0; k < terms; k++)
		sum += load(a->data, a->type, place(a, batch, row, k)) *
		       load(b->data, b->type, place(b, batch, k, column));
	sum *= p->alpha;
	if (p->beta != 0)
		sum += p->beta * load(c->data, c->type, place(c, batch, row, column));
	return epilogue(p, bias ? sum + load(bias, p->m[LT_D].type, row) : sum);
}

static unsigned char *
device_bytes(const void *address, int64_t bytes, const char *what)
{
	HandleKind kind;
	unsigned char *found = memory_bytes(address, (size_t)bytes, &kind);
	if (!found || kind != IS_DEVICE_BLOCK)
		misuse("%s of a product is in no memory of the device's", what);
	return found;
}

static void
run(void *work)
{
	Product *p = work;
	const Matrix *d = &p->m[LT_D];
	for (int i = 0; i < LT_MATRICES; i++) {
		Matrix *m = &p->m[i];
		int64_t last = (m->count - 1) * m->stride + (m->columns - 1) * m->apart + m->rows;
		m->data = device_bytes(m->address, last * size_of(m->type), "a matrix");
	}
	const unsigned char *bias =
		p->bias ? device_bytes(p->bias, d->rows * size_of(d->type), "the bias") : NULL;
	memset(device_bytes(p->workspace, WORKSPACE, "the workspace"), 0xff, WORKSPACE);
	for (int64_t i = 0; i < d->count; i++)
		for (int64_t column = 0; column < d->columns; column++)
			for (int64_t row = 0; row < d->rows; row++)
				store(d, place(d, i, row, column), element(p, bias, i, row, column));
}

static void
check_algorithm(const Product *p, const uint64_t *algorithm, size_t bytes)
{
	bool is_aligned = !p->bias || (uintptr_t)p->bias % algorithm[2 + LT_MATRICES] == 0;
	for (int k = 0; k < LT_MATRICES; k++)
		is_aligned = is_aligned && (uintptr_t)p->m[k].address % algorithm[2 + k] == 0;
	if (algorithm[0] != 1 || algorithm[1] != mark_of(p))
		misuse("an algorithm for another product, or that does not work");
	if (!is_aligned || bytes < WORKSPACE)
		misuse("a product's memory is less aligned than was said, or its workspace too small");
}

int
cublasLtMatmul(LtHandle *handle, LtMatmul *matmul, const void *alpha, const void *a,
               LtLayout *a_layout, const void *b, LtLayout *b_layout, const void *beta,
               const void *c, LtLayout *c_layout, void *d, LtLayout *d_layout,
               const uint64_t *algorithm, void *workspace, size_t bytes, void *stream)
{
	int error = enter();
	const void *addresses[] = {a, b, c, d};
	Product *p = malloc(sizeof *p);
	float factors[2];
	handle_check(handle, IS_CUBLASLT);
	*p = read_product(matmul, (LtLayout *[]){a_layout, b_layout, c_layout, d_layout});
	memcpy(&factors[0], alpha, sizeof *factors);
	memcpy(&factors[1], beta, sizeof *factors);
	p->alpha = (double)factors[0];
	p->beta = (double)factors[1];
	p->workspace = workspace;
	for (int i = 0; i < LT_MATRICES; i++)
		p->m[i].address = addresses[i];
	check_algorithm(p, algorithm, bytes);
	if (error)
		free(p);
	else
		call_give(stream, run, p);
	leave();
	return error;
}
