/* tilewright tiles: for each group of a model, or each kernel of an expression, what Roller ranks
 * first on a row of devices.def, and how the best of it is built (docs/tiles.md).
 */
#include <math.h>
#include <string.h>

#include "cli/report/report.h"
#include "driver/files.h"
#include "driver/measure/native.h"
#include "driver/pipeline.h"
#include "driver/sizes/learn.h"
#include "driver/sizes/sizes.h"
#include "driver/targets.h"
#include "driver/texts.h"
#include "graph/meaning.h"
#include "lower/node.h"
#include "program/forms.h"
#include "program/group.h"
#include "roller/roller.h"

enum { SHOWN = 10 };

/* ---- the best ---- */

static void
print_axes(Buf *out, const TileTask *task)
{
	static const char *const words[] = {
		[AXIS_loop] = "", [AXIS_inner] = "inside ", [AXIS_term] = "sum over "};
	for (int a = 0; a < task->naxis; a++)
		buf_printf(out, "%s%s%s:%lld", a ? ", " : "", words[task->axes[a].kind], task->axes[a].name,
		           (long long)task->extents[a]);
}

static void
print_one(Buf *out, const TileTask *task, const TileProgram *program, int rank)
{
	bool is_long = program->seconds >= 1e-4;
	buf_printf(out, "%4d. %9.3f %s, most for %s; pieces %lld", rank,
	           program->seconds * (is_long ? 1e3 : 1e6), is_long ? "ms" : "us", program->reason,
	           (long long)program->pieces);
	if (program->cut > 1)
		buf_printf(out, ", each sum in %lld", (long long)program->cut);
	if (program->threads > 1)
		buf_printf(out, ", threads %lld", (long long)program->threads);
	if (program->sharers > 1)
		buf_printf(out, ", %lld share a sum", (long long)program->sharers);
	if (program->stages > 1)
		buf_printf(out, ", %d stages", program->stages);
	for (int l = 0; l < task->nlevel; l++) {
		buf_printf(out, "; %s", task->device->levels[l].name);
		for (int a = 0; a < task->naxis; a++)
			buf_printf(out, "%c%lld", a ? 'x' : ' ', (long long)program->tile[l][a]);
	}
	for (int k = 0; k < task->naccess; k++)
		if (program->padding[k] > 0)
			buf_printf(out, "; rows of %s +%lld", task->accesses[k].tensor->name,
			           (long long)program->padding[k]);
	buf_puts(out, "\n");
}

/* ---- how a tile is built ---- */

/* "64x64x8" */
static const char *
tile_text(Buf *out, const TileTask *task, const int64_t *tile)
{
	Buf buf = {.arena = out->arena};
	for (int a = 0; a < task->naxis; a++)
		buf_printf(&buf, "%s%lld", a ? "x" : "", (long long)tile[a]);
	return buf_text(&buf);
}

/* "m 0.25, n 0.5": what each axis that could grow would have saved. */
static const char *
scores_text(Buf *out, const TileTask *task, const TileStep *step)
{
	Buf buf = {.arena = out->arena};
	for (int a = 0; a < task->naxis && step->axis >= 0; a++)
		if (!isnan(step->score[a]))
			buf_printf(&buf, "%s%s %.3g", buf.size ? ", " : "", task->axes[a].name,
			           step->score[a] < 1e-20 ? 0 : step->score[a]);
	return buf_text(&buf);
}

static void
print_step(Buf *out, const TileTask *task, const TileStep *step, int width)
{
	bool is_first = step->axis < 0, has_units = step->level == 0;
	const TileProgram *program = &step->program;
	int64_t takes = has_units ? program_registers(task, program)
	                          : program_footprint(task, program, step->level);
	buf_printf(out, "      %-9s  %-*s  %-6s  %9lld %s of %lld%s%s%s\n",
	           is_first ? task->device->levels[step->level].name : "", width,
	           tile_text(out, task, program->tile[step->level]),
	           is_first ? "" : task->axes[step->axis].name, (long long)takes,
	           has_units ? "registers" : "bytes", (long long)tile_room(task, step->level),
	           is_first ? "" : "; S: ", scores_text(out, task, step),
	           step->is_enough ? "; good enough to go on from" : "");
}

static bool
print_steps(Buf *out, const TileTask *task, const TileProgram *program, int rank)
{
	double waste;
	size_t width = 0;
	TileSteps steps = tile_steps(task, program, &waste);
	for (int i = 0; i < steps.count; i++) {
		const int64_t *tile = steps.data[i].program.tile[steps.data[i].level];
		size_t length = strlen(tile_text(out, task, tile));
		width = length > width ? length : width;
	}
	if (steps.count == 0)
		return false;
	buf_printf(
		out,
		"  how number %d is built: the axis grows that saves most traffic for the room it takes "
		"(S)%s\n",
		rank,
		waste > 0
			? arena_printf(out->arena, "; up to %.0f %% of an axis may be wasted", waste * 100)
			: "");
	for (int i = 0; i < steps.count; i++)
		print_step(out, task, &steps.data[i], (int)width);
	return true;
}

/* ---- all of it ---- */

static void
print_part(Buf *out, const Program *part, const Target *target, const char *name)
{
	const char *reason;
	int visited = 0;
	const TileTask *task = roller_task(out->arena, part, target, &reason);
	buf_printf(out, "tiles of %s on %s: ", name, target->device->name);
	if (!task) {
		buf_printf(out, "none, for %s\n", reason);
		return;
	}
	TilePrograms found = roller_tiles(task, SHOWN, &visited);
	print_axes(out, task);
	buf_printf(out, "; %d of %d tiles\n", found.count, visited);
	for (int i = 0; i < found.count; i++)
		print_one(out, task, &found.data[i], i + 1);
	for (int i = 0; i < found.count; i++) /* pieces of what was built have no steps of their own */
		if (print_steps(out, task, &found.data[i], i + 1))
			break;
}

static void
print_program(Buf *out, const Program *program, const Target *target, const char *name)
{
	ProgramVec parts = {0};
	program = program_squeeze_dims(out->arena, program_inline_stages(out->arena, program), NULL);
	program = program_collapse_dims(out->arena, program, NULL);
	program_cut(out->arena, program, target, &parts);
	for (int p = 0; p < parts.count; p++)
		print_part(out, parts.data[p], target, name);
}

/* The row may be of any kind, whether code is made for it or not. */
static const Target *
target_of(const Options *options, const Binding *sizes)
{
	const char *name = target_name(options, 0);
	Target *target = NEW(options->arena, Target);
	*target = (Target){.device = known_device(name), .probe = sizes};
	native_correct(options, options->arena, name, LEVEL_MEASURED, target);
	return target;
}

static bool
is_asked(const Options *options, const Node *node)
{
	const char *name = options->node;
	bool is_named = !name || (node->loc.node && strcmp(node->loc.node, name) == 0);
	for (int i = 0; name && i < node->origins.count; i++)
		is_named |= strcmp(node->origins.data[i], name) == 0;
	for (int i = 0; name && i < node->noutput; i++)
		is_named |= strcmp(node->outputs[i]->name, name) == 0;
	return is_named;
}

/* Of the groups that passes make without layouts and measuring. */
static void
print_graph(const Options *options, Buf *out, Graph *graph)
{
	Arena *arena = options->arena;
	PassContext *context = pipeline_new(options, arena, 2);
	graph_check(graph);
	Learnt learnt = demands_learn(arena, graph, sizes_asked(options, arena, graph));
	const Target *target = target_of(options, sizes_typical(options, arena, graph, &learnt));
	context->target = target;
	run_graph_passes(graph, context);
	for (const Node *node = graph->body->first; node; node = node->next) {
		Value **values = NEW_N(arena, Value *, node->ninput + 1);
		const Program *program = NULL;
		if (node_has_meaning(node) && is_asked(options, node))
			program = node_program(arena, graph, node, values);
		if (program && program->nstage > 0)
			print_program(out, program, target, node->loc.node ? node->loc.node : "");
	}
	if (options->node && out->size == 0)
		fail_as(FAIL_USAGE, NULL, "%s: no group with loops comes from a node '%s'",
		        options->args.data[0], options->node);
}

static void
print_text(const Options *options, Buf *out, const char *path, const char *text)
{
	options_refuse(options, OF_EXPR, arena_printf(options->arena, "%s is an expression", path));
	const Program *program = text_program(options->arena, path, text);
	print_program(out, program, target_of(options, NULL), program->name);
}

int
verb_tiles(const Options *options)
{
	Arena *arena = options->arena;
	const char *path = options->args.data[0];
	Buf out = {.arena = arena};
	if (strncmp(path, "expr ", 5) == 0) {
		print_text(options, &out, "argument", path);
	} else {
		Bytes bytes = file_map(arena, path);
		if (file_kind(path, bytes) == FILE_EXPR)
			print_text(options, &out, path,
			           arena_strndup(arena, (const char *)bytes.data, bytes.size));
		else
			print_graph(options, &out, model_read_bytes(options, arena, path, bytes));
	}
	Report *report = report_new(options);
	report_body(report, "text", buf_text(&out));
	report_print(report);
	return 0;
}
