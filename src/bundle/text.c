/* Plans as JSON: one table for reading and writing (bundle/fields.h).
 *
 *     {"kernels": ["k0_relu1"],
 *      "symbols": [{"name": "N", "lo": 0, "hi": 2147483647, "from": "input", "buffer": 0,
 *                   "index": 0}],
 *      "dims": ["1", "s0", "s0 64 *"],
 *      "buffers": [{"name": "x", "type": "f32", "dims": [1, 0], "kind": "input", "index": 0}, …],
 *      "steps": [{"kind": "kernel", "name": "relu1", "kernel": 0, "extent": 2, "args": [0, 1],
 *                 "outputs": 1}, …],
 *      "inputs": [0], "outputs": [1], "assumptions": []}
 *
 * A plan for a device with memory of its own begins with "apart": 1, and has "place": "host" in the
 * buffers of the host's; its kernels may have "grid" and "block" (three dims at most) and "shared".
 * Nested plans stand inside their step as "bodies". Members that have their default are left out.
 *
 * A dim is postfix words: numbers, sI for symbol I, f and the bits of a float, and operators:
 * division is floored, and `c a b ?` is a unless c is 0.
 *
 * Every index is checked against the table it points into, every count against a limit before
 * memory is taken, chains of views against cycles. What a plan *does* is checked by plan_verify().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "bundle/fields.h"
#include "bundle/plan.h"

enum {
	TEXT_LIMIT = 1 << 28,
	TABLE_LIMIT = 1 << 17,
	ARGS_LIMIT = 1 << 12,
	ATTR_LIMIT = 1 << 20,
	TOKEN_LIMIT = 1 << 12,
	OPERATORS = PD_SELECT + 1,
};

#define BELOW(count) FIELD_BELOW(Plan, count)

/* ---- dims: "s0 64 * 7 +" ---- */

static const char *const op_words[OPERATORS] = {
	"",  "f",   "s",   "float", "single", "floor", "ceil", "round", "int",  "+", "-",  "*", "/",
	"%", "min", "max", "f+",    "f-",     "f*",    "f/",   "fmin",  "fmax", "<", "==", "?"};

/* One word of a dim: a number, fBITS, sI or an operator. */
static PlanToken
read_token(JsonReader *r, const Plan *plan, const char *word)
{
	PlanOp op = word[0] == 's' ? PD_SYMBOL : word[0] == 'f' ? PD_NUMBER : PD_CONST;
	const char *digits = word + (op != PD_CONST), *first = digits + (*digits == '-');
	if (*first >= '0' && *first <= '9') {
		char *end;
		errno = 0;
		long long value = strtoll(digits, &end, 10);
		if (errno || *end || (op == PD_SYMBOL && (value < 0 || value >= plan->nsymbol)))
			json_fail(r, "'%.40s' in a dim is not a number or symbol", word);
		return (PlanToken){op, value};
	}
	for (int i = PD_FLOAT; i < OPERATORS; i++)
		if (strcmp(op_words[i], word) == 0)
			return (PlanToken){(PlanOp)i, 0};
	json_fail(r, "operator '%.40s' is not known", word);
	return (PlanToken){PD_CONST, 0};
}

/* Whether the program leaves one value and stays within the evaluator's stack. */
static bool
dim_is_sound(const PlanDim *dim)
{
	int depth = 0;
	for (int i = 0; i < dim->count; i++) {
		int arity = plan_op_arity(dim->tokens[i].op);
		if (depth < arity)
			return false;
		depth += 1 - arity;
		if (depth > PLAN_DIM_DEPTH)
			return false;
	}
	return depth == 1;
}

static void
read_dim(const FieldReader *reader, const Json *item, void *member)
{
	JsonReader *r = reader->json;
	char *text = (char *)json_item_text(r, item, "dim"), *rest = NULL;
	int count = 0;
	for (const char *c = text; *c; c++)
		count += c[0] != ' ' && (c[1] == ' ' || c[1] == 0);
	if (count == 0 || count > TOKEN_LIMIT)
		json_fail(r, "a dim is empty or too long");
	PlanToken *tokens = json_alloc(r, (size_t)count, sizeof *tokens);
	if (!tokens)
		return;
	PlanDim *dim = member;
	*dim = (PlanDim){.tokens = tokens};
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		tokens[dim->count++] = read_token(r, reader->around, word);
	if (!r->failed && !dim_is_sound(dim))
		json_fail(r, "a dim is not a postfix program");
}

static void
write_dim(Buf *json, const void *member)
{
	const PlanDim *dim = member;
	buf_putc(json, '"');
	for (int i = 0; i < dim->count; i++) {
		const PlanToken *token = &dim->tokens[i];
		buf_printf(json, "%s%s", i ? " " : "", op_words[token->op]);
		if (plan_op_arity(token->op) == 0)
			buf_printf(json, "%lld", (long long)token->value);
	}
	buf_putc(json, '"');
}

static const Record dim_record = {.size = sizeof(PlanDim)};

/* ---- symbols ---- */

static void
check_range(const FieldReader *reader, void *record)
{
	const PlanSymbol *s = record;
	if (s->lo > s->hi)
		json_fail(reader->json, "symbol '%.60s' has no value it may have", s->name);
}

/* Of `enum PlanSource` and so on, in their order. */
static const char *const source_words[] = {"input", "element", "dim", "output"};
const char *const plan_buffer_words[] = {"input", "output", "weight", "temp",
                                         "view",  "pool",   "capture"};
static const char *const place_words[] = {"device", "host"};
const char *const plan_step_words[] = {"kernel", "vendor", "host", "copy", "if", "loop", "scan"};

enum { READ_FROM = FIELD_WHEN(PS_INPUT) | FIELD_WHEN(PS_ELEMENT) | FIELD_WHEN(PS_OUTPUT) };

static const Field symbol_fields[] = {
	{FIELD("name", PlanSymbol, name)},
	{FIELD("lo", PlanSymbol, lo), .lo = INT64_MIN + 1, .hi = INT64_MAX},
	{FIELD("hi", PlanSymbol, hi), .lo = INT64_MIN + 1, .hi = INT64_MAX, .check = check_range},
	{FIELD("from", PlanSymbol, source), FIELD_WORDS(source_words)},
	{FIELD_OR("buffer", PlanSymbol, buffer, 0), .hi = TABLE_LIMIT, .when = READ_FROM},
	{FIELD_OR("index", PlanSymbol, index, 0), .hi = INT32_MAX, .when = READ_FROM},
	{FIELD("dim", PlanSymbol, dim), .hi = TABLE_LIMIT, .when = FIELD_WHEN(PS_DIM)},
	{FIELD_OR("step", PlanSymbol, step, 0), .hi = TABLE_LIMIT},
};
static const Record symbol_record = {RECORD(PlanSymbol, symbol_fields),
                                     .kind_at = offsetof(PlanSymbol, source)};

/* ---- buffers ---- */

static void
begin_buffer(const FieldReader *reader, const Json *item, void *record)
{
	(void)reader;
	(void)item;
	PlanBuffer *b = record;
	b->size_dim = -1;
}

/* What the kind has to say, and what a capture must be. */
static void
check_buffer(const FieldReader *reader, void *record)
{
	PlanBuffer *b = record;
	const Plan *plan = reader->around;
	const PlanBuffer *lent = b->kind == PB_CAPTURE ? &plan->parent->buffers[b->index] : NULL;
	if (b->kind == PB_VIEW && b->of < 0)
		b->of = b->base;
	if (b->place == PLACE_HOST && !plan->is_apart)
		json_fail(reader->json, "buffer '%.60s' lies in a second memory, and there is one",
		          b->name);
	if (b->last < b->first || (b->kind == PB_WEIGHT && b->bytes < 0))
		json_fail(reader->json, "buffer '%.60s' has no life, or no bytes", b->name);
	if (lent && (lent->type != b->type || lent->rank != b->rank))
		json_fail(reader->json, "captured buffer '%.60s' has another type or rank", b->name);
	if (lent)
		b->place = lent->place;
}

/* Captures name a buffer of the plan around; inputs and outputs are counted later. */
static void
check_index(const FieldReader *reader, void *record)
{
	const PlanBuffer *b = record;
	const Plan *parent = ((const Plan *)reader->around)->parent;
	if (b->kind == PB_CAPTURE && (!parent || b->index >= parent->nbuffer))
		json_fail(reader->json, "buffer '%.60s' captures nothing", b->name);
}

static void
check_buffers(const FieldReader *reader, void *record)
{
	Plan *plan = record;
	PlanBuffer *buffers = (PlanBuffer *)(uintptr_t)plan->buffers;
	for (int i = 0; i < plan->nbuffer && !reader->json->failed; i++) {
		int at = i, hops = 0, seen = i, steps = 0;
		while (buffers[at].kind == PB_VIEW && ++hops <= PLAN_MAX_RANK)
			at = buffers[at].base;
		while (buffers[seen].kind == PB_VIEW && ++steps <= plan->nbuffer)
			seen = buffers[seen].of;
		if (hops > PLAN_MAX_RANK || steps > plan->nbuffer)
			json_fail(reader->json, "buffer '%.60s' is a view of itself", buffers[i].name);
		else if (at != i)
			buffers[i].place = buffers[at].place;
	}
}

enum {
	PORTS = FIELD_WHEN(PB_INPUT) | FIELD_WHEN(PB_OUTPUT) | FIELD_WHEN(PB_CAPTURE),
	STORED = FIELD_WHEN(PB_INPUT) | FIELD_WHEN(PB_WEIGHT),
	VIEWS = FIELD_WHEN(PB_VIEW),
	TEMPS = FIELD_WHEN(PB_TEMP),
};

static const Field buffer_fields[] = {
	{FIELD_OR("name", PlanBuffer, name, 0)},
	{FIELD("type", PlanBuffer, type)},
	{FIELD_LIST_OR_NONE("dims", PlanBuffer, dims, rank), .most = PLAN_MAX_RANK, BELOW(ndim)},
	{FIELD("kind", PlanBuffer, kind), FIELD_WORDS(plan_buffer_words)},
	{FIELD_OR("place", PlanBuffer, place, 0), FIELD_WORDS(place_words)},
	{FIELD_OR("layout", PlanBuffer, layout, 1)},
	{FIELD_OR("value", PlanBuffer, is_value, 0)},
	{FIELD("index", PlanBuffer, index), .hi = TABLE_LIMIT, .when = PORTS, .check = check_index},
	{FIELD_OR("offset", PlanBuffer, offset, 0), .hi = INT64_MAX / 2, .when = STORED},
	{FIELD_OR("bytes", PlanBuffer, bytes, -1), .lo = -1, .hi = INT64_MAX / 2, .when = STORED},
	{FIELD("base", PlanBuffer, base), BELOW(nbuffer), .when = VIEWS},
	{FIELD_OR("of", PlanBuffer, of, -1), BELOW(nbuffer), .when = VIEWS},
	{FIELD("at", PlanBuffer, offset_dim), BELOW(ndim), .when = VIEWS},
	{FIELD_LIST_OR_NONE("strides", PlanBuffer, strides, rank), .has_count = true,
     .most = PLAN_MAX_RANK, BELOW(ndim), .when = VIEWS},
	{FIELD("size", PlanBuffer, size_dim), BELOW(ndim), .when = TEMPS},
	{FIELD("first", PlanBuffer, first), .hi = TABLE_LIMIT, .when = TEMPS},
	{FIELD("last", PlanBuffer, last), .hi = TABLE_LIMIT, .when = TEMPS, .check = check_buffer},
};
static const Record buffer_record = {RECORD(PlanBuffer, buffer_fields),
                                     .kind_at = offsetof(PlanBuffer, kind), .begin = begin_buffer};

/* ---- steps ---- */

/* An attribute's kind is the member that it has. */
static void
begin_attr(const FieldReader *reader, const Json *item, void *record)
{
	StepAttr *attr = record;
	bool has_ints = json_member(item, "ints"), has_floats = json_member(item, "floats");
	attr->kind = has_ints ? SA_INTS : has_floats ? SA_FLOATS : SA_STRING;
	(void)reader;
}

static const Field attr_fields[] = {
	{FIELD("name", StepAttr, name)},
	{FIELD_LIST("ints", StepAttr, ints, count), .most = ATTR_LIMIT, .lo = INT64_MIN,
     .hi = INT64_MAX, .when = FIELD_WHEN(SA_INTS)},
	{FIELD_LIST("floats", StepAttr, floats, count), .most = ATTR_LIMIT,
     .when = FIELD_WHEN(SA_FLOATS)},
	{FIELD("string", StepAttr, string), .when = FIELD_WHEN(SA_STRING)},
};
static const Record attr_record = {RECORD(StepAttr, attr_fields),
                                   .kind_at = offsetof(StepAttr, kind), .begin = begin_attr};

static void
check_step(const FieldReader *reader, void *record)
{
	const PlanStep *step = record;
	int wanted = step->kind == PT_IF ? 2 : step->kind == PT_LOOP || step->kind == PT_SCAN;
	if ((step->kind == PT_KERNEL && step->kernel < 0) ||
	    (step->kernel >= 0 && step->extent_dim < 0))
		json_fail(reader->json, "step '%.60s' has no kernel, or no extent", step->name);
	if (step->noutput > step->narg)
		json_fail(reader->json, "step '%.60s' has more outputs than arguments", step->name);
	if (step->nbody != wanted)
		json_fail(reader->json, "step '%.60s' has %d nested plans instead of %d", step->name,
		          step->nbody, wanted);
}

static void read_body(const FieldReader *reader, const Json *item, void *member);
static void write_body(Buf *json, const void *member);
static const Record body_record = {.size = sizeof(Plan *)};

static const Field step_fields[] = {
	{FIELD("kind", PlanStep, kind), FIELD_WORDS(plan_step_words)},
	{FIELD("name", PlanStep, name)},
	{FIELD_OR("origins", PlanStep, origins, 0)},
	{FIELD("library", PlanStep, library), .when = FIELD_WHEN(PT_VENDOR)},
	{FIELD_OR("row", PlanStep, row, 0)},
	{FIELD_OR("kernel", PlanStep, kernel, -1), BELOW(nkernel)},
	{FIELD_OR("extent", PlanStep, extent_dim, -1), BELOW(ndim)},
	{FIELD_OR("scratch", PlanStep, scratch_dim, -1), .lo = -1, BELOW(ndim)},
	{FIELD_LIST_OR_NONE("grid", PlanStep, grid, ngrid), .most = PLAN_AXES, BELOW(ndim)},
	{FIELD_LIST_OR_NONE("block", PlanStep, block, nblock), .most = PLAN_AXES, BELOW(ndim)},
	{FIELD_OR("shared", PlanStep, shared_dim, -1), .lo = -1, BELOW(ndim)},
	{FIELD_LIST_OR_NONE("symbols", PlanStep, symbols, nsymbol), .most = TABLE_LIMIT,
     BELOW(nsymbol)},
	{FIELD_LIST_OR_NONE("args", PlanStep, args, narg), .most = ARGS_LIMIT, .lo = -1,
     BELOW(nbuffer)},
	{FIELD("outputs", PlanStep, noutput), .hi = ARGS_LIMIT},
	{FIELD_LIST_OR_NONE("attrs", PlanStep, attrs, nattr), .most = ARGS_LIMIT, .of = &attr_record},
	{FIELD_LIST_OR_NONE("bodies", PlanStep, bodies, nbody), .most = 2, .of = &body_record,
     .read = read_body, .write = write_body},
	{FIELD_OR("covered", PlanStep, covered_by, -1), .lo = -1, .hi = TABLE_LIMIT},
	{FIELD_OR("beside", PlanStep, is_beside, 0)},
	{FIELD_OR("grows", PlanStep, points_dim, -1), .lo = -1, BELOW(ndim)},
	{FIELD_OR("points", PlanStep, points, 1)},
	{FIELD_OR("units", PlanStep, units, 0)},
	{FIELD_OR("flops", PlanStep, flops, 0)},
	{FIELD_OR("bytes", PlanStep, bytes, 0), .check = check_step},
};
static const Record step_record = {RECORD(PlanStep, step_fields),
                                   .kind_at = offsetof(PlanStep, kind)};

/* ---- plans ---- */

static const Field assumption_fields[] = {
	{FIELD("a", PlanAssumption, a), BELOW(ndim)},
	{FIELD("b", PlanAssumption, b), BELOW(ndim)},
	{FIELD("what", PlanAssumption, what)},
};
static const Record assumption_record = {RECORD(PlanAssumption, assumption_fields)};

static const Field wish_fields[] = {
	{FIELD("input", InputWish, input), BELOW(ninput)},
	{FIELD("axis", InputWish, axis), .hi = PLAN_MAX_RANK - 1},
	{FIELD("what", InputWish, what)},
	{FIELD_OR("one", InputWish, may_be_one, 0)},
};
static const Record wish_record = {RECORD(InputWish, wish_fields)};

/* inputs[i] must be the PB_INPUT buffer of index i and nothing else may be one; the same for
 * outputs. */
static void
check_ports(JsonReader *r, const Plan *plan, PlanBufferKind kind, int count, const int *ports)
{
	int seen = 0;
	for (int i = 0; i < count && !r->failed; i++) {
		const PlanBuffer *buffer = &plan->buffers[ports[i]];
		if (buffer->kind != kind || buffer->index != i || buffer->layout)
			json_fail(r, "%s %d is buffer '%.60s', which is not that %s", plan_buffer_words[kind],
			          i, buffer->name, plan_buffer_words[kind]);
	}
	for (int i = 0; i < plan->nbuffer && !r->failed; i++)
		seen += plan->buffers[i].kind == kind;
	if (!r->failed && seen != count)
		json_fail(r, "%d buffers are %ss, but %d are listed", seen, plan_buffer_words[kind], count);
}

static void
check_symbols(JsonReader *r, const Plan *plan)
{
	for (int i = plan->parent ? plan->parent->nsymbol : 0; i < plan->nsymbol && !r->failed; i++) {
		const PlanSymbol *s = &plan->symbols[i];
		bool is_dim = s->source == PS_DIM;
		if ((is_dim ? s->dim >= plan->ndim : s->buffer >= plan->nbuffer) || s->step > plan->nstep) {
			json_fail(r, "symbol '%.60s' is defined by something that is not there", s->name);
			return;
		}
		const PlanBuffer *from = is_dim ? NULL : &plan->buffers[s->buffer];
		if ((s->source == PS_INPUT && from->kind != PB_INPUT) ||
		    (s->source == PS_OUTPUT && s->step < 1) ||
		    ((s->source == PS_INPUT || s->source == PS_OUTPUT) && s->index >= from->rank) ||
		    (s->source == PS_ELEMENT && !dtype_is_integer(from->type)))
			json_fail(r, "symbol '%.60s' cannot be read from buffer '%.60s'", s->name, from->name);
	}
}

static void
check_plan(const FieldReader *reader, void *record)
{
	const Plan *plan = record;
	if (plan->parent && plan->nsymbol < plan->parent->nsymbol)
		json_fail(reader->json, "a nested plan lacks symbols of the plan around");
	check_ports(reader->json, plan, PB_INPUT, plan->ninput, plan->inputs);
	check_ports(reader->json, plan, PB_OUTPUT, plan->noutput, plan->outputs);
	check_symbols(reader->json, plan);
}

static const Field plan_fields[] = {
	{FIELD_OR("apart", Plan, is_apart, 0), .when = FIELD_WHEN(0)},
	{FIELD_LIST_OR_NONE("kernels", Plan, kernels, nkernel), .most = TABLE_LIMIT,
     .when = FIELD_WHEN(0)},
	{FIELD_LIST("symbols", Plan, symbols, nsymbol), .most = TABLE_LIMIT, .of = &symbol_record,
     .is_long = true},
	{FIELD_LIST("dims", Plan, dims, ndim), .most = TABLE_LIMIT, .of = &dim_record, .read = read_dim,
     .write = write_dim},
	{FIELD_LIST("buffers", Plan, buffers, nbuffer), .most = TABLE_LIMIT, .of = &buffer_record,
     .is_long = true, .check = check_buffers},
	{FIELD_LIST("steps", Plan, steps, nstep), .most = TABLE_LIMIT, .of = &step_record,
     .is_long = true},
	{FIELD_LIST_OR_NONE("inputs", Plan, inputs, ninput), .most = TABLE_LIMIT, BELOW(nbuffer)},
	{FIELD_LIST_OR_NONE("outputs", Plan, outputs, noutput), .most = TABLE_LIMIT, BELOW(nbuffer)},
	{FIELD_LIST_OR_NONE("assumptions", Plan, assumptions, nassumption), .most = TABLE_LIMIT,
     .of = &assumption_record},
	{FIELD_LIST_OR_NONE("wishes", Plan, wishes, nwish), .most = TABLE_LIMIT, .of = &wish_record,
     .check = check_plan},
};
static const Record plan_record = {RECORD(Plan, plan_fields), .kind_at = offsetof(Plan, nesting)};

/* A nested plan shares what is said of the main plan alone. */
static void
read_body(const FieldReader *reader, const Json *item, void *member)
{
	const Plan *plan = reader->around;
	Plan *body = json_alloc(reader->json, 1, sizeof *body);
	if (!body)
		return;
	memcpy(member, &body, sizeof body);
	body->parent = plan;
	body->nesting = plan->nesting + 1;
	body->is_apart = plan->is_apart;
	body->kernels = plan->kernels;
	body->nkernel = plan->nkernel;
	if (body->nesting > PLAN_MAX_NESTING)
		json_fail(reader->json, "plans are nested more than %d deep", PLAN_MAX_NESTING);
	else
		record_read(&(FieldReader){reader->json, body}, &plan_record, item, body);
}

static void
write_body(Buf *json, const void *member)
{
	record_write(json, &plan_record, *(Plan *const *)member);
}

/* A plan and the memory it lives in; plan_free() gets from the first to the second. */
typedef struct PlanBlock {
	Pile pile;
	Plan plan;
} PlanBlock;

void
plan_write(Buf *json, const Plan *plan)
{
	record_write(json, &plan_record, plan);
	buf_putc(json, '\n');
}

bool
plan_read(const char *json, size_t size, Plan **plan, char *error, size_t error_size)
{
	PlanBlock *block = calloc(1, sizeof *block);
	*plan = NULL;
	if (!block)
		return refuse_with(error, error_size, "out of memory while reading the plan");
	JsonReader r = {&block->pile, "the plan", error, error_size, false};
	Json *root = json_parse(&r, json, size, TEXT_LIMIT);
	if (!r.failed)
		record_read(&(FieldReader){&r, &block->plan}, &plan_record, root, &block->plan);
	json_free(root);
	if (r.failed) {
		plan_free(&block->plan);
		return false;
	}
	*plan = &block->plan;
	return true;
}

void
plan_free(Plan *plan)
{
	if (!plan)
		return;
	PlanBlock *block = (PlanBlock *)(void *)((char *)plan - offsetof(PlanBlock, plan));
	pile_free(&block->pile);
	free(block);
}
