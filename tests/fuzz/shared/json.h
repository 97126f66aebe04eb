/* Changes to a JSON text that leave it one: numbers at their edges, members gone, twice, or from
 * elsewhere in the text, words of texts exchanged. */
#ifndef FUZZ_JSON_H
#define FUZZ_JSON_H

#include <stddef.h>
#include <stdint.h>

/* Some changes, in place; the new size, or 0: it was no JSON, or grew beyond `most`. */
size_t fuzz_change_json(uint8_t *data, size_t size, size_t most, uint64_t *state);

#endif
