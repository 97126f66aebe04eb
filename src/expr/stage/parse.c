/* Programs from text. What it cannot know to be right (reads in range, types of results) is
 * checked by program_check(); what would build nonsense fails here, with its line.
 */
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"
#include "expr/stage/stage.h"

enum { MAX_ITERS = 64, MAX_RESULTS = REDUCE_MAX_STATES };

typedef struct Reader {
	ExprCtx *ctx;
	Arena *arena;
	Scanner scan;
	Map tensors;
	VEC(Tensor *) inputs;
	/* the stage being read */
	Map names;
	Iter iters[MAX_ITERS];
	int niter;
	TextScope scope;
} Reader;

static DType
read_type(Reader *r)
{
	const char *name = scan_name(&r->scan, "type");
	DType type = dtype_find(name);
	if (type == DT_NONE)
		scan_fail(&r->scan, "expected a type, saw '%s'", name);
	return type;
}

static void
define_tensor(Reader *r, const char *name, Tensor *tensor)
{
	if (map_find(&r->tensors, name))
		scan_fail(&r->scan, "'%s' is defined twice", name);
	map_set(&r->tensors, name, tensor);
}

static Tensor *
find_tensor(Reader *r, const char *name)
{
	Tensor *tensor = map_find(&r->tensors, name);
	if (!tensor)
		scan_fail(&r->scan, "nothing called '%s' has been defined", name);
	return tensor;
}

/* `f32[N,C]`; the tensor is not yet defined by its name. */
static Tensor *
read_typed_tensor(Reader *r, const char *name)
{
	const Dim *dims[MAX_ITERS];
	int rank = 0;
	DType type = read_type(r);
	scan_expect(&r->scan, "[", "after the element type");
	while (!scan_accept(&r->scan, "]")) {
		if (rank > 0)
			scan_expect(&r->scan, ",", "between dims");
		if (rank == MAX_ITERS)
			scan_fail(&r->scan, "'%s' has too many dims", name);
		dims[rank++] = dim_parse(r->ctx, &r->scan);
	}
	return tensor_new(r->ctx, name, type, rank, dims);
}

/* ---- iterators ------------------------------------------------------------------------------- */

static void
open_stage(Reader *r)
{
	r->names = (Map){.arena = r->arena};
	r->niter = 0;
	r->scope = (TextScope){.names = &r->names, .tensors = &r->tensors, .symbols = SYMBOLS_KNOWN};
	r->scope.facts = facts_new(r->ctx, r->arena);
}

static void
add_iter(Reader *r, const char *name, const Dim *lo, const Dim *hi)
{
	if (map_find(&r->names, name))
		scan_fail(&r->scan, "iterator '%s' is named twice", name);
	if (r->niter == MAX_ITERS)
		scan_fail(&r->scan, "too many iterators at '%s'", name);
	map_set(&r->names, name, (void *)(uintptr_t)expr_iter(r->ctx, r->niter));
	facts_iter(r->scope.facts, r->niter, lo, hi);
	r->iters[r->niter++] = (Iter){ctx_name(r->ctx, name), lo, hi};
}

/* `n:N` or `n:lo..hi` */
static void
read_iter(Reader *r, const char **name, const Dim **lo, const Dim **hi)
{
	*name = scan_name(&r->scan, "iterator");
	scan_expect(&r->scan, ":", "after an iterator");
	*lo = dim_const(r->ctx, 0);
	*hi = dim_parse(r->ctx, &r->scan);
	if (scan_accept(&r->scan, "..")) {
		*lo = *hi;
		*hi = dim_parse(r->ctx, &r->scan);
	}
}

/* Until `close` or the word `where`, which is left standing. */
static void
read_iters(Reader *r, const char *close)
{
	const char *name;
	const Dim *lo, *hi;
	for (int i = 0; !scan_at(&r->scan, close) && !scan_at(&r->scan, "where"); i++) {
		if (i > 0)
			scan_expect(&r->scan, ",", "between iterators");
		read_iter(r, &name, &lo, &hi);
		add_iter(r, name, lo, hi);
	}
}

static const Expr *
read_scalar(Reader *r, DType type)
{
	return expr_parse_in(r->ctx, &r->scan, &r->scope, type);
}

/* ---- heads ----------------------------------------------------------------------------------- */

typedef struct Head {
	int count; /* of results */
	const char *names[MAX_RESULTS];
	DType types[MAX_RESULTS]; /* DT_NONE: not said */
	int nloop;
} Head;

/* `Y[n:N]: f32 =`, `(V: f32, I: i64)[n:N] =` or, for a scatter, `Y =` */
static void
read_head(Reader *r, Head *head)
{
	*head = (Head){0};
	bool is_tuple = scan_accept(&r->scan, "(");
	do {
		if (head->count == MAX_RESULTS)
			scan_fail(&r->scan, "a stage has too many results");
		head->names[head->count] = scan_name(&r->scan, "name of a stage");
		if (is_tuple && scan_accept(&r->scan, ":"))
			head->types[head->count] = read_type(r);
		head->count++;
	} while (is_tuple && scan_accept(&r->scan, ","));
	if (is_tuple)
		scan_expect(&r->scan, ")", "after the results");
	if (scan_accept(&r->scan, "[")) {
		read_iters(r, "]");
		scan_expect(&r->scan, "]", "after the loops");
	}
	head->nloop = r->niter;
	if (!is_tuple && scan_accept(&r->scan, ":"))
		head->types[0] = read_type(r);
	scan_expect(&r->scan, "=", "after the head of a stage");
}

static Stage *
new_stage(Reader *r, const Head *head, StageKind kind, int nbody, const Expr *const *body)
{
	Stage *stage = NEW(r->arena, Stage);
	stage->kind = kind;
	stage->name = ctx_name(r->ctx, head->names[0]);
	stage->loc = scan_loc(&r->scan);
	stage->nloop = head->nloop;
	stage->nreduce = r->niter - head->nloop;
	stage->iters = arena_memdup(r->arena, r->iters, (size_t)r->niter * sizeof *r->iters);
	stage->nbody = nbody;
	stage->body = arena_memdup(r->arena, body, (size_t)nbody * sizeof *body);
	return stage;
}

static void
add_results(Reader *r, Stage *stage, const Head *head, int rank, const Dim *const *lo,
            const Dim *const *hi)
{
	Tensor **results = NEW_N(r->arena, Tensor *, head->count);
	bool is_shifted = false;
	for (int i = 0; i < rank && lo; i++)
		is_shifted |= !expr_is_zero(lo[i]);
	for (int i = 0; i < head->count; i++) {
		results[i] = tensor_new(r->ctx, head->names[i], head->types[i], rank, hi);
		if (is_shifted)
			results[i]->lo = arena_memdup(r->arena, lo, (size_t)rank * sizeof *lo);
		results[i]->stage = stage;
		results[i]->result = i;
		define_tensor(r, head->names[i], results[i]);
	}
	stage->nresult = head->count;
	stage->results = results;
}

static void
add_loop_results(Reader *r, Stage *stage, const Head *head)
{
	const Dim *lo[MAX_ITERS], *hi[MAX_ITERS];
	for (int i = 0; i < head->nloop; i++) {
		lo[i] = r->iters[i].lo;
		hi[i] = r->iters[i].hi;
	}
	add_results(r, stage, head, head->nloop, lo, hi);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static const Expr *
read_guard(Reader *r)
{
	const Expr *guard = NULL;
	if (!scan_accept(&r->scan, "where"))
		return NULL;
	do {
		const Expr *condition = read_scalar(r, DT_BOOL);
		guard = expr_both(r->ctx, guard, condition);
	} while (scan_accept(&r->scan, ","));
	return guard;
}

/* Behind the row's text: `f32 (c:C where …) key with payload, payload` */
static Stage *
read_reduce(Reader *r, Head *head, ReduceOp op)
{
	const ReduceInfo *row = reduce_info(op);
	const Expr *body[MAX_RESULTS];
	DType acc = scan_at(&r->scan, "(") ? head->types[0] : read_type(r);
	scan_expect(&r->scan, "(", "before the reduction's iterators");
	read_iters(r, ")");
	const Expr *guard = read_guard(r);
	scan_expect(&r->scan, ")", "after the reduction's iterators");
	int count = 1;
	body[0] = read_scalar(r, acc);
	if (scan_accept(&r->scan, "with")) {
		do {
			if (count == MAX_RESULTS)
				scan_fail(&r->scan, "a reduction has too many states");
			DType type = row->states > 0 ? (DType)body[0]->type : DT_NONE;
			DType stated = count < head->count ? head->types[count] : DT_NONE;
			const Token *at = scan_peek(&r->scan);
			bool is_number = at->kind == TOK_INT || at->kind == TOK_FLOAT || at->text[0] == '-';
			if (type == DT_NONE && is_number)
				type = stated;
			body[count++] = read_scalar(r, type);
		} while (scan_accept(&r->scan, ","));
	}
	if (count != head->count || (row->states > 0 && count != row->states))
		scan_fail(&r->scan, "%s: the number of results and states differ", row->text);
	for (int i = 0; i < count; i++)
		if (head->types[i] == DT_NONE)
			head->types[i] = (DType)body[i]->type;
	Stage *stage = new_stage(r, head, STAGE_reduce, count, body);
	stage->reduce = op;
	stage->acc = (DType)body[0]->type;
	stage->guard = guard;
	add_loop_results(r, stage, head);
	return stage;
}

/* ---- scatters -------------------------------------------------------------------------------- */

static int
read_combine(Reader *r)
{
	if (scan_accept(&r->scan, "="))
		return SCATTER_SET;
	const char *name = scan_name(&r->scan, "'=' or a combination");
	scan_expect(&r->scan, "=", "after the combination");
	if (strcmp(name, "add") == 0)
		return REDUCE_sum;
	if (strcmp(name, "mul") == 0)
		return REDUCE_prod;
	for (int op = 0; op < REDUCE_COUNT; op++)
		if (reduce_info((ReduceOp)op)->states == 1 &&
		    strcmp(reduce_info((ReduceOp)op)->text, name) == 0)
			return op;
	scan_fail(&r->scan, "unknown combination '%s'", name);
}

/* Behind `scatter`: `X, (i:K, j:M) in order: [at(I[i,j], 0..D), j] add= U[i,j]` */
static Stage *
read_scatter(Reader *r, Head *head)
{
	const Tensor *init = find_tensor(r, scan_name(&r->scan, "tensor to scatter into"));
	if (head->count != 1 || head->nloop != 0)
		scan_fail(&r->scan, "a scatter has one result and no loops of its own");
	scan_expect(&r->scan, ",", "after the tensor");
	scan_expect(&r->scan, "(", "before the loops of the updates");
	read_iters(r, ")");
	scan_expect(&r->scan, ")", "after the loops of the updates");
	scan_expect(&r->scan, "in", "after the loops of the updates");
	scan_expect(&r->scan, "order", "after 'in'");
	scan_expect(&r->scan, ":", "after 'in order'");
	scan_expect(&r->scan, "[", "before the target");
	const Expr **target = NEW_N(r->arena, const Expr *, init->rank + 1);
	for (int i = 0; i < init->rank; i++) {
		if (i > 0)
			scan_expect(&r->scan, ",", "between indices of the target");
		target[i] = read_scalar(r, DT_I64);
	}
	scan_expect(&r->scan, "]", "after the target");
	int combine = read_combine(r);
	const Expr *body = read_scalar(r, init->type);
	head->nloop = r->niter;
	head->types[0] = init->type;
	Stage *stage = new_stage(r, head, STAGE_scatter, 1, &body);
	stage->init = init;
	stage->target = target;
	stage->combine = combine;
	add_results(r, stage, head, init->rank, init->lo, init->hi);
	return stage;
}

static Stage *
read_map(Reader *r, Head *head)
{
	if (head->count != 1)
		scan_fail(&r->scan, "only a reduction has several results");
	const Expr *body = read_scalar(r, head->types[0]);
	head->types[0] = (DType)body->type;
	Stage *stage = new_stage(r, head, STAGE_map, 1, &body);
	add_loop_results(r, stage, head);
	return stage;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static int
find_axis(Reader *r, const char *name, int nloop)
{
	for (int i = 0; i < nloop; i++)
		if (strcmp(r->iters[i].name, name) == 0)
			return i;
	scan_fail(&r->scan, "'%s' is not a loop of this stage", name);
}

static const Tensor *
read_init(Reader *r)
{
	const Token *token = scan_peek(&r->scan);
	if (token->kind == TOK_INT && token->integer == 0) {
		scan_next(&r->scan);
		return NULL;
	}
	return find_tensor(r, scan_name(&r->scan, "initial state"));
}

static Scan *
new_scan(Reader *r, int nstate, Tensor *const *prev, const Tensor *const *init)
{
	Scan *scan = NEW(r->arena, Scan);
	scan->nstate = nstate;
	scan->prev = arena_memdup(r->arena, prev, (size_t)nstate * sizeof *prev);
	scan->init = arena_memdup(r->arena, init, (size_t)nstate * sizeof *init);
	return scan;
}

/* Behind `scan`: `reverse i from X0: prev + X[i]` */
static void
read_short_scan(Reader *r, Head *head)
{
	bool reverse = scan_accept(&r->scan, "reverse");
	int axis = find_axis(r, scan_name(&r->scan, "loop of the scan"), head->nloop);
	scan_expect(&r->scan, "from", "after the loop of the scan");
	const Tensor *init = read_init(r);
	scan_expect(&r->scan, ":", "after the initial state");
	if (head->count != 1 || head->types[0] == DT_NONE)
		scan_fail(&r->scan, "a scan has one result, with its type");
	const Dim *dims[MAX_ITERS];
	const Expr *index[MAX_ITERS];
	int rank = 0;
	for (int i = 0; i < head->nloop; i++)
		if (i != axis) {
			dims[rank] = r->iters[i].hi;
			index[rank++] = expr_iter(r->ctx, i);
		}
	Tensor *prev = tensor_new(r->ctx, "prev", head->types[0], rank, dims);
	Tensor *shadowed = map_find(&r->tensors, "prev");
	map_set(&r->tensors, "prev", prev);
	map_set(&r->names, "prev", (void *)(uintptr_t)expr_read(r->ctx, prev, index));
	Scan *scan = new_scan(r, 1, &prev, &init);
	Stage *stage = read_map(r, head);
	map_set(&r->tensors, "prev", shadowed);
	const Tensor *next = stage->results[0];
	const Stage *step = stage;
	scan->lo = stage->iters[axis].lo;
	scan->hi = stage->iters[axis].hi;
	scan->reverse = reverse;
	scan->next = arena_memdup(r->arena, &next, sizeof next);
	scan->nstep = 1;
	scan->steps = arena_memdup(r->arena, &step, sizeof step);
	stage->scan = scan;
	stage->scan_axis = axis;
}

static Stage *read_stage(Reader *r);

typedef struct States {
	int count;
	Tensor *prev[MAX_ITERS];
	const Tensor *init[MAX_ITERS];
	const char *next[MAX_ITERS];
} States;

/* `(h: f32[N,K] = H from H0, …)` */
static void
read_states(Reader *r, States *states)
{
	scan_expect(&r->scan, "(", "before the states of a scan");
	while (!scan_accept(&r->scan, ")")) {
		int k = states->count++;
		if (k > 0)
			scan_expect(&r->scan, ",", "between states");
		if (k == MAX_ITERS)
			scan_fail(&r->scan, "a scan has too many states");
		const char *name = scan_name(&r->scan, "state");
		scan_expect(&r->scan, ":", "after the state");
		states->prev[k] = read_typed_tensor(r, name);
		define_tensor(r, name, states->prev[k]);
		scan_expect(&r->scan, "=", "after the state's type");
		states->next[k] = scan_name(&r->scan, "next state");
		scan_expect(&r->scan, "from", "after the next state");
		states->init[k] = read_init(r);
	}
}

/* Behind `scan`: `reverse t:T, (states) { stages }` */
static void
read_long_scan(Reader *r)
{
	const char *axis;
	const Dim *lo, *hi;
	States states = {0};
	VEC(const Stage *) steps = {0};
	bool reverse = scan_accept(&r->scan, "reverse");
	read_iter(r, &axis, &lo, &hi);
	scan_expect(&r->scan, ",", "after the loop of the scan");
	read_states(r, &states);
	Scan *scan = new_scan(r, states.count, states.prev, states.init);
	scan->lo = lo;
	scan->hi = hi;
	scan->reverse = reverse;
	scan_expect(&r->scan, "{", "before the steps of a scan");
	while (!scan_accept(&r->scan, "}")) {
		Stage *stage = read_stage(r);
		if (!stage)
			scan_fail(&r->scan, "a step of a scan is a plain stage");
		stage->scan = scan;
		stage->scan_axis = find_axis(r, axis, stage->nloop);
		vec_push(r->arena, &steps, stage);
	}
	const Tensor **next = NEW_N(r->arena, const Tensor *, states.count + 1);
	for (int i = 0; i < states.count; i++)
		next[i] = find_tensor(r, states.next[i]);
	if (steps.count == 0)
		scan_fail(&r->scan, "a scan has no steps");
	scan->next = next;
	scan->nstep = steps.count;
	scan->steps = steps.data;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* NULL for a short scan, which is complete in itself. */
static Stage *
read_stage(Reader *r)
{
	Head head;
	open_stage(r);
	read_head(r, &head);
	const Token *second = scan_peek_at(&r->scan, 1);
	bool is_word = second->kind == TOK_NAME;
	if (is_word && scan_accept(&r->scan, "scatter"))
		return read_scatter(r, &head);
	if (is_word && scan_accept(&r->scan, "scan")) {
		read_short_scan(r, &head);
		return NULL;
	}
	ReduceOp op = reduce_accept(&r->scan);
	return op == REDUCE_COUNT ? read_map(r, &head) : read_reduce(r, &head, op);
}

/* `symbol N in 1..64` */
static void
read_symbol(Reader *r)
{
	const Symbol *symbol = symbol_get(r->ctx, scan_name(&r->scan, "symbol"));
	scan_expect(&r->scan, "in", "after the symbol");
	int64_t lo = scan_integer(&r->scan, "least value");
	scan_expect(&r->scan, "..", "between the ends of a range");
	int64_t hi = scan_integer(&r->scan, "largest value");
	if (lo > hi)
		scan_fail(&r->scan, "the range of '%s' is empty", symbol->name);
	symbol_set_range(symbol, lo, hi);
}

/* Ranges must be known before the first dim is made, and those of the inputs stand below them. */
static void
read_ranges_ahead(const Reader *r)
{
	Reader ahead = *r;
	while (scan_peek(&ahead.scan)->kind != TOK_END) {
		bool is_symbol = scan_peek(&ahead.scan)->starts_line && scan_at(&ahead.scan, "symbol") &&
		                 scan_peek_at(&ahead.scan, 1)->kind == TOK_NAME;
		scan_next(&ahead.scan);
		if (is_symbol)
			read_symbol(&ahead);
	}
}

/* `assume N - M == 0` */
static void
read_assumption(Reader *r)
{
	TextScope scope = {.symbols = SYMBOLS_NEW};
	const Expr *e = expr_parse_in(r->ctx, &r->scan, &scope, DT_BOOL);
	const Dim *a = e->op == EX_eq ? dim_from_expr(r->ctx, e->arg[0]) : NULL;
	const Dim *b = a ? dim_from_expr(r->ctx, e->arg[1]) : NULL;
	if (!b)
		scan_fail(&r->scan, "an assumption is an equality of dims");
	dim_assume_equal(r->ctx, a, b);
}

static void
read_inputs(Reader *r)
{
	scan_expect(&r->scan, "(", "after the program's name");
	while (!scan_accept(&r->scan, ")")) {
		if (r->inputs.count > 0)
			scan_expect(&r->scan, ",", "between inputs");
		const char *name = scan_name(&r->scan, "input");
		scan_expect(&r->scan, ":", "after an input");
		Tensor *tensor = read_typed_tensor(r, name);
		define_tensor(r, name, tensor);
		vec_push(r->arena, &r->inputs, tensor);
	}
}

static void
read_stages(Reader *r)
{
	scan_expect(&r->scan, "{", "before the stages");
	while (!scan_accept(&r->scan, "}")) {
		bool is_word = scan_peek_at(&r->scan, 1)->kind == TOK_NAME;
		if (is_word && scan_accept(&r->scan, "symbol")) {
			read_symbol(r);
		} else if (is_word && scan_accept(&r->scan, "scan")) {
			open_stage(r);
			read_long_scan(r);
		} else if (scan_at(&r->scan, "assume") &&
		           strcmp(scan_peek_at(&r->scan, 1)->text, "[") != 0) {
			scan_next(&r->scan);
			read_assumption(r);
		} else {
			read_stage(r);
		}
	}
}

Program *
program_parse(ExprCtx *ctx, const char *file, const char *text)
{
	Reader *r = NEW(ctx->arena, Reader);
	r->ctx = ctx;
	r->arena = ctx->arena;
	r->tensors = (Map){.arena = ctx->arena};
	scan_open(&r->scan, ctx->arena, file, text);
	StrVec outputs = {0};
	scan_expect(&r->scan, "expr", "at the beginning");
	const char *name = scan_name(&r->scan, "name of the program");
	read_ranges_ahead(r);
	read_inputs(r);
	scan_expect(&r->scan, "->", "after the inputs");
	do {
		vec_push(r->arena, &outputs, scan_name(&r->scan, "output"));
	} while (scan_accept(&r->scan, ","));
	read_stages(r);
	if (scan_peek(&r->scan)->kind != TOK_END)
		scan_fail(&r->scan, "expected the end after the program, saw '%s'",
		          scan_peek(&r->scan)->text);
	const Tensor **results = NEW_N(r->arena, const Tensor *, outputs.count);
	for (int i = 0; i < outputs.count; i++)
		if (strcmp(outputs.data[i], "_") != 0)
			results[i] = find_tensor(r, outputs.data[i]);
	return program_new(ctx, name, r->inputs.count, r->inputs.data, outputs.count, results);
}
