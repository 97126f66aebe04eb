/* Numbers as people type them on a command line. */
#ifndef BASE_ARRAY_WORDS_H
#define BASE_ARRAY_WORDS_H

#include "base/array.h"

/* The array of "3", "1.5", "1,2,3" or "true", of this type (DT_NONE: i64, and f32 if one of them
 * has a point or an exponent) and rank (-1: 0 for one number, else 1). One number fits any rank,
 * with dims of 1; several are a vector. NULL where the text is no numbers, or one of them is none
 * of the type: 1.5 of an integer, 300 of u8. Floats are rounded to their type. */
Array *array_of_words(Arena *arena, const char *text, DType type, int rank);

#endif
