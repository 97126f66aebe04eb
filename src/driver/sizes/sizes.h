/* Sizes: the numbers that a model's symbols get where somebody must choose them.
 *
 * asked    what --shape says, and no more.
 * typical  besides, for every other symbol, a size that a user would run (docs/sizes.md): choices
 *          are made there, and `run` and `bench` use it where nothing else is said.
 *
 * A batch is 1, the sides of an image 224, of a volume 64, a length 128, as far as the model lets
 * them: what it demands of its sizes (Graph.assumptions, ranges, no extent below 1) goes first.
 *
 * One search finds them, in rounds: sizes at which all known demands hold (sizes.c); there the
 * integers that checks look at are computed (rooms.c); what these leave is a demand where it is a
 * sum over symbols (demands.c), and with it the next round begins.
 */
#ifndef DRIVER_SIZES_SIZES_H
#define DRIVER_SIZES_SIZES_H

#include "base/file.h"
#include "driver/options.h"
#include "driver/sizes/demands.h"

/* A size for each symbol that has one, by Symbol.id. */
typedef struct SizeTable {
	int count;
	int64_t *value;
	bool *is_bound;
} SizeTable;

SizeTable size_table_new(Arena *arena, const Graph *graph);
void size_table_set(const SizeTable *table, const Symbol *symbol, int64_t value);
const Binding *size_table_binding(Arena *arena, const SizeTable *table);

/* The graph with the ranges that --shape gives to symbols (N=1..16:4): what is compiled holds only
 * there, and binding another size is refused. `graph` itself must not be used any more. */
Graph *sizes_limit(const Options *options, Arena *arena, Graph *graph);

/* The size that --shape gives to a symbol; false: none. */
bool size_asked(const Options *options, Arena *arena, const char *symbol, int64_t *size);

/* By Symbol.id, for the symbols that the graph has now. Both fail (FAIL_USAGE) when --shape names
 * neither a symbol nor an input. */
const Binding *sizes_asked(const Options *options, Arena *arena, const Graph *graph);
const Binding *sizes_typical(const Options *options, Arena *arena, const Graph *graph,
                             const Learnt *learnt);

/* Sizes for all symbols that the model allows (demands_in()) for a run of `region`, as near to
 * `wanted` as one symbol at a time, or equal ones together, can come; those that `fixed` binds
 * (NULL: none) stay. */
const Binding *sizes_in(Arena *arena, const Graph *graph, const Region *region,
                        const Demands *learnt, const Binding *wanted, const Binding *fixed);

/* Regions that need sizes of their own: NULL alone, all of the model, or, where branches of an If
 * never run at the same sizes, so many that each is allowed to run at the least of one. */
int sizes_regions(Arena *arena, const Graph *graph, const Demands *learnt, const Binding *fixed,
                  const Region *regions[MOST_RUNS]);

/* Whether it is a dim of an input: others follow from those, or from data. */
bool symbol_is_input(const SymbolDef *def);

/* From 1 on, for the first of the runs: the least that it runs at. */
const Binding *sizes_least(Arena *arena, const Graph *graph, const Learnt *learnt,
                           const Binding *fixed);

/* Sizes for all symbols of a ctx, `size` or near it, at which all holds that is assumed there (of a
 * region's symbols, too: they are its own); NULL: none were found. */
const Binding *sizes_assumed(Arena *arena, ExprCtx *ctx, int64_t size);

/* The entry of a bundle that says what was typical, and what the model demands (docs/sizes.md):
 * {"N": 1, "H": 224, "demands": [{"relation": "H <= 256", "node": "table"}]}; one size of it, or
 * `other` where it says none (`text` may be empty); and all of it, for people. */
#define SIZES_ENTRY "sizes.json"
const char *sizes_text(Arena *arena, const Graph *graph, const Binding *sizes,
                       const Demands *learnt);
int64_t sizes_find(const char *text, size_t size, const char *symbol, int64_t other);

typedef struct SizesEntry {
	const char *chosen;  /* "N=1, H=224"; "": there are no symbols */
	const char *demands; /* "H <= 256 (node table)"; "": none are known */
} SizesEntry;
SizesEntry sizes_read(Arena *arena, const char *path, Bytes text);

/* "8x3x224x224" as numbers; fails (FAIL_USAGE) on anything else. */
int dims_of(const char *option, const char *text, int64_t dims[ARRAY_MAX_RANK]);

#endif
