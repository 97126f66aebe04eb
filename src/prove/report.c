/* What was proved, and what not, in sentences. */
#include <string.h>

#include "bundle/json.h"
#include "prove/prove.h"

void
proof_note(Arena *arena, Proof *proof, const Value *value, ProofState state, const char *reason)
{
	uintptr_t known = (uintptr_t)map_find_ptr(&proof->index, value);
	if (!known) {
		vec_push(arena, &proof->values, (ProofValue){value, PROOF_NOT, NULL});
		known = (uintptr_t)proof->values.count;
		map_set_ptr(&proof->index, value, (void *)known);
	}
	ProofValue *seen = &proof->values.data[known - 1];
	if (state < seen->state)
		return;
	seen->state = state;
	seen->reason = reason ? arena_strdup(arena, reason) : NULL;
}

bool
value_is_always_empty(const Value *value)
{
	for (int d = 0; d < value->type.rank; d++)
		if (dim_is(value->type.dims[d], 0))
			return true;
	return false;
}

void
proof_note_all(Arena *arena, Proof *proof, const Graph *graph, const Plan *plan)
{
	for (int i = 0; i < plan->nbuffer; i++) {
		const PlanBuffer *buffer = &plan->buffers[i];
		const Value *value = buffer->is_value ? graph_find_value(graph, buffer->name) : NULL;
		if (value && value->def && buffer->kind != PB_CAPTURE && !value_is_always_empty(value) &&
		    !map_find_ptr(&proof->index, value))
			proof_note(arena, proof, value, PROOF_NOT, "no run came to it");
	}
	for (int s = 0; s < plan->nstep; s++)
		for (int k = 0; k < plan->steps[s].nbody; k++)
			proof_note_all(arena, proof, graph, plan->steps[s].bodies[k]);
}

int64_t
proof_count(const Proof *proof, ProofState state)
{
	int64_t count = 0;
	for (int i = 0; i < proof->values.count; i++)
		count += proof->values.data[i].state == state;
	return count;
}

/* "2 (it has no elements here: %x, %y)" for the reason of value `first`, if it is the first that
 * has it; of many the names of some. */
static void
put_reason(Buf *buf, const Proof *proof, int first, bool *has_any)
{
	enum { NAMES = 4 };
	const ProofValue *values = proof->values.data;
	int count = 0;
	for (int i = 0; i < proof->values.count; i++) {
		if (values[i].state != PROOF_NOT || strcmp(values[i].reason, values[first].reason) != 0)
			continue;
		if (i < first)
			return;
		count++;
	}
	buf_printf(buf, "%s%d (%s:", *has_any ? ", " : "; not proved: ", count, values[first].reason);
	*has_any = true;
	for (int i = first, named = 0; i < proof->values.count && named < NAMES; i++)
		if (values[i].state == PROOF_NOT && strcmp(values[i].reason, values[first].reason) == 0)
			buf_printf(buf, "%s%%%s", named++ ? ", " : " ", values[i].value->name);
	buf_puts(buf, count > NAMES ? ", …)" : ")");
}

/* Of all launches that are sampled: blocks that were run, or that there are. */
static double
sampled_blocks(const Proof *proof, bool is_all)
{
	double blocks = 0;
	for (int i = 0; i < proof->samples.count; i++) {
		const ProofSample *sample = &proof->samples.data[i];
		blocks += (double)(is_all ? sample->of : sample->blocks);
	}
	return blocks;
}

const char *
proof_summary(Arena *arena, const Proof *proof)
{
	Buf buf = {.arena = arena};
	int64_t undecided = proof_count(proof, PROOF_UNDECIDED), host = proof_count(proof, PROOF_HOST);
	bool has_any = false;
	int64_t done = proof_count(proof, PROOF_DONE);
	buf_printf(&buf, "%lld value%s at %lld points", (long long)done, done == 1 ? "" : "s",
	           (long long)proof->points);
	if (proof->tried)
		buf_printf(&buf, ", %lld results of fallback kernels too", (long long)proof->tried);
	if (host)
		buf_printf(&buf, "; %lld of host operators, which their functions gave again",
		           (long long)host);
	if (undecided)
		buf_printf(&buf, "; %lld undecided at all points", (long long)undecided);
	if (proof->undecided)
		buf_printf(&buf,
		           "; %lld point%s undecided: so close to a jump, of a comparison or a rounding, "
		           "that either result is right",
		           (long long)proof->undecided, proof->undecided == 1 ? " is" : "s are");
	if (proof->samples.count)
		buf_printf(&buf, "; of %d launch%s of large kernels some blocks (%.0f of %.0f)",
		           proof->samples.count, proof->samples.count == 1 ? "" : "es",
		           sampled_blocks(proof, false), sampled_blocks(proof, true));
	for (int i = 0; i < proof->values.count; i++)
		if (proof->values.data[i].state == PROOF_NOT)
			put_reason(&buf, proof, i, &has_any);
	return buf_text(&buf);
}

void
proof_put(Buf *json, const Proof *proof)
{
	static const Proof none;
	const Proof *p = proof ? proof : &none;
	json_put(json, "'values': %lld, 'proved': %lld, 'undecided': %lld, ",
	         (long long)p->values.count, (long long)proof_count(p, PROOF_DONE),
	         (long long)proof_count(p, PROOF_UNDECIDED));
	json_put(json, "'host': %lld, 'not': %lld, ", (long long)proof_count(p, PROOF_HOST),
	         (long long)proof_count(p, PROOF_NOT));
	json_put(json, "'points': %lld, 'undecided_points': %lld, 'sampled': [", (long long)p->points,
	         (long long)p->undecided);
	const char *between = "";
	for (int i = 0; i < p->samples.count; i++, between = ", ") {
		const ProofSample *sample = &p->samples.data[i];
		buf_puts(json, between);
		json_put(json, "{'step': %s, 'blocks': %lld, 'of': %lld}", sample->step,
		         (long long)sample->blocks, (long long)sample->of);
	}
	json_put(json, "], 'not_proved': [");
	between = "";
	for (int i = 0; i < p->values.count; i++) {
		const ProofValue *value = &p->values.data[i];
		if (value->state != PROOF_NOT)
			continue;
		buf_puts(json, between);
		json_put(json, "{'value': %s, 'reason': %s}", value->value->name, value->reason);
		between = ", ";
	}
	buf_puts(json, "]");
}

const char *
proof_kind_text(PlanStepKind kind)
{
	static const char *const kinds[] = {
		[PT_KERNEL] = "kernel", [PT_VENDOR] = "vendor call", [PT_HOST] = "host operator",
		[PT_COPY] = "copy",     [PT_IF] = "branch",          [PT_LOOP] = "loop",
		[PT_SCAN] = "scan",
	};
	return kinds[kind];
}

const char *
finding_text(Arena *arena, const ProofFinding *finding)
{
	const Node *node = finding->value->def;
	Buf buf = {.arena = arena};
	buf_printf(&buf, "value %%%s", finding->value->name);
	if (node && node->loc.node)
		buf_printf(&buf, " of node \"%s\" (%s)", node->loc.node, node->op->name);
	if (!finding->is_view)
		buf_printf(&buf, ", made by %s %s", proof_kind_text(finding->kind), finding->step);
	if (finding->loses)
		buf_printf(&buf, ", which loses %s: %s; --values all makes no such call", finding->loses,
		           finding->text);
	else
		buf_printf(&buf, ": %s", finding->text);
	return buf_text(&buf);
}
