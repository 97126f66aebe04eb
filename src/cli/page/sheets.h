/* A large graph as sheets: what stands on one is drawn together, and boxes of it may stand for
 * another sheet, which opens.
 *
 *     /layer1/conv/Conv, /layer1/relu/Relu, /layer2/conv/Conv, …, /fc/Gemm
 *
 *     =>  sheet 0: [layer1] [layer2] … /fc/Gemm
 *         sheet 1 "layer1": /layer1/conv/Conv, /layer1/relu/Relu
 *
 * Nodes whose names begin alike stand together. Where that is not enough (names without folders),
 * neighbours in the order of the nodes do.
 */
#ifndef CLI_PAGE_SHEETS_H
#define CLI_PAGE_SHEETS_H

#include "cli/page/layout.h"

enum {
	SHEET_ALL = 240, /* nodes of a graph that is one sheet */
	SHEET_MOST = 80, /* boxes of a sheet of a larger one */
	SHEET_LEAST = 4  /* nodes that are worth a sheet */
};

/* One of the two is -1. */
typedef struct SheetItem {
	int node, sheet;
} SheetItem;

typedef VEC(SheetItem) SheetItems;

typedef struct Sheet {
	const char *title;
	int parent; /* -1: it is the first one, of all */
	int count;  /* of nodes, those of sheets inside too */
	SheetItems items;
	Layout layout; /* its boxes are the items */
} Sheet;

/* The nodes to be drawn, in an order in which edges lead forward. */
typedef struct SheetNode {
	const char *name; /* with folders: "/layer1/conv/Conv" */
	IntVec inputs;    /* nodes */
} SheetNode;

typedef VEC(Sheet) Sheets;

/* `most`: boxes of a sheet; where a sheet is needed for as many or fewer nodes it has no others. */
Sheets sheets_make(Arena *arena, int count, const SheetNode *nodes, int most);

#endif
