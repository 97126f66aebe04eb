/* Inside of the graph parser: what its files share. */
#ifndef GRAPH_PARSER_H
#define GRAPH_PARSER_H

#include "base/scan.h"
#include "graph/inner.h"

/* A definition of a symbol, resolved when all values are known. */
typedef struct Pending {
	const Symbol *symbol;
	Region *region; /* whose line it is */
	int position;   /* of the token behind = */
} Pending;

/* A list of captures as written, compared with the real one at the end. */
typedef struct Claim {
	Region *region;
	VEC(Value *) values;
	Loc loc;
} Claim;

typedef struct Parser {
	Graph *graph;
	Arena *arena;
	Scanner *scan;
	bool is_bare;       /* numbered weights get no data, … */
	const Graph *given; /* … or that of this graph's; NULL: made-up data */
	int depth;          /* of regions */
	VEC(Pending) pending;
	VEC(Claim) claims;
} Parser;

/* The constant or default that a text has as `weight N`, behind graph_number_weights(); or NULL. */
const Value *graph_weight(const Graph *graph, int number);

/* A type, and what stands behind a name: its type (unknown when not given) and layout (or NULL). */
Type parse_type(Parser *parser);
const char *parse_declared(Parser *parser, Type *type);
/* What stands behind the = of a constant. */
void parse_constant(Parser *parser, const char *name, const Type *type, const char *layout);
void parse_default(Parser *parser, Value *input); /* what stands behind the = of an input */
/* Behind the brace of a node's attributes, to its end. */
void parse_attrs(Parser *parser, Node *node);

/* The text of `given` that somebody has changed (replace.c). */
Graph *graph_parse_changed(const Graph *given, const char *file, const char *text);

#endif
