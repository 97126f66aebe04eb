/* proof_run: two bindings of the symbols for each of the model's runs (demands.h), all watched.
 *
 * Sizes: those of --shape, 1 for the other symbols, then odd ones, as near as the model allows.
 * Where it does not run at these (a network that halves an image five times), others are tried
 * until two have run.
 */
#include "driver/parts.h"
#include "driver/proof/proof.h"
#include "driver/sizes/sizes.h"

#include <stdio.h>
#include <string.h>

#include "bundle/fields.h"
#include "codegen/common/codegen.h"
#include "expr/scalar/ctx.h"
#include "graph/infer.h"
#include "runtime/handle.h"

/* ---- sizes ---- */

/* What candidate `index` makes of a symbol that --shape gave `value`, or nothing (0). */
static int64_t
size_of(int index, int64_t value)
{
	static const int64_t sizes[] = {1, 3, 2, 32, 7, 64, 128, 224};
	const int64_t from_value[] = {value, value + 1, 2 * value, 2 * value + 1};
	if (value <= 0)
		return index < (int)countof(sizes) ? sizes[index] : -1;
	return index < (int)countof(from_value) ? from_value[index] : value;
}

/* Candidate `index`; NULL: there are no more. What --shape gave is bound. */
static const Binding *
candidate(Arena *arena, const ProofRun *run, int index)
{
	const Binding *asked = run->asked;
	SizeTable table = size_table_new(arena, run->compiled);
	for (int i = 0; i < table.count; i++) {
		table.is_bound[i] = i < asked->count && asked->is_bound[i];
		table.value[i] = size_of(index, table.is_bound[i] ? asked->value[i] : 0);
		if (table.value[i] < 0)
			return NULL;
	}
	return size_table_binding(arena, &table);
}

static bool
has_symbols(const Graph *graph)
{
	for (int i = 0; i < graph->body->nparam; i++)
		if (!type_is_static(&graph->body->params[i]->type))
			return true;
	return false;
}

/* ---- runs ---- */

typedef struct Job {
	const Options *options;
	Arena *arena, *scratch; /* `scratch` of one run */
	const ProofRun *run;
	Prover *prover;
	const Binding *sizes;
	InputRanges ranges;
	size_t room; /* that a run may take; 0: what it needs */
} Job;

static void
run_once(void *arg)
{
	Job *job = arg;
	SelfTest *test = selftest_new(job->scratch, job->run->compiled, job->sizes, &job->ranges,
	                              job->options->seed);
	if (test->left_out)
		fail_unsupported(NULL, "%s", test->left_out);
	prover_watch(job->prover, job->run->session->session);
	if (job->room && selftest_bytes(test) > job->room / 4)
		fail_environment(NULL, "its inputs take more than %zu MB at these sizes", job->room >> 22);
	selftest_bind(test, job->scratch, job->run->session);
	session_run(job->run->session);
}

/* The first run takes what the model needs, others no more than a few times that, or than what a
 * compilation may take: sizes are tried that nobody would run. */
static size_t
room_of(const ProofRun *run, size_t taken)
{
	enum { ALWAYS = 96 << 20, TIMES = 4 };
	size_t room = ALWAYS + (size_t)run->weight_bytes;
	return TIMES * taken > room ? TIMES * taken : room;
}

/* One candidate; false when the bundle does not run at these sizes. */
static bool
try_sizes(Job *job, ProofResult *result, Failure *failure)
{
	Memory *memory = &job->run->session->session->exec.memory;
	size_t limit = memory->limit; /* of a model with loops */
	job->scratch = arena_new("proof");
	memory->limit = job->room && (!limit || job->room < limit) ? job->room : limit;
	bool is_done = try_run(run_once, job, failure);
	memory->limit = limit;
	prover_watch(NULL, job->run->session->session);
	arena_free(job->scratch);
	bool is_first = is_done && result->runs++ == 0;
	if (is_first)
		result->sizes = job->sizes;
	if (is_first || job->room == 0)
		job->room = room_of(job->run, is_done ? memory->now : 0);
	if (!is_done && (!result->left_out || session_saw_no_end(job->run->session)))
		result->left_out = arena_strdup(job->arena, failure->text);
	if (!is_done && failure->kind == FAIL_BUG)
		result->broken = arena_strdup(job->arena, failure->text);
	return is_done;
}

ProofResult
proof_run(const Options *options, Arena *arena, const ProofRun *run)
{
	enum { CANDIDATES = 8, SIMULATED_WHOLE = 100000000 /* operations, below */ };
	ProofResult result = {.device = run->device, .is_accepted = run->is_stand_in};
	Failure failure = {0};
	if (options->prove && strcmp(options->prove, "none") == 0)
		return (ProofResult){.device = run->device, .left_out = "--prove=none"};
	if (!run->session)
		return (ProofResult){.device = run->device, .left_out = arena_strdup(arena, run->trouble)};
	result.target = arena_strdup(arena, tw_target(run->session->bundle));
	result.is_simulated = artefact_of(device_find(result.target)) == &artefact_simulation;
	Job job = {.options = options, .arena = arena, .run = run};
	job.prover = prover_new(arena, run->compiled, (uint64_t)options->seed);
	if (result.is_simulated)
		prover_sample(job.prover, SIMULATED_WHOLE);
	int wanted = has_symbols(run->compiled) ? 2 : 1;
	int most = wanted == 1 ? 1 : CANDIDATES;
	const Learnt *learnt = run->learnt;
	int nrun = learnt->nrun ? learnt->nrun : 1;
	bool goes_on = true;
	for (int i = 0; i < most * nrun && goes_on; i++) {
		int round = i / nrun;
		if (round >= wanted && result.runs >= wanted)
			break;
		const Binding *sizes = candidate(arena, run, round);
		if (!sizes)
			break;
		job.sizes = sizes_in(arena, run->compiled, learnt->runs[i % nrun].region, &learnt->demands,
		                     sizes, sizes);
		job.ranges = (InputRanges){0};
		input_ranges_add(arena, &job.ranges, run->ranges);
		input_ranges_add(arena, &job.ranges, &learnt->runs[i % nrun].values);
		bool is_done = try_sizes(&job, &result, &failure);
		bool is_hopeless = !is_done && (result.broken || failure.kind == FAIL_UNSUPPORTED ||
		                                session_saw_no_end(run->session));
		goes_on = !is_hopeless && prover_proof(job.prover)->findings.count == 0;
	}
	result.proof = prover_proof(job.prover);
	if (result.runs >= wanted || result.broken)
		result.left_out = NULL;
	return result;
}

/* ---- bundles as they are ---- */

/* The text of the graph that the session's plan was made from. */
static const char *
graph_text(Arena *arena, const TwBundle *bundle)
{
	const char *plan = bundle->bundle.manifest->targets[bundle->target].plan;
	const char *name = file_base(plan);
	const char *entry = arena_printf(arena, GRAPH_FOLDER "%.*s.txt", (int)strcspn(name, "."), name);
	const ZipEntry *found = zip_find(&bundle->bundle.zip, entry);
	return found ? arena_strndup(arena, (const char *)found->data.data, found->data.size) : NULL;
}

static const PlanBuffer *
weight_of(const Plan *plan, const char *name)
{
	for (int i = 0; i < plan->nbuffer; i++) {
		const PlanBuffer *buffer = &plan->buffers[i];
		if (buffer->kind == PB_WEIGHT && buffer->is_value && strcmp(buffer->name, name) == 0)
			return buffer;
	}
	for (int s = 0; s < plan->nstep; s++)
		for (int k = 0; k < plan->steps[s].nbody; k++) {
			const PlanBuffer *found = weight_of(plan->steps[s].bodies[k], name);
			if (found)
				return found;
		}
	return NULL;
}

/* Weights where the plan has them. One that it stores rearranged is not known. */
static void
find_weights(Graph *graph, const TwBundle *bundle)
{
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		if (value->constant->data || array_count(value->constant) == 0)
			continue;
		const PlanBuffer *buffer = weight_of(bundle->plan, value->name);
		Array *array = arena_memdup(graph->arena, value->constant, sizeof *array);
		if (buffer)
			array->data = (void *)(uintptr_t)weights_at(bundle->model.weights, buffer->offset);
		bool is_there = buffer && weights_need(bundle->model.weights, array->data);
		value->constant = is_there ? array : NULL;
	}
}

const Proof *
proof_session(const Options *options, Arena *arena, Session *session, ProofObserver *observer,
              void *context)
{
	const char *text = graph_text(arena, session->bundle);
	if (!text)
		return NULL;
	Graph *graph = graph_parse_bare(arena, session->path, text);
	find_weights(graph, session->bundle);
	graph_infer(graph);
	Prover *prover = prover_new(arena, graph, (uint64_t)options->seed);
	prover_show(prover, observer, context);
	prover_watch(prover, session->session);
	session_run(session);
	prover_watch(NULL, session->session);
	return prover_proof(prover);
}

const ProofResult *
proofs_wrong(const Proofs *proofs)
{
	for (int i = 0; i < proofs->count; i++) {
		const ProofResult *result = &proofs->data[i];
		if (result->broken || (result->proof && result->proof->findings.count > 0))
			return result;
	}
	return NULL;
}

void
proof_warn(Arena *arena, const char *model, const ProofResult *result, bool is_new, int level)
{
	Loc loc = {.file = model};
	const char *next = is_new       ? "compiling again without the choices that made it so"
	                   : level != 0 ? "compiling again at -O0"
	                                : "nothing was written";
	if (result->broken)
		warn(&loc, "the compiled plan does not run: %s", result->broken);
	for (int i = 0; result->proof && i < result->proof->findings.count; i++)
		warn(&loc, "%s", finding_text(arena, &result->proof->findings.data[i]));
	warn(&loc,
	     "what was compiled is wrong, which is a bug in Tilewright: please report it with these "
	     "lines; %s",
	     next);
	if (is_new || level != 0)
		return;
	Failure failure = {.kind = FAIL_BUG, .way = "--prove none, which writes it as it is"};
	snprintf(
		failure.text, sizeof failure.text,
		"%s: also without any optimisation, what was compiled computes something else than the "
		"model",
		model);
	fail_again(&failure);
}

static bool
is_asked(const Options *options, const char *word)
{
	return options->prove && strcmp(options->prove, word) == 0;
}

void
proofs_require(const Options *options, Arena *arena, const char *model, const Proofs *proofs)
{
	for (int i = 0; i < proofs->count && is_asked(options, "require"); i++) {
		const ProofResult *result = &proofs->data[i];
		if (result->runs == 0 || proof_count(result->proof, PROOF_NOT) > 0)
			fail_unsupported(&(Loc){.file = model},
			                 "--prove=require: nothing was written, because not all is proved for "
			                 "%s: %s",
			                 result->device, proof_text(arena, result));
	}
}

void
proofs_warn_unproved(const Options *options, const char *model, const Proofs *proofs)
{
	static const char hint[] = "--shape may say sizes at which the model runs, ";
	for (int i = 0; i < proofs->count && !is_asked(options, "none"); i++) {
		const ProofResult *result = &proofs->data[i];
		bool is_one = proofs->count == 1;
		if (result->runs == 0)
			warn(&(Loc){.file = model},
			     "the bundle is not proved%s%s, since it could not be run here: %s; "
			     "%s--prove=require refuses to write such a bundle",
			     is_one ? "" : " for ", is_one ? "" : result->device, result->left_out,
			     result->target ? hint : "");
	}
}

/* ---- denials ---- */

static bool
deny(Arena *arena, Map *denied, const char *choice, const Value *value, const char *why)
{
	const char *key = arena_printf(arena, "deny %s %s", choice, value->name);
	if (map_find(denied, key))
		return false;
	map_set(denied, key, (void *)(uintptr_t)why);
	return true;
}

/* All nodes of a group stay alone. Its results have the names that the model gave them. */
static bool
deny_fusion(Arena *arena, Map *denied, const Node *group, const char *why)
{
	bool is_new = false;
	for (const Node *node = group->regions[0]->first; node; node = node->next)
		for (int i = 0; i < node->noutput; i++)
			is_new |= node->outputs[i] && deny(arena, denied, "fusion", node->outputs[i], why);
	for (int i = 0; i < group->noutput; i++)
		is_new |= group->outputs[i] && deny(arena, denied, "fusion", group->outputs[i], why);
	return is_new;
}

static bool
deny_layout(Arena *arena, Map *denied, const Node *node, const char *why)
{
	bool is_new = false;
	for (int i = 0; i < node->noutput; i++)
		is_new |= node->outputs[i] && deny(arena, denied, "layout", node->outputs[i], why);
	for (int i = 0; i < node->ninput; i++)
		is_new |= node->inputs[i] && deny(arena, denied, "layout", node->inputs[i], why);
	return is_new;
}

bool
proof_deny(Arena *arena, const ProofResult *result, Map *denied)
{
	bool is_new = false;
	for (int i = 0; result->proof && i < result->proof->findings.count; i++) {
		const ProofFinding *f = &result->proof->findings.data[i];
		const Node *node = f->value->def;
		const char *why = arena_strdup(arena, f->text);
		bool is_group = node && node->op->code == OP_fused;
		is_new |= (f->kind == PT_VENDOR && deny(arena, denied, "vendor", f->value, why)) ||
		          (f->is_view && deny(arena, denied, "view", f->value, why)) ||
		          (is_group && deny_fusion(arena, denied, node, why)) ||
		          (node && f->is_blocked && deny_layout(arena, denied, node, why)) ||
		          deny(arena, denied, "schedule", f->value, why);
	}
	return is_new;
}

/* ---- texts ---- */

const char *
proof_text(Arena *arena, const ProofResult *result)
{
	if (result->runs == 0)
		return arena_printf(arena, "not here (%s)",
		                    result->left_out ? result->left_out : result->broken);
	const char *text = proof_summary(arena, result->proof);
	if (result->is_simulated)
		text = arena_printf(arena, "in simulation, %s", text);
	if (!result->left_out)
		return text;
	return arena_printf(arena, "%s; at other sizes not: %s", text, result->left_out);
}

static void
put_result(Buf *json, const ProofResult *result)
{
	json_put(json, "'device': %s, 'target': %s, ", result->device, result->target);
	json_put(json, "'summary': %s, ", proof_text(json->arena, result));
	json_put(json, "'kernels': %s, 'accepted': %s, ", result->is_simulated ? "simulated" : "run",
	         result->is_accepted ? "yes" : "");
	json_put(json, "'runs': %d, 'left_out': %s, ", result->runs, result->left_out);
	proof_put(json, result->proof);
}

const char *
proofs_json(Arena *arena, const Proofs *proofs)
{
	Buf json = {.arena = arena};
	buf_putc(&json, '{');
	put_result(&json, &proofs->data[0]);
	for (int i = 1; i < proofs->count; i++) {
		buf_puts(&json, i > 1 ? ", {" : ", \"others\": [{");
		put_result(&json, &proofs->data[i]);
		buf_puts(&json, i + 1 < proofs->count ? "}" : "}]");
	}
	buf_puts(&json, "}\n");
	return buf_text(&json);
}

typedef struct ProofEntry {
	const char *device, *target, *summary;
} ProofEntry;

/* What stands of a bundle: of its first target, and of the others. */
typedef struct ProofEntries {
	ProofEntry first;
	int count;
	const ProofEntry *others;
} ProofEntries;

static const Field other_fields[] = {
	{FIELD_OR("device", ProofEntry, device, 0)},
	{FIELD_OR("target", ProofEntry, target, 0)},
	{FIELD_OR("summary", ProofEntry, summary, 0)},
};
static const Record other_record = {RECORD(ProofEntry, other_fields)};
static const Field entry_fields[] = {
	{FIELD_OR("device", ProofEntries, first.device, 0)},
	{FIELD_OR("target", ProofEntries, first.target, 0)},
	{FIELD_OR("summary", ProofEntries, first.summary, 0)},
	{FIELD_LIST_OR_NONE("others", ProofEntries, others, count), .most = 1 << 10,
     .of = &other_record},
};
static const Record entry_record = {RECORD(ProofEntries, entry_fields)};

static void
put_entry(Buf *buf, const ProofEntry *entry, bool is_one_of_many)
{
	if (is_one_of_many)
		buf_printf(buf, "%s%s: ", buf->size ? "; " : "", entry->device);
	buf_puts(buf, entry->summary);
	if (*entry->target && (!is_one_of_many || strcmp(entry->target, entry->device) != 0))
		buf_printf(buf, ", on %s", entry->target);
}

const char *
proof_read(Arena *arena, const char *path, Bytes text)
{
	Buf buf = {.arena = arena};
	ProofEntries entries = {.first = {"", "", ""}};
	bundle_part_read(arena, path, "the proof", text, &entry_record, &entries);
	put_entry(&buf, &entries.first, entries.count > 0);
	for (int i = 0; i < entries.count; i++)
		put_entry(&buf, &entries.others[i], true);
	return buf_text(&buf);
}
