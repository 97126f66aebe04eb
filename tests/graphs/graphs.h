/* Whole random graphs: made (gen.c, make_*.c), run in every way (run.c), made small (shrink.c).
 *
 * A case is a text of the graph IR, without types: everything else follows from it and a seed, the
 * values of its symbols (graph_symbol_value) and the data of its inputs (sample_input). So a case
 * that fails can be kept, changed and run again.
 */
#ifndef GRAPHS_GRAPHS_H
#define GRAPHS_GRAPHS_H

#include "base/pass.h"
#include "cli/cli.h"
#include "gen.h"
#include "target/target.h"

/* ---- texts (graph.c) ----------------------------------------------------------------------- */

typedef enum Theme {
	THEME_any,
	THEME_derived,   /* made so that derivation applies; derived forms are taken (derive.c) */
	THEME_quantised, /* quantised and short numbers */
} Theme;

/* The text of a graph, from its own seed; its number chooses what it is made around. */
const char *graph_make(Arena *arena, uint64_t seed, int number, Theme theme, char *note);

/* A graph of a text, whose weights by number are as graph_settle_weight() makes them. */
Graph *graph_read(Arena *arena, const char *text);

/* Names of weights that are scales begin with this. */
#define GRAPH_SCALE "scale"
/* A weight by number has bits for integers, and floats around 0: bytes take all their values, and
 * scales are positive, here. */
void graph_settle_weight(Value *value);
/* An integer of 8 bits or fewer; the least and the largest of a type. */
bool graph_is_byte(DType type);
void graph_ends(DType type, int64_t *least, int64_t *most);

/* The value of a symbol in run `run` (0: the one the graph was made at). */
int64_t graph_symbol_value(uint64_t seed, int run, const char *name);

/* The text of a graph without types and what follows from them; unused inputs are left out. */
const char *graph_source(Arena *arena, Graph *graph);

/* ---- running cases (run.c) ------------------------------------------------------------------- */

typedef enum Verdict {
	VERDICT_open,
	VERDICT_right,
	VERDICT_refused, /* in a sentence */
	VERDICT_unmade,  /* the generator made nothing */
	VERDICT_wrong,   /* results differ */
	VERDICT_bug,     /* an internal error, a plan that does not verify */
	VERDICT_crash,   /* a signal, or no end */
	VERDICT_COUNT
} Verdict;

typedef enum Way {
	WAY_make,
	WAY_read,
	WAY_exact,
	WAY_O0,
	WAY_O1,
	WAY_O2,
	WAY_O3,
	WAY_fallback,
	WAY_export,
	WAY_ort,
	WAY_COUNT
} Way;

extern const char *const WAY_NAMES[];

enum { GRAPH_BATCH = 48, GRAPH_REASON = 300 };

/* What a worker and the process that watches it share. */
typedef struct Sample {
	uint64_t seed; /* of this graph */
	int number;
	unsigned ways; /* bits: which to go; 0 = as the number says */
	Theme theme;
	bool is_held; /* what the theme is about came (theme_is_held) */
	Verdict verdict;
	Way way; /* at which it stands, or stopped */
	char reason[GRAPH_REASON];
	char text[GRAPH_TEXT]; /* empty: to be made */
} Sample;

typedef struct Coverage {
	int64_t rows[OP_COUNT], views[OP_COUNT][KIND_COUNT + 1], refused_rows[OP_COUNT],
		unasked[OP_COUNT];
	int64_t types[DT_COUNT];
#define FEATURE(name) int64_t name;
#include "features.def"
#undef FEATURE
} Coverage;

/* Sentences, without their numbers and names. */
typedef struct ReasonCount {
	char text[200];
	int64_t count;
} ReasonCount;

enum { GRAPH_REASONS = 100 };

typedef struct Tallies {
	int64_t cases, failed, held; /* held: of the cases, those with what the theme is about */
	int64_t verdicts[VERDICT_COUNT];
	ReasonCount reasons[GRAPH_REASONS];
	int64_t runs[WAY_COUNT], points, undecided, unbound, ort_refused;
	double worst[WAY_COUNT];
	Coverage coverage;
} Tallies;

typedef struct Shared {
	int count, current; /* cases of the batch, the one at work or -1 */
	Sample cases[GRAPH_BATCH];
	Tallies tallies;
} Shared;

/* Let DeriveExpressions take one of its candidates by chance, not the fastest (derive.c). */
void derive_by_chance(Arena *arena, uint64_t seed, PassContext *context, Target *target);
/* Whether the pass that a theme is about made something. */
bool theme_is_held(const PassContext *context, Theme theme);

/* Run the open cases of a batch, in this process. */
/* `model`: a file to hand ONNX Runtime models in, or NULL. */
void batch_run(Shared *shared, const Options *options, const char *model);

/* The data of an input; `ranges` (InputRanges) may be NULL. */
Array *sample_input(Arena *arena, uint64_t seed, const char *name, const void *ranges, DType type,
                    int rank, const int64_t *dims);

/* Where ONNX Runtime is known to do otherwise than the standard says (ort.c): NULL, or how. */
const char *ort_deviates(const Graph *graph);
/* Of the largest element, by which it may be beyond the bound. */
double ort_share(const Graph *graph);
/* The distance of 1 and the next number, in the shortest type of floats that nodes give. */
double graph_float_unit(const Graph *graph);

void coverage_add(Coverage *coverage, const Graph *graph, const char *text, bool is_refused);
/* The number of operators that ought to have come and did not. */
int coverage_print(const Coverage *coverage, const OpTable *ops, int64_t graphs);

/* A sentence without its numbers and names, so that equal ones are seen to be equal. */
void plain_sentence(char *to, size_t room, const char *from);
/* Count a sentence: how often it has come. All of one run into those of another. */
int64_t tallies_reason(Tallies *tallies, const char *what, const char *sentence);
void tallies_add(Tallies *sum, const Tallies *more);

/* ---- making small (shrink.c) ----------------------------------------------------------------- */

/* Whether a text still fails in the same way. */
typedef bool Fails(void *arg, const char *text);
const char *graph_shrink(Arena *arena, const char *text, uint64_t seed, Fails *fails, void *arg);

#endif
