/* Macros of the prelude, put in by ourselves, so that what remains are plain items that can be left
 * out one by one.
 *
 *     #define SET(T, L) T##x##L set_##T##x##L(T x) { return x - (T##x##L){0}; }
 *     SET(f32, 4)                        =>   f32x4 set_f32x4(f32 x) { return x - (f32x4){0}; }
 *
 * Other than in C, arguments are always expanded before they are put in, also beside ##; nothing
 * here needs a macro whose result goes on with the text behind it.
 */
#include "codegen/c/macros.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"

enum { MAX_ARGS = 10, MAX_NESTING = 8 };

typedef struct Macro {
	bool is_call;
	int count;
	const char *params[MAX_ARGS];
	const char *body;
} Macro;

/* A branch of an #if: KEPT is undecided; DONE: another branch was the live one. */
typedef enum Branch {
	LIVE,
	DEAD,
	DONE,
	KEPT,
} Branch;

typedef struct Source {
	Arena *arena;
	Map macros;
	Buf out, chunk; /* chunk: text since the last directive */
	Branch branches[MAX_NESTING];
	int nesting;
} Source;

/* ---- tokens ---------------------------------------------------------------------------------- */

bool
c_is_word(const char *text)
{
	return isalpha((unsigned char)*text) || *text == '_';
}

size_t
c_token(const char *text)
{
	const char *at = text + 1;
	if (isalnum((unsigned char)*text) || *text == '_') {
		while (isalnum((unsigned char)*at) || *at == '_' || (*at == '.' && !c_is_word(text)))
			at++;
	} else if (text[0] == '/' && text[1] == '*') {
		const char *end = strstr(text + 2, "*/");
		at = end ? end + 2 : text + strlen(text);
	} else if (*text == '"' || *text == '\'') {
		for (; *at && *at != *text; at++)
			at += *at == '\\' && at[1];
		at += *at != '\0';
	}
	return (size_t)(at - text);
}

/* ---- expansion ------------------------------------------------------------------------------- */

static const Macro *
find_macro(const Source *source, const char *word, size_t size)
{
	char name[64];
	if (!c_is_word(word) || size >= sizeof name)
		return NULL;
	memcpy(name, word, size);
	name[size] = '\0';
	return map_find(&source->macros, name);
}

static const char *
substitute(Arena *arena, const Macro *macro, const char *const *args)
{
	Buf out = {.arena = arena};
	for (const char *at = macro->body; *at;) {
		size_t size = c_token(at);
		int param = 0;
		while (param < macro->count && (strlen(macro->params[param]) != size ||
		                                memcmp(macro->params[param], at, size) != 0))
			param++;
		if (at[0] == '#' && at[1] == '#') {
			while (out.size > 0 && out.data[out.size - 1] == ' ')
				out.data[--out.size] = '\0';
			size = 2 + strspn(at + 2, " ");
		} else if (param < macro->count) {
			buf_puts(&out, args[param]);
		} else {
			buf_write(&out, at, size);
		}
		at += size;
	}
	return buf_text(&out);
}

static void expand(const Source *source, const char *text, Buf *out);

/* The arguments of a call that opens at `at`, expanded; gives where it ends. */
static const char *
read_args(const Source *source, const char *at, const Macro *macro, const char **args)
{
	int depth = 0, count = 0;
	const char *begin = at + 1 + strspn(at + 1, " \t\n");
	for (; *at; at += c_token(at)) {
		depth += (*at == '(' || *at == '{') - (*at == ')' || *at == '}');
		if (depth > 1 || (depth == 1 && *at != ','))
			continue;
		Buf arg = {.arena = source->arena};
		expand(source, arena_strndup(source->arena, begin, (size_t)(at - begin)), &arg);
		must(count < macro->count);
		args[count++] = buf_text(&arg);
		begin = at + 1 + strspn(at + 1, " \t\n");
		if (depth == 0)
			return at + 1;
	}
	must(!"the call of a macro ends");
	return at;
}

static void
expand(const Source *source, const char *text, Buf *out)
{
	while (*text) {
		const char *args[MAX_ARGS], *next = text + c_token(text);
		const Macro *macro = find_macro(source, text, (size_t)(next - text));
		if (!macro || (macro->is_call && *next != '(')) {
			buf_write(out, text, (size_t)(next - text));
		} else {
			if (macro->is_call)
				next = read_args(source, next, macro, args);
			expand(source, substitute(source->arena, macro, args), out);
		}
		text = next;
	}
}

/* ---- directives ------------------------------------------------------------------------------ */

static char *
take_word(Arena *arena, const char **at)
{
	*at += strspn(*at, " \t");
	size_t size = c_is_word(*at) ? c_token(*at) : 0;
	char *word = arena_strndup(arena, *at, size);
	*at += size;
	return word;
}

static void
define(Source *source, const char *at)
{
	Macro *macro = NEW(source->arena, Macro);
	const char *name = take_word(source->arena, &at);
	macro->is_call = *at == '(';
	while (macro->is_call && *at++ != ')') {
		must(macro->count < MAX_ARGS);
		macro->params[macro->count++] = take_word(source->arena, &at);
	}
	Buf body = {.arena = source->arena};
	for (at += strspn(at, " \t"); *at;) {
		size_t size = strcspn(at, "\\");
		buf_write(&body, at, size);
		at += size + strspn(at + size, "\\\n");
		at += *at == '\t';
		while (body.size > 0 && body.data[body.size - 1] == ' ')
			body.data[--body.size] = '\0';
		if (body.size > 0 && *at)
			buf_putc(&body, '\n');
	}
	macro->body = buf_text(&body);
	map_set(&source->macros, name, macro);
}

static Branch
decide(Source *source, const char *directive, const char *at)
{
	const char *name = take_word(source->arena, &at);
	const Macro *macro = map_find(&source->macros, name);
	if (!macro)
		return KEPT;
	if (strcmp(directive, "ifdef") == 0 || strcmp(directive, "ifndef") == 0)
		return directive[2] == 'd' ? LIVE : DEAD;
	const char *value = strstr(at, "==");
	bool is_true = value ? atoi(value + 2) == atoi(macro->body) : atoi(macro->body) != 0;
	return is_true ? LIVE : DEAD;
}

static bool
is_in(const Source *source, Branch branch)
{
	for (int i = 0; i < source->nesting; i++)
		if (source->branches[i] == branch)
			return true;
	return false;
}

static bool
is_dead(const Source *source)
{
	return is_in(source, DEAD) || is_in(source, DONE);
}

static bool
is_condition(const char *word)
{
	return strncmp(word, "if", 2) == 0 || strncmp(word, "el", 2) == 0 || strcmp(word, "endif") == 0;
}

/* Follow #if and the like; whether the line itself stays. */
static bool
branch(Source *source, const char *word, const char *at)
{
	if (strncmp(word, "if", 2) == 0) {
		must(source->nesting < MAX_NESTING);
		Branch next = is_dead(source) ? DONE : decide(source, word, at);
		source->branches[source->nesting++] = next;
		return next == KEPT;
	}
	must(source->nesting > 0);
	Branch *now = &source->branches[source->nesting - 1];
	bool stays = *now == KEPT && !is_dead(source);
	if (strcmp(word, "endif") == 0)
		source->nesting--;
	else if (*now == LIVE)
		*now = DONE;
	else if (*now == DEAD)
		*now = strcmp(word, "else") == 0 ? LIVE : decide(source, word, at);
	return stays;
}

/* One directive, with the lines that continue it. */
static void
take_directive(Source *source, const char *line)
{
	const char *at = line + 1;
	const char *word = take_word(source->arena, &at);
	expand(source, buf_text(&source->chunk), &source->out);
	source->chunk = (Buf){.arena = source->arena};
	bool stays = !is_dead(source);
	if (is_condition(word)) {
		stays = branch(source, word, at);
	} else if (stays && strcmp(word, "define") == 0 && !is_in(source, KEPT)) {
		define(source, at);
		stays = false;
	} else if (stays && strcmp(word, "undef") == 0) {
		map_set(&source->macros, take_word(source->arena, &at), NULL);
		stays = false;
	}
	buf_puts(&source->out, stays ? line : "");
	buf_putc(&source->out, '\n');
}

const char *
c_expand(Arena *arena, const char *text)
{
	Source source = {.arena = arena, .macros.arena = arena};
	source.out.arena = source.chunk.arena = arena;
	while (*text) {
		const char *end = text;
		do
			end += strcspn(end, "\n") + 1;
		while (*text == '#' && end[-2] == '\\');
		if (*text == '#')
			take_directive(&source, arena_strndup(arena, text, (size_t)(end - text) - 1));
		else if (!is_dead(&source))
			buf_write(&source.chunk, text, (size_t)(end - text));
		text = end;
	}
	must(source.nesting == 0);
	expand(&source, buf_text(&source.chunk), &source.out);
	return buf_text(&source.out);
}
