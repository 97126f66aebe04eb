/* Model-local functions: inlined where they are called.
 *
 *     y = com.example.Block(x) {alpha = 2}          name "b1"
 *     function Block(X) => (Y) { t = Relu(X)        name "r"
 *                                Y = Elu(t) {alpha = @alpha} }
 *  => b1/t = Relu(x) "b1/r";  y = Elu(b1/t) {alpha = 2} "b1/…"     origins of both: b1
 *
 * The call's attributes stand in for references in the body, in nested graphs too. Calls of calls
 * are followed to a depth and a number of nodes, and never into themselves.
 */
#include <string.h>

#include "onnx/import.h"

/* Each call puts its name in front of all names inside: values get a number where names meet. */
enum { MAX_NAME = 512 };

static const char *
function_key(Arena *arena, const char *domain, const char *name, const char *overload)
{
	return arena_printf(arena, "%s\n%s\n%s", domain_normal(domain), text_of(name),
	                    text_of(overload));
}

void
functions_index(Import *import)
{
	import->functions.arena = import->arena;
	for (size_t i = 0; i < import->model->n_functions; i++) {
		Onnx__FunctionProto *function = import->model->functions[i];
		const char *key =
			function_key(import->arena, function->domain, function->name, function->overload);
		Loc loc = {.file = import->file};
		opsets_check(import, function->n_opset_import, function->opset_import);
		if (map_find(&import->functions, key))
			fail(&loc, "function %s of domain '%s' is defined twice", text_of(function->name),
			     text_of(function->domain));
		map_set(&import->functions, key, function);
	}
}

const Onnx__FunctionProto *
function_find(const Import *import, const Onnx__NodeProto *node)
{
	if (import->functions.count == 0)
		return NULL;
	return map_find(&import->functions,
	                function_key(import->arena, node->domain, node->op_type, node->overload));
}

static void
check_call(const Import *import, const Onnx__FunctionProto *function, const Onnx__NodeProto *node,
           const Loc *loc)
{
	for (const Call *call = import->call; call; call = call->outer)
		if (call->function == function)
			fail(loc, "function %s calls itself", text_of(function->name));
	if (import->call && import->call->depth >= IMPORT_MAX_CALLS)
		fail(loc, "functions nested deeper than %d", IMPORT_MAX_CALLS);
	if (node->n_input > function->n_input)
		fail(loc, "%zu inputs, function %s has %zu", node->n_input, text_of(function->name),
		     function->n_input);
	if (node->n_output > function->n_output)
		fail(loc, "%zu outputs, function %s has %zu", node->n_output, text_of(function->name),
		     function->n_output);
}

/* The call's attributes, resolved in the caller, over the function's defaults. */
static void
bind_attrs(const Import *import, Call *call, const Onnx__NodeProto *node, const Loc *loc)
{
	const Onnx__FunctionProto *function = call->function;
	for (size_t i = 0; i < function->n_attribute_proto; i++)
		map_set(&call->attrs, text_of(function->attribute_proto[i]->name),
		        function->attribute_proto[i]);
	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__AttributeProto *given = attr_resolve(import, node->attribute[i], loc);
		if (given)
			map_set(&call->attrs, text_of(node->attribute[i]->name), (void *)(uintptr_t)given);
	}
	for (size_t i = 0; i < function->n_attribute; i++)
		if (!map_find(&call->attrs, function->attribute[i]))
			map_set(&call->attrs, function->attribute[i], NULL);
}

static void
bind_inputs(Import *import, const Call *call, Scope *body, const Scope *scope,
            const Onnx__NodeProto *node, const Loc *loc)
{
	for (size_t i = 0; i < call->function->n_input; i++) {
		const char *name = i < node->n_input ? node->input[i] : "";
		const Meaning *meaning = *name ? scope_find(scope, name) : NULL;
		if (*name && !meaning)
			fail(loc, "input '%s' is not defined", name);
		const Meaning absent = {0};
		scope_share(import, body, call->function->input[i], meaning ? meaning : &absent, loc);
	}
}

void
function_inline(Import *import, Region *region, Scope *scope, const Onnx__FunctionProto *function,
                const Onnx__NodeProto *node, const Loc *loc)
{
	check_call(import, function, node, loc);
	Arena *arena = import->arena;
	const Call *outer = import->call;
	Call call = {
		.outer = outer,
		.function = function,
		.attrs = {.arena = arena},
		.outputs = {.arena = arena},
		.name = arena_strndup(arena, loc->node, strnlen(loc->node, MAX_NAME)),
		.origin = outer ? outer->origin : loc->node,
		.depth = outer ? outer->depth + 1 : 1,
	};
	bind_attrs(import, &call, node, loc);
	Scope body = {.meanings = {.arena = arena}};
	bind_inputs(import, &call, &body, scope, node, loc);
	for (size_t i = 0; i < node->n_output; i++)
		if (*node->output[i])
			map_set(&call.outputs, function->output[i],
			        (void *)(uintptr_t)import_name(import, node->output[i]));
	import->call = &call;
	import_nodes(import, region, &body, function->n_node, function->node);
	import->call = outer;
	for (size_t i = 0; i < node->n_output; i++) {
		if (!*node->output[i])
			continue;
		const Meaning *meaning = scope_find(&body, function->output[i]);
		if (!meaning || (!meaning->value && !meaning->sequence))
			fail(loc, "function %s does not compute its output '%s'", text_of(function->name),
			     function->output[i]);
		scope_share(import, scope, node->output[i], meaning, loc);
	}
}
