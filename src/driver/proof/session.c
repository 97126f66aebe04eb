/* The runtime library, driven as any program would: through tilewright.h, plus the entry with the
 * ranges of made-up inputs, which is read from the file, and a bound for loops that do not end. */
#include "driver/proof/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/parts.h"
#include "driver/proof/compare.h"
#include "driver/sizes/sizes.h"
#include "runtime/handle.h"

static _Noreturn void
fail_code(const Session *session, const TwError *error)
{
	static const FailKind kinds[] = {
		[TW_USAGE] = FAIL_USAGE,        [TW_FILE] = FAIL_ENVIRONMENT,
		[TW_DAMAGED] = FAIL_INVALID,    [TW_UNSUPPORTED] = FAIL_ENVIRONMENT,
		[TW_SHAPE] = FAIL_USAGE,        [TW_DATA] = FAIL_INVALID,
		[TW_MEMORY] = FAIL_ENVIRONMENT, [TW_CANCELLED] = FAIL_ENVIRONMENT,
		[TW_DEVICE] = FAIL_ENVIRONMENT, [TW_INTERNAL] = FAIL_BUG,
	};
	Loc loc = {.file = session->name};
	size_t length = strlen(session->path); /* tw_open() names the file itself */
	bool is_named = strncmp(error->text, session->path, length) == 0 &&
	                strncmp(error->text + length, ": ", 2) == 0;
	bool is_known = error->code > 0 && (size_t)error->code < countof(kinds);
	fail_as(is_known ? kinds[error->code] : FAIL_BUG, &loc, "%s",
	        error->text + (is_named ? length + 2 : 0));
}

/* What runs otherwise than the bundle's maker meant: a fallback kernel for a vendor's call. */
static void
show_note(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "note: %s\n", line);
}

static void
close_session(void *handle)
{
	Session *session = handle;
	tw_session_free(session->session);
	tw_close(session->bundle);
}

static InputRanges
read_ranges(Arena *arena, const char *path)
{
	Bytes part = bundle_part(arena, path, INPUTS_ENTRY);
	if (!part.data)
		return (InputRanges){0};
	return input_ranges_parse(arena, (const char *)part.data, part.size);
}

Session *
session_open(Arena *arena, const char *path, const char *name, const Options *options,
             const TwSessionOptions *settings)
{
	Session *session = NEW(arena, Session);
	*session = (Session){.arena = arena, .path = path, .name = name};
	arena_defer(arena, close_session, session);
	TwOpenOptions open = {
		.size = sizeof open,
		.target = options->target.count ? options->target.data[0] : NULL,
		.no_vendor = options->no_vendor,
		.log = options->quiet ? NULL : show_note,
		.log_calls = options->log,
	};
	const char *kind = open.target ? strchr(open.target, ':') : NULL;
	if (kind && strcmp(kind, ":native") == 0)
		open.target = NULL;
	TwError error;
	if (tw_open(path, &open, &session->bundle, &error) != TW_OK)
		fail_code(session, &error);
	TwSessionOptions own = {.size = sizeof own};
	if (settings)
		own = *settings;
	own.threads = own.threads ? own.threads : (int)options->threads;
	if (tw_session_new(session->bundle, &own, &session->session, &error) != TW_OK)
		fail_code(session, &error);
	session->ninput = tw_input_count(session->bundle);
	session->noutput = tw_output_count(session->bundle);
	session->inputs = NEW_N(arena, Array *, session->ninput + 1);
	session->ranges = read_ranges(arena, path);
	session->sizes = bundle_part(arena, path, SIZES_ENTRY);
	return session;
}

/* ---- loops without an end ---- */

/* A loop in a loop, of a hundred turns each, makes 10^4. Most bodies take microseconds, so these
 * are well under a second, and the work is some seconds. A state that doubles holds the memory
 * after 30 turns. */
static const Turns MADE_UP_TURNS = {.count = 20000, .work = 2e10};
static const size_t MADE_UP_MEMORY = (size_t)2 << 30;

static bool
has_loop(const Plan *plan)
{
	bool found = false;
	for (int i = 0; i < plan->nstep && !found; i++) {
		found = plan->steps[i].kind == PT_LOOP;
		for (int k = 0; k < plan->steps[i].nbody && !found; k++)
			found = has_loop(plan->steps[i].bodies[k]);
	}
	return found;
}

void
session_expect_end(Session *session)
{
	Exec *exec = &session->session->exec;
	if (!has_loop(session->bundle->plan))
		return;
	exec->most = MADE_UP_TURNS;
	exec->memory.limit = exec->memory.now + MADE_UP_MEMORY;
}

bool
session_saw_no_end(const Session *session)
{
	return session->session->exec.turns.has_no_end;
}

/* ---- inputs ---- */

/* The size --shape gives to one dim of an input. */
static int64_t
chosen_extent(Session *session, const Options *options, const TwTensorInfo *info, int d)
{
	const TwDim *dim = &info->dims[d];
	int64_t dims[ARRAY_MAX_RANK], size;
	if (dim->symbol && size_asked(options, session->arena, dim->symbol, &size))
		return size;
	for (int i = 0; i < options->shape.count; i++) {
		Setting setting = setting_of(session->arena, "shape", options->shape.data[i]);
		if (strcmp(setting.name, info->name) == 0 &&
		    dims_of("--shape", setting.value, dims) == info->rank)
			return dims[d];
	}
	if (dim->value >= 0)
		return dim->value;
	return sizes_find((const char *)session->sizes.data, session->sizes.size, dim->symbol, 1);
}

static Array *
make_input(Session *session, const Options *options, const TwTensorInfo *info)
{
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < info->rank; d++)
		dims[d] = chosen_extent(session, options, info, d);
	return input_make(session->arena, (uint64_t)options->seed, &session->ranges, info->name,
	                  (DType)info->type, info->rank, dims);
}

/* "x: f32[N,3], w: f32[3]" */
static const char *
inputs_text(const Session *session)
{
	Buf buf = {.arena = session->arena};
	for (int i = 0; i < session->ninput; i++) {
		const TwTensorInfo *info = tw_input(session->bundle, i);
		buf_printf(&buf, "%s%s: %s[", i ? ", " : "", info->name, tw_type_name(info->type));
		for (int d = 0; d < info->rank; d++)
			if (info->dims[d].symbol)
				buf_printf(&buf, "%s%s", d ? "," : "", info->dims[d].symbol);
			else
				buf_printf(&buf, "%s%lld", d ? "," : "", (long long)info->dims[d].value);
		buf_putc(&buf, ']');
	}
	return buf.size ? buf_text(&buf) : "none";
}

static bool
has_symbol(const Session *session, const char *name)
{
	for (int i = 0; i < session->ninput; i++) {
		const TwTensorInfo *info = tw_input(session->bundle, i);
		for (int d = 0; d < info->rank; d++)
			if (info->dims[d].symbol && strcmp(info->dims[d].symbol, name) == 0)
				return true;
	}
	return false;
}

static void
check_shapes(const Session *session, const Options *options)
{
	for (int i = 0; i < options->shape.count; i++) {
		const char *name = setting_of(session->arena, "shape", options->shape.data[i]).name;
		if (tw_find_input(session->bundle, name) < 0 && !has_symbol(session, name))
			fail_as(FAIL_USAGE, NULL,
			        "--shape: '%s' is neither an input nor a dim of one; inputs of %s: %s", name,
			        session->name, inputs_text(session));
	}
}

/* Every name given with --input must be one of the bundle's. */
static void
check_names(const Session *session, const Options *options)
{
	for (int i = 0; i < options->input.count; i++) {
		Setting setting = setting_of(session->arena, "input", options->input.data[i]);
		if (tw_find_input(session->bundle, setting.name) >= 0)
			continue;
		fail_as(FAIL_USAGE, NULL, "--input: %s has no input '%s'; its inputs: %s", session->name,
		        setting.name, inputs_text(session));
	}
}

void
session_bind(Session *session)
{
	TwError error;
	for (int i = 0; i < session->ninput; i++) {
		const Array *array = session->inputs[i]; /* NULL: its default stays bound */
		if (array && tw_bind_input(session->session, i, array->data, array_bytes(array),
		                           array->rank, array->dims, &error) != TW_OK)
			fail_code(session, &error);
	}
	if (tw_prepare(session->session, &error) != TW_OK)
		fail_code(session, &error);
}

/* NumPy has no word for some types: bench and --output write their codes as unsigned numbers. */
static bool
is_code_of(DType given, DType type)
{
	bool has_word = dtype_is_arithmetic(type) && type != DT_BF16;
	return !has_word && dtype_bits(given) == dtype_bits(type) &&
	       (given == DT_U16 || given == DT_U8);
}

void
session_inputs(Session *session, const Options *options)
{
	bool is_made_up = false;
	check_names(session, options);
	check_shapes(session, options);
	for (int i = 0; i < session->ninput; i++) {
		const TwTensorInfo *info = tw_input(session->bundle, i);
		Array *array =
			input_given(options, session->arena, i, info->name, (DType)info->type, info->rank);
		if (array && is_code_of(array->type, (DType)info->type))
			array = array_from(session->arena, (DType)info->type, array->rank, array->dims,
			                   array->data);
		if (array && array->type != (DType)info->type)
			fail_as(FAIL_USAGE, NULL, "%s: input %s is of type %s, what is given is %s",
			        session->name, info->name, tw_type_name(info->type),
			        array_type_text(session->arena, array));
		if (!array && !info->has_default) {
			array = make_input(session, options, info);
			is_made_up = true;
		}
		session->inputs[i] = array;
	}
	if (is_made_up)
		session_expect_end(session);
	session_bind(session);
}

void
session_run(Session *session)
{
	TwError error;
	if (tw_run(session->session, &error) != TW_OK)
		fail_code(session, &error);
}

Array
session_output(Session *session, int index)
{
	TwError error;
	TwTensor tensor;
	if (tw_get_output(session->session, index, &tensor, &error) != TW_OK)
		fail_code(session, &error);
	return (Array){(DType)tensor.type, tensor.rank, tensor.dims, tensor.data};
}
