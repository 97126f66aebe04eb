/* What a file holds, and models from files. */
#include "driver/files.h"

#include <string.h>

#include "driver/precision.h"
#include "driver/sizes/npy.h"
#include "driver/sizes/sizes.h"
#include "driver/texts.h"
#include "onnx/onnx.h"

/* The first word behind blanks and comments. */
static const char *
first_word(Bytes bytes, size_t *length)
{
	const char *text = (const char *)bytes.data, *end = text + bytes.size;
	while (text < end && (strchr(" \t\r\n", *text) || *text == '#')) {
		if (*text == '#')
			while (text < end && *text != '\n')
				text++;
		else
			text++;
	}
	const char *word = text;
	while (text < end && ((*text >= 'a' && *text <= 'z') || *text == '_'))
		text++;
	*length = (size_t)(text - word);
	return word;
}

bool
is_named_onnx(const char *path)
{
	size_t suffix = strlen(".onnx"), size = strlen(path);
	return size > suffix && strcmp(path + size - suffix, ".onnx") == 0;
}

FileKind
file_kind(const char *path, Bytes bytes)
{
	static const struct {
		const char *word;
		FileKind kind;
	} words[] = {{"graph", FILE_GRAPH}, {"expr", FILE_EXPR}, {"kernel", FILE_LOOPS}};
	size_t length;
	if (bytes.size >= 4 && memcmp(bytes.data, "PK\3\4", 4) == 0)
		return FILE_BUNDLE;
	if (is_named_onnx(path))
		return FILE_ONNX;
	const char *word = first_word(bytes, &length);
	for (size_t i = 0; i < countof(words); i++)
		if (length == strlen(words[i].word) && strncmp(word, words[i].word, length) == 0)
			return words[i].kind;
	return FILE_ONNX;
}

static OnnxReadOptions
read_options(const Options *options, Arena *arena)
{
	OnnxFixed *fixed = NEW_N(arena, OnnxFixed, options->fix.count + 1);
	for (int i = 0; i < options->fix.count; i++) {
		Setting setting = setting_of(arena, "fix", options->fix.data[i]);
		bool is_file = *setting.value == '@';
		fixed[i] = (OnnxFixed){setting.name, is_file ? tensor_read(arena, setting.value + 1) : NULL,
		                       setting.value};
	}
	return (OnnxReadOptions){.nfixed = options->fix.count, .fixed = fixed};
}

static Graph *
read_model(const OnnxReadOptions *read, Arena *arena, const char *path, Bytes bytes)
{
	switch (file_kind(path, bytes)) {
	case FILE_ONNX:
		return strcmp(path, "-") == 0 ? onnx_read_bytes(arena, path, bytes, read)
		                              : onnx_read(arena, path, read);
	case FILE_GRAPH:
		if (read->nfixed)
			fail_as(FAIL_USAGE, NULL,
			        "--fix has no effect: %s is the text of a graph; write the "
			        "constant into it",
			        path);
		return text_graph(arena, path, arena_strndup(arena, (const char *)bytes.data, bytes.size));
	case FILE_BUNDLE:
		fail_as(FAIL_USAGE, NULL, "%s is a bundle, expected a model", path);
	default:
		fail_as(FAIL_USAGE, NULL, "%s is the text of an expression or a kernel, expected a model",
		        path);
	}
}

Graph *
model_read(const Options *options, Arena *arena, const char *path)
{
	return model_read_bytes(options, arena, path, file_map(arena, path));
}

Graph *
model_read_bytes(const Options *options, Arena *arena, const char *path, Bytes bytes)
{
	OnnxReadOptions read = read_options(options, arena);
	Graph *graph = read_model(&read, arena, path, bytes);
	precision_of_ends(options, graph);
	return sizes_limit(options, arena, graph);
}

Graph *
model_read_open(const Options *options, Arena *arena, const char *path, Bytes bytes)
{
	OnnxReadOptions read = read_options(options, arena);
	read.is_open = true;
	Graph *graph = read_model(&read, arena, path, bytes);
	precision_of_ends(options, graph);
	return graph;
}

const char *
model_name(Arena *arena, const char *path)
{
	return strcmp(path, "-") == 0 ? arena_strdup(arena, "stdin") : file_base(path);
}

const char *
bundle_name(Arena *arena, const char *path)
{
	char *name = arena_strdup(arena, model_name(arena, path)), *dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
	return arena_printf(arena, "%s.twb", name);
}
