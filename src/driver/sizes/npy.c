/* NumPy's .npy format: "\x93NUMPY", version, length, a Python dictionary as text, then the data.
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }
 *
 * Read is what NumPy writes of our types: either byte order ('>f4'), and Fortran's order of
 * elements, where the first index runs fastest. Written is little-endian, the last index fastest.
 */
#include "driver/sizes/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/vec.h"
#include "onnx/tensor_file.h"

/* NumPy's words for our types, both ways. */
static const struct {
	const char *word;
	DType type;
} words[] = {
	{"<f4", DT_F32}, {"<f8", DT_F64},  {"<f2", DT_F16}, {"|i1", DT_I8},    {"<i2", DT_I16},
	{"<i4", DT_I32}, {"<i8", DT_I64},  {"|u1", DT_U8},  {"<u2", DT_U16},   {"<u4", DT_U32},
	{"<u8", DT_U64}, {"|b1", DT_BOOL}, {"<c8", DT_C64}, {"<c16", DT_C128},
};

enum { MAGIC_SIZE = 8 };

static const char *
dictionary(Arena *arena, const char *path, Bytes file, size_t *data_at)
{
	Loc loc = {.file = path};
	if (file.size < 12 || memcmp(file.data, "\x93NUMPY", 6) != 0)
		fail(&loc, "not a .npy file");
	bool is_long = file.data[6] >= 2;
	const unsigned char *at = file.data + MAGIC_SIZE;
	size_t length = at[0] | (size_t)at[1] << 8;
	if (is_long)
		length |= (size_t)at[2] << 16 | (size_t)at[3] << 24;
	size_t begin = MAGIC_SIZE + (is_long ? 4 : 2);
	if (length > file.size - begin)
		fail(&loc, "the header is cut short");
	*data_at = begin + length;
	return arena_strndup(arena, (const char *)file.data + begin, length);
}

/* The text behind 'key': in the dictionary. */
static const char *
entry(const char *path, const char *text, const char *key)
{
	Loc loc = {.file = path};
	char quoted[32];
	snprintf(quoted, sizeof quoted, "'%s'", key);
	const char *at = strstr(text, quoted);
	if (!at)
		fail(&loc, "the header has no %s", quoted);
	return &at[strlen(quoted) + strspn(&at[strlen(quoted)], ": ")];
}

/* The type that a word such as '<f4' names; sets whether its bytes stand in the other order. */
static DType
type_of(const char *path, const char *text, bool *is_swapped)
{
	Loc loc = {.file = path};
	size_t length = strcspn(text, ",}");
	*is_swapped = text[0] == '\'' && text[1] == '>';
	for (size_t i = 0; i < countof(words) && text[0] == '\'' && strchr("<>=|", text[1]); i++) {
		size_t rest = strlen(words[i].word + 1);
		if (strncmp(text + 2, words[i].word + 1, rest) == 0 && text[2 + rest] == '\'')
			return words[i].type;
	}
	fail_unsupported(&loc, "elements of type %.*s", (int)length, text);
}

static int
shape_of(const char *path, const char *text, int64_t dims[ARRAY_MAX_RANK])
{
	Loc loc = {.file = path};
	int rank = 0;
	if (*text++ != '(')
		fail(&loc, "a shape is expected as (1, 2)");
	for (;;) {
		text += strspn(text, " ,");
		if (*text == ')')
			return rank;
		char *end;
		long long value = strtoll(text, &end, 10);
		if (end == text || value < 0 || rank == ARRAY_MAX_RANK)
			fail(&loc, "a shape is expected as (1, 2)");
		dims[rank++] = value;
		text = end;
	}
}

/* Turn the bytes of each number round. */
static void
swap_bytes(Array *array)
{
	bool is_pair = dtype_class(array->type) == DC_X; /* complex: strings are not read */
	size_t size = (size_t)dtype_bits(array->type) / (is_pair ? 16 : 8);
	unsigned char *data = array->data;
	for (size_t at = 0; at < array_bytes(array); at += size)
		for (size_t i = 0; i < size / 2; i++) {
			unsigned char byte = data[at + i];
			data[at + i] = data[at + size - 1 - i];
			data[at + size - 1 - i] = byte;
		}
}

/* Elements whose first index runs fastest, into row-major order. */
static Array *
from_fortran(Arena *arena, const Array *given)
{
	Array *array = array_new(arena, given->type, given->rank, given->dims);
	size_t size = (size_t)dtype_bits(given->type) / 8;
	int64_t index[ARRAY_MAX_RANK] = {0}, count = array_count(given);
	for (int64_t i = 0; i < count; i++) {
		int64_t from = 0;
		for (int d = given->rank - 1; d >= 0; d--)
			from = from * given->dims[d] + index[d];
		memcpy((char *)array->data + (size_t)i * size,
		       (const char *)given->data + (size_t)from * size, size);
		for (int d = given->rank - 1; d >= 0 && ++index[d] == given->dims[d]; d--)
			index[d] = 0;
	}
	return array;
}

Array *
npy_read(Arena *arena, const char *path)
{
	Loc loc = {.file = path};
	Bytes file = file_map(arena, path);
	size_t at, bytes;
	bool is_swapped;
	const char *text = dictionary(arena, path, file, &at);
	DType type = type_of(path, entry(path, text, "descr"), &is_swapped);
	bool is_fortran = strncmp(entry(path, text, "fortran_order"), "True", 4) == 0;
	int64_t dims[ARRAY_MAX_RANK];
	int rank = shape_of(path, entry(path, text, "shape"), dims);
	int64_t count = dims_count(rank, dims);
	if (count < 0 || !dtype_bytes(type, count, &bytes) || bytes != file.size - at)
		fail(&loc, "the shape does not fit the file's %zu bytes of data", file.size - at);
	Array *array = array_from(arena, type, rank, dims, file.data + at);
	if (is_swapped)
		swap_bytes(array);
	return is_fortran ? from_fortran(arena, array) : array;
}

void
npy_write(Arena *arena, const char *path, const Array *array)
{
	Loc loc = {.file = path};
	const char *word = dtype_bits(array->type) == 16 ? "<u2" : "|u1";
	bool is_plain = false;
	for (size_t i = 0; i < countof(words); i++)
		if (words[i].type == array->type) {
			word = words[i].word;
			is_plain = true;
		}
	if (array->type == DT_STRING)
		fail_unsupported(&loc, "strings cannot be written as .npy");
	Buf header = {.arena = arena};
	buf_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", word);
	if (is_plain || dtype_bits(array->type) >= 8)
		for (int d = 0; d < array->rank; d++)
			buf_printf(&header, "%lld, ", (long long)array->dims[d]);
	else
		buf_printf(&header, "%zu, ", array_bytes(array));
	buf_puts(&header, "), }");
	while ((MAGIC_SIZE + 2 + header.size + 1) % 64)
		buf_putc(&header, ' ');
	buf_putc(&header, '\n');
	FileWriter *file = file_create(arena, path);
	unsigned char length[2] = {(unsigned char)header.size, (unsigned char)(header.size >> 8)};
	file_put(file, "\x93NUMPY\1\0", MAGIC_SIZE);
	file_put(file, length, sizeof length);
	file_put(file, header.data, header.size);
	file_put(file, array->data, array_bytes(array));
	file_commit(file);
}

const char *
npy_path(Arena *arena, const char *folder, const char *name)
{
	char *path = arena_printf(arena, "%s/%s.npy", folder, name);
	for (char *c = path + strlen(folder) + 1; *c; c++)
		if (*c == '/')
			*c = '_';
	return path;
}

Array *
tensor_read(Arena *arena, const char *path)
{
	const char *dot = strrchr(path, '.');
	if (!dot || strcmp(dot, ".pb") != 0)
		return npy_read(arena, path);
	Array *array = NEW(arena, Array);
	*array = *data_read(arena, path, TYPE_TENSOR).tensor;
	return array;
}

/* ---- words of the command line ---- */

Array *
array_of_text(Arena *arena, const char *option, const char *text, DType type, int rank)
{
	if (*text == '@')
		return tensor_read(arena, text + 1);
	Array *array = array_of_words(arena, text, type, rank);
	if (!array)
		fail_as(FAIL_USAGE, NULL, "%s: expected @FILE or numbers%s%s, saw '%s'", option,
		        type == DT_NONE ? "" : " of type ", type == DT_NONE ? "" : dtype_name(type), text);
	return array;
}
