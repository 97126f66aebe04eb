/* Lowering against the interpreter: each graph is evaluated node by node from its meaning, then
 * lowered (several pass levels and vector widths) and its kernels run by the loop interpreter; the
 * results agree. No compiler, no library: what differs is grouping, layout of loops, schedules.
 * Vendor steps are offered, too: they run by the definition of their rows, and so do the kernels
 * that stand beside them.
 */
#include "lower/lower.h"
#include "product_graphs.h"
#include "vendor_rows.h"

#include <math.h>
#include <string.h>

#include "expr/interp/interp.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/manager.h"

/* ---- a module interpreter: kernels by kernel_eval(), copies, views ---- */

enum { POISON = 0xbe }; /* what nobody writes is seen: a number far from the others */

typedef struct Runner {
	Arena *arena;
	const Module *module;
	Binding binding;
	int64_t values[64];
	bool bound[64];
	Array **arrays; /* per buffer */
} Runner;

static int64_t
number(const Runner *r, const Dim *dim)
{
	int64_t value = 0;
	ck_assert(dim_eval(dim, &r->binding, &value));
	return value;
}

static Array *
array_of(Runner *r, const MBuffer *buffer)
{
	Array **slot = &r->arrays[buffer->index], *made = *slot;
	if (made)
		return made;
	int64_t dims[16];
	for (int d = 0; d < buffer->rank; d++)
		dims[d] = number(r, buffer->dims[d]);
	if (buffer->kind == PB_WEIGHT)
		*slot = (Array *)(uintptr_t)buffer->data;
	else if (buffer->kind == PB_VIEW) {
		Array *base = array_of(r, buffer->base);
		int64_t *copy = arena_memdup(r->arena, dims, sizeof dims);
		size_t size = (size_t)(dtype_bits(buffer->type) / 8);
		Array *view = NEW(r->arena, Array);
		*view = (Array){buffer->type, buffer->rank, copy,
		                (char *)base->data + size * (size_t)number(r, buffer->offset)};
		*slot = view;
	} else {
		*slot = array_new(r->arena, buffer->type, buffer->rank, dims);
		memset((*slot)->data, POISON, array_bytes(*slot));
	}
	return *slot;
}

/* The kernel sees the same bytes under its own (merged) dims; of a view, all that lies behind its
 * first element, for its strides may lead there. */
static Array *
as_param(Runner *r, const MBuffer *buffer, const Buffer *param)
{
	Array *array = array_of(r, buffer);
	if (buffer->kind == PB_VIEW) {
		Array *rest = NEW(r->arena, Array);
		int64_t *size = NEW(r->arena, int64_t);
		*size = array_count(array_of(r, buffer->base)) - number(r, buffer->offset);
		*rest = (Array){array->type, 1, size, array->data};
		return rest;
	}
	int64_t *dims = NEW_N(r->arena, int64_t, param->tensor.rank + 1);
	for (int d = 0; d < param->tensor.rank; d++)
		dims[d] = number(r, param->tensor.hi[d]);
	Array *same = NEW(r->arena, Array);
	*same = (Array){param->tensor.type, param->tensor.rank, dims, array->data};
	ck_assert_int_eq(array_bytes(same), array_bytes(array)); /* four bytes may be a word */
	return same;
}

static void
run_kernel(Runner *r, const MStep *step)
{
	Array *args[64];
	int count = 0;
	kernel_check(step->kernel);
	for (int i = 0; i < step->plan.narg; i++)
		if (step->args[i]) {
			args[count] = as_param(r, step->args[i], step->kernel->buffers.data[count]);
			count++;
		}
	kernel_eval(step->kernel, &r->binding, args);
}

/* Bring elements from a buffer into a dense array of the same dims, or back. */
static void
move_elements(Runner *r, const MBuffer *buffer, Array *dense, bool back)
{
	Array *array = array_of(r, buffer);
	int64_t index[ROW_MAX_RANK], strides[ROW_MAX_RANK], count = array_count(array);
	size_t size = (size_t)(dtype_bits(array->type) / 8);
	for (int d = 0; d < array->rank && buffer->strides; d++)
		strides[d] = number(r, buffer->strides[d]);
	for (int64_t i = 0; i < count; i++) {
		int64_t at = buffer->strides ? 0 : i;
		row_unflatten(i, array->rank, array->dims, index);
		for (int d = 0; d < array->rank && buffer->strides; d++)
			at += index[d] * strides[d];
		char *here = (char *)array->data + at * (int64_t)size;
		char *there = (char *)dense->data + i * (int64_t)size;
		memcpy(back ? here : there, back ? there : here, size);
	}
}

/* The fallback kernel, then the row; both agree. */
static void
run_vendor(Runner *r, const MStep *step)
{
	Array *args[ROW_MAX_ARGS], *y;
	int last = step->plan.narg - 1;
	for (int i = 0; i <= last; i++) {
		args[i] = NULL;
		if (!step->args[i])
			continue;
		const Array *array = array_of(r, step->args[i]);
		args[i] = array_new(r->arena, array->type, array->rank, array->dims);
		move_elements(r, step->args[i], args[i], false);
	}
	run_kernel(r, step);
	row_run(&(RowCall){step->plan.row, step->plan.narg, args, step->plan.nattr, step->plan.attrs});
	y = array_new(r->arena, args[last]->type, args[last]->rank, args[last]->dims);
	move_elements(r, step->args[last], y, false);
	for (int64_t i = 0; i < array_count(y); i++) {
		double a = dtype_load_f64(y->type, y->data, i);
		double b = dtype_load_f64(y->type, args[last]->data, i);
		ck_element_msg(fabs(a - b) <= 2e-5 * fmax(1, fabs(a)), "step %s: kernel %g, %s %g",
		               step->plan.name, a, step->plan.row, b);
	}
	move_elements(r, step->args[last], args[last], true);
}

static void
run_step(Runner *r, const MStep *step)
{
	if (step->plan.kind == PT_COPY) {
		Array *from = array_of(r, step->args[0]), *to = array_of(r, step->args[1]);
		memcpy(to->data, from->data, array_bytes(from));
		return;
	}
	if (step->plan.kind == PT_VENDOR) {
		run_vendor(r, step);
		return;
	}
	ck_assert_int_eq(step->plan.kind, PT_KERNEL);
	run_kernel(r, step);
}

static void
bind_symbols(Runner *r, const Array *const *inputs)
{
	r->binding = (Binding){64, r->values, r->bound};
	for (int i = 0; i < r->module->symbols.count; i++) {
		const MSymbol *s = &r->module->symbols.data[i];
		ck_assert_int_eq(s->source, MSYM_DIM);
		for (int k = 0; k < r->module->inputs.count; k++)
			if (r->module->inputs.data[k] == s->buffer) {
				r->values[s->symbol->id] = inputs[k]->dims[s->index];
				r->bound[s->symbol->id] = true;
			}
	}
}

static void
run_module(Arena *arena, const Module *module, const Array *const *inputs, Array **outputs)
{
	Runner r = {.arena = arena, .module = module};
	r.arrays = NEW_N(arena, Array *, module->buffers.count + 1);
	bind_symbols(&r, inputs);
	for (int i = 0; i < module->inputs.count; i++)
		r.arrays[module->inputs.data[i]->index] = (Array *)(uintptr_t)inputs[i];
	for (int i = 0; i < module->steps.count; i++)
		run_step(&r, module->steps.data[i]);
	for (int i = 0; i < module->outputs.count; i++)
		outputs[i] = array_of(&r, module->outputs.data[i]);
}

/* ---- the reference: nodes in order, each from its meaning ---- */

static void
run_graph(Arena *arena, const Graph *graph, const Array *const *inputs, Array **outputs)
{
	Map values = {.arena = arena};
	for (int i = 0; i < graph->body->nparam; i++)
		map_set_ptr(&values, graph->body->params[i], (void *)(uintptr_t)inputs[i]);
	int64_t numbers[64] = {0};
	bool bound[64] = {false};
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		const Array *array = map_find_ptr(&values, def->value);
		numbers[def->symbol->id] = array->dims[def->index];
		bound[def->symbol->id] = true;
	}
	Binding binding = {64, numbers, bound};
	for (const Node *node = graph->body->first; node; node = node->next) {
		Program *program = node_meaning(graph, node);
		Value *ins[64];
		const Array *args[64];
		Array *outs[16];
		int count = node_meaning_inputs(node, ins);
		program_check(program);
		for (int i = 0; i < count; i++)
			args[i] = ins[i]->constant ? ins[i]->constant : map_find_ptr(&values, ins[i]);
		program_eval(arena, program, &binding, args, outs);
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				map_set_ptr(&values, node->outputs[i], outs[i]);
	}
	for (int i = 0; i < graph->body->nresult; i++)
		outputs[i] = map_find_ptr(&values, graph->body->results[i]);
}

/* ---- the comparison ---- */

static double
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / 9007199254740992.0;
}

static Array *
random_input(Arena *arena, const Value *value, int64_t symbol, uint64_t *state)
{
	int64_t dims[16], extent;
	for (int d = 0; d < value->type.rank; d++)
		dims[d] = dim_is_const(value->type.dims[d], &extent) ? extent : symbol;
	Array *array = array_new(arena, value->type.dtype, value->type.rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		if (dtype_is_float(array->type))
			dtype_store_f64(array->type, array->data, i, next_random(state) * 2 - 1);
		else
			dtype_store_i64(array->type, array->data, i, (int64_t)(next_random(state) * 3));
	return array;
}

static void
compare(const char *text, const Array *expected, const Array *seen)
{
	ck_assert_int_eq(expected->type, seen->type);
	ck_assert_int_eq(array_count(expected), array_count(seen));
	for (int64_t i = 0; i < array_count(expected); i++) {
		double a = dtype_load_f64(expected->type, expected->data, i);
		double b = dtype_load_f64(seen->type, seen->data, i);
		ck_element_msg(fabs(a - b) <= 2e-5 * fmax(1, fabs(a)), "%s\nelement %lld: %g, seen %g",
		               text, (long long)i, a, b);
	}
}

/* ---- a library that takes everything in plain storage ---- */

static bool
is_available(void *self, const char *library)
{
	(void)self;
	return strcmp(library, "onednn") == 0;
}

/* `self` is the way to add a residual that it finds faster. */
static bool
measure(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	for (int i = 0; i < query->narg; i++)
		if (query->args[i].layout)
			return false;
	const StepAttr *post = step_attr(query->nattr, query->attrs, "post");
	if (seconds)
		*seconds = post && strstr(post->string, self) ? 1 : 2;
	if (impl)
		*impl = "by definition";
	return true;
}

static bool
accept(void *self, const VendorCall *query, const char **impl)
{
	return measure(self, query, NULL, impl);
}

static Oracle
oracle_of(char *self)
{
	return (Oracle){self, is_available, accept, .measure = measure};
}

static PassContext
context_of(Arena *arena, const Target *target, int level)
{
	return (PassContext){.arena = arena,
	                     .run = run_passes,
	                     .level = level,
	                     .values = VALUES_finite, /* all rows, at any level */
	                     .target = target,
	                     .verify = true,
	                     .config = {.arena = arena},
	                     .recorded = {.arena = arena}};
}

static void
check_graph_with(const Oracle *oracle, const char *text, const char *device, int level,
                 int64_t symbol)
{
	Arena *arena = arena_new("test");
	Graph *graph = graph_parse(arena, "text", text);
	graph_infer(graph);
	const Array *inputs[16];
	Array *expected[16], *seen[16];
	uint64_t state = 1;
	for (int i = 0; i < graph->body->nparam; i++)
		inputs[i] = random_input(arena, graph->body->params[i], symbol, &state);
	int noutput = graph->body->nresult;
	run_graph(arena, graph, inputs, expected);
	Target target = {.device = device_find(device), .oracle = oracle};
	PassContext context = context_of(arena, &target, level);
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	run_loop_passes(module, &context);
	run_module(arena, module, inputs, seen);
	for (int i = 0; i < noutput; i++)
		compare(text, expected[i], seen[i]);
	arena_free(arena);
}

static void
check_graph(const char *text, const char *device, int level, int64_t symbol)
{
	const Oracle sum = oracle_of((char[]){"sum("}), add = oracle_of((char[]){"add("});
	const Oracle *const ways[] = {NULL, &sum, &add};
	for (size_t i = 0; i < countof(ways); i++)
		check_graph_with(ways[i], text, device, level, symbol);
}

static const char *const graphs[] = {
	"graph g(%x: f32[N,3,9,11]) -> %y { %w: f32[6,3,3,3] = weight 0 %b: f32[6] = weight 1\n"
	"%c = Conv(%x, %w, %b) {strides=[2,1], pads=[1,0,2,1]} \"c\"\n %y = Relu(%c) \"r\" }",
	"graph g(%x: f32[N,4,7,7]) -> %y { %w: f32[4,1,3,3] = weight 0\n"
	"%c = Conv(%x, %w) {group=4, pads=[1,1,1,1]} \"c\"\n"
	"%y = MaxPool(%c) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} \"p\" }",
	"graph g(%x: f32[N,5,40]) -> %y { %y = Softmax(%x) {axis=-1} \"s\" }",
	"graph g(%x: f32[N,5,40]) -> %y { %y = Softmax(%x) {axis=1} \"s\" }",
	"graph g(%x: f32[N,7,24], %a: f32[24]) -> %y, %m { %ax: i64[1] = {-1} %e: f32 = {0.001}\n"
	"%r = Add(%x, %a) \"add\"\n %m = ReduceMean(%r, %ax) \"mean\"\n %c = Sub(%r, %m) \"sub\"\n"
	"%q = Mul(%c, %c) \"sq\"\n %v = ReduceMean(%q, %ax) \"var\"\n %ve = Add(%v, %e) \"ve\"\n"
	"%s = Sqrt(%ve) \"sqrt\"\n %y = Div(%c, %s) \"div\" }",
	"graph g(%x: f32[N,6,20], %w: f32[20,33]) -> %y { %h: f32 = {0.5} %o: f32 = {1.0}\n"
	"%s: f32 = {1.4142135} %m = MatMul(%x, %w) \"m\"\n %d = Div(%m, %s) \"d\"\n"
	"%e = Erf(%d) \"e\"\n %a = Add(%e, %o) \"a\"\n %p = Mul(%m, %a) \"p\"\n"
	"%y = Mul(%p, %h) \"y\" }",
	"graph g(%x: f32[N,8,12]) -> %y { %s: i64[4] = {0, 0, 3, 4} %b: i64[3] = {0, 3, 32}\n"
	"%r = Reshape(%x, %s) \"r\"\n %t = Transpose(%r) {perm=[0,2,1,3]} \"t\"\n"
	"%u = Reshape(%t, %b) \"u\"\n %y = Exp(%u) \"e\" }",
	"graph g(%x: f32[N,3,5], %z: f32[N,2,5]) -> %y { %c = Concat(%x, %z) {axis=1} \"c\"\n"
	"%y = Tanh(%c) \"t\" }",
	"graph g(%x: f32[10,4], %i: i64[N]) -> %y { %g = Gather(%x, %i) {axis=0} \"g\"\n"
	"%y = Neg(%g) \"n\" }",
	"graph g(%x: f32[4,6], %i: i64[N,6], %u: f32[N,6]) -> %y {\n"
	"%y = ScatterElements(%x, %i, %u) {axis=0, reduction=\"add\"} \"s\" }",
	"graph g(%x: f32[N,6,5]) -> %y { %a: i64 = {1} %y = CumSum(%x, %a) \"c\" }",
	"graph g(%x: f32[N,6,35]) -> %y { %y = ArgMax(%x) {axis=2, keepdims=0} \"a\" }",
	"graph g(%x: f32[N,6,35]) -> %y { %y = ArgMax(%x) {axis=1, keepdims=0} \"a\" }",
	"graph g(%x: f32[N,3,4,4]) -> %y { %w: f32[3,5,3,3] = weight 0\n"
	"%c = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,0,0]} \"c\"\n %y = Relu(%c) \"r\" }",
	"graph g(%x: f32[N,3,6,6]) -> %y { %w: f32[4,3,3,3] = weight 0 %s: f32[4] = weight 1\n"
	"%b: f32[4] = weight 2 %m: f32[4] = weight 3 %v: f32[4] = {0.5, 1.0, 2.0, 0.25}\n"
	"%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\"\n"
	"%n = BatchNormalization(%c, %s, %b, %m, %v) \"bn\"\n %y = Relu(%n) \"r\" }",
	"graph g(%x: f16[N,3,40]) -> %y { %c = Mul(%x, %x) \"m\"\n %y = Add(%c, %x) \"a\" }",
	"graph g(%x: f32[1,12]) -> %e, %q { %ax: i64[1] = {1} %e = Exp(%x) \"e\"\n"
	"%m = ReduceMean(%e, %ax) \"m\"\n %q = Mul(%m, %m) \"q\" }",
	"graph g(%q: f32[2,3,3], %k: f32[2,3,3], %v: f32[2,3,3], %m: f32[1,1,3,3]) -> %y, %a, %b, %s "
	"{\n"
	"%y, %a, %b, %s = Attention(%q, %k, %v, %m) {q_num_heads=1, kv_num_heads=1,\n"
	"softcap=1.9639783, qk_matmul_output_mode=2} \"a\" }",
	/* reductions that stride far: streamed through a tile of accumulators */
	"graph g(%x: f32[N,20,70]) -> %y { %a: i64[1] = {1} %s = ReduceSum(%x, %a) {keepdims=0} \"s\"\n"
	"%y = Exp(%s) \"e\" }",
	"graph g(%x: f32[N,20,70], %i: f32[20,70]) -> %y { %m = Mul(%x, %i) \"m\" %a: i64[1] = {1}\n"
	"%y = ReduceMax(%m, %a) \"s\" }",
	"graph g(%x: f16[N,20,540]) -> %y { %a: i64[1] = {1} %y = ReduceMean(%x, %a) \"s\" }",
	"graph g(%x: f32[N,20,70]) -> %y { %y = ArgMax(%x) {axis=1, keepdims=0} \"a\" }",
	"graph g(%x: f32[N,20,70]) -> %y { %y = Softmax(%x) {axis=1} \"s\" }",
	"graph g(%x: f32[1,40], %w: f32[40,90]) -> %y { %m = MatMul(%x, %w) \"m\"\n"
	"%y = Relu(%m) \"r\" }",
	/* transposes: blocks along the lines of what is read */
	"graph g(%x: f32[N,70,130]) -> %y { %t = Transpose(%x) {perm=[0,2,1]} \"t\"\n"
	"%y = Exp(%t) \"e\" }",
	"graph g(%x: f32[N,5,67,35], %z: f32[N,67,35,5]) -> %y {\n"
	"%t = Transpose(%x) {perm=[0,2,3,1]} \"t\"\n %y = Add(%t, %z) \"a\" }",
	"graph g(%x: i8[N,300,70]) -> %y { %y = Transpose(%x) {perm=[2,0,1]} \"t\" }",
	/* long reductions with little in parallel: two kernels */
	"graph g(%x: f32[N,509,601]) -> %y { %s = ReduceMean(%x) {keepdims=0} \"s\"\n"
	"%y = Exp(%s) \"e\" }",
	"graph g(%x: i32[3,50000], %w: i32[50000,2]) -> %y { %y = MatMul(%x, %w) \"m\" }",
	"graph g(%x: f16[N,3,300000]) -> %y { %a: i64[2] = {0, 2} %y = ReduceMax(%x, %a) \"s\" }",
	"graph g(%x: f32[2,300000]) -> %y { %y = Softmax(%x) \"s\" }",
	"graph g(%x: f32[N,70]) -> %y, %z { %y = Relu(%x) \"r\"\n %z = Exp(%y) \"e\" }",
	/* a transposed operand, which is added, too: its strides are not those of its dims */
	"graph g(%a: f32[2,4,4], %x: f32[4,4]) -> %y { %t = Transpose(%x) {perm=[1,0]} \"t\"\n"
	"%m = MatMul(%a, %t) \"m\"\n %y = Add(%m, %t) \"y\" }",
	"graph g(%a: f32[2,3,4], %x: f32[4,4], %z: f32[1,4]) -> %y { %i: i64[1] = {0}\n"
	"%t = Transpose(%x) {perm=[1,0]} \"t\"\n %m = MatMul(%a, %t) \"m\"\n"
	"%y = Mul(%m, %z) \"y\" }",
	"graph g(%a: f32[N,4,4]) -> %y { %t = Transpose(%a) {perm=[0,2,1]} \"t\"\n"
	"%m = MatMul(%t, %t) \"m\"\n %s = Sub(%m, %t) \"s\"\n %y = Relu(%s) \"y\" }",
	/* two results of one reduction, one of them read by the next stage */
	"graph g(%x: f32[N,2,8,8]) -> %y { %v, %y = MaxPool(%x) {dilations=[2,2],\n"
	"kernel_shape=[2,2], strides=[1,1]} \"v\" }",
	"graph g(%x: f32[N,2,8,8]) -> %v, %y { %v, %y = MaxPool(%x) {dilations=[2,2],\n"
	"kernel_shape=[2,2], strides=[1,1], pads=[1,0,0,1], storage_order=1} \"v\" }",
	"graph g(%x: f32[N,2,8,4]) -> %v, %y { %v, %y = MaxPool(%x) {dilations=[2,2],\n"
	"kernel_shape=[1,2], strides=[1,2], ceil_mode=1} \"v\" }",
	"graph g(%x: f32[N,2,6,4,4]) -> %v, %y { %v, %y = MaxPool(%x) {dilations=[3,2,1],\n"
	"kernel_shape=[2,2,2], strides=[1,1,1], pads=[3,0,1,0,1,1]} \"v\" }",
	/* additions behind a product: one of them may be where the result lies */
	"graph g(%x: f32[N,6,5], %z: f32[N,6,7], %c: f32[N,6,7]) -> %y { %w: f32[5,7] = weight 0\n"
	"%m = MatMul(%x, %w) \"m\"\n %a = Add(%m, %z) \"a\"\n %y = Add(%a, %c) \"y\" }",
	"graph g(%x: f32[N,5], %z: f32[N,7]) -> %y { %w: f32[5,7] = weight 0 %b: f32[7] = weight 1\n"
	"%m = Gemm(%x, %w, %b) \"m\"\n %a = Add(%z, %m) \"a\"\n %r = Relu(%a) \"r\"\n"
	"%y = Add(%r, %z) \"y\" }",
	"graph g(%x: f32[N,4,5,5], %z: f32[N,4,5,5], %c: f32[N,4,5,5]) -> %y {\n"
	"%w: f32[4,4,3,3] = weight 0\n %m = Conv(%x, %w) {pads=[1,1,1,1]} \"m\"\n"
	"%a = Add(%z, %m) \"a\"\n %b = Add(%x, %a) \"b\"\n %y = Add(%b, %c) \"y\" }",
	/* a product whose result lies in another order, and so does what is added */
	"graph g(%a: f32[N,5,3], %b: f32[N,3,7], %z: f32[5,N,7], %c: f32[7]) -> %y {\n"
	"%m = Einsum(%a, %b) {equation=\"bik,bkj->ibj\"} \"m\"\n %s = Add(%m, %c) \"s\"\n"
	"%t = Add(%s, %z) \"t\"\n %y = Relu(%t) \"y\" }",
};

/* Concatenations, whose parts may be written in place: what is read twice, in part or from afar is
 * not. Axis 0 is where it happens. */
static const char *const concats[] = {
	"graph g(%x: f32[N,4]) -> %y { %r = Relu(%x) \"r\"\n %c = Concat(%r, %r) {axis=0} \"c\"\n"
	"%y = Neg(%c) \"y\" }",
	"graph g(%x: f32[3,4]) -> %y { %a: i64[1] = {-1} %b: i64[1] = {-100} %d: i64[1] = {0}\n"
	"%r = Slice(%x, %a, %b, %d, %a) \"r\"\n %c = Concat(%r, %r) {axis=0} \"c\"\n"
	"%y = Identity(%c) \"y\" }",
	"graph g(%x: f32[N,2,3]) -> %y { %a: i64[1] = {-1} %b: i64[1] = {-100} %d: i64[1] = {1}\n"
	"%e: i64[2] = {-1, 3}\n %r = Slice(%x, %a, %b, %d, %a) \"r\"\n"
	"%c = Concat(%r, %r) {axis=-3} \"c\"\n %y = Reshape(%c, %e) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[2,4]) -> %y, %r { %r = Relu(%x) \"r\"\n %s = Neg(%z) \"s\"\n"
	"%c = Concat(%r, %s) {axis=0} \"c\"\n %y = Exp(%c) \"y\" }",
	"graph g(%x: f32[3,4]) -> %y { %w: f32[2,4] = weight 0 %r = Relu(%x) \"r\"\n"
	"%c = Concat(%x, %r, %w) {axis=0} \"c\"\n %y = Exp(%c) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[2,4]) -> %y { %r = Relu(%x) \"r\"\n %s = Neg(%z) \"s\"\n"
	"%c = Concat(%r, %s) {axis=0} \"c\"\n %d = Concat(%c, %c) {axis=0} \"d\"\n"
	"%y = Exp(%d) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[0,4]) -> %y { %r = Relu(%x) \"r\"\n %s = Neg(%z) \"s\"\n"
	"%c = Concat(%s, %r, %s) {axis=0} \"c\"\n %y = Exp(%c) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[2,4]) -> %y { %r = Softmax(%x) \"r\"\n"
	"%s = Softmax(%z) \"s\"\n %c = Concat(%r, %s) {axis=0} \"c\"\n"
	"%a: i64[1] = {0} %b: i64[1] = {4}\n %y = Slice(%c, %a, %b, %a) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[2,4]) -> %y { %r = Softmax(%x) \"r\"\n"
	"%s = Softmax(%z) \"s\"\n %c = Concat(%r, %s) {axis=0} \"c\"\n"
	"%a: i64[1] = {0} %b: i64[1] = {2} %d: i64[1] = {1}\n %y = Slice(%c, %a, %b, %d) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[2,4]) -> %y { %r = Softmax(%x) \"r\"\n"
	"%s = Softmax(%z) \"s\"\n %c = Concat(%r, %s) {axis=0} \"c\"\n"
	"%a: i64[1] = {1} %b: i64[1] = {5} %d: i64[1] = {0}\n %y = Slice(%c, %a, %b, %d) \"y\" }",
	"graph g(%x: f32[2,3,4], %z: f32[2,2,4]) -> %y { %r = Softmax(%x) \"r\"\n"
	"%s = Softmax(%z) \"s\"\n %c = Concat(%r, %s) {axis=1} \"c\"\n"
	"%a: i64[1] = {0} %b: i64[1] = {1}\n %y = Slice(%c, %a, %b, %a) \"y\" }",
	"graph g(%x: f32[3,1], %z: f32[2,1]) -> %y { %r = Softmax(%x) {axis=0} \"r\"\n"
	"%s = Softmax(%z) {axis=0} \"s\"\n %c = Concat(%r, %s) {axis=0} \"c\"\n"
	"%e: i64[2] = {5, 4}\n %y = Expand(%c, %e) \"y\" }",
	"graph g(%x: f32[3,4], %z: f32[2,4], %w: f32[5,4]) -> %y, %u { %r = Softmax(%x) \"r\"\n"
	"%s = Softmax(%z) \"s\"\n %y = Concat(%r, %s) {axis=0} \"c\"\n"
	"%u = Concat(%s, %r) {axis=0} \"d\" }",
	"graph g(%x: f32[3,4], %z: f32[3,4]) -> %y { %a: i64[1] = {0} %b: i64[1] = {5}\n"
	"%r = Relu(%x) \"r\"\n %s = Neg(%z) \"s\"\n %y = fused(%r, %s, %a, %b) \"f\" {\n"
	"%c = Concat(%r, %s) {axis=0} \"c\"\n %d = Slice(%c, %a, %b, %a) \"d\"\n yield %d } }",
	"graph g(%x: f32[3,4], %z: f32[3,4]) -> %y { %a: i64[1] = {0} %b: i64[1] = {2}\n"
	"%e: i64[1] = {1} %r = Relu(%x) \"r\"\n %s = Neg(%z) \"s\"\n"
	"%y = fused(%r, %s, %a, %b, %e) \"f\" {\n"
	"%c = Concat(%r, %s) {axis=0} \"c\"\n %d = Slice(%c, %a, %b, %e) \"d\"\n yield %d } }",
	"graph g(%x: f32[3,1], %z: f32[2,1]) -> %y { %e: i64[2] = {5, 4}\n"
	"%r = Relu(%x) \"r\"\n %s = Neg(%z) \"s\"\n %y = fused(%r, %s, %e) \"f\" {\n"
	"%c = Concat(%r, %s) {axis=0} \"c\"\n %d = Expand(%c, %e) \"d\"\n yield %d } }",
	"graph g(%x: f32[3,4]) -> %y { %r = Softmax(%x) \"r\"\n %e: i64[2] = {6, 2}\n"
	"%f: i64[2] = {6, 2}\n %a = Reshape(%r, %e) \"a\"\n %b = Reshape(%r, %f) \"b\"\n"
	"%y = Concat(%a, %b) {axis=0} \"y\" }",
};

/* One concatenation in another, of more than one image, in blocks of channels. */
static const char blocked_concats[] =
	"graph g(%x: f32[N,16,2,3], %z: f32[N,32,2,3]) -> %y {\n"
	"  %a: f32[N,16,2,3] @nc16hw = Relu(%x)  \"a\"\n"
	"  %b: f32[N,32,2,3] @nc16hw = Neg(%z)  \"b\"\n"
	"  %c: f32[N,48,2,3] @nc16hw = Concat(%a, %b) {axis=1}  \"c\"\n"
	"  %d: f32[N,32,2,3] @nc16hw = Abs(%z)  \"d\"\n"
	"  %e: f32[N,80,2,3] @nc16hw = Concat(%d, %c) {axis=1}  \"e\"\n"
	"  %y = Tanh(%e)  \"t\"\n}";

/* Two results of one reduction, one of them in blocks. */
static const char blocked_indices[] =
	"graph g(%x: f32[N,16,6,6]) -> %y, %w {\n"
	"  %a: f32[N,16,6,6] @nc16hw = Relu(%x)  \"a\"\n"
	"  %v: f32[N,16,4,4] @nc16hw, %w: i64[N,16,4,4] = MaxPool(%a)"
	" {dilations=[2,2], kernel_shape=[2,2], strides=[1,1]}  \"v\"\n"
	"  %y = Tanh(%v)  \"t\"\n}";

START_TEST(results_of_one_stage_in_two_storages)
{
	for (int batch = 1; batch <= 3; batch++)
		check_graph(blocked_indices, "cpu:x86-64-v4", 0, batch);
}
END_TEST

/* Where nothing is measured, a residual is a sum in place (lower/vendor.c). */
START_TEST(unmeasured_residuals_are_sums)
{
	static const char text[] =
		"graph g(%x: f32[1,4,6,6], %z: f32[1,4,6,6]) -> %y { %w: f32[4,4,1,1] = weight 0\n"
		"%c = Conv(%x, %w) \"c\"\n %a = Add(%c, %z) \"a\"\n %y = Relu(%a) \"y\" }";
	const Oracle oracle = oracle_of((char[]){"add("});
	Arena *arena = arena_new("test");
	Graph *graph = graph_parse(arena, "test", text);
	Target target = {.device = device_find("cpu:x86-64-v4"), .oracle = &oracle};
	PassContext context = context_of(arena, &target, 2);
	graph_infer(graph);
	run_graph_passes(graph, &context);
	Module *module = lower_graph(arena, graph, &context);
	ck_assert_int_eq(module->steps.count, 1);
	const MStep *step = module->steps.data[0];
	ck_assert_str_eq(step->plan.row, "conv");
	ck_assert_str_eq(step_attr(step->plan.nattr, step->plan.attrs, "post")->string, "sum(3);relu");
	arena_free(arena);
}
END_TEST

START_TEST(blocked_concatenations_are_written_in_place)
{
	Arena *arena = arena_new("test");
	Graph *graph = graph_parse(arena, "test", blocked_concats);
	Target target = {.device = device_find("cpu:x86-64-v4")};
	PassContext context = context_of(arena, &target, 0);
	graph_infer(graph);
	Module *module = lower_graph(arena, graph, &context);
	ck_assert_int_eq(module->steps.count, 4); /* Relu, Neg, Abs, Tanh */
	arena_free(arena);
	for (int batch = 1; batch <= 3; batch++)
		check_graph(blocked_concats, "cpu:x86-64-v4", 0, batch);
}
END_TEST

static void
check_levels(const char *text)
{
	check_graph(text, "cpu:x86-64-v4", 0, 2);
	check_graph(text, "cpu:x86-64-v4", 1, 3);
	check_graph(text, "cpu:x86-64-v3", 2, 2);
	check_graph(text, "cpu:x86-64-v4", 3, 1);
}

START_TEST(lowering_agrees)
{
	check_levels(graphs[_i]);
}
END_TEST

START_TEST(products_agree)
{
	check_levels(products[_i]);
	check_graph(products[_i], "cpu:x86-64-v3", 3, 2);
}
END_TEST

START_TEST(concatenations_agree)
{
	check_levels(concats[_i]);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("lowering");
	tcase_add_loop_test(tcase, lowering_agrees, 0, (int)countof(graphs));
	tcase_add_loop_test(tcase, products_agree, 0, (int)countof(products));
	tcase_add_loop_test(tcase, concatenations_agree, 0, (int)countof(concats));
	tcase_add_test(tcase, results_of_one_stage_in_two_storages);
	tcase_add_test(tcase, blocked_concatenations_are_written_in_place);
	tcase_add_test(tcase, unmeasured_residuals_are_sums);
	return unit_run(tcase);
}
