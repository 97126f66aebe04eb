/* print --tiles: the tiles that Roller ranks first for each group of a model, or each kernel of an
 * expression, on any row of devices.def. Kernels are not made by them yet (docs/tiles.md).
 */
#include <string.h>

#include "cli/verbs/tiles.h"
#include "lower/node.h"
#include "program/forms.h"
#include "program/group.h"
#include "roller/roller.h"

enum { SHOWN = 10 };

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
}

void
print_program_tiles(Buf *out, const Program *program, const Target *target, const char *name)
{
	ProgramVec parts = {0};
	program = program_squeeze_dims(out->arena, program_inline_stages(out->arena, program), NULL);
	program = program_collapse_dims(out->arena, program, NULL);
	program_cut(out->arena, program, target, &parts);
	for (int p = 0; p < parts.count; p++)
		print_part(out, parts.data[p], target, name);
}

void
print_graph_tiles(Buf *out, const Graph *graph, const Target *target)
{
	for (const Node *node = graph->body->first; node; node = node->next) {
		Value **values = NEW_N(out->arena, Value *, node->ninput + 1);
		const Program *program = NULL;
		if (node_has_meaning(node))
			program = node_program(out->arena, graph, node, values);
		if (program && program->nstage > 0)
			print_program_tiles(out, program, target, node->loc.node ? node->loc.node : "");
	}
}
