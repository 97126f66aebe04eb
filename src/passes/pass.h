/* Passes: one file and one row each (passes.def); after import, the only way an IR changes.
 *
 * A graph pass is `bool pass_NAME(Graph *, PassContext *)` and says whether anything changed; a
 * loop pass the same over a Kernel. run_passes() is the only loop: for each enabled row in order
 * run it, verify, dump if asked, time it. Enabled: not disabled, and required or of a level at most
 * the context's. Every rewrite calls pass_log(), which explain, bisect and report read.
 */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "graph/graph.h"
#include "target/target.h"
#include "tir/module.h"

typedef struct PassContext PassContext;

typedef enum Portability {
	PORT_standard, /* leaves standard ONNX operators: can be exported anywhere */
	PORT_private,  /* makes operators of ours; export writes their original nodes */
	PORT_hardware, /* layouts of one machine: never exported */
} Portability;

typedef enum Numerics {
	NUM_exact,         /* equal bits outside order-free reductions */
	NUM_reassociating, /* the same error bound over the whole group */
	NUM_finite,        /* also multiplies structural zeros: not for NaN and Inf inputs */
	NUM_approximate,   /* only with a flag */
} Numerics;

typedef struct PassInfo {
	const char *name; /* "FoldConstant" */
	enum { PASS_graph, PASS_loop } ir;
	int level; /* smallest -O at which it runs */
	Portability portability;
	Numerics numerics;
	const char *doc; /* one sentence */
	bool (*graph)(Graph *graph, PassContext *context);
	bool (*loop)(Kernel *kernel, PassContext *context);
} PassInfo;

/* One line of the rewrite log. */
typedef struct PassEvent {
	const char *pass, *rule;
	const char *nodes;  /* names matched */
	const char *made;   /* names made; NULL when not applied */
	const char *reason; /* why not applied; NULL when applied */
} PassEvent;

/* A choice made by measuring: goes into the bundle, and is taken from there with --choices. */
typedef struct PassChoice {
	const char *key;        /* the question: "conv 1x64x56x56@nc16hw …" */
	const char *chosen;     /* "winograd sum" */
	const char *candidates; /* "direct add 812.0 us, winograd sum 455.1 us" */
} PassChoice;

typedef struct PassTiming {
	const char *pass;
	double seconds;
	bool changed;
	int nodes_before, nodes_after;
} PassTiming;

struct PassContext {
	Arena *arena;
	const char *running; /* the pass at work; set by the manager */
	int level;           /* -O */
	StrVec required, disabled;
	StrVec only; /* --passes: run exactly these, in this order */
	Map config;  /* "pass.key" -> text; typed access below */
	const Target *target;
	VEC(PassEvent) log;
	VEC(PassTiming) timings;
	VEC(PassChoice) choices;
	Map recorded;           /* key -> chosen, of an earlier compilation */
	const char *dump_after; /* pass name or "all" */
	void (*dump)(void *arg, const char *pass, const Graph *graph, bool changed);
	void *dump_arg;
	bool verify; /* run the checker after each pass */
	/* --verify=each: called before and after each pass on a clone; fails when they differ. */
	void (*verify_each)(void *arg, const char *pass, const Graph *before, const Graph *after);
	void *verify_arg;
	void (*progress)(void *arg, const char *what, int done, int total);
	void *progress_arg;
};

const PassInfo *pass_find(const char *name);
const PassInfo *pass_at(int index); /* NULL behind the last */

/* Check names in required, disabled, only and config: fails (FAIL_USAGE) listing near names. */
void pass_context_check(const PassContext *context);
bool pass_enabled(const PassContext *context, const PassInfo *pass);
void run_graph_passes(Graph *graph, PassContext *context);
void run_loop_passes(Kernel *kernel, PassContext *context);

/* Config of a pass with its default; fails (FAIL_USAGE) on a value of the wrong form. */
int64_t pass_config_int(const PassContext *context, const char *key, int64_t fallback);
const char *pass_config_text(const PassContext *context, const char *key, const char *fallback);

void pass_log(PassContext *context, const char *rule, const char *nodes, const char *made,
              const char *reason);

/* Whether an earlier compilation found this value wrong with this choice: "vendor", "view",
 * "fusion", "layout" or "schedule". Such denials are recorded choices, "deny vendor y". */
bool pass_denied(PassContext *context, const char *choice, const Value *value);

/* Nodes of all regions, for reports; a group is one. */
int graph_node_count(const Graph *graph);

/* The last graph-level step: every group becomes a kernel, a vendor call or a host step. */
Module *lower_graph(Arena *arena, Graph *graph, PassContext *context);

#endif
