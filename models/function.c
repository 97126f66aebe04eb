/* FunctionProto, appended: a protobuf message with another one behind it is the two merged. */
#include "function.h"

#include <stdio.h>
#include <string.h>

#include "onnx/wire.h"

enum { MODEL_FUNCTIONS = 25, ATTR_TYPE_INT = 2, ATTR_TYPE_INTS = 7 };

/* Each of the words, as a field of its own. */
static void
put_words(Wire *wire, int field, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");
		wire_bytes(wire, field, words, length);
		words += length + (words[length] == ' ');
	}
}

static void
put_attr(Wire *node, const FunctionAttr *attr)
{
	Wire wire = {.arena = node->arena};
	wire_text(&wire, 1, attr->name);
	if (attr->count)
		wire_ints(&wire, 8, attr->count, attr->ints);
	else if (!attr->ref)
		wire_int(&wire, 3, attr->i);
	wire_int(&wire, 20, attr->count ? ATTR_TYPE_INTS : ATTR_TYPE_INT);
	wire_text(&wire, 21, attr->ref);
	wire_message(node, 5, &wire);
}

static void
put_line(Wire *function, const FunctionLine *line)
{
	Wire wire = {.arena = function->arena};
	put_words(&wire, 1, line->inputs);
	wire_text(&wire, 2, line->output);
	wire_text(&wire, 3, line->output);
	wire_text(&wire, 4, line->op);
	for (size_t i = 0; i < countof(line->attrs); i++)
		if (line->attrs[i].name)
			put_attr(&wire, &line->attrs[i]);
	wire_message(function, 7, &wire);
}

void
function_append(Arena *arena, const char *path, const Function *function)
{
	Wire wire = {.arena = arena}, opset = {.arena = arena}, model = {.arena = arena};
	wire_text(&wire, 1, function->name);
	put_words(&wire, 4, function->inputs);
	wire_text(&wire, 5, function->output);
	put_words(&wire, 6, function->attrs);
	for (int i = 0; i < function->lines.count; i++)
		put_line(&wire, &function->lines.data[i]);
	wire_int(&opset, 2, function->opset);
	wire_message(&wire, 9, &opset);
	wire_text(&wire, 10, function->domain);
	wire_message(&model, MODEL_FUNCTIONS, &wire);
	FILE *file = fopen(path, "ab");
	bool is_done = file && fwrite(model.buf.data, 1, model.buf.size, file) == model.buf.size;
	if ((file && fclose(file) != 0) || !is_done)
		fail_as(FAIL_ENVIRONMENT, NULL, "cannot write %s", path);
}
