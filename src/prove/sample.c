/* Blocks of a large kernel in the place of all (sample.h). */
#include "prove/sample.h"

#include <string.h>

enum { OF_AXIS = 8 };

/* ---- which steps ---- */

/* What the step writes through this argument, whole then; NULL: no value of a node, or a part. */
static const Claim *
claim_of(const PlanFacts *facts, int index, int buffer)
{
	for (int i = 0; i < facts->claims.count; i++) {
		const Claim *claim = &facts->claims.data[i];
		if (claim->made == buffer && claim->step == index && claim->node >= 0 &&
		    facts->done[buffer] == index + 1)
			return claim;
	}
	return NULL;
}

/* Whether another step of the same node made it. */
static bool
is_partial(const PlanFacts *facts, int buffer)
{
	const Plan *plan = facts->plan;
	int root = buffer < 0 ? -1 : plan_root(plan, buffer);
	if (root < 0 || facts->claim_of[buffer] >= 0 || facts->claim_of[root] >= 0 ||
	    facts->done[root] <= 0)
		return false;
	PlanStepKind kind = plan->steps[facts->done[root] - 1].kind;
	return kind == PT_KERNEL || kind == PT_VENDOR;
}

static bool
is_whole_node(const PlanFacts *facts, const PlanStep *step, int index)
{
	int node = -1;
	for (int k = 0; k < step->narg; k++) {
		if (k < step->narg - step->noutput) {
			if (is_partial(facts, step->args[k]))
				return false;
			continue;
		}
		const Claim *claim = step->args[k] < 0 ? NULL : claim_of(facts, index, step->args[k]);
		const PlanBuffer *buffer = claim ? &facts->plan->buffers[step->args[k]] : NULL;
		if (!claim || !dtype_is_float(buffer->type) || dtype_bits(buffer->type) < 16 ||
		    buffer->layout || facts->nodes.data[claim->node].ready > index ||
		    (node >= 0 && node != claim->node))
			return false;
		node = claim->node;
	}
	return true;
}

/* ---- which blocks ---- */

/* The first, the last, and some between; how many. */
static int
places_along(int64_t extent, uint64_t seed, int64_t *at)
{
	int count = extent < OF_AXIS ? (int)extent : OF_AXIS;
	for (int i = 0; i < count; i++) { /* one of each part, so that none comes twice */
		int64_t low = extent * i / count, span = extent * (i + 1) / count - low;
		int64_t any = low + (int64_t)(hash_mix(seed, (uint64_t)i) % (uint64_t)span);
		at[i] = i == 0 ? 0 : i == count - 1 ? extent - 1 : any;
	}
	return count;
}

void
sample_blocks(Arena *arena, Proof *proof, const PlanFacts *facts, const Frame *frame, int index,
              double least, uint64_t seed)
{
	const PlanStep *step = &frame->plan->steps[index];
	const StepState *state = &frame->steps[index];
	int64_t at[PLAN_AXES][OF_AXIS];
	int count[PLAN_AXES], all = 0;
	bool is_large = step->kind == PT_KERNEL && step->ngrid && state->flops >= least;
	if (!is_large || !is_whole_node(facts, step, index))
		return;
	for (int a = 0; a < PLAN_AXES; a++)
		count[a] = places_along(state->grid[a], hash_mix(seed, (uint64_t)(index + a)), at[a]);
	int64_t *blocks = NEW_N(arena, int64_t, count[0] * count[1] * count[2] + 1);
	for (int z = 0; z < count[2]; z++)
		for (int y = 0; y < count[1]; y++)
			for (int x = 0; x < count[0]; x++)
				blocks[all++] = (at[2][z] * state->grid[1] + at[1][y]) * state->grid[0] + at[0][x];
	frame->exec->sample = (BlockSample){all, blocks};
	vec_push(arena, &proof->samples,
	         ((ProofSample){step->name, all, state->grid[0] * state->grid[1] * state->grid[2]}));
}

/* ---- behind them ---- */

/* Elements that somebody wrote, as points; the others become like those. NULL: nobody wrote. */
static PointSet *
fill(Arena *arena, Arena *scratch, const Frame *frame, PlanPlace place, const Held *held,
     uint64_t seed)
{
	int64_t all = dims_count(held->rank, held->dims), count = 0;
	int64_t *written = NEW_N(scratch, int64_t, all + 1), size = element_bytes(held->type);
	for (int64_t i = 0; i < all; i++)
		if (!held_is_unwritten(held, i))
			written[count++] = i;
	for (int64_t i = 0, next = 0; i < all && count > 0; i++) {
		if (next < count && written[next] == i) {
			next++;
			continue;
		}
		int64_t like = written[hash_mix(seed, (uint64_t)i) % (uint64_t)count];
		memcpy(held->data + held_offset(held, i) * size,
		       held->data + held_offset(held, like) * size, (size_t)size);
	}
	held_write(frame, place, held);
	return count > 0 ? points_of(arena, seed, count, written) : NULL;
}

void
sample_fill(Arena *arena, Arena *scratch, const Graph *graph, const PlanFacts *facts,
            const Frame *frame, int index, uint64_t seed, Expected **expected)
{
	const PlanStep *step = &frame->plan->steps[index];
	int node = claim_of(facts, index, step->args[step->narg - 1])->node;
	const NodeFacts *made = &facts->nodes.data[node];
	PointSet **points = NEW_N(arena, PointSet *, made->node->noutput + 1);
	Held held;
	for (int k = step->narg - step->noutput; k < step->narg; k++) {
		const Claim *claim = claim_of(facts, index, step->args[k]);
		PlanPlace place = frame->plan->buffers[claim->made].place;
		if (held_of(scratch, frame, claim->made, &held))
			points[claim->value->result] = fill(arena, scratch, frame, place, &held, seed);
	}
	expected[node] = expect_node(arena, graph, facts, made, frame, seed, points);
}
