/* What passes ask of the pass manager, and tell it. */
#include "base/pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

bool
pass_is_finite(const PassContext *context)
{
	enum { FINITE = 3 }; /* the -O */
	return context->values == VALUES_finite ||
	       (context->values == VALUES_usual && context->level >= FINITE);
}

int64_t
pass_config_int(const PassContext *context, const char *key, int64_t fallback)
{
	const char *text = pass_config_text(context, key, NULL);
	if (!text)
		return fallback;
	char *end;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end)
		fail_as(FAIL_USAGE, NULL, "--config %s: expected an integer, saw '%s'", key, text);
	return value;
}

const char *
pass_config_text(const PassContext *context, const char *key, const char *fallback)
{
	char *text = map_find(&context->config, key);
	if (text && context->taken)
		map_set_ptr(context->taken, text, text);
	return text ? text : fallback;
}

static PassEvent *
add_event(PassContext *context, const char *rule, const char *nodes, const char *made,
          const char *reason)
{
	PassEvent event = {
		.pass = context->running, .rule = rule, .nodes = nodes, .made = made, .reason = reason};
	vec_push(context->arena, &context->log, event);
	return &context->log.data[context->log.count - 1];
}

void
pass_log(PassContext *context, const char *rule, const char *nodes, const char *made,
         const char *reason)
{
	PassEvent *event = add_event(context, rule, nodes, made, reason);
	if (context->is_optional && !reason)
		event->rewrite = ++context->rewrites;
}

void
pass_note(PassContext *context, const char *rule, const char *nodes, const char *made,
          const char *reason)
{
	add_event(context, rule, nodes, made, reason)->is_note = true;
}

bool
pass_may_rewrite(const PassContext *context)
{
	return !context->is_optional || context->first_out == 0 ||
	       context->rewrites + 1 < context->first_out;
}

const PassChoice *
pass_choice_find(const PassContext *context, const char *key)
{
	for (int i = 0; i < context->choices.count; i++)
		if (strcmp(context->choices.data[i].key, key) == 0)
			return &context->choices.data[i];
	return NULL;
}

bool
pass_denied(PassContext *context, const char *choice, const char *value)
{
	const char *key = arena_printf(context->arena, "deny %s %s", choice, value ? value : "");
	const char *why = value ? map_find(&context->recorded, key) : NULL;
	if (!why)
		return false;
	if (pass_choice_find(context, key))
		return true;
	vec_push(context->arena, &context->choices,
	         (PassChoice){.key = key, .chosen = why, .candidates = ""});
	pass_log(context, "deny", value, NULL, arena_printf(context->arena, "%s: %s", choice, why));
	return true;
}
