/* Schedule scripts: what is to be done to a kernel's naive loops, primitive by primitive.
 *
 *     schedule {
 *       split q 64 -> qo, qi
 *       reorder qo, p, qi
 *       bind qo @parallel
 *       bind qi @vector
 *     }
 *
 * Data, made by a device's maker (target/maker.h) and read from texts; src/tir/schedule applies it.
 * Loops and buffers go by their names, which differ in a kernel. One primitive stands in a line;
 * primitives.def says which there are and what stands behind each.
 */
#ifndef TIR_SCRIPT_H
#define TIR_SCRIPT_H

#include "base/scan.h"
#include "tir/stmt.h"

typedef enum Primitive {
#define PRIMITIVE(name, form, doc) PRIM_##name,
#include "tir/primitives.def"
#undef PRIMITIVE
	PRIM_COUNT
} Primitive;

typedef struct PrimitiveInfo {
	const char *name, *form, *doc;
} PrimitiveInfo;

typedef struct ScriptStep {
	Primitive primitive;
	StrVec loops, buffers; /* those it works on */
	StrVec made;           /* names of those it makes */
	const char *order;     /* of dims, see primitives.def */
	int64_t number;
	Bind bind;
	Scope scope;
	const WarpOp *warp_op;
	Loc loc; /* in a user's text; no file: a step of ours */
} ScriptStep;

typedef struct Script {
	VEC(ScriptStep) steps;
	/* Into which the kernel's sum should be cut, each of them another iteration of its loops; 1: it
	 * is best as it is; 0: whoever made the script did not think of it. */
	int64_t parts;
} Script;

const PrimitiveInfo *primitive_info(Primitive primitive);

/* Whoever makes a script adds steps at its end. */
typedef struct ScriptWriter {
	Arena *arena;
	Script *script;
	Map names; /* taken */
} ScriptWriter;

ScriptWriter script_writer(Arena *arena, Map names);
/* `base`, or with a number behind it, so that nothing else is called that. */
const char *script_name(ScriptWriter *w, const char *base);
/* A step that works on this loop; what else it has, the caller adds before the next. */
ScriptStep *script_step(ScriptWriter *w, Primitive primitive, const char *loop);
void script_split(ScriptWriter *w, const char *loop, int64_t size, const char *outer,
                  const char *inner);
void script_reorder(ScriptWriter *w, int count, const char *const *loops); /* 0 or 1: nothing */
void script_bind(ScriptWriter *w, const char *loop, Bind bind);
/* What the loop's next iteration uses of these buffers in the body of `at` goes to cache 1 or 2. */
void script_fetch(ScriptWriter *w, const char *loop, const char *at, StrVec buffers, int cache);
void script_fission(ScriptWriter *w, const char *loop, int count, const Buffer *const *buffers,
                    Scope scope, const char *made);

/* One line each. Reading goes on to the end or a "}", which is left. */
void script_print(Buf *buf, const Script *script, const char *indent);
Script *script_parse(Arena *arena, Scanner *scan);

/* Schedules: scripts of primitives (tir/script.h) applied to loops. The meaning stays; each
 * primitive checks its own conditions and refuses what it cannot do: with the line of a user's
 * script, as our bug for a script of ours.
 */

/* Names of variables and buffers must differ (kernel_name_apart()). */
void script_apply(Kernel *kernel, const Script *script);

#endif
