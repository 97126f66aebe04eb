/* Matching vendor rows, form by form: dims of tensors in any order, groups, factors, what is
 * missing; and what only looks like a row.
 */
#include "program/forms.h"
#include "program/match.h"
#include "unit.h"
#include "vendor_rows.h"

/* A program's inputs and stages, what it is, and which of its dims the dims of the call are. */
typedef struct Case {
	const char *inputs, *stages, *row, *src, *weights, *result, *attrs;
} Case;

/* clang-format off */
static const Case cases[] = {
	/* as ONNX has it; channels last, weights as TensorFlow has them; without a batch */
	{"X: f32[2,4,6], W: f32[5,4,3]",
	 "Y[n:2, f:5, p:4]: f32 = sum(c:4, r:3) X[n,c,p+r] * W[f,c,r]",
	 "conv", "012", "012", "012", "group=1 strides=1 dilations=1 pads_lo=0"},
	{"X: f32[2,9,4], W: f32[3,4,5]",
	 "Y[n:2, p:4, f:5]: f32 = sum(r:3, c:4) X[n,2*p+r,c] * W[r,c,f]",
	 "conv", "021", "210", "021", "group=1 strides=2 dilations=1 pads_lo=0"},
	{"X: f32[4,9], W: f32[5,4,3]",
	 "Y[f:5, p:3]: f32 = sum(c:4, r:3 where 0 <= 3*p+2*r-1, 3*p+2*r-1 < 9) "
	 "W[f,c,r] * X[c,3*p+2*r-1]",
	 "conv", "-01", "012", "-01", "group=1 strides=3 dilations=2 pads_lo=1"},
	/* a side that is not known: what is padded behind depends on it */
	{"X: f32[2,4,H], W: f32[5,4,3]",
	 "Y[n:2, f:5, p:(H+1)/2]: f32 = sum(c:4, r:3 where 0 <= 2*p+r-1, 2*p+r-1 < H) "
	 "X[n,c,2*p+r-1] * W[f,c,r]",
	 "conv", "012", "012", "012", "group=1 strides=2 dilations=1 pads_lo=1"},
	/* three groups, and depthwise */
	{"X: f32[1,6,6], W: f32[9,2,3]",
	 "Y[n:1, f:9, p:4]: f32 = sum(c:2, r:3) X[n,f/3*2+c,p+r] * W[f,c,r]",
	 "conv", "012", "012", "012", "group=3 strides=1 dilations=1 pads_lo=0"},
	{"X: f32[1,6,6], W: f32[6,1,3]",
	 "Y[n:1, f:6, p:4]: f32 = sum(r:3) X[n,f,p+r] * W[f,0,r]",
	 "conv", "012", "012", "012", "group=6 strides=1 dilations=1 pads_lo=0"},
	/* products: commuted and transposed, a batch in between, the result transposed */
	{"A: f32[3,5], B: f32[7,3]",
	 "Y[i:5, j:7]: f32 = sum(k:3) B[j,k] * A[k,i]",
	 "matmul", "01", "01", "01", "transpose_a=1 transpose_b=1"},
	{"A: f32[3,2,5], B: f32[2,3,7]",
	 "Y[b:2, i:5, j:7]: f32 = sum(k:3) A[k,b,i] * B[b,k,j]",
	 "matmul", "120", "012", "012", ""},
	{"A: f32[2,5,3], B: f32[2,3,7]",
	 "Y[i:5, b:2, j:7]: f32 = sum(k:3) A[b,i,k] * B[b,k,j]",
	 "matmul", "012", "012", "102", ""},
	/* the first rows and columns of larger ones */
	{"A: f32[6,4], B: f32[3,9]",
	 "Y[i:5, j:7]: f32 = sum(k:3) A[i,k] * B[k,j]",
	 "matmul", "01", "01", "01", ""},
	/* products in a band, as EinNet has them; commuted and transposed, a batch in between */
	{"A: f32[2,9,5], B: f32[2,9,5]",
	 "Y[b:2, m:9, w:7]: f32 = sum(k:5 where 0 <= m+w-3, m+w-3 < 9) A[b,m,k] * B[b,m+w-3,k]",
	 "g2bmm", "012", "012", "012", "dilation=1 offset=3"},
	{"A: f32[9,5], B: f32[5,8]",
	 "Y[w:4, m:9]: f32 = sum(k:5 where 0 <= m+2*w-1, m+2*w-1 < 8) B[k,m+2*w-1] * A[m,k]",
	 "g2bmm", "01", "10", "10", "dilation=2 offset=1"},
	{"A: f32[2,9,7], B: f32[2,9,5]",
	 "Y[b:2, m:9, n:5]: f32 = sum(w:7 where 0 <= m+3*w-9, m+3*w-9 < 9) A[b,m,w] * B[b,m+3*w-9,n]",
	 "gbmm", "012", "012", "012", "dilation=3 offset=9"},
	{"A: f32[7,9,2], B: f32[15,2,5]",
	 "Y[m:9, b:2, n:5]: f32 = sum(w:7) B[m+w,b,n] * A[w,m,b]",
	 "gbmm", "210", "102", "102", "dilation=1 offset=0"},
	/* of one filter, whose number is 0 in any group */
	{"X: f32[2,4,6], W: f32[1,4,3]",
	 "Y[n:2, f:1, p:4]: f32 = sum(c:4, r:3) X[n,c,p+r] * W[f,c,r]",
	 "conv", "012", "012", "012", "group=1 strides=1 dilations=1 pads_lo=0"},
	/* a window's mean, channels last */
	{"X: f32[2,6,4]",
	 "S[n:2, p:3, c:4]: f32 = sum(r:2) X[n,2*p+r,c]\n"
	 "Y[n:2, p:3, c:4]: f32 = S[n,p,c] / 2.0",
	 "pool", "021", "", "021", "kernel=2 strides=2 dilations=1 pads_lo=0"},
	/* a transposed convolution, of whose dims one has a stride */
	{"X: f32[2,4,6,5], W: f32[4,3,3,2]",
	 "Y[n:2, f:3, p:12, q:5]: f32 = sum(c:4, r:3, t:2 where (p+1-r)%2 == 0, 0 <= (p+1-r)/2, "
	 "(p+1-r)/2 < 6, 0 <= q+1-t, q+1-t < 5) X[n,c,(p+1-r)/2,q+1-t] * W[c,f,r,t]",
	 "conv_transpose", "0123", "0123", "0123", "group=1 strides=2 dilations=1 pads_lo=1"},
	/* in groups, by two filters each and by one; with a channel each, of which no sum is left */
	{"X: f32[2,8,6], W: f32[8,2,3]",
	 "Y[n:2, f:8, p:12]: f32 = sum(c:2, r:3 where (p+1-r)%2 == 0, 0 <= (p+1-r)/2, "
	 "(p+1-r)/2 < 6) X[n,f/2*2+c,(p+1-r)/2] * W[f/2*2+c,f%2,r]",
	 "conv_transpose", "012", "012", "012", "group=4 strides=2 dilations=1 pads_lo=1"},
	{"X: f32[2,8,6], W: f32[8,1,3]",
	 "Y[n:2, f:4, p:8]: f32 = sum(c:2, r:3 where 0 <= p-r, p-r < 6) X[n,2*f+c,p-r] * W[2*f+c,0,r]",
	 "conv_transpose", "012", "012", "012", "group=4 strides=1 dilations=1 pads_lo=0"},
	{"X: f32[2,4,6], W: f32[4,2,3]",
	 "Y[n:2, f:8, p:12]: f32 = sum(r:3 where (p+1-r)%2 == 0, 0 <= (p+1-r)/2, (p+1-r)/2 < 6) "
	 "X[n,f/2,(p+1-r)/2] * W[f/2,f%2,r]",
	 "conv_transpose", "012", "012", "012", "group=4 strides=2 dilations=1 pads_lo=1"},
	/* of one filter, of one image */
	{"X: f32[2,4,6], W: f32[4,1,3]",
	 "Y[n:2, f:1, p:8]: f32 = sum(c:4, r:3 where 0 <= p-r, p-r < 6) X[n,c,p-r] * W[c,f,r]",
	 "conv_transpose", "012", "012", "012", "group=1 strides=1 dilations=1 pads_lo=0"},
	{"X: f32[1,4,6,6], W: f32[4,1,3,3]",
	 "Y[n:1, f:1, p:8, q:8]: f32 = "
	 "sum(c:4, r:3, s:3 where 0 <= p-r, p-r < 6, 0 <= q-s, q-s < 6) X[n,c,p-r,q-s] * W[c,f,r,s]",
	 "conv_transpose", "0123", "0123", "0123", "group=1 strides=1 dilations=1 pads_lo=0"},
	/* a window that goes backwards, weights by output channels */
	{"X: f32[2,4,6], W: f32[5,4,3]",
	 "Y[n:2, f:5, p:4]: f32 = sum(c:4, r:3) X[n,c,p-r+2] * W[f,c,r]",
	 "conv_transpose", "012", "102", "012", "group=1 strides=1 dilations=1 pads_lo=2"},
	/* of 16 bits: a maximum; a mean in f32, of padding, too, and of what is there alone */
	{"X: bf16[2,4,6]",
	 "Y[n:2, c:4, p:3]: bf16 = max(r:3 where 0 <= 2*p+r-1, 2*p+r-1 < 6) X[n,c,2*p+r-1]",
	 "pool", "012", "", "012", "kernel=3 strides=2 pads_lo=1"},
	{"X: f16[2,4,6]",
	 "S[n:2, c:4, p:3]: f32 = sum(r:3 where 0 <= 2*p+r-1, 2*p+r-1 < 6) f32(X[n,c,2*p+r-1])\n"
	 "Y[n:2, c:4, p:3]: f16 = f16(S[n,c,p] / 3.0)",
	 "pool", "012", "", "012", "kernel=3 strides=2 pads_lo=1"},
	{"X: f16[4,6,8]",
	 "S[c:4, p:3, q:8]: f32 = sum(r:3, t:3 where 0 <= 2*p+r-1, 2*p+r-1 < 6, 0 <= q+t-1, q+t-1 < 8) "
	 "f32(X[c,2*p+r-1,q+t-1])\n"
	 "Y[c:4, p:3, q:8]: f16 = f16(S[c,p,q] / f32((min(3, 7-2*p) - max(0, 1-2*p)) * "
	 "(min(3, 9-q) - max(0, 1-q))))",
	 "pool", "-012", "", "-012", "kernel=3 strides=2 pads_lo=1"},
};

static const char *const refused[][2] = {
	/* no tap moves: the factor is 0; a tap twice; a reduction that moves nothing; a diagonal */
	{"X: f32[2,4,6], W: f32[5,4,3]",
	 "Y[n:2, f:5, p:6]: f32 = sum(c:4, r:3) X[n,c,p] * W[f,c,r]"},
	{"X: f32[1,4,6,6], W: f32[5,4,3,3]",
	 "Y[n:1, f:5, p:4, q:4]: f32 = sum(c:4, r:3) X[n,c,p+r,q+r] * W[f,c,r,r]"},
	{"X: f32[2,4,6], W: f32[5,4,3]",
	 "Y[n:2, f:5, p:4]: f32 = sum(c:4, r:3, t:2) X[n,c,p+r] * W[f,c,r]"},
	{"A: f32[5,5,3], B: f32[3,7]",
	 "Y[i:5, j:7]: f32 = sum(k:3) A[i,i,k] * B[k,j]"},
	/* a loop that moves no operand */
	{"A: f32[1,5,3], B: f32[3,7]",
	 "Y[b:2, i:5, j:7]: f32 = sum(k:3) A[0,i,k] * B[k,j]"},
	/* bands: of every second place; read backwards; around no place of the other factor; with a
	 * border where there is none */
	{"A: f32[9,5], B: f32[24,5]",
	 "Y[m:9, w:7]: f32 = sum(k:5) A[m,k] * B[2*m+w,k]"},
	{"A: f32[9,5], B: f32[15,5]",
	 "Y[m:9, w:7]: f32 = sum(k:5) A[m,k] * B[m-w+6,k]"},
	{"A: f32[5], B: f32[15,5]",
	 "Y[m:9, w:7]: f32 = sum(k:5) A[k] * B[m+w,k]"},
	{"A: f32[9,7], B: f32[15,5]",
	 "Y[m:9, n:5]: f32 = sum(w:7 where 1 <= m+w) A[m,w] * B[m+w,n]"},
	/* a guard that says more than the border does; channels that no group reads */
	{"X: f32[2,4,6], W: f32[5,4,3]",
	 "Y[n:2, f:5, p:4]: f32 = sum(c:4, r:3 where p+r < 5) X[n,c,p+r] * W[f,c,r]"},
	{"X: f32[1,7,6], W: f32[9,2,3]",
	 "Y[n:1, f:9, p:4]: f32 = sum(c:2, r:3) X[n,f/3*2+c,p+r] * W[f,c,r]"},
	/* a part that does not begin where the tensor does; a maximum over windows that may be empty;
	 * a mean over more than the window */
	{"A: f32[5,4], B: f32[3,7]",
	 "Y[i:5, j:7]: f32 = sum(k:3) A[i,k+1] * B[k,j]"},
	{"X: f32[1,4,3]",
	 "Y[n:1, c:4, p:3]: f32 = max(r:2 where 0 <= 2*p+r-2, 2*p+r-2 < 3) X[n,c,2*p+r-2]"},
	{"X: f32[2,4,6]",
	 "S[n:2, c:4, p:3]: f32 = sum(r:2) X[n,c,2*p+r]\n"
	 "Y[n:2, c:4, p:3]: f32 = S[n,c,p] / 3.0"},
	/* between the places of a stride, too; at places next to those; past a border */
	{"X: f32[2,4,6], W: f32[4,3,3]",
	 "Y[n:2, f:3, p:12]: f32 = sum(c:4, r:3 where 0 <= (p+1-r)/2, (p+1-r)/2 < 6) "
	 "X[n,c,(p+1-r)/2] * W[c,f,r]"},
	{"X: f32[2,4,6], W: f32[4,3,3]",
	 "Y[n:2, f:3, p:12]: f32 = sum(c:4, r:3 where (p-r)%2 == 0, 0 <= (p+1-r)/2, (p+1-r)/2 < 6) "
	 "X[n,c,(p+1-r)/2] * W[c,f,r]"},
	{"X: f32[2,4,7], W: f32[4,3,3]",
	 "Y[n:2, f:3, p:12]: f32 = sum(c:4, r:3 where (p+1-r)%2 == 0, 1 <= (p+1-r)/2) "
	 "X[n,c,(p+1-r)/2] * W[c,f,r]"},
	/* groups with the same weights; with each other's filters; channels that no group reads */
	{"X: f32[2,8,6], W: f32[2,2,3]",
	 "Y[n:2, f:8, p:8]: f32 = sum(c:2, r:3 where 0 <= p-r, p-r < 6) X[n,f/2*2+c,p-r] * W[c,f%2,r]"},
	{"X: f32[2,8,6], W: f32[8,2,3]",
	 "Y[n:2, f:8, p:8]: f32 = sum(c:2, r:3 where 0 <= p-r, p-r < 6) "
	 "X[n,f/2*2+c,p-r] * W[f/2*2+c,1-f%2,r]"},
	{"X: f32[2,9,6], W: f32[9,2,3]",
	 "Y[n:2, f:8, p:8]: f32 = sum(c:2, r:3 where 0 <= p-r, p-r < 6) "
	 "X[n,f/2*2+c,p-r] * W[f/2*2+c,f%2,r]"},
	/* counted as if there were one element more; a mean that is rounded before it is one */
	{"X: f32[2,4,6]",
	 "S[n:2, c:4, p:3]: f32 = sum(r:3 where 0 <= 2*p+r-1, 2*p+r-1 < 6) X[n,c,2*p+r-1]\n"
	 "Y[n:2, c:4, p:3]: f32 = S[n,c,p] / f32(min(3, 8-2*p) - max(0, 2-2*p))"},
	{"X: f16[2,4,6]",
	 "S[n:2, c:4, p:3]: f16 = sum(r:2) X[n,c,2*p+r]\n"
	 "Y[n:2, c:4, p:3]: f16 = S[n,c,p] / 2.0"},
};
/* clang-format on */

static const char *
order_text(Arena *arena, const VendorOperand *operand)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < operand->rank; i++)
		buf_putc(&buf, operand->dims[i] < 0 ? '-' : (char)('0' + operand->dims[i]));
	return buf_text(&buf);
}

static const char *
attrs_text(Arena *arena, const VendorMatch *m)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < m->nattr; i++)
		if (m->attrs[i].kind == SA_INTS)
			buf_printf(&buf, "%s%s=%d", i ? " " : "", m->attrs[i].name, (int)m->attrs[i].ints[0]);
	return buf_text(&buf);
}

static bool
match_text(Arena *arena, const char *inputs, const char *stages, VendorMatch *m)
{
	const char *text = arena_printf(arena, "expr made(%s) -> Y {\n%s\n}\n", inputs, stages);
	Program *program = program_parse(expr_ctx_new(arena), "made", text);
	program_check(program);
	return row_match(arena, program_inline_stages(arena, program), m);
}

START_TEST(orders)
{
	const Case *c = &cases[_i];
	Arena *arena = arena_new("match");
	VendorMatch m;
	ck_assert_msg(match_text(arena, c->inputs, c->stages, &m), "%s", c->stages);
	ck_assert_str_eq(m.row->name, c->row);
	ck_assert_str_eq(order_text(arena, &m.operands[0]), c->src);
	ck_assert_str_eq(order_text(arena, &m.operands[1]), c->weights);
	ck_assert_str_eq(order_text(arena, &m.result), c->result);
	ck_assert_str_eq(attrs_text(arena, &m), c->attrs);
	arena_free(arena);
}
END_TEST

START_TEST(refusals)
{
	Arena *arena = arena_new("match");
	VendorMatch m;
	ck_assert_msg(!match_text(arena, refused[_i][0], refused[_i][1], &m), "%s", refused[_i][1]);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("forms");
	tcase_add_loop_test(tcase, orders, 0, countof(cases));
	tcase_add_loop_test(tcase, refusals, 0, countof(refused));
	return unit_run(tcase);
}
