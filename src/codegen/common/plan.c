/* A Module as a runtime Plan: names become numbers, dims small programs, lives are computed.
 *
 * A temporary lives from the step that first writes it to the one that last touches it; views,
 * nested plans that capture it and symbols read from it count as touching their base. What a step
 * touches lives as long as the steps beside it run.
 */
#include "codegen/common/bundle.h"
#include "base/dtype.h"
#include "expr/index/text.h"

#include <string.h>

enum { WEIGHT_ALIGN = 64 };

typedef struct Planner {
	Arena *arena;
	const Module *module;
	const struct Planner *parent;
	WeightPool *weights;
	KernelList *kernels;
	Plan *plan;
	VEC(PlanSymbol) symbols;
	VEC(const Symbol *) symbol_of; /* parallel to symbols */
	VEC(PlanDim) dims;
	Map dim_numbers;  /* Dim to number + 1 */
	const char *what; /* whose dims are being numbered */
	PlanBuffer *buffers;
} Planner;

static _Noreturn void
broken(const Planner *planner, const char *what, const char *name)
{
	fail_as(FAIL_BUG, NULL, "plan of %s: %s %s",
	        planner->module->name ? planner->module->name : "a graph", what, name ? name : "");
}

/* ---- dims ------------------------------------------------------------------------------------ */

static int
symbol_number(const Planner *planner, const Symbol *symbol)
{
	for (int i = 0; i < planner->symbol_of.count; i++)
		if (planner->symbol_of.data[i] == symbol)
			return i;
	broken(planner, "nothing defines symbol", symbol->name);
}

typedef struct Tokens {
	Planner *planner;
	VEC(PlanToken) list;
} Tokens;

static void
add_token(Tokens *tokens, PlanOp op, int64_t value)
{
	vec_push(tokens->planner->arena, &tokens->list, (PlanToken){op, value});
}

/* The operator of a plan for one of scalars, of integers or of floats; PD_CONST: there is none. */
static PlanOp
plan_operator(const Expr *e)
{
	static const struct {
		ExprOp op;
		PlanOp whole, real;
	} ops[] = {{EX_add, PD_ADD, PD_FADD},
	           {EX_sub, PD_SUB, PD_FSUB},
	           {EX_mul, PD_MUL, PD_FMUL},
	           {EX_div, PD_CONST, PD_FDIV},
	           {EX_floordiv, PD_FLOORDIV, PD_CONST},
	           {EX_floormod, PD_FLOORMOD, PD_CONST},
	           {EX_min, PD_MIN, PD_FMIN},
	           {EX_max, PD_MAX, PD_FMAX},
	           {EX_lt, PD_LESS, PD_CONST},
	           {EX_eq, PD_EQUAL, PD_CONST},
	           {EX_select, PD_SELECT, PD_CONST},
	           {EX_floor, PD_CONST, PD_FLOOR},
	           {EX_ceil, PD_CONST, PD_CEIL},
	           {EX_round, PD_CONST, PD_ROUND}};
	DType from = e->argc ? (DType)e->arg[0]->type : DT_NONE;
	bool from_float = from == DT_F32 || from == DT_F64;
	if (e->op == EX_cast && e->type == DT_I64)
		return from_float ? PD_INT : PD_CONST;
	if (e->op == EX_cast)
		return from == DT_I64 ? PD_FLOAT : from_float ? PD_F32 : PD_CONST;
	for (size_t i = 0; i < countof(ops); i++)
		if (ops[i].op == e->op)
			return from_float ? ops[i].real : ops[i].whole;
	return PD_CONST;
}

static void
put_tokens(Tokens *tokens, const Expr *e)
{
	bool is_float = e->type == DT_F32 || e->type == DT_F64;
	PlanOp op = plan_operator(e);
	int64_t bits;
	if (expr_as_i64(e, &bits)) {
		add_token(tokens, PD_CONST, bits);
	} else if (e->op == EX_const && is_float) {
		memcpy(&bits, &(double){expr_const_f64(e)}, sizeof bits);
		add_token(tokens, PD_NUMBER, bits);
	} else if (e->op == EX_symbol) {
		add_token(tokens, PD_SYMBOL, symbol_number(tokens->planner, e->symbol));
	} else if (op != PD_CONST && (is_float || e->type == DT_I64 || e->type == DT_BOOL)) {
		for (int k = 0; k < e->argc; k++)
			put_tokens(tokens, e->arg[k]);
		add_token(tokens, op, 0);
		if (e->type == DT_F32 && (op == PD_FLOAT || (op >= PD_FADD && op <= PD_FDIV)))
			add_token(tokens, PD_F32, 0);
	} else {
		Buf text = {.arena = tokens->planner->arena};
		expr_print(&text, e);
		fail_unsupported(NULL, "value %s: a plan cannot compute the extent %s",
		                 tokens->planner->what, buf_text(&text));
	}
}

/* Postfix needs as many cells as the deeper operand on the right makes wait. */
static int
dim_number(Planner *planner, const Expr *dim)
{
	uintptr_t known = (uintptr_t)map_find_ptr(&planner->dim_numbers, dim);
	if (known)
		return (int)known - 1;
	Tokens tokens = {.planner = planner};
	put_tokens(&tokens, dim);
	int depth = 0;
	for (int i = 0; i < tokens.list.count; i++) {
		depth += 1 - plan_op_arity(tokens.list.data[i].op);
		if (depth > PLAN_DIM_DEPTH)
			fail_unsupported(NULL, "an extent is nested too deeply for a plan");
	}
	int number = planner->dims.count;
	vec_push(planner->arena, &planner->dims, (PlanDim){tokens.list.count, tokens.list.data});
	map_set_ptr(&planner->dim_numbers, dim, (void *)(uintptr_t)(number + 1));
	return number;
}

static int *
dim_numbers(Planner *planner, int count, const Dim *const *dims)
{
	int *numbers = NEW_N(planner->arena, int, count + 1);
	for (int i = 0; i < count; i++)
		numbers[i] = dim_number(planner, dims[i]);
	return numbers;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* The steps that run beside step `i`: the first and the last. */
static int
first_beside(const Module *module, int i)
{
	while (i > 0 && module->steps.data[i]->plan.is_beside)
		i--;
	return i;
}

static int
last_beside(const Module *module, int i)
{
	while (i + 1 < module->steps.count && module->steps.data[i + 1]->plan.is_beside)
		i++;
	return i;
}

/* The step behind the one that writes a buffer last: from there on its contents are known. */
static int
step_behind(const Planner *planner, MBuffer *buffer)
{
	int step = 0;
	for (int i = 0; i < planner->module->steps.count; i++) {
		const MStep *s = planner->module->steps.data[i];
		for (int k = s->plan.narg - s->plan.noutput; k < s->plan.narg; k++)
			if (s->args[k] && mbuffer_root(s->args[k]) == mbuffer_root(buffer))
				step = last_beside(planner->module, i) + 1;
	}
	return step;
}

static void
plan_symbol(Planner *planner, const MSymbol *def)
{
	int outer = planner->parent ? planner->parent->symbols.count : 0;
	PlanSymbol symbol = {.name = def->symbol->name,
	                     .lo = def->symbol->lo,
	                     .hi = def->symbol->hi,
	                     .index = def->index};
	if (def->source == MSYM_EXPR) {
		for (ExprWalk walk = expr_walk(def->expr); expr_step(&walk);) {
			bool is_symbol = walk.e->op == EX_symbol;
			int number = is_symbol ? symbol_number(planner, walk.e->symbol) : 0;
			bool is_own = number >= outer; /* others are bound on entry */
			if (is_symbol && is_own && planner->symbols.data[number].step > symbol.step)
				symbol.step = planner->symbols.data[number].step;
		}
		symbol.source = PS_DIM;
		symbol.index = 0;
		planner->what = def->symbol->name;
		symbol.dim = dim_number(planner, def->expr);
	} else {
		symbol.buffer = def->buffer->index;
		symbol.step = step_behind(planner, def->buffer);
		symbol.source = def->source == MSYM_ELEMENT     ? PS_ELEMENT
		                : def->buffer->kind == PB_INPUT ? PS_INPUT
		                                                : PS_OUTPUT;
	}
	vec_push(planner->arena, &planner->symbols, symbol);
	vec_push(planner->arena, &planner->symbol_of, def->symbol);
}

/* Symbols of the plan around come first; one of the same name defined again inside is the outer. */
static void
plan_symbols(Planner *planner)
{
	for (int i = 0; planner->parent && i < planner->parent->symbols.count; i++) {
		PlanSymbol symbol = planner->parent->symbols.data[i];
		vec_push(planner->arena, &planner->symbols, symbol);
		vec_push(planner->arena, &planner->symbol_of, planner->parent->symbol_of.data[i]);
	}
	int outer = planner->symbol_of.count;
	for (int i = 0; i < planner->module->symbols.count; i++) {
		const MSymbol *def = &planner->module->symbols.data[i];
		bool is_outer = false;
		for (int k = 0; k < outer; k++)
			is_outer = is_outer || planner->symbol_of.data[k] == def->symbol;
		if (!is_outer)
			plan_symbol(planner, def);
	}
}

/* ---- weights --------------------------------------------------------------------------------- */

static int64_t
pool_weight(WeightPool *pool, const Array *data, size_t bytes)
{
	Hash128 hash = hash128(data->data, bytes);
	const char *key = arena_printf(pool->arena, "%016llx%016llx", (unsigned long long)hash.high,
	                               (unsigned long long)hash.low);
	uintptr_t known = (uintptr_t)map_find(&pool->by_hash, key);
	if (known && pool->pieces.data[known - 1].bytes == bytes)
		return pool->pieces.data[known - 1].offset;
	int64_t offset = pool->size;
	vec_push(pool->arena, &pool->pieces, (__typeof__(*pool->pieces.data)){data, bytes, offset});
	map_set(&pool->by_hash, key, (void *)(uintptr_t)pool->pieces.count);
	pool->size += ((int64_t)bytes + WEIGHT_ALIGN - 1) / WEIGHT_ALIGN * WEIGHT_ALIGN;
	return offset;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* "nc16hw": dims behind a letter's number come in blocks, the last one padded. */
static const Dim *
stored_count(Planner *planner, const MBuffer *buffer)
{
	ExprCtx *ctx = planner->module->ctx;
	const Dim *count = dim_const(ctx, 1);
	int64_t block = layout_block(buffer->layout);
	for (int d = 0; d < buffer->rank; d++) {
		const Dim *dim = buffer->dims[d];
		if (d == layout_dim(buffer->layout))
			dim = dim_mul_i64(ctx, dim_ceildiv(ctx, dim, dim_const(ctx, block)), block);
		count = dim_mul(ctx, count, dim);
	}
	return count;
}

static const Dim *
stored_bytes(Planner *planner, const MBuffer *buffer)
{
	ExprCtx *ctx = planner->module->ctx;
	const Dim *bits = dim_mul_i64(ctx, stored_count(planner, buffer), dtype_bits(buffer->type));
	return dim_ceildiv(ctx, bits, dim_const(ctx, 8));
}

static int
position_in(const MBuffer *buffer, int count, MBuffer *const *list)
{
	for (int i = 0; i < count; i++)
		if (list[i] == buffer)
			return i;
	return 0;
}

static void
plan_data(Planner *planner, const MBuffer *from, PlanBuffer *to)
{
	size_t bytes = 0;
	if (!from->data || !dtype_bytes(from->type, array_count(from->data), &bytes))
		broken(planner, "no data for weight", from->name);
	to->bytes = (int64_t)bytes;
	to->offset = pool_weight(planner->weights, from->data, bytes);
}

/* What a view shows; views of it that nobody needed are gone. */
static const MBuffer *
shown_by(const Module *module, const MBuffer *view)
{
	for (const MBuffer *of = view->of; of && of->kind == PB_VIEW; of = of->of)
		if (of->index < module->buffers.count && module->buffers.data[of->index] == of)
			return of;
	return view->base;
}

static void
plan_view(Planner *planner, const MBuffer *from, PlanBuffer *to)
{
	ExprCtx *ctx = planner->module->ctx;
	to->base = from->base->index;
	to->of = shown_by(planner->module, from)->index;
	planner->what = from->name;
	to->offset_dim = dim_number(planner, from->offset ? from->offset : dim_const(ctx, 0));
	to->strides = from->strides ? dim_numbers(planner, from->rank, from->strides) : NULL;
}

static void
plan_buffer(Planner *planner, MBuffer *from, PlanBuffer *to)
{
	const Module *module = planner->module;
	planner->what = from->name;
	*to = (PlanBuffer){.name = from->name,
	                   .type = from->type,
	                   .rank = from->rank,
	                   .dims = dim_numbers(planner, from->rank, from->dims),
	                   .kind = from->kind,
	                   .place = mbuffer_root(from)->is_host ? PLACE_HOST : PLACE_DEVICE,
	                   .bytes = from->kind == PB_INPUT ? -1 : 0,
	                   .size_dim = -1,
	                   .layout = from->layout,
	                   .is_value = from->is_value,
	                   .last = -1};
	if (from->data || from->kind == PB_WEIGHT)
		plan_data(planner, from, to);
	if (from->kind == PB_INPUT)
		to->index = position_in(from, module->inputs.count, module->inputs.data);
	else if (from->kind == PB_OUTPUT)
		to->index = position_in(from, module->outputs.count, module->outputs.data);
	else if (from->kind == PB_VIEW)
		plan_view(planner, from, to);
	else if (from->kind == PB_CAPTURE)
		to->index = from->base->index;
	else if (from->kind == PB_TEMP && from->is_data_sized)
		to->kind = PB_POOL;
	else if (from->kind == PB_TEMP)
		to->size_dim = dim_number(planner, stored_bytes(planner, from));
}

/* ---- lives ----------------------------------------------------------------------------------- */

static void
touch(Planner *planner, MBuffer *buffer, int step)
{
	PlanBuffer *root = &planner->buffers[mbuffer_root(buffer)->index];
	if (root->last < 0)
		root->first = step;
	if (step > root->last)
		root->last = step;
}

static void
touch_captures(Planner *planner, const Module *body, int step)
{
	for (int i = 0; i < body->buffers.count; i++)
		if (body->buffers.data[i]->kind == PB_CAPTURE)
			touch(planner, body->buffers.data[i]->base, step);
}

static void
plan_lives(Planner *planner)
{
	const Module *module = planner->module;
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		for (int k = 0; k < step->plan.narg; k++)
			if (step->args[k]) {
				touch(planner, step->args[k], first_beside(module, i));
				touch(planner, step->args[k], last_beside(module, i));
			}
		for (int k = 0; k < step->plan.nbody; k++)
			touch_captures(planner, step->bodies[k], i);
	}
	for (int i = 0; i < module->symbols.count; i++)
		if (module->symbols.data[i].source == MSYM_ELEMENT) {
			MBuffer *buffer = module->symbols.data[i].buffer;
			int step = step_behind(planner, buffer), last = module->steps.count - 1;
			touch(planner, buffer, step < last ? step : last);
		}
	for (int i = 0; i < module->buffers.count; i++)
		if (planner->buffers[i].last < 0) /* never touched */
			planner->buffers[i].first = planner->buffers[i].last = 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Of kernels for devices with blocks of threads. */
typedef struct Launching {
	const Dim *axes[2 * PLAN_AXES]; /* blocks, then threads of one */
	const Dim *shared;
} Launching;

static void
find_launch(ExprCtx *ctx, const Stmt *stmt, Launching *launching)
{
	if (stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X) {
		const Dim **axis = &launching->axes[stmt->bind - BIND_BLOCK_X];
		const Dim *extent = dim_sub(ctx, stmt->hi, stmt->lo);
		*axis = *axis ? dim_max(ctx, *axis, extent) : extent;
	}
	if (stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_SHARED) {
		const Tensor *tensor = &stmt->buffer->tensor;
		const Dim *bytes = dim_const(ctx, dtype_bits(tensor->type) / 8);
		for (int d = 0; d < tensor->rank; d++)
			bytes = dim_mul(ctx, bytes, tensor->hi[d]);
		const Dim *unit = dim_const(ctx, PLAN_SHARED_ALIGN);
		bytes = dim_mul(ctx, dim_ceildiv(ctx, bytes, unit), unit);
		launching->shared = launching->shared ? dim_add(ctx, launching->shared, bytes) : bytes;
	}
}

static const int *
axis_numbers(Planner *planner, const Dim **axes, int *count)
{
	const Dim *one = dim_const(planner->module->ctx, 1);
	*count = PLAN_AXES;
	for (int i = 0; i < PLAN_AXES; i++)
		axes[i] = axes[i] ? axes[i] : one;
	return dim_numbers(planner, PLAN_AXES, axes);
}

/* Grid, block and shared bytes, where loops are bound to blocks and threads. */
static void
plan_launch(Planner *planner, const Kernel *kernel, PlanStep *step)
{
	Launching launching = {0};
	bool is_bound = false;
	for (StmtWalk walk = stmt_walk(planner->arena, kernel->body); stmt_step(&walk);)
		find_launch(planner->module->ctx, walk.stmt, &launching);
	for (size_t i = 0; i < countof(launching.axes); i++)
		is_bound = is_bound || launching.axes[i];
	if (!is_bound)
		return;
	step->grid = axis_numbers(planner, launching.axes, &step->ngrid);
	step->block = axis_numbers(planner, launching.axes + PLAN_AXES, &step->nblock);
	if (launching.shared)
		step->shared_dim = dim_number(planner, launching.shared);
	/* the flat index of such a kernel are its blocks */
	step->extent_dim =
		dim_number(planner, dim_product(planner->module->ctx, PLAN_AXES, launching.axes));
}

static void
plan_kernel(Planner *planner, Kernel *kernel, PlanStep *step)
{
	step->kernel = planner->kernels->kernels.count;
	vec_push(planner->arena, &planner->kernels->kernels, kernel);
	planner->what = kernel->name;
	step->extent_dim = dim_number(planner, kernel->extent);
	if (kernel->scratch)
		step->scratch_dim = dim_number(planner, kernel->scratch);
	plan_launch(planner, kernel, step);
	int *symbols = NEW_N(planner->arena, int, kernel->symbols.count + 1);
	for (int i = 0; i < kernel->symbols.count; i++)
		symbols[i] = symbol_number(planner, kernel->symbols.data[i]);
	step->nsymbol = kernel->symbols.count;
	step->symbols = symbols;
}

static Plan *plan_nested(const Planner *parent, const Module *module);

static int
step_number(const Module *module, const MStep *step)
{
	int i = 0;
	while (i < module->steps.count && module->steps.data[i] != step)
		i++;
	must(i < module->steps.count);
	return i;
}

static void
plan_step(Planner *planner, const MStep *from, PlanStep *to)
{
	int *args = NEW_N(planner->arena, int, from->plan.narg + 1);
	for (int i = 0; i < from->plan.narg; i++)
		args[i] = from->args[i] ? from->args[i]->index : -1;
	*to = from->plan;
	to->args = args;
	if (from->covered_by)
		to->covered_by = step_number(planner->module, from->covered_by);
	if (from->points)
		to->points_dim = dim_number(planner, from->points);
	if (from->kernel)
		plan_kernel(planner, from->kernel, to);
	Plan **bodies = NEW_N(planner->arena, Plan *, from->plan.nbody + 1);
	for (int i = 0; i < from->plan.nbody; i++)
		bodies[i] = plan_nested(planner, from->bodies[i]);
	to->bodies = bodies;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int *
buffer_numbers(Planner *planner, int count, MBuffer *const *list)
{
	int *numbers = NEW_N(planner->arena, int, count + 1);
	for (int i = 0; i < count; i++)
		numbers[i] = list[i]->index;
	return numbers;
}

static PlanAssumption *
plan_assumptions(Planner *planner)
{
	const Module *module = planner->module;
	PlanAssumption *list = NEW_N(planner->arena, PlanAssumption, module->assumptions.count + 1);
	for (int i = 0; i < module->assumptions.count; i++)
		list[i] = (PlanAssumption){dim_number(planner, module->assumptions.data[i].a),
		                           dim_number(planner, module->assumptions.data[i].b),
		                           module->assumptions.data[i].what};
	return list;
}

static Plan *
make_plan(Planner *planner)
{
	const Module *module = planner->module;
	Plan *plan = planner->plan = NEW(planner->arena, Plan);
	planner->dim_numbers.arena = planner->arena;
	plan->is_apart = module->is_apart;
	plan->parent = planner->parent ? planner->parent->plan : NULL;
	plan->nesting = plan->parent ? plan->parent->nesting + 1 : 0;
	plan_symbols(planner);
	planner->buffers = NEW_N(planner->arena, PlanBuffer, module->buffers.count + 1);
	for (int i = 0; i < module->buffers.count; i++)
		plan_buffer(planner, module->buffers.data[i], &planner->buffers[i]);
	plan_lives(planner);
	PlanStep *steps = NEW_N(planner->arena, PlanStep, module->steps.count + 1);
	plan->symbols = planner->symbols.data;
	plan->nsymbol = planner->symbols.count;
	for (int i = 0; i < module->steps.count; i++)
		plan_step(planner, module->steps.data[i], &steps[i]);
	plan->assumptions = plan_assumptions(planner);
	plan->nassumption = module->assumptions.count;
	plan->wishes = module->wishes.data;
	plan->nwish = module->wishes.count;
	plan->ndim = planner->dims.count;
	plan->dims = planner->dims.data;
	plan->nbuffer = module->buffers.count;
	plan->buffers = planner->buffers;
	plan->nstep = module->steps.count;
	plan->steps = steps;
	plan->ninput = module->inputs.count;
	plan->inputs = buffer_numbers(planner, plan->ninput, module->inputs.data);
	plan->noutput = module->outputs.count;
	plan->outputs = buffer_numbers(planner, plan->noutput, module->outputs.data);
	return plan;
}

static Plan *
plan_nested(const Planner *parent, const Module *module)
{
	Planner planner = {.arena = parent->arena,
	                   .module = module,
	                   .parent = parent,
	                   .weights = parent->weights,
	                   .kernels = parent->kernels};
	return make_plan(&planner);
}

Plan *
plan_of_module(Arena *arena, const Module *module, WeightPool *weights, KernelList *kernels)
{
	weights->by_hash.arena = weights->arena;
	Planner planner = {.arena = arena, .module = module, .weights = weights, .kernels = kernels};
	Plan *plan = make_plan(&planner);
	plan_name_kernels(arena, plan, kernels);
	return plan;
}
