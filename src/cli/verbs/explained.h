/* A model as DeriveExpressions got it, with what a bundle records of its answers.
 *
 * A bundle has the choices by the hashes of the expressions that were asked about, and the graph
 * that came out; the expressions follow from the model, by the passes before DeriveExpressions.
 */
#ifndef CLI_VERBS_EXPLAINED_H
#define CLI_VERBS_EXPLAINED_H

#include "bundle/bundle.h"
#include "cli/cli.h"
#include "driver/history.h"
#include "passes/derive_groups.h"

typedef struct Explained {
	Options options; /* with the pipeline of the bundle */
	Arena *arena;
	const char *path;     /* of the model */
	const Bundle *bundle; /* NULL: the choices are --choices' */
	const Graph *given;   /* as read */
	Graph *graph;         /* as the pass gets it */
	History history;      /* of the bundle */
	PassContext *context; /* its `recorded`: what was chosen */
	Map measured;         /* key -> what was measured for it */
	Asked asked;          /* what the pass asks about it */
	StrVec names;         /* of nodes and values, before passes */
	bool is_asked;        /* the pass is part of the pipeline */
} Explained;

/* The arguments are a model, or a bundle and its model, which may be left out where it lies beside
 * the bundle. Fails where it is another one. */
Explained explained_read(const Options *options);
/* The same before any pass is run. */
Explained explained_open(const Options *options);

/* Members of a page's subject, made by compiling a bundle's model once more (loops.c). */
typedef struct Loops {
	const char *json; /* 'loops': function -> script and loops; with --runs 'passes' */
	const char *said; /* why some are left out; "": none is */
} Loops;
Loops loops_again(const Options *options, const ManifestTarget *target, const char *source);

/* The model of the bundle at `path`: the second argument, or the file of its name beside the bundle
 * or here. Fails where it is another one, or not there. */
const char *explained_model(const Options *options, Arena *arena, const Bundle *bundle,
                            const char *path);

/* Of the first target; NULL: there is no bundle. */
const Plan *explained_plan(const Explained *e);

/* What was measured. */
typedef struct Measured {
	const char *way;
	double us; /* 0: it could not be measured */
} Measured;

typedef struct Answer {
	const char *chosen; /* NULL: nothing is recorded */
	const char *note;   /* what the record says besides; NULL: nothing */
	VEC(Measured) measured;
	double given, taken; /* us as given, and of what was chosen; 0: not measured */
	double least;        /* us of the fastest other than as given; 0: none */
} Answer;

Answer answer_of(const Explained *e, const char *key);

/* The nodes with which this one became one product, or others in another order; NULL: with none. */
const NodeGroup *merged_with(const Explained *e, const Node *node);

#endif
