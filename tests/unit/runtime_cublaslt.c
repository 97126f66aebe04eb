/* What cuBLASLt is told means what the call says: the library's matrices, in columns, are made by
 * functions that take them down, multiplied by what its manual says, and compared with the row's
 * definition on the same memory.
 */
#include <math.h>
#include <stdlib.h>

#include "random_number.h"
#include "runtime/cublaslt/api.h"
#include "unit.h"

enum { RANK = 5, SIDE = 5, ROOM = 1 << 14, ARGS = 5, F32_BYTES = 4 };

static int count = 4000;
static uint64_t state = 1;

static int
below(int limit)
{
	return (int)random_below(&state, (unsigned)limit);
}

/* ---- what the library is told ---- */

struct LtLayout {
	int64_t rows, columns, apart, batch, step;
};

struct LtMatmul {
	int64_t of[16];
};

static LtLayout layouts[LT_MATRICES];
static LtMatmul matmul;
static int nlayout;

static int
create_matmul(LtMatmul **made, int sum, int factors)
{
	ck_assert(sum == LT_SUM_F32 && factors == LT_F32);
	matmul = (LtMatmul){{[LT_EPILOGUE] = LT_PLAIN}};
	nlayout = 0;
	*made = &matmul;
	return LT_OK;
}

static int
destroy_matmul(LtMatmul *made)
{
	ck_assert_ptr_eq(made, &matmul);
	return LT_OK;
}

static int
set_matmul(LtMatmul *made, int attribute, const void *value, size_t size)
{
	memcpy(&made->of[attribute], value, size);
	return LT_OK;
}

static int
create_layout(LtLayout **made, int type, uint64_t rows, uint64_t columns, int64_t apart)
{
	ck_assert(type == LT_F32 || type == LT_F16 || type == LT_BF16);
	ck_assert(apart >= (int64_t)rows);
	*made = &layouts[nlayout++];
	**made = (LtLayout){(int64_t)rows, (int64_t)columns, apart, 1, 0};
	return LT_OK;
}

static int
destroy_layout(LtLayout *made)
{
	ck_assert(made >= layouts && made < layouts + nlayout);
	return LT_OK;
}

static int
set_layout(LtLayout *made, int attribute, const void *value, size_t size)
{
	int64_t number = 0;
	memcpy(&number, value, size);
	*(attribute == LT_BATCH_COUNT ? &made->batch : &made->step) = number;
	return LT_OK;
}

static const LtApi api = {
	.MatmulDescCreate = create_matmul,
	.MatmulDescDestroy = destroy_matmul,
	.MatmulDescSetAttribute = set_matmul,
	.MatrixLayoutCreate = create_layout,
	.MatrixLayoutDestroy = destroy_layout,
	.MatrixLayoutSetAttribute = set_layout,
};

/* ---- calls ---- */

typedef struct Drawn {
	VendorCall call;
	VendorArg args[ARGS];
	int64_t dims[ARGS][RANK], strides[ARGS][RANK];
	StepAttr attrs[3];
	int64_t turned[2];
	const char *post;
} Drawn;

static double memory[ARGS][ROOM], wanted[ROOM];

/* Dims lie in any order, with room between them. */
static void
draw_strides(const Drawn *d, int arg, int64_t strides[RANK])
{
	int order[RANK], rank = d->args[arg].rank;
	int64_t stride = 1;
	for (int i = 0; i < rank; i++)
		order[i] = rank - 1 - i;
	for (int swaps = below(3); swaps > 0; swaps--) {
		int a = below(rank), b = below(rank), kept = order[a];
		order[a] = order[b];
		order[b] = kept;
	}
	for (int i = 0; i < rank; i++) {
		strides[order[i]] = stride;
		stride *= d->dims[arg][order[i]] + (below(4) == 0);
	}
}

static void
set_arg(Drawn *d, int arg, int rank, bool is_strided)
{
	d->args[arg] = (VendorArg){.type = DT_F32, .rank = rank, .dims = d->dims[arg]};
	if (is_strided && below(2)) {
		draw_strides(d, arg, d->strides[arg]);
		d->args[arg].strides = d->strides[arg];
	}
}

/* A factor's batch: as the result's, or broadcast along some of it, or without outer dims. */
static void
draw_factor(Drawn *d, int arg, const int64_t *batch, int nbatch, int64_t rows, int64_t columns)
{
	int own = below(2) ? nbatch : below(nbatch + 1);
	for (int i = 0; i < own; i++)
		d->dims[arg][i] = below(4) ? batch[nbatch - own + i] : 1;
	bool is_turned = d->turned[arg];
	d->dims[arg][own] = is_turned ? columns : rows;
	d->dims[arg][own + 1] = is_turned ? rows : columns;
	set_arg(d, arg, own + 2, true);
	if (d->args[arg].strides && below(8) == 0)
		d->strides[arg][own + below(2)] = 0; /* the same row again: no matrix of the library's */
}

static void
draw(Drawn *d)
{
	static const char *const posts[] = {"",
	                                    "relu",
	                                    "gelu_tanh",
	                                    "add(3)",
	                                    "sum(3);relu",
	                                    "linear(0.5,0)",
	                                    "add(3);relu",
	                                    "linear(2,0);add(3)"};
	static const int64_t yes = 1;
	int nbatch = below(4), pick = below(8);
	int64_t m = 1 + below(SIDE), n = 1 + below(SIDE), k = 1 + below(SIDE), batch[RANK];
	*d = (Drawn){.post = posts[pick], .turned = {below(2), below(2)}};
	for (int i = 0; i < nbatch; i++)
		batch[i] = 1 + below(3);
	draw_factor(d, 0, batch, nbatch, m, k);
	draw_factor(d, 1, batch, nbatch, k, n);
	bool has_operand = strchr(d->post, '3') != NULL;
	int result = has_operand ? 4 : 3;
	memcpy(d->dims[result], batch, sizeof batch);
	d->dims[result][nbatch] = m;
	d->dims[result][nbatch + 1] = n;
	set_arg(d, result, nbatch + 2, below(4) == 0);
	if (has_operand) {
		bool is_vector = below(3) == 0;
		for (int i = 0; i < nbatch + 2; i++)
			d->dims[3][i] = is_vector && i < nbatch + 1 ? 1 : d->dims[result][i];
		set_arg(d, 3, nbatch + 2, !is_vector);
	}
	if (pick < 5 && below(2)) {
		d->dims[2][0] = n;
		set_arg(d, 2, 1, false);
	}
	int nattr = 0;
	if (*d->post)
		d->attrs[nattr++] = (StepAttr){.name = "post", .kind = SA_STRING, .string = d->post};
	for (int i = 0; i < 2; i++)
		if (d->turned[i])
			d->attrs[nattr++] = (StepAttr){.name = i ? "transpose_b" : "transpose_a",
			                               .kind = SA_INTS,
			                               .count = 1,
			                               .ints = &yes};
	d->call = (VendorCall){"cublaslt", "matmul", result + 1, d->args, nattr, d->attrs};
}

/* Where an argument has what belongs to an index of the result's batch and (row, column). */
static int64_t
place(const Drawn *d, int arg, const int64_t *index, int nbatch, int64_t row, int64_t column)
{
	const VendorArg *a = &d->args[arg];
	int64_t at[RANK], stride = 1, found = 0;
	int own = a->rank - 2;
	bool is_turned = arg < 2 && d->turned[arg];
	for (int i = 0; i < own; i++)
		at[i] = index[nbatch - own + i];
	at[own] = is_turned ? column : row;
	at[own + 1] = is_turned ? row : column;
	for (int i = a->rank - 1; i >= 0; stride *= a->dims[i--])
		found += (a->dims[i] == 1 ? 0 : at[i]) * (a->strides ? a->strides[i] : stride);
	return found;
}

/* ---- both meanings ---- */

static double
behind(const char *post, int epilogue, double x)
{
	bool is_gelu = strstr(post, "gelu") || (epilogue & LT_GELU);
	if (strstr(post, "relu") || (epilogue & LT_RELU))
		return fmax(x, 0);
	return is_gelu ? 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) : x;
}

static void
define(const Drawn *d)
{
	int result = d->call.narg - 1, nbatch = d->args[result].rank - 2;
	const int64_t *dims = d->args[result].dims;
	int64_t points = dims[nbatch] * dims[nbatch + 1];
	int64_t k = d->args[0].dims[d->args[0].rank - (d->turned[0] ? 2 : 1)];
	for (int i = 0; i < nbatch; i++)
		points *= dims[i];
	for (int64_t p = 0; p < points; p++) {
		int64_t at[RANK], rest = p;
		for (int i = nbatch + 1; i >= 0; rest /= dims[i--])
			at[i] = rest % dims[i];
		int64_t row = at[nbatch], column = at[nbatch + 1];
		double sum = 0;
		for (int64_t i = 0; i < k; i++)
			sum += memory[0][place(d, 0, at, nbatch, row, i)] *
			       memory[1][place(d, 1, at, nbatch, i, column)];
		sum *= strstr(d->post, "linear(2") ? 2 : strstr(d->post, "linear(0.5") ? 0.5 : 1;
		sum += d->args[2].type == DT_NONE ? 0 : memory[2][column];
		sum += result == 4 ? memory[3][place(d, 3, at, nbatch, row, column)] : 0;
		wanted[place(d, result, at, nbatch, row, column)] = behind(d->post, 0, sum);
	}
}

/* One call of the library's; `from`: where its matrices begin. */
static void
multiply(const LtProduct *p, double *const from[LT_MATRICES])
{
	const LtLayout *a = p->layouts[LT_A], *b = p->layouts[LT_B], *c = p->layouts[LT_C];
	const LtLayout *d = p->layouts[LT_D];
	bool a_turned = matmul.of[LT_TRANSPOSE_A], b_turned = matmul.of[LT_TRANSPOSE_B];
	int64_t terms = a_turned ? a->rows : a->columns;
	int epilogue = (int)matmul.of[LT_EPILOGUE];
	ck_assert_int_eq(a_turned ? a->columns : a->rows, d->rows);
	ck_assert_int_eq(b_turned ? b->rows : b->columns, d->columns);
	ck_assert_int_eq(b_turned ? b->columns : b->rows, terms);
	for (int64_t i = 0; i < d->batch; i++)
		for (int64_t x = 0; x < d->rows * d->columns; x++) {
			int64_t row = x % d->rows, column = x / d->rows;
			double sum = 0;
			for (int64_t k = 0; k < terms; k++)
				sum +=
					from[LT_A][i * a->step + (a_turned ? row * a->apart + k : k * a->apart + row)] *
					from[LT_B]
						[i * b->step + (b_turned ? k * b->apart + column : column * b->apart + k)];
			sum *= (double)p->alpha;
			if (p->beta != 0)
				sum += from[LT_C][i * c->step + column * c->apart + row];
			sum += epilogue & LT_WITH_BIAS ? memory[p->bias][row] : 0;
			from[LT_D][i * d->step + column * d->apart + row] = behind("", epilogue, sum);
		}
}

static void
run_product(const LtProduct *p)
{
	int64_t calls = 1;
	ck_assert(!(matmul.of[LT_EPILOGUE] & LT_WITH_BIAS) == (p->bias < 0));
	for (int d = 0; d < p->nouter; d++)
		calls *= p->extents[d];
	for (int64_t i = 0; i < calls; i++) {
		double *from[LT_MATRICES];
		int64_t rest = i;
		for (int k = 0; k < LT_MATRICES; k++)
			from[k] = memory[p->args[k]];
		for (int d = p->nouter - 1; d >= 0; rest /= p->extents[d--])
			for (int k = 0; k < LT_MATRICES; k++)
				from[k] += rest % p->extents[d] * (p->steps[k][d] / F32_BYTES);
		multiply(p, from);
	}
}

/* ---- tests ---- */

START_TEST(products_mean_the_call)
{
	int taken = 0, in_runs = 0, batches = 0;
	for (int i = 0; i < count; i++) {
		static Drawn d;
		char error[300] = "";
		LtProduct p = {.api = &api};
		const LtMaker maker = {&p, error, sizeof error};
		draw(&d);
		for (int a = 0; a < ARGS; a++)
			for (int k = 0; k < ROOM; k++)
				memory[a][k] = below(17) - 8;
		memcpy(wanted, memory[d.call.narg - 1], sizeof wanted);
		bool is_taken = lt_product(&maker, &d.call);
		ck_assert_msg(is_taken != !!*error, "%s", error);
		if (is_taken) {
			define(&d);
			run_product(&p);
			taken++;
			in_runs += p.nouter > 0;
			batches += layouts[LT_D].batch > 1;
			for (int k = 0; k < ROOM; k++)
				ck_element_msg(fabs(memory[d.call.narg - 1][k] - wanted[k]) < 1e-9,
				               "call %d (%s): element %d is %g, not %g", i, d.post, k,
				               memory[d.call.narg - 1][k], wanted[k]);
		}
		lt_product_free(&p);
	}
	ck_assert_msg(taken > count / 2 && in_runs > count / 50 && batches > count / 10,
	              "of %d taken %d, in runs %d, batches %d", count, taken, in_runs, batches);
}
END_TEST

/* How addresses lie is what those of views allow. */
START_TEST(alignment)
{
	static Drawn d;
	char error[300] = "";
	LtProduct p = {.api = &api};
	const LtMaker maker = {&p, error, sizeof error};
	do
		draw(&d);
	while (!lt_product(&maker, &d.call) || p.nouter > 0);
	ck_assert_uint_eq(p.alignment, 16);
	d.args[1].offset = 40;
	ck_assert(lt_product(&maker, &d.call));
	ck_assert_uint_eq(p.alignment, 8);
}
END_TEST

/* Factors of 16 bits make a result of these or of f32, with what is added of the result's type. */
START_TEST(types)
{
	static const struct {
		DType a, b, bias, y;
		bool is_taken;
	} rows[] = {{DT_F16, DT_F16, DT_F16, DT_F16, true},   {DT_F16, DT_F16, DT_F32, DT_F32, true},
	            {DT_BF16, DT_BF16, DT_F32, DT_F32, true}, {DT_F16, DT_F16, DT_F16, DT_F32, false},
	            {DT_F16, DT_BF16, DT_F32, DT_F32, false}, {DT_F32, DT_F32, DT_F32, DT_F16, false},
	            {DT_BF16, DT_BF16, DT_F16, DT_F16, false}};
	static const int64_t a[] = {4, 8}, b[] = {8, 16}, bias[] = {16}, y[] = {4, 16};
	for (size_t i = 0; i < countof(rows); i++) {
		const VendorArg args[] = {{.type = rows[i].a, .rank = 2, .dims = a},
		                          {.type = rows[i].b, .rank = 2, .dims = b},
		                          {.type = rows[i].bias, .rank = 1, .dims = bias},
		                          {.type = rows[i].y, .rank = 2, .dims = y}};
		const VendorCall call = {"cublaslt", "matmul", 4, args, 0, NULL};
		char error[300] = "";
		LtProduct p = {.api = &api};
		nlayout = 0;
		ck_assert_msg(lt_product(&(LtMaker){&p, error, sizeof error}, &call) == rows[i].is_taken,
		              "row %zu: %s", i, error);
		lt_product_free(&p);
	}
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cublaslt");
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_test(tcase, products_mean_the_call);
	tcase_add_test(tcase, alignment);
	tcase_add_test(tcase, types);
	return unit_run(tcase);
}
