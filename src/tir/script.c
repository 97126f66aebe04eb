/* Schedule scripts as text: what is printed is read back (script.h). */
#include "tir/script.h"

#include <string.h>

#include "tir/text.h"

static const PrimitiveInfo primitives[] = {
#define PRIMITIVE(name, form, doc) {#name, form, doc},
#include "tir/primitives.def"
#undef PRIMITIVE
};

const PrimitiveInfo *
primitive_info(Primitive primitive)
{
	return &primitives[primitive];
}

/* ---- writing --------------------------------------------------------------------------------- */

ScriptWriter
script_writer(Arena *arena, Map names)
{
	return (ScriptWriter){arena, NEW(arena, Script), names};
}

const char *
script_name(ScriptWriter *w, const char *base)
{
	const char *name = base;
	for (int i = 1; map_find(&w->names, name); i++)
		name = arena_printf(w->arena, "%s_%d", base, i);
	map_set(&w->names, name, w);
	return name;
}

ScriptStep *
script_step(ScriptWriter *w, Primitive primitive, const char *loop)
{
	ScriptStep step = {.primitive = primitive};
	if (loop)
		vec_push(w->arena, &step.loops, loop);
	vec_push(w->arena, &w->script->steps, step);
	return &w->script->steps.data[w->script->steps.count - 1];
}

void
script_split(ScriptWriter *w, const char *loop, int64_t size, const char *outer, const char *inner)
{
	ScriptStep *step = script_step(w, PRIM_split, loop);
	step->number = size;
	vec_push(w->arena, &step->made, outer);
	vec_push(w->arena, &step->made, inner);
}

void
script_reorder(ScriptWriter *w, int count, const char *const *loops)
{
	ScriptStep *step = count > 1 ? script_step(w, PRIM_reorder, loops[0]) : NULL;
	for (int i = 1; i < count; i++)
		vec_push(w->arena, &step->loops, loops[i]);
}

void
script_bind(ScriptWriter *w, const char *loop, Bind bind)
{
	script_step(w, PRIM_bind, loop)->bind = bind;
}

void
script_fetch(ScriptWriter *w, const char *loop, const char *at, StrVec buffers, int cache)
{
	ScriptStep *step = script_step(w, PRIM_fetch, loop);
	vec_push(w->arena, &step->loops, at);
	step->buffers = buffers;
	step->number = cache;
}

void
script_fission(ScriptWriter *w, const char *loop, int count, const Buffer *const *buffers,
               Scope scope, const char *made)
{
	ScriptStep *step = script_step(w, PRIM_fission, loop);
	for (int i = 0; i < count; i++)
		vec_push(w->arena, &step->buffers, buffers[i]->tensor.name);
	step->scope = scope;
	vec_push(w->arena, &step->made, made);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void
print_names(Buf *buf, const char *before, const StrVec *names)
{
	for (int i = 0; i < names->count; i++)
		buf_printf(buf, "%s%s", i ? ", " : before, names->data[i]);
}

static void
print_step(Buf *buf, const ScriptStep *step)
{
	int loop = 0, made = 0;
	const char *form = primitives[step->primitive].form;
	int listed = step->loops.count - (strchr(form, 'a') != NULL); /* in a list */
	buf_puts(buf, primitives[step->primitive].name);
	for (; *form; form++)
		switch (*form) {
		case 'l':
			buf_printf(buf, " %s", step->loops.data[loop++]);
			break;
		case 'a':
			buf_printf(buf, " at %s", step->loops.data[loop++]);
			break;
		case 'k':
		case '*':
			while (loop < listed)
				buf_printf(buf, ", %s", step->loops.data[loop++]);
			break;
		case 't':
		case 'v':
			print_names(buf, " ", &step->buffers);
			break;
		case '#':
			buf_printf(buf, " %lld", (long long)step->number);
			break;
		case 'o':
			buf_printf(buf, " %s", step->order);
			break;
		case 'b':
			buf_printf(buf, " @%s", bind_name(step->bind));
			break;
		case 'w':
			buf_printf(buf, " %s", step->warp_op->name);
			break;
		case 's':
			buf_printf(buf, " @%s", scope_name(step->scope));
			break;
		case 'n':
			buf_printf(buf, "%s%s", made ? ", " : " -> ", step->made.data[made]);
			made++;
		}
	buf_putc(buf, '\n');
}

void
script_print(Buf *buf, const Script *script, const char *indent)
{
	for (int i = 0; i < script->steps.count; i++) {
		buf_puts(buf, indent);
		print_step(buf, &script->steps.data[i]);
	}
}

/* ---- parsing --------------------------------------------------------------------------------- */

static Primitive
parse_primitive(Scanner *scan)
{
	if (!scan_peek(scan)->starts_line)
		scan_fail(scan, "each primitive of a schedule begins a line");
	Buf known = {.arena = scan->arena};
	for (int i = 0; i < PRIM_COUNT; i++) {
		if (scan_accept(scan, primitives[i].name))
			return (Primitive)i;
		buf_printf(&known, "%s%s", i ? ", " : "", primitives[i].name);
	}
	scan_fail(scan, "'%s' is no primitive of schedules; these are: %s", scan_peek(scan)->text,
	          buf_text(&known));
}

/* The word behind an @. */
static const char *
parse_mark(Scanner *scan, const char *what)
{
	const Token *token = scan_peek(scan);
	if (token->kind != TOK_NAME || token->text[0] != '@')
		scan_fail(scan, "expected %s, saw '%s'", what, token->text);
	return scan_peek(scan)->text + 1;
}

static Bind
parse_bind(Scanner *scan)
{
	static const char what[] = "a binding such as @parallel, @vector or @unroll";
	Bind bind = bind_find(parse_mark(scan, what));
	if (bind == BIND_COUNT)
		scan_fail(scan, "expected %s, saw '%s'", what, scan_peek(scan)->text);
	scan_next(scan);
	return bind;
}

static Scope
parse_scope(Scanner *scan)
{
	static const char what[] = "@reg, @stack, @scratch or @shared";
	int scope = scope_by_name(parse_mark(scan, what));
	if (scope < 0)
		scan_fail(scan, "expected %s, saw '%s'", what, scan_peek(scan)->text);
	scan_next(scan);
	return (Scope)scope;
}

static const WarpOp *
parse_product(Scanner *scan)
{
	const WarpOp *op = warp_op_find(scan_peek(scan)->text);
	if (!op || op->kind != WARP_MMA)
		scan_fail(scan, "'%s' is no product of matrices (`tilewright list warps`)",
		          scan_peek(scan)->text);
	scan_next(scan);
	return op;
}

static void
parse_argument(Scanner *scan, ScriptStep *step, char form, char before)
{
	switch (form) {
	case 'k':
		scan_expect(scan, ",", "between loops");
		/* fall through */
	case 'l':
		vec_push(scan->arena, &step->loops, scan_name(scan, "loop"));
		break;
	case '*':
		while (scan_accept(scan, ","))
			vec_push(scan->arena, &step->loops, scan_name(scan, "loop"));
		break;
	case 'a':
		scan_expect(scan, "at", "behind the buffer");
		vec_push(scan->arena, &step->loops, scan_name(scan, "loop"));
		break;
	case 't':
		vec_push(scan->arena, &step->buffers, scan_name(scan, "buffer"));
		break;
	case 'o':
		step->order = scan_name(scan, "order of dims");
		break;
	case 'v':
		do
			vec_push(scan->arena, &step->buffers, scan_name(scan, "buffer"));
		while (scan_accept(scan, ","));
		break;
	case '#':
		step->number = scan_integer(scan, "number of iterations");
		break;
	case 'b':
		step->bind = parse_bind(scan);
		break;
	case 's':
		step->scope = parse_scope(scan);
		break;
	case 'w':
		step->warp_op = parse_product(scan);
		break;
	default:
		scan_expect(scan, before == 'n' ? "," : "->", "before the name of what is made");
		vec_push(scan->arena, &step->made, scan_name(scan, "name"));
	}
}

Script *
script_parse(Arena *arena, Scanner *scan)
{
	Script *script = NEW(arena, Script);
	while (scan_peek(scan)->kind != TOK_END && !scan_at(scan, "}")) {
		ScriptStep step = {.loc = scan_loc(scan)};
		step.primitive = parse_primitive(scan);
		const char *form = primitives[step.primitive].form;
		for (int i = 0; form[i]; i++)
			parse_argument(scan, &step, form[i], i ? form[i - 1] : 0);
		vec_push(arena, &script->steps, step);
	}
	return script;
}
