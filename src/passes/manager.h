/* Passes: one file and one row each (passes.def); after import, the only way an IR changes.
 *
 * A pass is `bool pass_NAME(Graph *, PassContext *)`, or the same over a ProgramUnit or a Kernel,
 * and says whether anything changed. run_passes() is the only loop: for each enabled row in order
 * run it, verify, dump if asked, time it. Enabled: not disabled, and required or of a level at most
 * the context's. Every rewrite calls pass_log(), which explain, bisect and report read.
 */
#ifndef PASSES_MANAGER_H
#define PASSES_MANAGER_H

#include "base/pass.h"
#include "graph/graph.h"
#include "target/maker.h"
#include "tir/module.h"

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

typedef enum PassNeeds {
	NEEDS_nothing,
	NEEDS_target, /* the machine to compile for */
} PassNeeds;

typedef struct PassInfo {
	const char *name; /* "FoldConstant" */
	PassIr ir;
	int level; /* smallest -O at which it runs */
	Portability portability;
	Numerics numerics;
	PassNeeds needs;
	PassDevices devices; /* for which it runs */
	const char *doc;     /* one sentence */
	bool (*run)(void *subject, PassContext *context);
} PassInfo;

/* A row of aliases.def. */
typedef struct PassAlias {
	const char *name, *passes, *doc;
} PassAlias;

const PassAlias *pass_alias_at(int index); /* NULL behind the last */

/* A row of settings.def. */
typedef struct PassSetting {
	const char *pass, *key, *value, *doc;
} PassSetting;

const PassSetting *pass_setting_at(int index); /* NULL behind the last */
/* Whether the key is a name of the program, as a tensor's. */
bool pass_setting_is_named(const PassSetting *setting);
/* Of "PASS.key"; NULL: no pass has it. */
const PassSetting *pass_setting_find(const char *key);

const PassInfo *pass_find(const char *name);
bool pass_is_program(const char *name); /* "exec:./mypass" of the row Exec */
const PassInfo *pass_at(int index);     /* NULL behind the last */

/* Put passes in the place of aliases in required, disabled and only. */
void pass_context_expand(PassContext *context);
/* Check names in required, disabled, only and config, and values of the last: fails (FAIL_USAGE)
 * with the nearest name. */
void pass_context_check(const PassContext *context);
bool pass_enabled(const PassContext *context, const PassInfo *pass);
/* Whether a pass that would run on this kind of IR needs a target, which the context must have by
 * then. */
bool passes_need_target(const PassContext *context, PassIr ir);
/* The one loop: every enabled row of this kind over a Graph, ProgramUnit or Kernel; whether one of
 * them changed anything. */
bool run_passes(PassContext *context, PassIr ir, void *subject);
bool run_graph_passes(Graph *graph, PassContext *context); /* and infer it before */
/* Again and again until nothing changes: what a pass leaves may be something for one before it. */
void run_graph_passes_to_rest(Graph *graph, PassContext *context);
void run_loop_passes(const Module *module, PassContext *context); /* all its kernels */
const char *pass_ir_name(PassIr ir);

#endif
