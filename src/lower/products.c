/* lower_products: a group of which a vendor library computes only the sum.
 *
 * What stands behind may be more than the library absorbs, or keep it from an algorithm: then it is
 * a kernel of its own. From level 2, as all of the library's sums.
 */
#include <math.h>
#include <string.h>

#include "lower/program.h"
#include "lower/vendor.h"
#include "program/group.h"
#include "target/maker.h"
#include "target/vendor.h"

/* ---- the two parts ---- */

/* For what the library computes; it lies as the group's result does. */
static MBuffer *
result_buffer(Lowering *low, const Tensor *tensor, const MBuffer *output)
{
	MBuffer *result = lower_temp(low, tensor->name, tensor->type, tensor->rank, tensor->hi);
	result->layout = output->layout;
	return result;
}

/* The buffers of a part's inputs. */
static MBuffer **
part_buffers(Lowering *low, const Map *buffers, const Program *part)
{
	MBuffer **found = NEW_N(low->arena, MBuffer *, part->ninput + 1);
	for (int i = 0; i < part->ninput; i++)
		found[i] = map_find_ptr(buffers, part->inputs[i]);
	return found;
}

/* The program's first stage, as `product` has it, by a vendor call, and the others by kernels. */
static bool
lower_both(Lowering *low, const Node *node, const Program *program, const Program *product,
           MBuffer **operands, Map *buffers, MBuffer *const *outputs)
{
	const Program *rest = program_part(low->arena, program, 1, program->nstage);
	MBuffer *result = result_buffer(low, product->outputs[0], outputs[0]);
	if (!lower_vendor(low, node, product, operands, &result))
		return false;
	map_set_ptr(buffers, program->stages[0]->results[0], result);
	lower_program(low, node, rest, part_buffers(low, buffers, rest), outputs);
	return true;
}

/* ---- measured ---- */

/* What is chosen for the sum alone; NULL: there is no such call. */
static const PassChoice *
choice_alone(Lowering *low, const Node *node, const Program *program, Map *buffers,
             const MBuffer *output)
{
	const Program *sum = program_part(low->arena, program, 0, 1);
	int before = low->module->buffers.count;
	MBuffer *result = result_buffer(low, sum->outputs[0], output);
	const PassChoice *alone =
		lower_vendor_choice(low, node, sum, part_buffers(low, buffers, sum), &result);
	low->module->buffers.count = before;
	return alone;
}

/* Whether the sum alone is so much faster that a kernel behind it pays. Noted as a choice; where
 * one is recorded, all that was asked then is noted again. */
static bool
is_faster_apart(Lowering *low, const Node *node, const Program *program, const PassChoice *whole,
                Map *buffers, MBuffer *const *outputs)
{
	PassContext *context = low->context;
	const Target *target = context->target;
	PassChoice choice = {.key = arena_printf(context->arena, "apart %s", whole->key),
	                     .candidates = ""};
	choice.chosen = map_find(&context->recorded, choice.key);
	if (!choice.chosen && (!whole->has_refused || whole->seconds <= 0))
		return false;
	const PassChoice *alone = choice_alone(low, node, program, buffers, outputs[0]);
	if (!choice.chosen) {
		double apart = alone && alone->seconds > 0
		                   ? alone->seconds + maker_of(target)->seconds(target, program, 1)
		                   : INFINITY;
		choice.chosen = apart < whole->seconds ? "apart" : "whole";
		choice.candidates = arena_printf(context->arena, "whole %.1f us, apart %.1f us",
		                                 whole->seconds * 1e6, apart * 1e6);
		map_set(&context->recorded, choice.key, (void *)(uintptr_t)choice.chosen);
	}
	lower_note_choice(context, choice);
	return strcmp(choice.chosen, "apart") == 0;
}

bool
lower_faster_apart(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                   MBuffer *const *outputs)
{
	bool is_sum = program->nstage > 1 && program->stages[0]->nreduce > 0;
	if (low->context->level < 3 || !is_sum || program->noutput != 1 || !outputs[0] ||
	    !vendor_calls(low->context->target))
		return false;
	const PassChoice *whole = lower_vendor_choice(low, node, program, inputs, outputs);
	Map buffers = {.arena = low->arena};
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(&buffers, program->inputs[i], inputs[i]);
	if (!whole || !is_faster_apart(low, node, program, whole, &buffers, outputs))
		return false;
	const Program *sum = program_part(low->arena, program, 0, 1);
	MBuffer **operands = part_buffers(low, &buffers, sum);
	return lower_both(low, node, program, sum, operands, &buffers, outputs);
}

bool
lower_products(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
               MBuffer *const *outputs)
{
	if (low->context->level < 2 || program->nstage < 2 || program->stages[0]->nreduce == 0 ||
	    program->noutput != 1 || !outputs[0] || !vendor_calls(low->context->target) ||
	    !maker_of(low->context->target)->call_pays(low->context->target, program))
		return false;
	int before = low->module->buffers.count;
	Map buffers = {.arena = low->arena};
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(&buffers, program->inputs[i], inputs[i]);
	const Program *sum = program_part(low->arena, program, 0, 1);
	MBuffer **operands = part_buffers(low, &buffers, sum);
	if (lower_both(low, node, program, sum, operands, &buffers, outputs))
		return true;
	low->module->buffers.count = before;
	return false;
}
