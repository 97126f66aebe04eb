/* The prover at work: what it does at each boundary of a run.
 *
 *     look round what lies around the last step's results is as it was
 *     evaluate   nodes whose inputs have just become whole
 *     settle     values that have just become whole: compare, search for unwritten elements, hash
 *     try        what a fallback kernel made of them, before the library makes it: compare, search
 *     verify     what the next step reads is still what was settled
 *     poison     what the next step is the first to write
 *
 * A nested plan is entered often; entries 0, 1, 2, 4, 8 … are watched.
 */
#include <string.h>

#include "prove/expect.h"
#include "prove/finding.h"
#include "prove/margin.h"
#include "prove/sample.h"
#include "runtime/handle.h"

typedef struct FrameState {
	const Frame *frame;
	PlanFacts *facts;
	int64_t entry;
	bool is_on;
	Expected **expected; /* per node of the facts */
	Hash128 *hash;       /* per buffer */
	bool *is_hashed, *is_poisoned;
	Margins margins; /* of the step that runs */
} FrameState;

struct Prover {
	Arena *arena;
	Arena *run;     /* of one run: frames, and what is expected */
	Arena *scratch; /* of one boundary */
	const Graph *graph;
	uint64_t seed;
	double least_sampled; /* operations of a kernel of which some blocks are run; 0: none is */
	Map frames;           /* Frame -> FrameState */
	Map facts;            /* Plan -> PlanFacts */
	Proof proof;
	ProofObserver *observer; /* NULL: nobody looks on */
	void *observer_context;
};

/* ---- findings and gaps ---- */

/* `loses`: as of a finding. */
static void
add_finding(Prover *p, const PlanFacts *facts, const Claim *claim, const char *text,
            const char *loses)
{
	ProofFinding finding = finding_of(facts, claim, arena_strdup(p->arena, text));
	finding.loses = loses;
	if (!loses && p->proof.findings.count < PROOF_FINDINGS)
		vec_push(p->arena, &p->proof.findings, finding);
	if (loses && p->proof.losses.count < PROOF_FINDINGS)
		vec_push(p->arena, &p->proof.losses, finding);
}

static void
add_gap(Prover *p, const char *reason, const Value *value)
{
	proof_note(p->arena, &p->proof, value, PROOF_NOT, reason);
}

/* ---- frames ---- */

/* The region a nested plan was lowered from. */
static const Region *
region_of(const PlanFacts *outer, const Plan *plan)
{
	for (int s = 0; s < outer->plan->nstep; s++)
		for (int k = 0; k < outer->plan->steps[s].nbody; k++) {
			if (outer->plan->steps[s].bodies[k] != plan)
				continue;
			for (int n = 0; n < outer->nodes.count; n++) {
				const Node *node = outer->nodes.data[n].node;
				if (facts_step_of(outer, node) != &outer->plan->steps[s])
					continue;
				return node_body(node, k);
			}
		}
	return NULL;
}

static PlanFacts *
facts_of(Prover *p, const Frame *frame)
{
	PlanFacts *facts = map_find_ptr(&p->facts, frame->plan);
	if (facts)
		return facts;
	const Region *region = p->graph->body;
	if (frame->outer)
		region = region_of(facts_of(p, frame->outer), frame->plan);
	if (!region)
		return NULL;
	facts = plan_facts(p->arena, p->graph, region, frame->plan);
	map_set_ptr(&p->facts, frame->plan, facts);
	return facts;
}

static FrameState *
state_of(Prover *p, const Frame *frame)
{
	FrameState *state = map_find_ptr(&p->frames, frame);
	if (state)
		return state;
	state = NEW(p->run, FrameState);
	state->frame = frame;
	state->entry = -1;
	state->facts = facts_of(p, frame);
	if (state->facts) {
		state->expected = NEW_N(p->run, Expected *, state->facts->nodes.count + 1);
		state->hash = NEW_N(p->run, Hash128, frame->plan->nbuffer + 1);
		state->is_hashed = NEW_N(p->run, bool, frame->plan->nbuffer + 1);
		state->is_poisoned = NEW_N(p->run, bool, frame->plan->nbuffer + 1);
	}
	map_set_ptr(&p->frames, frame, state);
	return state;
}

static void
enter_frame(FrameState *state)
{
	size_t count = (size_t)state->frame->plan->nbuffer;
	state->entry++;
	state->is_on = state->facts && (state->entry & (state->entry - 1)) == 0;
	if (!state->is_on)
		return;
	state->margins.list.count = 0;
	for (PlanPlace place = 0; place < PLAN_PLACES; place++) /* nothing lies in them yet */
		if (state->frame->arena[place].data)
			place_poison(state->frame, place, state->frame->arena[place].data,
			             state->frame->arena[place].capacity);
	memset(state->expected, 0, (size_t)state->facts->nodes.count * sizeof(Expected *));
	memset(state->is_hashed, 0, count);
	memset(state->is_poisoned, 0, count);
}

/* ---- look round ---- */

/* The claim that a step's buffer works for: its own, or that of a later step. */
static const Claim *
claim_behind(const PlanFacts *facts, int buffer, int step)
{
	const Claim *found = NULL;
	if (facts->claim_of[buffer] >= 0)
		return &facts->claims.data[facts->claim_of[buffer]];
	for (int i = 0; i < facts->claims.count; i++) {
		const Claim *claim = &facts->claims.data[i];
		if (claim->step >= step && (!found || claim->step < found->step))
			found = claim;
	}
	return found;
}

static void
look_round(Prover *p, FrameState *state, int boundary)
{
	int buffer = margins_broken(p->scratch, &state->margins, state->frame);
	if (buffer < 0)
		return;
	const char *step = state->frame->plan->steps[boundary - 1].name;
	const Claim *claim = claim_behind(state->facts, buffer, boundary - 1);
	if (claim)
		add_finding(p, state->facts, claim,
		            arena_printf(p->scratch, "step %s wrote outside of its result", step), NULL);
}

/* ---- evaluate ---- */

static void
evaluate(Prover *p, FrameState *state, int boundary)
{
	for (int n = 0; n < state->facts->nodes.count; n++) {
		const NodeFacts *node = &state->facts->nodes.data[n];
		if (node->ready == boundary)
			state->expected[n] = expect_node(p->run, p->graph, state->facts, node, state->frame,
			                                 p->seed + (uint64_t)n, NULL);
	}
}

/* ---- settle ---- */

/* What a value should be that no node of this plan makes. */
static const PointSet *
expected_given(Prover *p, FrameState *state, const Claim *claim)
{
	const Claim *first =
		&state->facts->claims
			 .data[(uintptr_t)map_find_ptr(&state->facts->values, claim->value) - 1];
	Held held;
	if (value_fixed(claim->value))
		return expect_array(p->scratch, value_fixed(claim->value), p->seed);
	if (first == claim || !held_of(p->scratch, state->frame, first->buffer, &held))
		return NULL;
	Array whole = {held.type, held.rank, held.dims, NULL};
	whole.data = (void *)(uintptr_t)held_dense(p->scratch, &held);
	return expect_array(p->scratch, &whole, p->seed);
}

/* Why nothing is expected of what a node makes; NULL: something is. */
static const char *
gap_of(const FrameState *state, const Claim *claim)
{
	const Expected *expected = state->expected[claim->node];
	const char *reason = state->facts->nodes.data[claim->node].reason;
	int result = claim->value->result;
	if (!reason && expected)
		reason = expected->reason;
	if (reason)
		return reason;
	if (!expected)
		return "its inputs are not whole before it is read";
	bool is_made = expected->outputs[result] || (expected->whole && expected->whole[result]);
	return is_made ? NULL : "nothing says what it should be";
}

static const PointSet *
expected_of(Prover *p, FrameState *state, const Claim *claim)
{
	if (claim->node < 0)
		return expected_given(p, state, claim);
	const Expected *expected = state->expected[claim->node];
	const char *reason = gap_of(state, claim);
	if (!reason)
		return expected->outputs[claim->value->result];
	add_gap(p, reason, claim->value);
	return NULL;
}

/* What is wrong with a value as it lies there; NULL: nothing. `expected` may be NULL. */
static const char *
judge(Prover *p, const Claim *claim, const PointSet *expected, const Held *held, Agreement *seen)
{
	const char *text = expected ? expect_judge(p->scratch, expected, held, seen) : NULL;
	int64_t unwritten = claim->done > 0 ? held_unwritten(held) : 0;
	int64_t padding = claim->done > 0 ? held_padding(held) : 0;
	if (unwritten > 0 || padding > 0)
		seen->wrong = 0; /* of what was compared; this is another fault */
	if (unwritten > 0)
		return arena_printf(p->scratch, "%lld of %lld elements were never written",
		                    (long long)unwritten, (long long)dims_count(held->rank, held->dims));
	if (!text && padding > 0)
		return arena_printf(p->scratch, "%lld elements of its padding are not 0",
		                    (long long)padding);
	return text;
}

/* All of what a host operator made, NULL where another made it. */
static const Array *
whole_of(const FrameState *state, const Claim *claim)
{
	const Expected *expected = claim->node < 0 ? NULL : state->expected[claim->node];
	return expected && expected->whole ? expected->whole[claim->value->result] : NULL;
}

/* What comparing it has shown. */
static void
note_agreement(Prover *p, const Claim *claim, const Agreement *seen, bool is_host)
{
	p->proof.points += seen->points;
	p->proof.undecided += seen->undecided;
	ProofState state = is_host                           ? PROOF_HOST
	                   : seen->points == 0               ? PROOF_NOT
	                   : seen->undecided == seen->points ? PROOF_UNDECIDED
	                                                     : PROOF_DONE;
	const char *reason = state == PROOF_NOT ? "it has no elements here" : NULL;
	if (state != PROOF_NOT || !value_is_always_empty(claim->value))
		proof_note(p->arena, &p->proof, claim->value, state, reason);
}

/* The frame of the branch that an If has taken; NULL: the step is none, or it was not seen. */
static FrameState *
taken_branch(Prover *p, const FrameState *state, const PlanStep *step)
{
	Held condition;
	if (!step || step->kind != PT_IF ||
	    !held_of(p->scratch, state->frame, step->args[0], &condition))
		return NULL;
	const Plan *taken = step->bodies[*condition.data ? 0 : 1];
	for (int i = 0; i < p->frames.count; i++) {
		FrameState *inner = p->frames.entries[i].value;
		if (inner->frame->outer == state->frame && inner->frame->plan == taken && inner->facts)
			return inner;
	}
	return NULL;
}

/* What a branch gives is what its body made last, bit by bit, and that was proved as far as it was.
 * False where it is not known what that is. */
static bool
settle_branch(Prover *p, FrameState *state, const Claim *claim, const Held *held)
{
	const Node *node = claim->node < 0 ? NULL : state->facts->nodes.data[claim->node].node;
	const PlanStep *step = node ? facts_step_of(state->facts, node) : NULL;
	FrameState *inner = taken_branch(p, state, step);
	Held made;
	for (int k = 0; inner && k < step->noutput; k++) {
		int from = inner->frame->plan->outputs[k], claimed = inner->facts->claim_of[from];
		if (step->args[step->narg - step->noutput + k] != claim->buffer || claimed < 0 ||
		    !held_of(p->scratch, inner->frame, from, &made))
			continue;
		const Value *value = inner->facts->claims.data[claimed].value;
		uintptr_t known = (uintptr_t)map_find_ptr(&p->proof.index, value);
		if (!held_equal(p->scratch, held, &made))
			add_finding(p, state->facts, claim, "is not what the branch that was taken made", NULL);
		else if (known)
			proof_note(p->arena, &p->proof, claim->value, p->proof.values.data[known - 1].state,
			           p->proof.values.data[known - 1].reason);
		return known;
	}
	return false;
}

static void
show(Prover *p, const FrameState *state, const Claim *claim, const Held *held, const char *wrong,
     const Agreement *agreement)
{
	if (!p->observer || state->frame->outer || !claim->value->def)
		return;
	const PlanStep *step = claim->step >= 0 ? &state->facts->plan->steps[claim->step] : NULL;
	ProofSeen seen = {
		.value = claim->value,
		.step = step ? step->name : "",
		.kind = step ? proof_kind_text(step->kind) : "view",
		.array = {held->type, held->rank, held->dims, NULL},
		.wrong = wrong,
		.points = agreement->points,
		.worst = agreement->worst,
	};
	seen.array.data = (void *)(uintptr_t)held_dense(p->scratch, held);
	p->observer(p->observer_context, &seen);
}

static void
settle_claim(Prover *p, FrameState *state, const Claim *claim)
{
	Held held;
	bool is_text = claim->value->type.dtype == DT_STRING;
	if (!held_of(p->scratch, state->frame, claim->buffer, &held) || (is_text && !held.is_dense)) {
		add_gap(p, is_text ? "texts that are a part of others" : "it has no memory", claim->value);
		return;
	}
	const Expected *of_node = claim->node < 0 ? NULL : state->expected[claim->node];
	bool is_long = of_node && of_node->is_long; /* to be interpreted */
	if (!is_text && is_long && settle_branch(p, state, claim, &held)) {
		state->hash[claim->buffer] = held_hash(&held);
		state->is_hashed[claim->buffer] = true;
		show(p, state, claim, &held, NULL, &(Agreement){.points = 0});
		return;
	}
	const PointSet *expected = expected_of(p, state, claim);
	const Array *whole = whole_of(state, claim);
	const char *text = whole ? expect_whole(p->scratch, whole, &held) : NULL;
	Agreement seen = {.points = is_text && whole ? array_count(whole) : 0};
	if (!text && !is_text)
		text = judge(p, claim, expected, &held, &seen);
	const char *loses =
		text ? finding_loss(p->scratch, state->facts, state->frame, claim, &seen) : NULL;
	if (loses)
		add_gap(p, arena_printf(p->scratch, "its call loses %s", loses), claim->value);
	if (text)
		add_finding(p, state->facts, claim, text, loses);
	else if (expected || whole)
		note_agreement(p, claim, &seen, whole != NULL);
	if (is_text)
		return;
	show(p, state, claim, &held, text, &seen);
	if (seen.points > 0 && seen.undecided == seen.points) /* by the sum of all its bounds */
		settle_branch(p, state, claim, &held);
	state->hash[claim->buffer] = held_hash(&held);
	state->is_hashed[claim->buffer] = true;
}

static void
settle(Prover *p, FrameState *state, int boundary)
{
	for (int i = 0; i < state->facts->claims.count; i++)
		if (state->facts->claims.data[i].done == boundary)
			settle_claim(p, state, &state->facts->claims.data[i]);
}

/* ---- try ---- */

static void
try_claim(Prover *p, FrameState *state, const Claim *claim)
{
	const Expected *expected = claim->node < 0 ? NULL : state->expected[claim->node];
	Held held;
	Agreement seen = {0};
	if (!expected || expected->reason || !held_of(p->scratch, state->frame, claim->made, &held))
		return;
	const char *text = judge(p, claim, expected->outputs[claim->value->result], &held, &seen);
	p->proof.tried += seen.points > 0;
	if (text)
		add_finding(p, state->facts, claim,
		            arena_printf(p->scratch, "by the fallback kernel, %s", text), NULL);
}

/* Then the memory is what nobody wrote, for the library. */
static void
try_fallback(Prover *p, FrameState *state, int index)
{
	const PlanStep *step = &state->frame->plan->steps[index];
	Held held;
	for (int i = 0; i < state->facts->claims.count; i++) {
		const Claim *claim = &state->facts->claims.data[i];
		if (claim->step == index && state->facts->done[claim->made] == index + 1)
			try_claim(p, state, claim);
	}
	for (int k = step->narg - step->noutput; k < step->narg; k++)
		if (step->args[k] >= 0 && held_of(p->scratch, state->frame, step->args[k], &held))
			held_spoil(state->frame, state->frame->plan->buffers[step->args[k]].place, &held);
}

/* ---- verify ---- */

/* The settled value that a step reads through this buffer. */
static void
verify_buffer(Prover *p, FrameState *state, int buffer, int step)
{
	const PlanBuffer *buffers = state->frame->plan->buffers;
	while (buffer >= 0 && !state->is_hashed[buffer])
		buffer = buffers[buffer].kind == PB_VIEW ? buffers[buffer].of : -1;
	Held held;
	if (buffer < 0 || !held_of(p->scratch, state->frame, buffer, &held))
		return;
	Hash128 now = held_hash(&held);
	if (hash128_equal(now, state->hash[buffer]))
		return;
	state->hash[buffer] = now;
	const Claim *claim = &state->facts->claims.data[state->facts->claim_of[buffer]];
	const Plan *plan = state->frame->plan;
	const char *reader = step < plan->nstep ? plan->steps[step].name : "";
	add_finding(p, state->facts, claim,
	            arena_printf(p->scratch, "was changed before %s%s read it",
	                         step < plan->nstep ? "step " : "the caller", reader),
	            NULL);
}

static void
verify(Prover *p, FrameState *state, int index)
{
	const PlanStep *step = &state->frame->plan->steps[index];
	for (int k = 0; k < step->narg - step->noutput; k++)
		if (step->args[k] >= 0)
			verify_buffer(p, state, step->args[k], index);
	for (int b = 0; b < step->nbody; b++)
		for (int i = 0; i < step->bodies[b]->nbuffer; i++)
			if (step->bodies[b]->buffers[i].kind == PB_CAPTURE)
				verify_buffer(p, state, step->bodies[b]->buffers[i].index, index);
}

/* ---- poison ---- */

/* The storage of what the step is the first to write. */
static TwCode
poison(FrameState *state, Frame *frame, int index)
{
	const PlanStep *step = &frame->plan->steps[index];
	for (int k = step->narg - step->noutput; k < step->narg; k++) {
		int root = step->args[k] < 0 ? -1 : plan_root(frame->plan, step->args[k]);
		if (root < 0 || state->is_poisoned[root])
			continue;
		const PlanBuffer *buffer = &frame->plan->buffers[root];
		Slot *slot = &frame->slots[root];
		if (!slot->has_dims || buffer->type == DT_STRING)
			continue;
		margins_reserve(frame, root);
		TwCode code = slot_prepare(frame, root);
		if (code)
			return code;
		size_t bytes = frame->size[root] > 0 ? (size_t)frame->size[root] : slot->bytes;
		if (slot->data && bytes)
			place_poison(frame, buffer->place, slot->data, bytes);
		state->is_poisoned[root] = true;
	}
	return TW_OK;
}

/* ---- the boundary ---- */

typedef struct Boundary {
	Prover *prover;
	Frame *frame;
	int index;
	bool has_tried;
	TwCode code;
} Boundary;

static void
look(void *arg)
{
	Boundary *b = arg;
	Prover *p = b->prover;
	FrameState *state = state_of(p, b->frame);
	if (b->index == 0 && !b->has_tried)
		enter_frame(state);
	if (!state->is_on)
		return;
	look_round(p, state, b->index + b->has_tried);
	if (b->has_tried) {
		if (b->frame->plan->steps[b->index].kind == PT_KERNEL)
			sample_fill(p->run, p->scratch, p->graph, state->facts, b->frame, b->index, p->seed,
			            state->expected);
		else
			try_fallback(p, state, b->index);
		margins_note(p->run, &state->margins, b->frame, b->index);
		return;
	}
	evaluate(p, state, b->index);
	settle(p, state, b->index);
	if (b->index == b->frame->plan->nstep) {
		for (int i = 0; i < b->frame->plan->noutput; i++)
			verify_buffer(p, state, b->frame->plan->outputs[i], b->index);
		return;
	}
	verify(p, state, b->index);
	b->code = poison(state, b->frame, b->index);
	if (p->least_sampled > 0)
		sample_blocks(p->arena, &p->proof, state->facts, b->frame, b->index, p->least_sampled,
		              p->seed);
	margins_note(p->run, &state->margins, b->frame, b->index);
}

static TwCode
watch(void *context, Frame *frame, int index, bool has_tried)
{
	Boundary boundary = {.prover = context, .frame = frame, .index = index, .has_tried = has_tried};
	Failure failure;
	Arena *scratch = boundary.prover->scratch;
	bool is_done = try_run(look, &boundary, &failure);
	arena_reset(scratch);
	if (!is_done)
		return exec_fail(frame->exec, TW_INTERNAL, "%s", failure.text);
	return boundary.code;
}

/* ---- entry points ---- */

static void
free_scratch(void *arena)
{
	arena_free(arena);
}

Prover *
prover_new(Arena *arena, const Graph *graph, uint64_t seed)
{
	Prover *p = NEW(arena, Prover);
	*p = (Prover){.arena = arena,
	              .graph = graph,
	              .seed = seed,
	              .facts = {.arena = arena},
	              .proof.index = {.arena = arena}};
	p->scratch = arena_new("prove");
	p->run = arena_new("proved run");
	arena_defer(arena, free_scratch, p->scratch);
	arena_defer(arena, free_scratch, p->run);
	return p;
}

void
prover_sample(Prover *prover, double operations)
{
	prover->least_sampled = operations;
}

void
prover_watch(Prover *prover, TwSession *session)
{
	if (prover) {
		arena_reset(prover->run);
		prover->frames = (Map){.arena = prover->run};
		proof_note_all(prover->arena, &prover->proof, prover->graph, session->exec.main->plan);
	}
	session->exec.watch = prover ? watch : NULL;
	session->exec.watch_context = prover;
}

void
prover_show(Prover *prover, ProofObserver *observer, void *context)
{
	prover->observer = observer;
	prover->observer_context = context;
}

const Proof *
prover_proof(const Prover *prover)
{
	return &prover->proof;
}
