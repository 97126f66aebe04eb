/* All that DeriveExpressions asks about a graph: of nodes alone, and of groups of them. */
#ifndef PASSES_DERIVE_ASKED_H
#define PASSES_DERIVE_ASKED_H

#include "passes/derive_group.h"

typedef struct Asked {
	Map by_key;                /* key -> Question */
	Map levels;                /* Node -> level, itself counted */
	VEC(Question *) questions; /* in order of the nodes, then of the groups */
	Askers askers;
	NodeGroups groups;
} Asked;

/* What the nodes ask alone. */
Asked derive_ask(PassContext *context, const Graph *graph);

/* What they ask together; questions that are new stand behind the others. Once, when there are no
 * more askers. */
void derive_ask_groups(PassContext *context, const Graph *graph, Asked *asked);

#endif
