/* A text is read as doubles and as integers side by side: integers of 64 bits are no doubles. */
#include "base/array_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

typedef struct Word {
	double real;
	int64_t integer;
} Word;

typedef VEC(Word) WordVec;

/* The word at `*at`, which moves behind it and a comma; false: there is none. */
static bool
read_word(const char **at, Word *word)
{
	static const char *const truths[] = {"false", "true"};
	char *end;
	word->real = strtod(*at, &end);
	word->integer = strtoll(*at, NULL, 10);
	for (int i = 0; i < 2; i++)
		if (strncmp(*at, truths[i], strlen(truths[i])) == 0) {
			*word = (Word){i, i};
			end = (char *)(uintptr_t)(*at + strlen(truths[i]));
		}
	bool is_word = end != *at && (!*end || (*end == ',' && end[1]));
	*at = end + (*end == ',');
	return is_word;
}

static bool
store_word(Array *array, int64_t index, const Word *word)
{
	if (dtype_is_float(array->type)) {
		dtype_store_f64(array->type, array->data, index, word->real);
		return true;
	}
	dtype_store_i64(array->type, array->data, index, word->integer);
	return (double)word->integer == word->real &&
	       dtype_load_i64(array->type, array->data, index) == word->integer;
}

Array *
array_of_words(Arena *arena, const char *text, DType type, int rank)
{
	WordVec words = {0};
	const char *at = text;
	do {
		Word word;
		if (!read_word(&at, &word))
			return NULL;
		vec_push(arena, &words, word);
	} while (*at);
	if (type == DT_NONE) /* "true" has an e and no digit */
		type =
			strpbrk(text, ".eE") && !strstr(text, "rue") && !strstr(text, "alse") ? DT_F32 : DT_I64;
	if (!dtype_is_float(type) && !dtype_is_integer(type) && type != DT_BOOL)
		return NULL;
	int64_t dims[ARRAY_MAX_RANK] = {words.count};
	for (int i = 1; i < ARRAY_MAX_RANK; i++)
		dims[i] = 1;
	bool is_one = words.count == 1;
	Array *array = array_new(arena, type, is_one && rank >= 0 ? rank : !is_one, dims);
	for (int i = 0; i < words.count; i++)
		if (!store_word(array, i, &words.data[i]))
			return NULL;
	return array;
}
