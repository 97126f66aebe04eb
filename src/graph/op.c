/* The table of operators: the rows of ops.def and the parser of their short specifications.
 *
 *     "x:T(float), axes:i64?"          two inputs, the second optional
 *     "axis:int=-1, mode:string='x'"   two attributes with defaults
 *
 * The texts are parsed once per OpTable; a wrong one is our bug and names the row.
 */
#include "graph/op.h"

#include <string.h>

#include "base/scan.h"
#include "graph/expand.h"
#include "graph/infer.h"
#include "graph/meaning.h"

struct OpTable {
	Arena *arena;
	OpInfo rows[OP_COUNT];
	Map names; /* name, or domain.name, to OpInfo */
};

typedef struct RowText {
	const char *name, *domain;
	int since;
	const char *inputs, *outputs, *attrs;
	void (*infer)(Infer *infer);
	MeaningKind meaning;
	const char *formula;
	const char *examples;
	void (*build)(Build *build);
	void (*expand)(Node *node);
	Effect effect;
	const char *doc;
} RowText;

#define FORMULA(text) .meaning = MEANING_FORMULA, .formula = text
#define BUILD(function, lines) \
	.meaning = MEANING_BUILD, .build = build_##function, .examples = lines
#define HOST .meaning = MEANING_HOST
#define MISSING .meaning = MEANING_MISSING
#define CONTROL .meaning = MEANING_CONTROL
#define NODES(function) .meaning = MEANING_NODES, .expand = expand_##function
#define BODY(lines) .meaning = MEANING_NODES, .expand = expand_body, .formula = lines
#define OP(n, d, s, in, out, at, inf, mean, eff, text) \
	[OP_##n] = {.name = #n, \
	            .domain = d, \
	            .since = s, \
	            .inputs = in, \
	            .outputs = out, \
	            .attrs = at, \
	            .infer = infer_##inf, \
	            mean, \
	            .effect = EFFECT_##eff, \
	            .doc = text},

static const RowText ROWS[OP_COUNT] = {
	[OP_NONE] = {.name = ""},
#include "graph/ops.def"
};

#undef OP
#undef BODY
#undef NODES
#undef CONTROL
#undef HOST
#undef MISSING
#undef BUILD
#undef FORMULA

/* ---- type sets ------------------------------------------------------------------------------- */

static uint64_t
class_set(DTypeClass class)
{
	uint64_t set = 0;
	for (int type = 1; type < DT_COUNT; type++)
		if (dtype_class((DType)type) == class)
			set |= (uint64_t)1 << type;
	return set;
}

uint64_t
op_type_set(const char *word)
{
	if (!strcmp(word, "float"))
		return class_set(DC_F);
	if (!strcmp(word, "int"))
		return class_set(DC_I) | class_set(DC_U);
	if (!strcmp(word, "num"))
		return class_set(DC_F) | class_set(DC_I) | class_set(DC_U);
	if (!strcmp(word, "any"))
		return ~(TYPES_SEQUENCE | TYPES_OPTIONAL);
	if (!strcmp(word, "seq"))
		return TYPES_SEQUENCE;
	if (!strcmp(word, "optional"))
		return TYPES_OPTIONAL;
	DType type = dtype_find(word);
	return type == DT_NONE ? 0 : (uint64_t)1 << type;
}

static uint64_t
parse_set(Scanner *scan)
{
	uint64_t set = 0;
	do {
		Loc loc = scan_loc(scan);
		const char *word = scan_name(scan, "type");
		uint64_t one = op_type_set(word);
		if (one == 0)
			fail_as(FAIL_BUG, &loc, "no type is called %s", word);
		set |= one;
	} while (scan_accept(scan, "|"));
	return set;
}

/* T, T(set) or a set. */
static void
parse_param_type(Scanner *scan, ParamSpec *param, uint64_t letters[26])
{
	const char *word = scan_peek(scan)->text;
	if (word[0] < 'A' || word[0] > 'Z' || word[1]) {
		param->types = parse_set(scan);
		return;
	}
	scan_next(scan);
	param->letter = word[0];
	uint64_t *set = &letters[word[0] - 'A'];
	if (scan_accept(scan, "(")) {
		*set = parse_set(scan);
		scan_expect(scan, ")", "after a set of types");
	}
	if (*set == 0)
		*set = op_type_set("any");
	param->types = *set;
}

static const ParamSpec *
parse_params(Arena *arena, const char *where, const char *text, uint64_t letters[26], int *count)
{
	Scanner scan;
	scan_open(&scan, arena, where, text);
	VEC(ParamSpec) params = {0};
	while (scan_peek(&scan)->kind != TOK_END) {
		ParamSpec param = {.name = scan_name(&scan, "parameter")};
		scan_expect(&scan, ":", "after a parameter");
		parse_param_type(&scan, &param, letters);
		param.vector = scan_accept(&scan, "[");
		param.takes_scalar = param.vector && scan_accept(&scan, "?");
		if (param.vector)
			scan_expect(&scan, "]", "after [");
		param.optional = scan_accept(&scan, "?");
		param.is_zero = scan_accept(&scan, "=") && scan_integer(&scan, "what absence means") == 0;
		param.variadic = scan_accept(&scan, "*");
		vec_push(arena, &params, param);
		if (!scan_accept(&scan, ","))
			break;
	}
	if (scan_peek(&scan)->kind != TOK_END)
		fail_as(FAIL_BUG, &(Loc){.file = where}, "expected ',' between parameters");
	*count = params.count;
	return params.data;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const KINDS[] = {
	[ATTR_NONE] = "none",     [ATTR_INT] = "int",       [ATTR_FLOAT] = "float",
	[ATTR_STRING] = "string", [ATTR_TENSOR] = "tensor", [ATTR_TYPE] = "type",
	[ATTR_INTS] = "ints",     [ATTR_FLOATS] = "floats", [ATTR_STRINGS] = "strings",
	[ATTR_GRAPH] = "graph",
};

const char *
attr_kind_name(AttrKind kind)
{
	return KINDS[kind];
}

static AttrKind
parse_kind(Scanner *scan)
{
	Loc loc = scan_loc(scan);
	const char *word = scan_name(scan, "kind");
	for (size_t i = 1; i < countof(KINDS); i++)
		if (!strcmp(KINDS[i], word))
			return (AttrKind)i;
	fail_as(FAIL_BUG, &loc, "no attribute kind is called %s", word);
}

static const Attr *
parse_default(Scanner *scan, AttrSpec *spec)
{
	Attr *attr = NEW(scan->arena, Attr);
	AttrKind kind = (AttrKind)spec->kind;
	*attr = (Attr){.name = spec->name, .kind = kind};
	VEC(int64_t) ints = {0};
	switch (kind) {
	case ATTR_INT:
		attr->i = scan_integer(scan, "integer");
		break;
	case ATTR_FLOAT:
		attr->f = (float)scan_number(scan, "number");
		break;
	case ATTR_STRING:
		attr->s = scan_string(scan, "string");
		attr->count = (int64_t)strcspn(attr->s, " ");
		spec->words = attr->s[attr->count] ? attr->s : NULL;
		attr->s = arena_strndup(scan->arena, attr->s, (size_t)attr->count);
		break;
	case ATTR_INTS:
		scan_expect(scan, "[", "before a list");
		do
			vec_push(scan->arena, &ints, scan_integer(scan, "integer"));
		while (scan_accept(scan, ","));
		scan_expect(scan, "]", "after a list");
		attr->count = ints.count;
		attr->ints = ints.data;
		break;
	default:
		fail_as(FAIL_BUG, &(Loc){.file = scan->file}, "%s has no form of a default", KINDS[kind]);
	}
	return attr;
}

static const AttrSpec *
parse_attrs(Arena *arena, const char *where, const char *text, int *count)
{
	char *quoted = arena_strdup(arena, text);
	for (char *c = quoted; *c; c++)
		if (*c == '\'')
			*c = '"';
	Scanner scan;
	scan_open(&scan, arena, where, quoted);
	VEC(AttrSpec) attrs = {0};
	while (scan_peek(&scan)->kind != TOK_END) {
		AttrSpec attr = {.name = scan_name(&scan, "attribute")};
		scan_expect(&scan, ":", "after an attribute");
		attr.kind = parse_kind(&scan);
		attr.required = scan_accept(&scan, "!");
		if (scan_accept(&scan, "="))
			attr.fallback = parse_default(&scan, &attr);
		vec_push(arena, &attrs, attr);
		if (!scan_accept(&scan, ","))
			break;
	}
	if (scan_peek(&scan)->kind != TOK_END)
		fail_as(FAIL_BUG, &(Loc){.file = where}, "expected ',' between attributes");
	*count = attrs.count;
	return attrs.data;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *
text_name(Arena *arena, const char *domain, const char *name)
{
	bool is_plain =
		!domain || !domain[0] || !strcmp(domain, "ai.onnx") || !strcmp(domain, "tilewright");
	return is_plain ? name : arena_printf(arena, "%s.%s", domain, name);
}

static void
parse_row(OpTable *table, OpCode code)
{
	const RowText *text = &ROWS[code];
	const char *where = arena_printf(table->arena, "ops.def: %s", text->name);
	OpInfo *op = &table->rows[code];
	const char *colon = strchr(text->domain, ':');
	size_t length = colon ? (size_t)(colon - text->domain) : strlen(text->domain);
	*op = (OpInfo){
		.code = code,
		.name = colon ? colon + 1 : text->name,
		.domain = arena_strndup(table->arena, text->domain, length),
		.since = text->since,
		.infer = text->infer,
		.meaning = text->meaning,
		.formula = text->formula,
		.examples = text->examples,
		.build = text->build,
		.expand = text->expand,
		.effect = text->effect,
		.doc = text->doc,
	};
	uint64_t letters[26] = {0};
	op->inputs = parse_params(table->arena, where, text->inputs, letters, &op->ninput);
	op->outputs = parse_params(table->arena, where, text->outputs, letters, &op->noutput);
	op->attrs = parse_attrs(table->arena, where, text->attrs, &op->nattr);
	map_set(&table->names, text_name(table->arena, op->domain, op->name), op);
}

OpTable *
op_table_new(Arena *arena)
{
	OpTable *table = NEW(arena, OpTable);
	table->arena = arena;
	table->names.arena = arena;
	for (int code = OP_NONE + 1; code < OP_COUNT; code++)
		parse_row(table, (OpCode)code);
	return table;
}

const OpInfo *
op_find(const OpTable *table, const char *domain, const char *name)
{
	return map_find(&table->names, text_name(table->arena, domain, name));
}

const OpInfo *
op_row(const OpTable *table, OpCode code)
{
	return &table->rows[code];
}

const char *
op_text(Arena *arena, const OpInfo *op)
{
	return text_name(arena, op->domain, op->name);
}

const AttrSpec *
op_attr(const OpInfo *op, const char *name)
{
	for (int i = 0; i < op->nattr; i++)
		if (!strcmp(op->attrs[i].name, name))
			return &op->attrs[i];
	return NULL;
}

static const ParamSpec *
find_param(const ParamSpec *params, int count, int index)
{
	if (count > 0 && index >= count - 1 && params[count - 1].variadic)
		return &params[count - 1];
	return index < count ? &params[index] : NULL;
}

const ParamSpec *
op_input(const OpInfo *op, int index)
{
	return find_param(op->inputs, op->ninput, index);
}

const ParamSpec *
op_output(const OpInfo *op, int index)
{
	return find_param(op->outputs, op->noutput, index);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void
print_lines(Buf *buf, const char *text)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, "\n");
		buf_printf(buf, "    %.*s\n", (int)(end - text), text);
	}
}

void
op_print(Buf *buf, const OpTable *table, const OpInfo *op)
{
	static const char *const effects[] = {"pure", "random", "stateful"};
	const RowText *text = &ROWS[op->code];
	buf_printf(buf, "%s(%s) -> %s", op_text(table->arena, op), text->inputs, text->outputs);
	if (text->attrs[0])
		buf_printf(buf, "\n  {%s}", text->attrs);
	buf_printf(buf, "\n  %s; %s, since %d\n", op->doc, effects[op->effect], op->since);
	switch (op->meaning) {
	case MEANING_FORMULA:
		buf_printf(buf, "  = %s\n", op->formula);
		break;
	case MEANING_BUILD:
		buf_puts(buf, "  built as stages; for example\n");
		break;
	case MEANING_HOST:
		buf_puts(buf, "  computed by a host function\n");
		break;
	case MEANING_CONTROL:
		buf_puts(buf, "  its regions are its meaning\n");
		break;
	case MEANING_NODES:
		buf_puts(buf, "  stands for other nodes, which ExpandOperators puts in its place\n");
		if (op->formula)
			print_lines(buf, op->formula);
		break;
	case MEANING_MISSING:
		buf_puts(buf, "  computed by nothing yet\n");
		break;
	case MEANING_UNKNOWN: /* of no row */
		break;
	}
}

/* $a … $f filled in. */
static void
put_line(Buf *buf, const char *line, size_t length, const int64_t *extents)
{
	for (size_t i = 0; i < length; i++)
		if (line[i] == '$')
			buf_printf(buf, "%d", (int)extents[line[++i] - 'a']);
		else
			buf_putc(buf, line[i]);
}

const char *
op_example(Arena *arena, const OpInfo *op, int index, const int64_t *extents)
{
	const char *line = op->examples;
	for (; line && index > 0; index--) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return NULL;
	Buf buf = {.arena = arena};
	const char *nodes = strstr(line, ") ") + 2; /* inputs have no such thing */
	buf_puts(&buf, "graph example");
	put_line(&buf, line, (size_t)(nodes - 1 - line), extents);
	buf_puts(&buf, " -> %y {\n  ");
	put_line(&buf, nodes, strcspn(nodes, "\n"), extents);
	buf_puts(&buf, "\n}\n");
	return buf_text(&buf);
}

/* Types stay what the model says. */
static void
infer_unknown(Infer *infer)
{
	(void)infer;
}

const OpInfo *
op_unknown(Arena *arena, const char *domain, const char *name, int since, int nattr,
           const AttrSpec *attrs)
{
	ParamSpec *any = NEW(arena, ParamSpec);
	*any =
		(ParamSpec){.name = "operand", .types = ~(uint64_t)0, .optional = true, .variadic = true};
	OpInfo *op = NEW(arena, OpInfo);
	*op = (OpInfo){
		.name = name,
		.domain = domain,
		.since = since,
		.ninput = 1,
		.noutput = 1,
		.nattr = nattr,
		.inputs = any,
		.outputs = any,
		.attrs = attrs,
		.infer = infer_unknown,
		.meaning = MEANING_UNKNOWN,
		.effect = EFFECT_stateful,
		.doc = "unknown",
	};
	return op;
}
