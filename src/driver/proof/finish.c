/* Finishing a bundle: a session is prepared as for a run, which packs all weights, and the file is
 * written again with what was found (bundle/bundle.h, packed/NAME.bin; driver/proof/selftest.h).
 *
 * Of weights that only the library reads, the plain form goes (driver/proof/once.h): what finds no
 * packed form, another version of the library for example, puts them back in order.
 *
 * The self-test's sample comes from the interpreter where that is cheap: it shares no kernel, no
 * pass and no library with what is tested. For larger models it comes from running the bundle.
 */
#include "driver/proof/finish.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "driver/parts.h"
#include "driver/proof/once.h"
#include "driver/proof/proof.h"
#include "driver/sizes/sizes.h"
#include "eval/eval.h"
#include "graph/infer.h"
#include "runtime/handle.h"

/* Operations and bytes that the interpreter may see: it does 1e9 to 2e9 of them in a second
 * (SqueezeNet's 0.7e9 take 0.35 s), and a compilation should not wait for it. */
static const double INTERPRETED = 2e8;

/* Below a megabyte of weights, packing when the bundle is opened takes under a millisecond. */
enum { WORTH_PACKING = 1 << 20 };

typedef struct Job {
	const Options *options;
	Arena *arena;
	const Finish *finish;
	const Made *made; /* of the first target that runs here, or the first of all */
	const Plan *plan; /* of that */
	SelfTest *test;
	Session *session; /* of that; NULL: not open */
	Blob store;       /* packed weights, which lie in the session */
	const Bundle *bundle;
	Once once;
	Arena *scratch; /* of the interpreter */
} Job;

/* ---- packed weights ---- */

/* What it packs is as large as the model, and looked at once more; what it computes may be more. */
static Session *
open_one(const Job *job, Arena *arena, const Made *made)
{
	void *folder = (void *)(uintptr_t)file_folder(job->arena, job->finish->place);
	TwSessionOptions settings = {.size = sizeof settings,
	                             .allocate = spill_alloc,
	                             .release = spill_release,
	                             .memory_context = folder};
	const StandIn *stand_in = &made->stand_in;
	Options options = *job->options;
	if (stand_in->trouble)
		fail_environment(NULL, "%s", stand_in->trouble);
	options.target = (StrVec){0};
	vec_push(job->arena, &options.target, stand_in->path ? stand_in->target : made->device->name);
	Session *session = session_open(arena, stand_in->path ? stand_in->path : job->finish->path,
	                                job->finish->name, &options, &settings);
	session_expect_end(session);
	const Memory spilled = {.allocate = spill_alloc, .release = spill_release, .context = folder};
	vendors_use_memory(&session->bundle->model.vendors, &spilled);
	return session;
}

static Session *
session_of(Job *job)
{
	if (!job->session)
		job->session = open_one(job, job->arena, job->made);
	return job->session;
}

/* Run under try_run(): a bundle for another machine cannot be prepared here, and need not be. */
static void
make_store(void *arg)
{
	Job *job = arg;
	Session *session = session_of(job);
	session_inputs(session, job->options);
	size_t count;
	PackedForm *forms = vendors_packed(&session->bundle->model.vendors, &count);
	if (!forms)
		return;
	arena_defer(job->arena, free, forms);
	job->once = weights_once(job->arena, job->bundle, count, forms);
	void *store = packed_write(count, forms, &job->store);
	if (store)
		arena_defer(job->arena, free, store);
}

/* Gives the number of changes. */
static int
add_packed(Job *job, BundleChange *changes)
{
	const char *device = tw_target(job->session->bundle);
	const char *entry =
		arena_printf(job->arena, "packed/%s.bin", device_file_name(job->arena, device));
	const Once *once = &job->once;
	changes[0] = (BundleChange){.entry = entry,
	                            .data = &job->store,
	                            .packed_for = arena_strdup(job->arena, device),
	                            .only_packed = once->only_packed};
	if (once->only_packed == 0)
		return 1;
	changes[1] = (BundleChange){.entry = job->bundle->manifest->weights, .data = &once->weights};
	changes[2] = (BundleChange){.entry = once->plan_entry, .data = &once->plan};
	return 3;
}

/* ---- the self-test ---- */

/* At the typical sizes; what loops do is not known before. */
static bool
is_cheap(const Plan *plan)
{
	double work = 0;
	for (int i = 0; i < plan->nstep; i++) {
		if (plan->steps[i].nbody)
			return false;
		work += plan->steps[i].flops + plan->steps[i].bytes;
	}
	return work <= INTERPRETED;
}

static void
interpret(void *arg)
{
	Job *job = arg;
	Graph *model = job->finish->model;
	SelfTest *test = job->test;
	Bytes text = bundle_part(job->scratch, job->finish->path, INPUTS_ENTRY);
	InputRanges ranges = input_ranges_parse(job->scratch, (const char *)text.data, text.size);
	const Array **outputs = NEW_N(job->scratch, const Array *, model->body->nresult + 1);
	graph_infer(model); /* a text may say no types */
	const Array **inputs = selftest_inputs(test, job->scratch, &ranges);
	for (int i = 0; i < model->body->nparam; i++)
		if (value_default(model->body->params[i]))
			inputs[i] = value_default(model->body->params[i]);
	eval_graph(job->scratch, model, inputs, outputs);
	Array *arrays = NEW_N(job->scratch, Array, job->plan->noutput + 1);
	for (int i = 0; i < job->plan->noutput; i++)
		arrays[i] = *outputs[i];
	selftest_sample(test, job->arena, job->plan, arrays);
	test->oracle = "the interpreter";
}

static void
run_bundle(void *arg)
{
	Job *job = arg;
	SelfTest *test = job->test;
	Session *session = session_of(job);
	selftest_bind(test, session->arena, session);
	session_run(session);
	Array *arrays = NEW_N(job->arena, Array, session->noutput + 1);
	for (int i = 0; i < session->noutput; i++)
		arrays[i] = session_output(session, i);
	selftest_sample(test, job->arena, job->plan, arrays);
	test->oracle = arena_printf(job->arena, "the bundle itself when it was made, on %s",
	                            tw_target(session->bundle));
}

static void
make_sample(Job *job)
{
	Failure failure;
	SelfTest *test = job->test;
	selftest_judge(test, job->arena, job->plan);
	if (test->left_out)
		return;
	job->scratch = arena_new("self-test");
	bool is_done = is_cheap(job->plan) && try_run(interpret, job, &failure);
	arena_free(job->scratch);
	if (!is_done && !try_run(run_bundle, job, &failure))
		test->left_out = arena_printf(
			job->arena, "the bundle did not run on made-up inputs where it was made: %s",
			failure.text);
}

/* ---- all ---- */

static void
open_session(void *arg)
{
	session_of(arg);
}

/* The first that runs here itself, not by what stands in for it. */
static const Made *
first_here(const Finish *finish)
{
	for (int i = 0; i < finish->count; i++)
		if (device_runs_here(finish->made[i].device))
			return &finish->made[i];
	return finish->made;
}

static ProofResult
prove_one(Job *job, const Made *made, Session *session, const char *trouble)
{
	const ProofRun run = {made->device->name,
	                      session,
	                      trouble,
	                      made->stand_in.path != NULL,
	                      made->compiled,
	                      made->asked,
	                      &made->learnt,
	                      &made->ranges,
	                      job->finish->written->weight_bytes};
	return proof_run(job->options, job->arena, &run);
}

/* A target besides job->made, in a session that is closed again. */
typedef struct Other {
	const Job *job;
	const Made *made;
	Arena *arena;
	Session *session;
} Other;

static void
open_other(void *arg)
{
	Other *other = arg;
	other->session = open_one(other->job, other->arena, other->made);
}

static ProofResult
prove_other(Job *job, const Made *made)
{
	Failure failure = {0};
	Other other = {job, made, arena_new("target"), NULL};
	try_run(open_other, &other, &failure);
	ProofResult result = prove_one(job, made, other.session, failure.text);
	arena_free(other.arena);
	return result;
}

/* Until one is found wrong. `trouble`: why the session of job->made did not open. */
static Proofs
prove_all(Job *job, const char *trouble)
{
	const Finish *finish = job->finish;
	Proofs proofs = {0, NEW_N(job->arena, ProofResult, finish->count)};
	for (int i = 0; i < finish->count && !proofs_wrong(&proofs); i++) {
		const Made *made = &finish->made[i];
		proofs.data[i] = made == job->made ? prove_one(job, made, job->session, trouble)
		                                   : prove_other(job, made);
		proofs.count++;
	}
	return proofs;
}

/* The sizes at which a sample is taken: those of the proof, or the least. */
static const Binding *
sizes_of_sample(const Job *job, const Proofs *proofs)
{
	const Made *made = job->made;
	const Binding *proved = proofs->data[made - job->finish->made].sizes;
	return proved ? proved : sizes_least(job->arena, made->compiled, &made->learnt, made->asked);
}

Finished
finish_bundle(const Options *options, Arena *arena, const Finish *finish)
{
	Bytes file = file_map(arena, finish->path);
	const Bundle *bundle = bundle_get(arena, finish->path, file, BUNDLE_VERIFY_CODE);
	const Made *made = first_here(finish);
	Job job = {
		.options = options,
		.arena = arena,
		.finish = finish,
		.bundle = bundle,
		.made = made,
		.plan = bundle_plan(arena, bundle, (int)(made - finish->made)),
	};
	Failure failure = {0};
	BundleChange changes[5];
	int count = 0;
	bool is_packed = finish->written->vendor && finish->written->weight_bytes >= WORTH_PACKING &&
	                 !options->no_prepack;
	bool is_open = try_run(open_session, &job, &failure);
	const char *trouble = is_open ? NULL : arena_strdup(arena, failure.text);
	if (is_packed && is_open && try_run(make_store, &job, &failure) && job.store.size)
		count = add_packed(&job, changes);
	Finished finished = {.proofs = prove_all(&job, trouble),
	                     .packed_bytes = count ? job.store.size : 0,
	                     .only_packed_bytes = job.once.only_packed};
	if (proofs_wrong(&finished.proofs))
		return finished;
	const char *text = proofs_json(arena, &finished.proofs);
	Blob proof = blob_of(arena, text, strlen(text));
	changes[count++] = (BundleChange){.entry = PROOF_ENTRY, .data = &proof};
	job.test = selftest_new(arena, made->compiled, sizes_of_sample(&job, &finished.proofs),
	                        &made->ranges, options->seed);
	make_sample(&job);
	text = selftest_text(arena, job.test);
	Blob sample = blob_of(arena, text, strlen(text));
	changes[count++] = (BundleChange){.entry = SELFTEST_ENTRY, .data = &sample};
	finished.bytes = bundle_amend(arena, finish->path, finish->path, count, changes);
	finished.self_test = selftest_summary(arena, job.test);
	return finished;
}
