/* Plans from JSON: the form is write.c's, and nothing in the text is believed.
 *
 * Every index is checked against the table it points into, every count against a limit before
 * memory is taken, chains of views against cycles, dims against the stack they need. What a plan
 * *does* is checked by plan_verify().
 */
#include "runtime/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/json.h"
#include "runtime/plan/text.h"

enum {
	TEXT_LIMIT = 1 << 28,
	TABLE_LIMIT = 1 << 17,
	TOKEN_LIMIT = 1 << 12,
	ARGS_LIMIT = 1 << 12,
	ATTR_LIMIT = 1 << 20,
};

const char *const plan_op_words[] = {
	"",  "f",   "s",   "float", "single", "floor", "ceil", "round", "int",  "+", "-",  "*", "/",
	"%", "min", "max", "f+",    "f-",     "f*",    "f/",   "fmin",  "fmax", "<", "==", "?"};
const char *const plan_source_words[] = {"input", "element", "dim", "output"};
const char *const plan_buffer_words[] = {"input", "output", "weight", "temp",
                                         "view",  "pool",   "capture"};
const char *const plan_place_words[] = {"device", "host"};
const char *const plan_step_words[] = {"kernel", "vendor", "host", "copy", "if", "loop", "scan"};
const char *const plan_attr_words[] = {"ints", "floats", "string"};

_Static_assert(sizeof plan_op_words / sizeof *plan_op_words == PLAN_OPS &&
                   PLAN_OPS == PD_SELECT + 1,
               "one word per operator");
_Static_assert(PLAN_STEPS == PT_SCAN + 1 && PLAN_BUFFERS == PB_CAPTURE + 1 && PLAN_PLACES == 2,
               "one word per kind");

/* A plan and the memory it lives in; plan_free() gets from the first to the second. */
typedef struct PlanBlock {
	Pile pile;
	Plan plan;
} PlanBlock;

static int
find_word(JsonReader *r, const char *what, const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	json_fail(r, "%s '%.40s' is not known", what, word);
	return 0;
}

/* An index into a table of `count`, as member `name`; -1 allowed when `lo` is. */
static int
get_index(JsonReader *r, const Json *item, const char *name, int lo, int count)
{
	return (int)json_int(r, item, name, lo, count - 1);
}

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
	int found = find_word(r, "operator", word, plan_op_words + PD_FLOAT, PLAN_OPS - PD_FLOAT);
	return (PlanToken){(PlanOp)(PD_FLOAT + found), 0};
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

static PlanDim
read_dim(JsonReader *r, const Plan *plan, const Json *item)
{
	char *text = (char *)json_item_text(r, item, "dim"), *rest = NULL;
	int count = 0;
	for (const char *c = text; *c; c++)
		count += c[0] != ' ' && (c[1] == ' ' || c[1] == 0);
	if (count == 0 || count > TOKEN_LIMIT)
		json_fail(r, "a dim is empty or too long");
	PlanToken *tokens = json_alloc(r, (size_t)count, sizeof *tokens);
	if (!tokens)
		return (PlanDim){0};
	int i = 0;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		tokens[i++] = read_token(r, plan, word);
	PlanDim dim = {i, tokens};
	if (!r->failed && !dim_is_sound(&dim))
		json_fail(r, "a dim is not a postfix program");
	return dim;
}

static void
read_symbols(JsonReader *r, Plan *plan, const Json *json)
{
	const Json *item = json_array(r, json, "symbols", TABLE_LIMIT, &plan->nsymbol);
	PlanSymbol *symbols = json_alloc(r, (size_t)plan->nsymbol, sizeof *symbols);
	plan->symbols = symbols;
	if (plan->parent && plan->nsymbol < plan->parent->nsymbol)
		json_fail(r, "a nested plan lacks symbols of the plan around");
	for (int i = 0; item && !r->failed; item = item->next, i++) {
		PlanSymbol *s = &symbols[i];
		s->name = json_text(r, item, "name");
		s->lo = json_int(r, item, "lo", INT64_MIN + 1, INT64_MAX);
		s->hi = json_int(r, item, "hi", s->lo, INT64_MAX);
		s->source = (PlanSource)find_word(r, "source", json_text(r, item, "from"),
		                                  plan_source_words, PLAN_SOURCES);
		s->buffer = (int)json_int_or(r, item, "buffer", 0, TABLE_LIMIT, 0);
		s->index = (int)json_int_or(r, item, "index", 0, INT32_MAX, 0);
		s->dim = (int)json_int_or(r, item, "dim", 0, TABLE_LIMIT, 0);
		s->step = (int)json_int_or(r, item, "step", 0, TABLE_LIMIT, 0);
	}
}

static void
read_kernels(JsonReader *r, Plan *plan, const Json *json)
{
	const Json *item = json_array_or_none(r, json, "kernels", TABLE_LIMIT, &plan->nkernel);
	const char **names = json_alloc(r, (size_t)plan->nkernel, sizeof *names);
	plan->kernels = names;
	for (int i = 0; item && !r->failed; item = item->next)
		names[i++] = json_item_text(r, item, "kernels");
}

static void
read_dims(JsonReader *r, Plan *plan, const Json *json)
{
	const Json *item = json_array(r, json, "dims", TABLE_LIMIT, &plan->ndim);
	PlanDim *dims = json_alloc(r, (size_t)plan->ndim, sizeof *dims);
	plan->dims = dims;
	for (int i = 0; item && !r->failed; item = item->next)
		dims[i++] = read_dim(r, plan, item);
}

/* The members that only some kinds of buffer have. */
static void
read_kind(JsonReader *r, const Plan *plan, const Json *item, PlanBuffer *b)
{
	int parents = plan->parent ? plan->parent->nbuffer : 0;
	switch (b->kind) {
	case PB_INPUT:
		b->offset = json_int_or(r, item, "offset", 0, INT64_MAX / 2, 0);
		b->bytes = json_int_or(r, item, "bytes", -1, INT64_MAX / 2, -1);
		b->index = (int)json_int(r, item, "index", 0, TABLE_LIMIT);
		break;
	case PB_OUTPUT:
		b->index = (int)json_int(r, item, "index", 0, TABLE_LIMIT);
		break;
	case PB_CAPTURE:
		b->index = get_index(r, item, "index", 0, parents);
		break;
	case PB_WEIGHT:
		b->offset = json_int(r, item, "offset", 0, INT64_MAX / 2);
		b->bytes = json_int(r, item, "bytes", 0, INT64_MAX / 2);
		break;
	case PB_VIEW:
		b->base = get_index(r, item, "base", 0, plan->nbuffer);
		b->of = (int)json_int_or(r, item, "of", 0, plan->nbuffer - 1, b->base);
		b->offset_dim = get_index(r, item, "at", 0, plan->ndim);
		break;
	case PB_TEMP:
		b->size_dim = get_index(r, item, "size", 0, plan->ndim);
		b->first = (int)json_int(r, item, "first", 0, TABLE_LIMIT);
		b->last = (int)json_int(r, item, "last", b->first, TABLE_LIMIT);
		break;
	case PB_POOL:
		break;
	}
}

static void
read_buffer(JsonReader *r, const Plan *plan, const Json *item, PlanBuffer *b)
{
	int nstride;
	const char *layout;
	b->name = json_text_or(r, item, "name", "");
	const char *type = json_text(r, item, "type");
	b->type = dtype_find(type);
	if (!r->failed && b->type == DT_NONE)
		json_fail(r, "buffer type '%.20s' is not known", type);
	b->dims = json_ints(r, item, "dims", PLAN_MAX_RANK, 0, plan->ndim - 1, &b->rank);
	b->kind = (PlanBufferKind)find_word(r, "kind", json_text(r, item, "kind"), plan_buffer_words,
	                                    PLAN_BUFFERS);
	b->strides = json_ints(r, item, "strides", PLAN_MAX_RANK, 0, plan->ndim - 1, &nstride);
	if (b->strides && (nstride != b->rank || b->kind != PB_VIEW))
		json_fail(r, "buffer '%.60s' has strides that do not fit its dims", b->name);
	layout = json_text_or(r, item, "layout", "");
	b->layout = *layout ? layout : NULL;
	b->is_value = json_int_or(r, item, "value", 0, 1, 0) != 0;
	b->size_dim = -1;
	b->place = (PlanPlace)find_word(r, "place", json_text_or(r, item, "place", "device"),
	                                plan_place_words, PLAN_PLACES);
	if (b->place == PLACE_HOST && !plan->is_apart)
		json_fail(r, "buffer '%.60s' lies in a second memory, and there is one", b->name);
	read_kind(r, plan, item, b);
	const PlanBuffer *lent =
		b->kind == PB_CAPTURE && !r->failed ? &plan->parent->buffers[b->index] : NULL;
	if (lent && (lent->type != b->type || lent->rank != b->rank))
		json_fail(r, "captured buffer '%.60s' has another type or rank", b->name);
	if (lent)
		b->place = lent->place;
}

static void
read_buffers(JsonReader *r, Plan *plan, const Json *json)
{
	const Json *item = json_array(r, json, "buffers", TABLE_LIMIT, &plan->nbuffer);
	PlanBuffer *buffers = json_alloc(r, (size_t)plan->nbuffer, sizeof *buffers);
	plan->buffers = buffers;
	for (int i = 0; item && !r->failed; item = item->next)
		read_buffer(r, plan, item, &buffers[i++]);
	for (int i = 0; i < plan->nbuffer && !r->failed; i++) {
		int at = i, hops = 0, seen = i, steps = 0;
		while (buffers[at].kind == PB_VIEW && ++hops <= PLAN_MAX_RANK)
			at = buffers[at].base;
		while (buffers[seen].kind == PB_VIEW && ++steps <= plan->nbuffer)
			seen = buffers[seen].of;
		if (hops > PLAN_MAX_RANK || steps > plan->nbuffer)
			json_fail(r, "buffer '%.60s' is a view of itself", buffers[i].name);
		else if (at != i)
			buffers[i].place = buffers[at].place;
	}
}

static void
read_attr(JsonReader *r, const Json *item, StepAttr *attr)
{
	attr->name = json_text(r, item, "name");
	const Json *value = NULL;
	for (int kind = 0; kind < PLAN_ATTRS; kind++)
		if ((value = json_member(item, plan_attr_words[kind]))) {
			attr->kind = kind;
			break;
		}
	if (!value)
		json_fail(r, "attribute '%.40s' has no value", attr->name);
	if (r->failed)
		return;
	if (attr->kind == SA_STRING) {
		attr->string = json_item_text(r, value, attr->name);
		return;
	}
	const Json *at = json_array(r, item, plan_attr_words[attr->kind], ATTR_LIMIT, &attr->count);
	int64_t *ints = json_alloc(r, (size_t)attr->count, sizeof *ints);
	float *floats = json_alloc(r, (size_t)attr->count, sizeof *floats);
	for (int i = 0; at && !r->failed; at = at->next, i++) {
		if (attr->kind == SA_FLOATS)
			floats[i] = (float)json_item_number(r, at, attr->name);
		else
			ints[i] = json_item_int(r, at, attr->name, INT64_MIN, INT64_MAX);
	}
	attr->ints = attr->kind == SA_FLOATS ? NULL : ints;
	attr->floats = attr->kind == SA_FLOATS ? floats : NULL;
}

static void read_plan(JsonReader *r, Plan *plan, const Json *json, int nesting);

static void
read_bodies(JsonReader *r, const Plan *plan, const Json *json, PlanStep *step, int nesting)
{
	const Json *item = json_array_or_none(r, json, "bodies", 2, &step->nbody);
	int wanted = step->kind == PT_IF ? 2 : step->kind == PT_LOOP || step->kind == PT_SCAN;
	if (!r->failed && step->nbody != wanted)
		json_fail(r, "step '%.60s' has %d nested plans instead of %d", step->name, step->nbody,
		          wanted);
	Plan **bodies = json_alloc(r, (size_t)step->nbody, sizeof *bodies);
	for (int i = 0; item && !r->failed; item = item->next, i++) {
		bodies[i] = json_alloc(r, 1, sizeof **bodies);
		if (!bodies[i])
			return;
		bodies[i]->parent = plan;
		read_plan(r, bodies[i], item, nesting + 1);
	}
	step->bodies = bodies;
}

static void
read_step(JsonReader *r, const Plan *plan, const Json *item, PlanStep *step, int nesting)
{
	step->kind = (PlanStepKind)find_word(r, "step kind", json_text(r, item, "kind"),
	                                     plan_step_words, PLAN_STEPS);
	step->name = json_text(r, item, "name");
	step->origins = json_text_or(r, item, "origins", "");
	step->row = json_text_or(r, item, "row", "");
	bool has_kernel = step->kind == PT_KERNEL || json_member(item, "kernel");
	step->kernel = has_kernel ? get_index(r, item, "kernel", 0, plan->nkernel) : -1;
	step->extent_dim = has_kernel ? get_index(r, item, "extent", 0, plan->ndim) : -1;
	step->scratch_dim = (int)json_int_or(r, item, "scratch", -1, plan->ndim - 1, -1);
	step->grid = json_ints(r, item, "grid", PLAN_AXES, 0, plan->ndim - 1, &step->ngrid);
	step->block = json_ints(r, item, "block", PLAN_AXES, 0, plan->ndim - 1, &step->nblock);
	step->shared_dim = (int)json_int_or(r, item, "shared", -1, plan->ndim - 1, -1);
	step->symbols =
		json_ints(r, item, "symbols", TABLE_LIMIT, 0, plan->nsymbol - 1, &step->nsymbol);
	step->args = json_ints(r, item, "args", ARGS_LIMIT, -1, plan->nbuffer - 1, &step->narg);
	step->noutput = (int)json_int(r, item, "outputs", 0, step->narg);
	const Json *at = json_array_or_none(r, item, "attrs", ARGS_LIMIT, &step->nattr);
	StepAttr *attrs = json_alloc(r, (size_t)step->nattr, sizeof *attrs);
	step->attrs = attrs;
	for (int i = 0; at && !r->failed; at = at->next)
		read_attr(r, at, &attrs[i++]);
	read_bodies(r, plan, item, step, nesting);
	step->is_beside = json_int_or(r, item, "beside", 0, 1, 0) != 0;
	step->points_dim = (int)json_int_or(r, item, "grows", -1, plan->ndim - 1, -1);
	step->points = json_number_or(r, item, "points", 1);
	step->flops = json_number_or(r, item, "flops", 0);
	step->bytes = json_number_or(r, item, "bytes", 0);
}

static void
read_steps(JsonReader *r, Plan *plan, const Json *json, int nesting)
{
	const Json *item = json_array(r, json, "steps", TABLE_LIMIT, &plan->nstep);
	PlanStep *steps = json_alloc(r, (size_t)plan->nstep, sizeof *steps);
	plan->steps = steps;
	for (int i = 0; item && !r->failed; item = item->next)
		read_step(r, plan, item, &steps[i++], nesting);
}

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
read_plan(JsonReader *r, Plan *plan, const Json *json, int nesting)
{
	if (nesting > PLAN_MAX_NESTING) {
		json_fail(r, "plans are nested more than %d deep", PLAN_MAX_NESTING);
		return;
	}
	plan->is_apart =
		plan->parent ? plan->parent->is_apart : json_int_or(r, json, "apart", 0, 1, 0) != 0;
	if (plan->parent) {
		plan->nkernel = plan->parent->nkernel;
		plan->kernels = plan->parent->kernels;
	} else {
		read_kernels(r, plan, json);
	}
	read_symbols(r, plan, json);
	read_dims(r, plan, json);
	read_buffers(r, plan, json);
	read_steps(r, plan, json, nesting);
	plan->inputs = json_ints(r, json, "inputs", TABLE_LIMIT, 0, plan->nbuffer - 1, &plan->ninput);
	plan->outputs =
		json_ints(r, json, "outputs", TABLE_LIMIT, 0, plan->nbuffer - 1, &plan->noutput);
	const Json *item = json_array(r, json, "assumptions", TABLE_LIMIT, &plan->nassumption);
	PlanAssumption *assumptions = json_alloc(r, (size_t)plan->nassumption, sizeof *assumptions);
	plan->assumptions = assumptions;
	for (int i = 0; item && !r->failed; item = item->next, i++)
		assumptions[i] =
			(PlanAssumption){get_index(r, item, "a", 0, plan->ndim),
		                     get_index(r, item, "b", 0, plan->ndim), json_text(r, item, "what")};
	item = json_array_or_none(r, json, "wishes", TABLE_LIMIT, &plan->nwish);
	InputWish *wishes = json_alloc(r, (size_t)plan->nwish, sizeof *wishes);
	plan->wishes = wishes;
	for (int i = 0; item && !r->failed; item = item->next, i++)
		wishes[i] =
			(InputWish){get_index(r, item, "input", 0, plan->ninput),
		                get_index(r, item, "axis", 0, PLAN_MAX_RANK), json_text(r, item, "what")};
	plan->ncapture = (int)json_int_or(r, json, "captures", 0, TABLE_LIMIT, 0);
	check_ports(r, plan, PB_INPUT, plan->ninput, plan->inputs);
	check_ports(r, plan, PB_OUTPUT, plan->noutput, plan->outputs);
	check_symbols(r, plan);
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
		read_plan(&r, &block->plan, root, 0);
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
