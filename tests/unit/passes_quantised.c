/* SinkDequantize and FakeQuantizationToInteger keep what a model means: random products and
 * convolutions of quantised numbers, with the most awkward numbers, scales and zero points, before
 * and after. Sums of the QLinear and Integer operators keep every bit; those of dequantised numbers
 * stay within the bounds of a sum of f32 and of its new form, as --verify asks (a bias in units of
 * the sum is rounded where the sum is 0), and on either side of a tie that they span.
 * QUANTISED_CASES says how many; a few hundred without it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "unit.h"

enum { CASES = 400 };

static bool
always(void *self, const char *library)
{
	(void)self;
	(void)library;
	return true;
}

static bool
accepts(void *self, const VendorCall *call, const char **impl)
{
	(void)self;
	(void)call;
	if (impl)
		*impl = "test";
	return true;
}

static bool
measures(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	*seconds = 1;
	return accepts(self, call, impl);
}

typedef struct Case {
	uint64_t state;
	Buf text;
	bool is_conv;
	bool is_fake;        /* sums of dequantised numbers, in f32 */
	bool is_turned;      /* a Gemm whose weights lie by output channel */
	bool is_dynamic;     /* x is what its range quantises */
	int channels, terms; /* of the result; of the source */
	const char *x, *w;   /* types */
} Case;

static unsigned
below(Case *m, unsigned count)
{
	return random_below(&m->state, count);
}

static bool
one_in(Case *m, unsigned count)
{
	return below(m, count) == 0;
}

/* A number of 8 bits: often the first, the last, or in the middle. */
static int
byte_of(Case *m, const char *type)
{
	static const int awkward[] = {0, 1, 127, 128, 254, 255};
	int number = one_in(m, 3) ? awkward[below(m, 6)] : (int)below(m, 256);
	return type[0] == 'u' ? number : number - 128;
}

static void
bytes(Case *m, const char *name, const char *type, int count, const char *dims)
{
	buf_printf(&m->text, "  %%%s: %s%s = {", name, type, dims);
	for (int i = 0; i < count; i++)
		buf_printf(&m->text, "%s%d", i ? ", " : "", byte_of(m, type));
	buf_puts(&m->text, "}\n");
}

static void
zero_point(Case *m, const char *name, const char *type)
{
	buf_printf(&m->text, "  %%%s: %s = {%d}\n", name, type, one_in(m, 3) ? 0 : byte_of(m, type));
}

/* Powers of two make ties. */
static double
scale_of(Case *m)
{
	return one_in(m, 2) ? 1.0 / (1 << below(m, 15)) : 0.0003 + below(m, 1000) * 0.0007;
}

static void
scales(Case *m, const char *name, int count)
{
	buf_printf(&m->text, count ? "  %%%s: f32[%d] = {" : "  %%%s: f32 = {", name, count);
	for (int i = 0; i < (count ? count : 1); i++)
		buf_printf(&m->text, "%s%.9g", i ? ", " : "", scale_of(m));
	buf_puts(&m->text, "}\n");
}

static void
attributes(Case *m)
{
	if (m->is_conv && one_in(m, 2))
		buf_printf(&m->text, " {pads=[1,0,1,%d]}", (int)below(m, 2));
	else if (m->is_turned)
		buf_puts(&m->text, " {transB=1}");
	buf_puts(&m->text, "\n");
}

/* Weights that are one channel's: of Conv dim 0, of a product the last one. */
static void
operands(Case *m)
{
	int count = m->channels * m->terms * (m->is_conv ? 4 : 1);
	const char *dims = m->is_conv ? "[%d,%d,2,2]" : "[%d,%d]";
	Buf shape = {.arena = m->text.arena};
	bool by_channel = m->is_conv || m->is_turned;
	buf_printf(&shape, dims, by_channel ? m->channels : m->terms,
	           by_channel ? m->terms : m->channels);
	bytes(m, "w", m->w, count, buf_text(&shape));
	if (m->is_dynamic)
		buf_puts(&m->text, "  %x, %sx, %zx = DynamicQuantizeLinear(%a)\n");
	else
		zero_point(m, "zx", m->x);
	if (m->w[0] == 'u' && one_in(m, 2))
		buf_puts(&m->text, "  %zw: u8 = {128}\n");
	else
		zero_point(m, "zw", m->w);
	if (!m->is_dynamic)
		scales(m, "sx", 0);
	scales(m, "sw", one_in(m, 2) ? m->channels : 0);
	scales(m, "sy", 0);
	zero_point(m, "zy", "u8");
}

/* %x of another scale and zero point, often one that is the middle or the lowest. */
static void
requantise(Case *m)
{
	const char *type = one_in(m, 2) ? "u8" : "i8";
	int zero = one_in(m, 2) ? (type[0] == 'u' ? 128 : -128) : byte_of(m, type);
	buf_printf(&m->text, "  %%zq: %s = {%d}\n", type, zero);
	scales(m, "sq", 0);
	buf_puts(&m->text, "  %f = DequantizeLinear(%x, %sx, %zx)\n"
	                   "  %q = QuantizeLinear(%f, %sq, %zq)\n"
	                   "  %dx = DequantizeLinear(%q, %sq, %zq)\n");
}

static void
write_fake(Case *m)
{
	bool is_gemm = m->is_turned || (!m->is_conv && one_in(m, 2)), has_bias = m->is_conv || is_gemm;
	m->is_fake = true;
	scales(m, "b", m->channels);
	if (one_in(m, 3))
		requantise(m);
	else
		buf_puts(&m->text, "  %dx = DequantizeLinear(%x, %sx, %zx)\n");
	buf_printf(&m->text, "  %%dw = DequantizeLinear(%%w, %%sw%s) {axis=%d}\n",
	           one_in(m, 4) ? ", %zw" : "", m->is_conv || m->is_turned ? 0 : 1);
	buf_printf(&m->text, "  %%p = %s(%%dx, %%dw%s)",
	           m->is_conv ? "Conv"
	           : is_gemm  ? "Gemm"
	                      : "MatMul",
	           has_bias && one_in(m, 2) ? ", %b" : "");
	attributes(m);
	const char *last = one_in(m, 2) ? "r" : "p";
	if (last[0] == 'r')
		buf_puts(&m->text, "  %r = Relu(%p)\n");
	if (one_in(m, 3))
		buf_printf(&m->text, "  %%y = Identity(%%%s)\n}\n", last);
	else
		buf_printf(&m->text, "  %%y = QuantizeLinear(%%%s, %%sy, %%zy)\n}\n", last);
}

static void
write_qlinear(Case *m)
{
	buf_printf(&m->text, "  %%bias: i32[%d] = {", m->channels);
	for (int i = 0; i < m->channels; i++)
		buf_printf(&m->text, "%s%d", i ? ", " : "", (int)below(m, 1 << (8 + below(m, 18))) - 5000);
	buf_printf(&m->text, "}\n  %%y = %s(%%x, %%sx, %%zx, %%w, %%sw, %%zw, %%sy, %%zy%s)",
	           m->is_conv ? "QLinearConv" : "QLinearMatMul",
	           m->is_conv && one_in(m, 2) ? ", %bias" : "");
	attributes(m);
	buf_puts(&m->text, "}\n");
}

static void
write_integer(Case *m)
{
	buf_printf(&m->text, "  %%p = %s(%%x, %%w, %%zx, %%zw)",
	           m->is_conv ? "ConvInteger" : "MatMulInteger");
	attributes(m);
	if (one_in(m, 2))
		buf_puts(&m->text, "  %y = Identity(%p)\n}\n");
	else
		buf_puts(&m->text, "  %c = Cast(%p) {to=1}\n  %y = Mul(%c, %sx)\n}\n");
}

/* Bytes that move, and are quantised by the same scale or another. */
static void
write_moved(Case *m)
{
	bool is_same = one_in(m, 2);
	if (one_in(m, 3))
		requantise(m);
	else
		buf_puts(&m->text, "  %dx = DequantizeLinear(%x, %sx, %zx)\n");
	static const char *const moves[] = {
		"Transpose(%dx)",     "Identity(%dx)",   "Cast(%dx) {to=1}", "Flatten(%dx)",
		"Slice(%dx, %i, %j)", "Expand(%dx, %j)", "ReduceMax(%dx)",   "Gather(%dx, %i)",
		"CastLike(%dx, %sx)", "Dropout(%dx)",
	};
	buf_puts(&m->text, "  %i: i64[1] = {0}\n  %j: i64[1] = {1}\n");
	if (m->is_conv && one_in(m, 2))
		buf_puts(&m->text, "  %p = MaxPool(%dx) {kernel_shape=[2,2], pads=[1,0,1,0]}\n");
	else
		buf_printf(&m->text, "  %%p = %s\n", moves[below(m, countof(moves))]);
	buf_printf(&m->text, "  %%y = QuantizeLinear(%%p, %s, %s)\n}\n", is_same ? "%sx" : "%sy",
	           is_same ? "%zx" : "%zy");
}

static Graph *
make_graph(Case *m, Arena *arena)
{
	static void (*const forms[])(Case *) = {write_fake, write_qlinear, write_integer, write_moved};
	m->text = (Buf){.arena = arena};
	m->is_conv = one_in(m, 2);
	m->channels = 1 + (int)below(m, 5);
	m->terms = 1 + (int)below(m, m->is_conv ? 4 : 40);
	m->is_turned = !m->is_conv && one_in(m, 4);
	m->is_dynamic = !m->is_turned && one_in(m, 4);
	m->x = m->is_dynamic || one_in(m, 2) ? "u8" : "i8";
	m->w = one_in(m, 2) ? "u8" : "i8";
	buf_printf(&m->text,
	           m->is_conv ? "graph g(%%%s[2,%d,4,5]) -> %%y {\n" : "graph g(%%%s[6,%d]) -> %%y {\n",
	           m->is_dynamic    ? "a: f32"
	           : m->x[0] == 'u' ? "x: u8"
	                            : "x: i8",
	           m->terms);
	operands(m);
	if (m->is_turned)
		write_fake(m);
	else if (m->is_dynamic)
		write_integer(m);
	else
		forms[below(m, countof(forms))](m);
	Graph *graph = graph_parse(arena, "random", buf_text(&m->text));
	graph_infer(graph);
	return graph;
}

static Array *
make_input(Case *m, Arena *arena, const Value *value)
{
	int64_t dims[4];
	for (int d = 0; d < value->type.rank; d++)
		dim_is_const(value->type.dims[d], &dims[d]);
	Array *array = array_new(arena, value->type.dtype, value->type.rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(array->type, array->data, i, byte_of(m, m->is_dynamic ? "i8" : m->x));
	return array;
}

/* What a rewritten product is: sums of bytes with i8, no zero points. */
static bool
has_form(const Graph *graph)
{
	bool has = false;
	for (const Node *node = graph->body->first; node; node = node->next)
		has |= (node->op->code == OP_ConvInteger || node->op->code == OP_MatMulInteger) &&
		       node->ninput == 2 && node->inputs[1]->type.dtype == DT_I8;
	return has;
}

START_TEST(mean_the_same)
{
	static const Oracle oracle = {.available = always, .accept = accepts, .measure = measures};
	const Target target = {.oracle = &oracle};
	int rewritten = 0, shifted = 0;
	for (int i = 0; i < CASES; i++) {
		Arena *arena = arena_new("test");
		Case m = {.state = (uint64_t)_i * CASES + (uint64_t)i};
		Graph *graph = make_graph(&m, arena);
		const Array *input = make_input(&m, arena, graph->body->params[0]), *output;
		const BoundArray *bound, *own;
		eval_graph_bound(arena, graph, &input, &bound, (BoundWay){.sample = 0});
		PassContext context = {.arena = arena, .running = "test", .level = 3, .target = &target};
		shifted += pass_ShiftZeroPoints(graph, &context);
		pass_SinkDequantize(graph, &context);
		rewritten += pass_FakeQuantizationToInteger(graph, &context) && has_form(graph);
		graph_check(graph);
		eval_graph(arena, graph, &input, &output);
		if (m.is_fake) {
			eval_graph_bound(arena, graph, &input, &own, (BoundWay){.sample = 0});
			bound = bound_join(arena, bound, own);
		}
		Agreement a = bound_compare(bound, output, 1);
		ck_assert_msg(a.wrong == 0, "case %d: %lld of %lld are wrong\n%s", (int)m.state,
		              (long long)a.wrong, (long long)array_count(output), buf_text(&m.text));
		arena_free(arena);
	}
	ck_assert_int_gt(rewritten, CASES / 4);
	ck_assert_int_gt(shifted, 0);
}
END_TEST

/* Sums that f32 doesn't hold before what a zero point adds, which is known when running, and does
 * hold behind that. */
START_TEST(sums_beyond_f32)
{
	enum { TERMS = 600 };
	static const Oracle oracle = {.available = always, .accept = accepts, .measure = measures};
	const Target target = {.oracle = &oracle};
	Arena *arena = arena_new("test");
	Case m = {.state = 1, .text = {.arena = arena}};
	buf_printf(&m.text, "graph g(%%a: f32[4,%d]) -> %%y {\n  %%w: i8[%d,2] = {", TERMS, TERMS);
	for (int i = 0; i < 2 * TERMS; i++)
		buf_printf(&m.text, "%s%d", i ? ", " : "", 125 + (int)below(&m, 3));
	buf_puts(&m.text, "}\n  %x, %s, %z = DynamicQuantizeLinear(%a)\n"
	                  "  %p = MatMulInteger(%x, %w, %z)\n  %y = Cast(%p) {to=1}\n}\n");
	Graph *graph = graph_parse(arena, "sums", buf_text(&m.text));
	graph_infer(graph);
	Array *a = array_new(arena, DT_F32, 2, (int64_t[]){4, TERMS});
	for (int i = 0; i < 4 * TERMS; i++)
		dtype_store_f64(DT_F32, a->data, i, i ? 54 + (int)below(&m, 2) : -200);
	const Array *input = a, *before, *after;
	eval_graph(arena, graph, &input, &before);
	PassContext context = {.arena = arena, .running = "test", .level = 3, .target = &target};
	ck_assert(pass_FakeQuantizationToInteger(graph, &context) && has_form(graph));
	eval_graph(arena, graph, &input, &after);
	ck_assert_mem_eq(before->data, after->data, 8 * sizeof(float));
	arena_free(arena);
}
END_TEST

/* Below the level that puts channels side by side, convolutions of f32 stay such; what is a sum of
 * integers loses its zero points everywhere. */
START_TEST(convolutions_want_blocks)
{
	static const Oracle oracle = {.available = always, .accept = accepts, .measure = measures};
	static const char *const texts[] = {
		"graph g(%x: u8[1,1,4,4]) -> %y {\n%w: i8[1,1,2,2] = {1, 2, 3, 4}\n%s: f32 = {0.5}\n"
		"%p = DequantizeLinear(%x, %s)\n%q = DequantizeLinear(%w, %s)\n%y = Conv(%p, %q)\n}\n",
		"graph g(%x: u8[1,1,4,4]) -> %y {\n%w: i8[1,1,2,2] = {1, 2, 3, 4}\n%z: u8 = {3}\n"
		"%y = ConvInteger(%x, %w, %z)\n}\n"};
	const Target target = {.oracle = &oracle};
	for (int i = 0; i < 2; i++) {
		Arena *arena = arena_new("test");
		Graph *graph = graph_parse(arena, "g", texts[i]);
		graph_infer(graph);
		PassContext context = {.arena = arena, .running = "test", .level = 2, .target = &target};
		ck_assert_int_eq(pass_FakeQuantizationToInteger(graph, &context), i == 1);
		context.level = 3;
		ck_assert_int_eq(pass_FakeQuantizationToInteger(graph, &context), i == 0);
		arena_free(arena);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("quantised");
	const char *given = getenv("QUANTISED_CASES");
	int cases = given ? atoi(given) : CASES;
	tcase_add_loop_test(t, mean_the_same, 0, (cases + CASES - 1) / CASES);
	tcase_add_test(t, sums_beyond_f32);
	tcase_add_test(t, convolutions_want_blocks);
	return unit_run(t);
}
