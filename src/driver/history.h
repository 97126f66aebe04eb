/* The history of a compilation: what its passes did to the model and what they left, in order, as a
 * part of the bundle.
 *
 *     {"history": 1, "cut": 0}
 *     {"id": "5c0e66d1", "pass": "FuseOps", "rule": "join", "nodes": ["relu1", "relu2"],
 *      "made": ["conv1", "conv2"], "rewrites": [17, 18]}
 *     {"id": "77ab02c9", "pass": "FuseOps", "rule": "join", "reason": "the producer's group is
 *      closed", "nodes": ["add3", "add7"]}
 *
 * A line for each rule, and for each reason why it was not applied, where the first of its nodes
 * came; its id follows from these words and stays when other lines come. Numbers of rewrites say
 * their order, and are those of --rewrites. Times are not part of it: the same choices, the same
 * bytes.
 */
#ifndef DRIVER_HISTORY_H
#define DRIVER_HISTORY_H

#include "base/file.h"
#include "base/pass.h"

#define HISTORY_ENTRY "history.jsonl"

typedef struct HistoryLine {
	const char *id, *pass, *rule;
	const char *reason; /* why it was not done; NULL: it was */
	StrVec nodes;       /* names matched, at least one */
	StrVec made;        /* of each, what was made of it, or ""; or of none, */
	VEC(int) rewrites;  /* of each its number, from 1 on; or of none */
} HistoryLine;

typedef struct History {
	VEC(HistoryLine) lines;
	int cut; /* lines that are left out, because it would be too long */
} History;

History history_of(Arena *arena, const PassContext *context);
const char *history_text(Arena *arena, const History *history);

/* Of a bundle; none: an empty one. Fails where it is damaged. */
History history_read(Arena *arena, const char *path, Bytes part);

/* "FuseOps: join: relu1 -> conv1" of one node of a line. */
const char *history_line_text(Arena *arena, const HistoryLine *line, int node);
/* The line that has rewrite `number`, and which of its nodes; NULL: none. */
const HistoryLine *history_rewrite(const History *history, int number, int *node);

#endif
