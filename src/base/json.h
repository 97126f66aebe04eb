/* JSON as a tree, read from texts that nobody vouches for.
 *
 *     {"a": [1, "x"]}    =>    object { "a": array { 1, "x" } }
 *
 * One block of memory holds a tree: a copy of the text, in which texts are unescaped where they
 * stand, and a node of 32 bytes for each value, so at most 33 times the text. Nesting is bounded,
 * and no length is taken from what is read. Of equal names in an object the first one counts. Texts
 * are bytes: names of models may hold what is no UTF-8.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum JsonKind {
	JSON_NULL,
	JSON_BOOL, /* number: 0 or 1 */
	JSON_NUMBER,
	JSON_TEXT,
	JSON_ARRAY,
	JSON_OBJECT,
} JsonKind;

typedef struct Json {
	JsonKind kind;
	const char *name; /* of a member of an object; else NULL */
	struct Json *next;
	union {
		double number;
		const char *text;
		struct Json *child; /* of an array, an object: the first one */
	};
} Json;

/* NULL when it is no JSON value, or memory is out (errno: ENOMEM). Given back by json_free(). */
Json *json_read(const char *text, size_t size);
void json_free(Json *json);

/* NULL where it is not there, or this is no object. */
const Json *json_member(const Json *object, const char *name);

static inline bool
json_is(const Json *json, JsonKind kind)
{
	return json && json->kind == kind;
}

#endif
