/* Stages and programs as text: see contract in docs/expr.md. Names are made fit for reading back:
 * letters, digits and _, each its own within its scope.
 */
#include <ctype.h>
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"
#include "expr/stage/build.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool
text_is_word(const char *name)
{
	static const char *const words[] = {"true",  "false", "inf",    "nan",   "let", "else",
	                                    "where", "with",  "from",   "scan",  "in",  "scatter",
	                                    "prev",  "_",     "symbol", "assume"};
	for (size_t i = 0; i < countof(words); i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return false; /* names of types stand only before a parenthesis, where no iterator does */
}

static const char *
clean_name(Arena *arena, const char *name, const char *fallback)
{
	if (!name || !*name)
		return fallback;
	char *clean = arena_strdup(arena, name);
	for (char *c = clean; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return isdigit((unsigned char)*clean) ? arena_printf(arena, "_%s", clean) : clean;
}

/* `name`, or name_2, name_3 … where taken. */
static const char *
unused_name(Arena *arena, Map *taken, const char *name)
{
	const char *chosen = name;
	for (int i = 2; map_find(taken, chosen); i++)
		chosen = arena_printf(arena, "%s_%d", name, i);
	map_set(taken, chosen, (void *)(uintptr_t)1);
	return chosen;
}

/* Iterators must not look like symbols, words or each other. `axis_name` is the scan's, or NULL. */
static const char *const *
name_iters(Arena *arena, const ExprCtx *ctx, const Stage *stage, const char *axis_name)
{
	int count = stage->nloop + stage->nreduce;
	const char **names = NEW_N(arena, const char *, count + 1);
	Map taken = {.arena = arena};
	if (axis_name)
		map_set(&taken, axis_name, (void *)(uintptr_t)1);
	for (int i = 0; i < count; i++) {
		const char *fallback = arena_printf(arena, "i%d", i);
		const char *name = clean_name(arena, stage->iters[i].name, fallback);
		if (axis_name && i == stage->scan_axis) {
			names[i] = axis_name;
			continue;
		}
		while ((ctx && map_find(&ctx->symbols, name)) || text_is_word(name))
			name = arena_printf(arena, "%s_", name);
		names[i] = unused_name(arena, &taken, name);
	}
	return names;
}

typedef struct ProgramNames {
	Map tensors; /* Tensor to name */
	Map taken;
} ProgramNames;

static const char *
name_tensor(Arena *arena, ProgramNames *names, const Tensor *tensor)
{
	const char *name = map_find_ptr(&names->tensors, tensor);
	if (name)
		return name;
	name = clean_name(arena, tensor->name, arena_printf(arena, "T%d", names->tensors.count));
	while (text_is_word(name))
		name = arena_printf(arena, "%s_", name);
	name = unused_name(arena, &names->taken, name);
	map_set_ptr(&names->tensors, tensor, (void *)(uintptr_t)name);
	return name;
}

/* ---- stages ---------------------------------------------------------------------------------- */

typedef struct StagePrinter {
	Buf *buf;
	ExprCtx *ctx;
	ProgramNames *tensors;
	const Stage *stage;
	TextNames names;
} StagePrinter;

static ExprCtx *
ctx_of(const Stage *stage)
{
	return stage->nbody > 0 ? stage->body[0]->ctx : NULL;
}

static StagePrinter
open_printer(Buf *buf, ProgramNames *tensors, const Stage *stage, const char *axis_name)
{
	StagePrinter p = {.buf = buf, .ctx = ctx_of(stage), .tensors = tensors, .stage = stage};
	p.names.iters = name_iters(buf->arena, p.ctx, stage, axis_name);
	p.names.niter = stage->nloop + stage->nreduce;
	p.names.tensors = &tensors->tensors;
	p.names.facts = p.ctx ? facts_of_stage(p.ctx, buf->arena, stage) : NULL;
	return p;
}

static void
print_dim(StagePrinter *p, const Dim *dim)
{
	expr_print_in(p->buf, dim, &p->names, DT_I64);
}

static void
print_iters(StagePrinter *p, int from, int to)
{
	for (int i = from; i < to; i++) {
		const Iter *iter = &p->stage->iters[i];
		buf_printf(p->buf, "%s%s:", i > from ? ", " : "", p->names.iters[i]);
		if (!expr_is_zero(iter->lo)) {
			print_dim(p, iter->lo);
			buf_puts(p->buf, "..");
		}
		print_dim(p, iter->hi);
	}
}

/* `Y[n:N, c:C]: f32` or `(V: f32, I: i64)[n:N]` */
static void
print_head(StagePrinter *p)
{
	const Stage *stage = p->stage;
	Buf *buf = p->buf;
	buf_puts(buf, stage->nresult > 1 ? "(" : "");
	for (int i = 0; i < stage->nresult; i++) {
		const char *name = name_tensor(buf->arena, p->tensors, stage->results[i]);
		buf_printf(buf, "%s%s", i > 0 ? ", " : "", name);
		if (stage->nresult > 1)
			buf_printf(buf, ": %s", dtype_name(stage->results[i]->type));
	}
	buf_puts(buf, stage->nresult > 1 ? ")[" : "[");
	print_iters(p, 0, stage->nloop);
	buf_puts(buf, "]");
	if (stage->nresult == 1)
		buf_printf(buf, ": %s", dtype_name(stage->results[0]->type));
	buf_puts(buf, " = ");
}

/* The type a term has unless it says otherwise. */
static DType
term_type(const Stage *stage, int state)
{
	if (state == 0 || reduce_info(stage->reduce)->states > 0)
		return stage->acc;
	return stage->results[state]->type;
}

static void
print_reduce(StagePrinter *p)
{
	const Stage *stage = p->stage;
	Buf *buf = p->buf;
	buf_puts(buf, reduce_info(stage->reduce)->text);
	bool says_type = stage->acc != stage->results[0]->type;
	if (says_type)
		buf_printf(buf, " %s", dtype_name(stage->acc));
	buf_puts(buf, says_type || strchr(reduce_info(stage->reduce)->text, ' ') ? " (" : "(");
	print_iters(p, stage->nloop, stage->nloop + stage->nreduce);
	if (stage->guard) {
		buf_puts(buf, " where ");
		expr_print_list(buf, stage->guard, &p->names);
	}
	buf_puts(buf, ") ");
	for (int i = 0; i < stage->nbody; i++) {
		buf_puts(buf, i == 0 ? "" : i == 1 ? " with " : ", ");
		expr_print_in(buf, stage->body[i], &p->names, term_type(stage, i));
	}
}

static void
print_combine(Buf *buf, int combine)
{
	if (combine == REDUCE_sum)
		buf_puts(buf, " add= ");
	else if (combine == REDUCE_prod)
		buf_puts(buf, " mul= ");
	else if (combine != SCATTER_SET)
		buf_printf(buf, " %s= ", reduce_info((ReduceOp)combine)->text);
	else
		buf_puts(buf, " = ");
}

static void
print_scatter(StagePrinter *p)
{
	const Stage *stage = p->stage;
	Buf *buf = p->buf;
	buf_printf(buf, "%s = scatter %s, (", name_tensor(buf->arena, p->tensors, stage->results[0]),
	           name_tensor(buf->arena, p->tensors, stage->init));
	print_iters(p, 0, stage->nloop);
	buf_puts(buf, ") in order: [");
	for (int i = 0; i < stage->results[0]->rank; i++) {
		buf_puts(buf, i > 0 ? ", " : "");
		expr_print_in(buf, stage->target[i], &p->names, DT_I64);
	}
	buf_puts(buf, "]");
	print_combine(buf, stage->combine);
	expr_print_in(buf, stage->body[0], &p->names, stage->init->type);
}

static void
print_stage(StagePrinter *p)
{
	const Stage *stage = p->stage;
	if (stage->kind == STAGE_scatter) {
		print_scatter(p);
		return;
	}
	print_head(p);
	if (stage->kind == STAGE_reduce)
		print_reduce(p);
	else
		expr_print_in(p->buf, stage->body[0], &p->names, stage->results[0]->type);
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* `Y[i:N]: f32 = scan reverse i from X0: prev + X[i]` */
static void
print_short_scan(StagePrinter *p)
{
	const Stage *stage = p->stage;
	const Scan *scan = stage->scan;
	p->names.prev = scan->prev[0];
	p->names.prev_axis = stage->scan_axis;
	print_head(p);
	buf_printf(p->buf, "scan %s%s from %s: ", scan->reverse ? "reverse " : "",
	           p->names.iters[stage->scan_axis],
	           scan->init[0] ? name_tensor(p->buf->arena, p->tensors, scan->init[0]) : "0");
	expr_print_in(p->buf, stage->body[0], &p->names, stage->results[0]->type);
}

static bool
is_short_scan(const Scan *scan)
{
	return scan->nstep == 1 && scan->nstate == 1 && scan->steps[0]->kind == STAGE_map &&
	       scan->next[0] == scan->steps[0]->results[0] &&
	       scan->prev[0]->type == scan->next[0]->type;
}

static void
print_state(Buf *buf, ProgramNames *tensors, const Scan *scan, int k)
{
	const Tensor *prev = scan->prev[k];
	buf_printf(buf, "%s: %s[", name_tensor(buf->arena, tensors, prev), dtype_name(prev->type));
	for (int i = 0; i < prev->rank; i++) {
		buf_puts(buf, i > 0 ? "," : "");
		dim_print(buf, prev->hi[i]);
	}
	buf_printf(buf, "] = %s from %s", name_tensor(buf->arena, tensors, scan->next[k]),
	           scan->init[k] ? name_tensor(buf->arena, tensors, scan->init[k]) : "0");
}

/* scan reverse t:T, (h: f32[N,K] = H from H0) {
 *   H[t:T, n:N, k:K]: f32 = …
 * } */
static void
print_long_scan(Buf *buf, ProgramNames *tensors, const Scan *scan, const char *indent)
{
	const Stage *first = scan->steps[0];
	ExprCtx *ctx = ctx_of(first);
	const char *axis = name_iters(buf->arena, ctx, first, NULL)[first->scan_axis];
	for (int i = 0; i < scan->nstep; i++) /* states are named before their stages appear */
		for (int k = 0; k < scan->steps[i]->nresult; k++)
			name_tensor(buf->arena, tensors, scan->steps[i]->results[k]);
	buf_printf(buf, "scan %s%s:", scan->reverse ? "reverse " : "", axis);
	if (!expr_is_zero(scan->lo)) {
		dim_print(buf, scan->lo);
		buf_puts(buf, "..");
	}
	dim_print(buf, scan->hi);
	buf_puts(buf, ", (");
	for (int k = 0; k < scan->nstate; k++) {
		buf_puts(buf, k > 0 ? ", " : "");
		print_state(buf, tensors, scan, k);
	}
	buf_puts(buf, ") {\n");
	for (int i = 0; i < scan->nstep; i++) {
		StagePrinter p = open_printer(buf, tensors, scan->steps[i], axis);
		buf_printf(buf, "%s  ", indent);
		print_stage(&p);
		buf_puts(buf, "\n");
	}
	buf_printf(buf, "%s}", indent);
}

static void
print_unit(Buf *buf, ProgramNames *tensors, const Stage *stage, const char *indent)
{
	if (stage->scan && !is_short_scan(stage->scan)) {
		if (stage->scan->steps[0] == stage)
			print_long_scan(buf, tensors, stage->scan, indent);
		return;
	}
	StagePrinter p = open_printer(buf, tensors, stage, NULL);
	if (stage->scan)
		print_short_scan(&p);
	else
		print_stage(&p);
}

/* ---- entries --------------------------------------------------------------------------------- */

void
stage_print_scalar(Buf *buf, const Stage *stage, const Expr *e)
{
	TextNames names = {.niter = stage->nloop + stage->nreduce,
	                   .iters = name_iters(buf->arena, e->ctx, stage, NULL)};
	expr_print_in(buf, e, &names, DT_I64);
}

void
stage_print(Buf *buf, const Stage *stage)
{
	ProgramNames tensors = {{.arena = buf->arena}, {.arena = buf->arena}};
	for (int k = 0; k < stage->nresult; k++)
		name_tensor(buf->arena, &tensors, stage->results[k]);
	print_unit(buf, &tensors, stage, "");
}

static void
note_symbols(Map *symbols, const Expr *e)
{
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		if (walk.e->op == EX_symbol)
			map_set_ptr(symbols, walk.e->symbol, (void *)(uintptr_t)walk.e);
}

static Map
program_symbols(Arena *arena, const Program *program)
{
	Map symbols = {.arena = arena};
	for (int i = 0; i < program->ninput; i++)
		for (int k = 0; k < program->inputs[i]->rank; k++)
			note_symbols(&symbols, program->inputs[i]->hi[k]);
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		for (int k = 0; k < stage->nloop + stage->nreduce; k++) {
			note_symbols(&symbols, stage->iters[k].lo);
			note_symbols(&symbols, stage->iters[k].hi);
		}
		for (int k = 0; k < stage->nbody; k++)
			note_symbols(&symbols, stage->body[k]);
	}
	return symbols;
}

/* What proofs use beside the boxes: ranges other than the usual, and dims assumed equal. */
static void
print_assumptions(Buf *buf, const Program *program)
{
	Map symbols = program_symbols(buf->arena, program);
	for (int i = 0; i < symbols.count; i++) {
		const Symbol *symbol = symbols.entries[i].key;
		if (symbol->lo != 0 || symbol->hi != INT32_MAX)
			buf_printf(buf, "  symbol %s in %lld..%lld\n", symbol->name, (long long)symbol->lo,
			           (long long)symbol->hi);
	}
	for (int i = 0; i < program->ctx->zeros.count; i++) {
		const Dim *zero = program->ctx->zeros.data[i];
		Map used = {.arena = buf->arena};
		bool is_ours = true;
		note_symbols(&used, zero);
		for (int k = 0; k < used.count; k++)
			is_ours &= map_find_ptr(&symbols, used.entries[k].key) != NULL;
		if (!is_ours)
			continue;
		buf_puts(buf, "  assume ");
		dim_print(buf, zero);
		buf_puts(buf, " == 0\n");
	}
}

/* Inputs, then what the stages make. */
static ProgramNames
name_program(Arena *arena, const Program *program)
{
	ProgramNames tensors = {{.arena = arena}, {.arena = arena}};
	for (int i = 0; i < program->ninput; i++)
		name_tensor(arena, &tensors, program->inputs[i]);
	for (int i = 0; i < program->nstage; i++)
		for (int k = 0; k < program->stages[i]->nresult; k++)
			name_tensor(arena, &tensors, program->stages[i]->results[k]);
	return tensors;
}

const char *
program_stage_name(Arena *arena, const Program *program, int stage)
{
	ProgramNames tensors = name_program(arena, program);
	return name_tensor(arena, &tensors, program->stages[stage]->results[0]);
}

void
program_print(Buf *buf, const Program *program)
{
	ProgramNames tensors = name_program(buf->arena, program);
	buf_printf(buf, "expr %s(", clean_name(buf->arena, program->name, "f"));
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *input = program->inputs[i];
		const char *name = name_tensor(buf->arena, &tensors, input);
		buf_printf(buf, "%s%s: %s[", i > 0 ? ", " : "", name, dtype_name(input->type));
		for (int k = 0; k < input->rank; k++) {
			buf_puts(buf, k > 0 ? "," : "");
			dim_print(buf, input->hi[k]);
		}
		buf_puts(buf, "]");
	}
	buf_puts(buf, ") -> ");
	for (int i = 0; i < program->noutput; i++) {
		const Tensor *output = program->outputs[i];
		buf_printf(buf, "%s%s", i > 0 ? ", " : "",
		           output ? name_tensor(buf->arena, &tensors, output) : "_");
	}
	buf_puts(buf, " {\n");
	print_assumptions(buf, program);
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		if (stage->scan && stage->scan->steps[0] != stage)
			continue;
		buf_puts(buf, "  ");
		print_unit(buf, &tensors, stage, "  ");
		buf_puts(buf, "\n");
	}
	buf_puts(buf, "}\n");
}
