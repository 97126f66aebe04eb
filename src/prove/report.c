/* What was proved, and what not, in sentences. */
#include "base/buf.h"
#include "prove/prove.h"

const char *
proof_summary(Arena *arena, const Proof *proof)
{
	Buf buf = {.arena = arena};
	buf_printf(&buf, "%lld values at %lld points", (long long)proof->values,
	           (long long)proof->points);
	if (proof->tried)
		buf_printf(&buf, ", %lld of them by fallback kernels too", (long long)proof->tried);
	if (proof->undecided)
		buf_printf(&buf, " (%lld undecided)", (long long)proof->undecided);
	for (int i = 0; i < proof->gaps.count; i++) {
		const ProofGap *gap = &proof->gaps.data[i];
		buf_printf(&buf, "%s%lld (%s: %%%s)", i ? ", " : "; not proved: ", (long long)gap->count,
		           gap->reason, gap->first);
	}
	return buf_text(&buf);
}

const char *
finding_text(Arena *arena, const ProofFinding *finding)
{
	static const char *const kinds[] = {
		[PT_KERNEL] = "kernel", [PT_VENDOR] = "vendor call", [PT_HOST] = "host operator",
		[PT_COPY] = "copy",     [PT_IF] = "branch",          [PT_LOOP] = "loop",
		[PT_SCAN] = "scan",
	};
	const Node *node = finding->value->def;
	Buf buf = {.arena = arena};
	buf_printf(&buf, "value %%%s", finding->value->name);
	if (node && node->loc.node)
		buf_printf(&buf, " of node \"%s\" (%s)", node->loc.node, node->op->name);
	if (!finding->is_view)
		buf_printf(&buf, ", made by %s %s", kinds[finding->kind], finding->step);
	buf_printf(&buf, ": %s", finding->text);
	return buf_text(&buf);
}
