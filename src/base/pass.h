/* What a rewrite of any IR may ask of whoever runs it: how far to go, what to aim at, settings; and
 * what it must tell: what it did and what it left, choices made by measuring, progress.
 *
 * Rows and order of passes are in src/passes; rewrites stand where their IR is.
 */
#ifndef BASE_PASS_H
#define BASE_PASS_H

#include "base/map.h"
#include "base/vec.h"

struct Graph;
struct Target;

/* What rewrites work on. Rows of one kind run in the order of the table, each kind where the
 * compiler has come so far. */
typedef enum PassIr {
	IR_graph,   /* Graph: the model */
	IR_program, /* ProgramUnit: what a node or a group means */
	IR_part,    /* ProgramUnit: what is to be one kernel */
	IR_nest,    /* ProgramUnit: the same in the form that becomes loops */
	IR_loop,    /* Kernel */
	IR_COUNT
} PassIr;

/* One line of the rewrite log. */
typedef struct PassEvent {
	const char *pass, *rule;
	const char *nodes;  /* names matched */
	const char *made;   /* names made; NULL when not applied */
	const char *reason; /* why not applied; NULL when applied */
	int rewrite;  /* its number among those that could be left out, from 1 on; 0: it is none */
	bool is_note; /* what was seen on the way: another compilation may see something else */
} PassEvent;

/* A choice made by measuring: goes into the bundle, and is taken from there with --choices. */
typedef struct PassChoice {
	const char *key;        /* the question: "cudnn.conv 1x64x56x56@nc16hw …" */
	const char *chosen;     /* "winograd sum" */
	const char *candidates; /* "direct add 812.0 us, winograd sum 455.1 us" */
	double seconds;         /* of what was chosen; 0: not measured */
	bool has_refused;       /* the library lacks one of the algorithms for it */
} PassChoice;

typedef struct PassTiming {
	const char *pass;
	double seconds; /* of all its runs */
	bool changed;   /* anything */
	int nodes_before, nodes_after;
} PassTiming;

/* --values: which numbers a model computes with. */
typedef enum PassValues {
	VALUES_usual,  /* any below -O3; from there on finite ones, and NaN where that costs nothing */
	VALUES_finite, /* finite ones at any -O */
	VALUES_all,    /* NaN, infinities and -0, too, at any -O */
} PassValues;

typedef struct PassContext PassContext;
struct PassContext {
	Arena *arena;
	bool (*run)(PassContext *context, PassIr ir, void *subject); /* run_passes() of the manager */
	const char *running; /* the pass at work, and whether it may be left out; set by the manager */
	bool is_optional;
	int rewrites;   /* made by such passes, */
	int first_out;  /* of which this one and those behind it are left out; 0: none is */
	int level;      /* -O */
	bool is_strict; /* --accuracy strict: nothing that rounds more than a plain sum of the terms */
	PassValues values;
	StrVec required, disabled;
	StrVec only; /* --passes: run exactly these, in this order */
	Map config;  /* "pass.key" -> text; typed access below */
	Map *taken;  /* text of config -> itself, once a pass has read it; may be NULL */
	const struct Target *target;
	VEC(PassEvent) log;
	VEC(PassTiming) timings;
	VEC(PassChoice) choices;
	Map recorded;              /* key -> chosen, of an earlier compilation */
	const PassContext *before; /* of the same model, whose derivations stand; or NULL */
	Map *folded;               /* what follows from its weights, kept for the next; or NULL */
	const char *dump_after;    /* pass name or "all" */
	/* subject: NULL for the model; text: NULL where nothing changed */
	void (*dump)(PassContext *context, const char *pass, const char *subject, const char *text);
	const char *dump_to; /* a folder, where each text that changed becomes a file; NULL: stderr */
	int dumped;          /* files */
	bool verify;         /* run the checker after each pass */
	/* --verify=each: called after each pass that changed something, with a copy of what it got and
	 * what it left, of the kind `ir`; fails when they differ. */
	void (*verify_each)(PassContext *context, PassIr ir, const void *before, const void *after);
	void *verify_arg;
	void (*progress)(void *arg, const char *what, int done, int total);
	void *progress_arg;
};

/* Whether zeros may be multiplied where the meaning omits terms, and NaN may become a number: class
 * finite of passes. */
bool pass_is_finite(const PassContext *context);

/* Config of a pass with its default; fails (FAIL_USAGE) on a value of the wrong form. */
int64_t pass_config_int(const PassContext *context, const char *key, int64_t fallback);
const char *pass_config_text(const PassContext *context, const char *key, const char *fallback);

/* A rewrite that was made (no reason), or was not. */
void pass_log(PassContext *context, const char *rule, const char *nodes, const char *made,
              const char *reason);
/* Something to know for who looks on, which depends on times or on what was asked before. */
void pass_note(PassContext *context, const char *rule, const char *nodes, const char *made,
               const char *reason);

/* Whether one more rewrite may be made: asked before each. False where --rewrites leaves it out;
 * then nothing may change. */
bool pass_may_rewrite(const PassContext *context);

/* The choice of this key that was made in this compilation; NULL: none yet. */
const PassChoice *pass_choice_find(const PassContext *context, const char *key);

/* Whether an earlier compilation found the value of this name (NULL: never) wrong with this choice:
 * "vendor", "view", "fusion", "layout" or "schedule"; or who ablates leaves it out, "derive" for
 * nodes. Such denials are recorded choices, "deny vendor y". */
bool pass_denied(PassContext *context, const char *choice, const char *value);

#endif
