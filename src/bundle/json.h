/* Reading JSON that nobody vouches for: what records (fields.h) are read with.
 *
 * The first thing that is wrong makes a JsonReader failed, with a sentence that names the member;
 * from then on every question has a harmless answer (0, ""), so that readers check once at the end.
 * Integers beyond 2^53 are written as texts, since JSON numbers are doubles here.
 */
#ifndef BUNDLE_JSON_H
#define BUNDLE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/pile.h"

typedef struct JsonReader {
	Pile *pile;       /* owns the texts and arrays given out */
	const char *what; /* "the plan": begins sentences */
	char *error;
	size_t error_size;
	bool failed;
} JsonReader;

/* Parse a text of at most `limit` bytes; NULL (failed) when it is not one JSON object. The caller
 * calls json_free(). */
Json *json_parse(JsonReader *r, const char *text, size_t size, size_t limit);

void json_fail(JsonReader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory in the pile: never NULL unless failed. */
void *json_alloc(JsonReader *r, size_t count, size_t size);

/* An item; `name` only for the sentence. */
int64_t json_item_int(JsonReader *r, const Json *item, const char *name, int64_t lo, int64_t hi);
double json_item_number(JsonReader *r, const Json *item, const char *name);
const char *json_item_text(JsonReader *r, const Json *item, const char *name);

/* Writing, as printf: %d and %lld are integers and %g a double as the reader takes them, %s a text
 * in quotes (NULL: an empty one), and ' stands for ". */
void json_put(Buf *json, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
