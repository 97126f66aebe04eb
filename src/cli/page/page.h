/* The page of `tilewright report`: one file of HTML that needs nothing else.
 *
 *     Buf data = {.arena = arena};
 *     json_put(&data, "{'facts': …, 'before': ");
 *     net_write(&data, graph, SHEET_ALL, &about);
 *     …
 *     page_write(&html, buf_text(&data));
 *
 * Style (page.css) and script (data.js and those it names) are files of this room. What is shown is
 * one block of JSON, which the script reads; names out of a model come into the page as texts, and
 * no character of the block can end it (page_write()).
 */
#ifndef CLI_PAGE_PAGE_H
#define CLI_PAGE_PAGE_H

#include "base/buf.h"
#include "bundle/plan.h"
#include "driver/history.h"
#include "graph/graph.h"

typedef struct Profile Profile;

/* The page around the data. */
void page_write(Buf *html, const char *json);

/* What is said of a model's nodes besides. */
typedef struct NetAbout {
	Map *texts; /* of meanings, which it grows by: text -> its number + 1 */
	const Plan *plan;
	const History *history;
} NetAbout;

/* A graph as an object: `nodes`, `values`, `sheets` of at most so many boxes. `about`: NULL for
 * what a model became. */
void net_write(Buf *json, const Graph *graph, int most, const NetAbout *about);

/* The steps of a plan, nested ones too, as an array; times are those of `profile` (NULL: none). */
void steps_write(Buf *json, const Plan *plan, const Profile *profile);
/* Bytes of temporaries that live at each step of the plan, as an array; `symbols`: their values. */
void memory_write(Buf *json, const Plan *plan, const int64_t *symbols);
/* The function of this name in the text that was compiled, its beginning where it is long; NULL: it
 * is not there. */
const char *kernel_source(Arena *arena, const char *text, const char *name);
/* The functions of a plan's kernels in that text, as an object. */
void sources_write(Buf *json, const Plan *plan, const char *text);

/* Pictures for dot -Tsvg: of a graph, and of a plan's steps with what they read of each other. */
void graph_dot(Buf *dot, const Graph *graph);
void plan_dot(Buf *dot, const Plan *plan);

#endif
