/* tilewright report: a bundle and its model as one page (cli/page). Reads files only: no code is
 * loaded unless --runs asks for times. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "bundle/json.h"
#include "cli/measure/profile.h"
#include "cli/page/page.h"
#include "cli/page/sheets.h"
#include "cli/verbs/explained.h"
#include "cli/verbs/inspect.h"
#include "driver/files.h"
#include "driver/parts.h"
#include "driver/proof/proof.h"
#include "driver/proof/selftest.h"
#include "driver/proof/session.h"
#include "driver/sizes/sizes.h"
#include "graph/infer.h"
#include "runtime/pool.h"

typedef struct Reported {
	const Options *options;
	Arena *arena;
	const char *path;
	const Bundle *bundle;
	const ManifestTarget *target; /* the one that runs here, or the first */
	const Plan *plan;
	const Profile *profile; /* NULL: nothing was run */
	double seconds;         /* of a run, the mean; NAN */
	const char *source;     /* of its kernels, as it was compiled; "": it has none */
	Loops loops;            /* of one bundle alone */
} Reported;

static const char *
part_text(const Reported *r, const char *name)
{
	const ZipEntry *entry = zip_find(&r->bundle->zip, name);
	return entry ? arena_strndup(r->arena, (const char *)entry->data.data, entry->data.size) : "";
}

/* A part for the target, which is named as its plan is: "graph/cpu-x86-64-v3.txt". */
static const char *
target_part(const Reported *r, const char *folder, const char *suffix)
{
	const char *name = file_base(r->target->plan);
	int length = (int)(strlen(name) - strlen(".json"));
	return part_text(r, arena_printf(r->arena, "%s%.*s%s", folder, length, name, suffix));
}

/* ---- the head ---- */

static void
write_fact(Buf *json, const char *label, const char *value)
{
	if (*value)
		json_put(json, json->data[json->size - 1] == '[' ? "[%s,%s]" : ",[%s,%s]", label, value);
}

static const char *
targets_text(const Reported *r)
{
	Buf text = {.arena = r->arena};
	for (int i = 0; i < r->bundle->manifest->ntarget; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", r->bundle->manifest->targets[i].device);
	return buf_text(&text);
}

static void
write_facts(const Reported *r, Buf *json)
{
	const Manifest *manifest = r->bundle->manifest;
	const ZipEntry *proof = zip_find(&r->bundle->zip, PROOF_ENTRY);
	const ZipEntry *test = zip_find(&r->bundle->zip, SELFTEST_ENTRY);
	const ZipEntry *sizes = zip_find(&r->bundle->zip, SIZES_ENTRY);
	const BundleSizes bytes = bundle_sizes(manifest, r->bundle->file.size);
	json_put(json, "'name':%s,\n'facts':[", file_base(r->path));
	write_fact(json, "compiled",
	           arena_printf(r->arena, "%s for %s, %s", manifest->pipeline, targets_text(r),
	                        *r->target->vendor ? r->target->vendor : "no library"));
	write_fact(json, "size", bundle_sizes_text(r->arena, &bytes));
	if (sizes)
		write_fact(json, "chosen for", sizes_read(r->arena, r->path, sizes->data).chosen);
	write_fact(json, "proved", proof ? proof_read(r->arena, r->path, proof->data) : "not proved");
	write_fact(json, "self-test",
	           test ? selftest_summary(r->arena, selftest_read(r->arena, r->path, test->data))
	                : "none");
	write_fact(json, "schedules and loops", r->loops.said);
	if (r->profile)
		write_fact(json, "a run here", arena_printf(r->arena, "%.3g ms", r->seconds * 1e3));
	buf_puts(json, "],\n");
}

/* What the machine can do, for shares and the roofline. */
static void
write_machine(const Reported *r, Buf *json)
{
	const Device *device = device_find(r->target->device);
	if (!device)
		return;
	int threads = r->options->threads > 0 ? (int)r->options->threads : pool_cores();
	int cores = device->gpu ? 1 : threads;
	static const char *const units[] = {"f32", "f64", "tf32", "f16", "bf16", "s8"};
	json_put(json, "'machine':{'bandwidth':%g,'threads':%d,'peaks':{", device->bandwidth * cores,
	         cores);
	for (size_t i = 0; i < countof(units); i++)
		json_put(json, i ? ",%s:%g" : "%s:%g", units[i], device_peak(device, units[i]) * cores);
	buf_puts(json, "}},\n");
}

/* ---- graphs and plan ---- */

/* The graph that the target's kernels were made from. */
static const Graph *
result_of(const Reported *r)
{
	const char *text = target_part(r, GRAPH_FOLDER, ".txt");
	if (!*text)
		fail_unsupported(NULL, "%s holds no graph: compile the model again", r->path);
	return graph_parse_bare(r->arena, r->path, text);
}

/* The model and what it became, or (`about`: NULL) what it became in two bundles. Sheets of both
 * are cut alike, so that one can follow the other. */
static void
write_graphs(Buf *json, const Graph *before, const Graph *after, const NetAbout *about)
{
	bool is_large = graph_node_count(before) > SHEET_ALL || graph_node_count(after) > SHEET_ALL;
	int most = is_large ? SHEET_MOST : SHEET_ALL;
	json_put(json, "'before':");
	net_write(json, before, most, about);
	json_put(json, ",\n'after':");
	net_write(json, after, most, NULL);
	json_put(json, ",\n'meanings':[");
	for (int i = 0; about && i < about->texts->count; i++)
		json_put(json, i ? ",\n%s" : "\n%s", about->texts->entries[i].name);
	buf_puts(json, "]");
}

/* The values of the plan's symbols at the sizes that it was compiled for; those that come out of
 * data are not known. */
static const int64_t *
symbol_values(const Reported *r)
{
	const Plan *plan = r->plan;
	int64_t *values = NEW_N(r->arena, int64_t, plan->nsymbol + 1);
	const char *sizes = part_text(r, SIZES_ENTRY);
	for (int i = 0; i < plan->nsymbol; i++)
		values[i] = PLAN_UNBOUND;
	for (int i = 0; i < plan->nsymbol; i++) {
		const PlanSymbol *symbol = &plan->symbols[i];
		int64_t size = sizes_find(sizes, strlen(sizes), symbol->name, -1);
		if (size >= 0)
			values[i] = size;
		else if (symbol->source == PS_DIM && !plan_dim_eval(plan, symbol->dim, values, &size))
			values[i] = PLAN_UNBOUND;
		else if (symbol->source == PS_DIM)
			values[i] = size;
	}
	return values;
}

static void
write_plan(const Reported *r, Buf *json)
{
	buf_puts(json, r->loops.json);
	json_put(json, "'steps':");
	steps_write(json, r->plan, r->profile);
	json_put(json, ",\n'memory':");
	memory_write(json, r->plan, symbol_values(r));
	json_put(json, ",\n'sources':");
	sources_write(json, r->plan, r->source);
	json_put(json, ",\n'choices':%s,\n'history':%s,\n'proof':%s}", part_text(r, "choices.jsonl"),
	         part_text(r, HISTORY_ENTRY), part_text(r, PROOF_ENTRY));
}

/* The one that a run takes; the first where none runs here. */
static int
target_here(const Bundle *bundle)
{
	char error[256];
	int target = bundle_find_target(bundle, NULL, error, sizeof error);
	return target < 0 ? 0 : target;
}

static Reported
reported_read(const Options *options, const char *path, bool is_alone)
{
	static const char *const suffixes[] = {".c", ".cu", ".cpp"};
	Arena *arena = options->arena;
	Reported r = {.options = options, .arena = arena, .path = path, .seconds = NAN, .source = ""};
	r.bundle = bundle_get(arena, path, file_map(arena, path), BUNDLE_VERIFY_CODE);
	if (r.bundle->manifest->ntarget == 0)
		fail_unsupported(NULL, "%s is for no target", path);
	int target = target_here(r.bundle);
	r.target = &r.bundle->manifest->targets[target];
	r.plan = bundle_plan(arena, r.bundle, target);
	for (size_t i = 0; i < countof(suffixes) && !*r.source; i++)
		r.source = target_part(&r, "kernels/", suffixes[i]);
	r.loops = (Loops){"\"loops\":{},\n\"passes\":[],\n", ""};
	if (is_alone)
		r.loops = loops_again(options, r.target, r.source);
	if (options->gives_runs)
		r.profile = profile_bundle(options, arena, path, &r.seconds);
	return r;
}

static void
write_subject(const Reported *r, Buf *json)
{
	buf_puts(json, "{");
	write_facts(r, json);
	write_machine(r, json);
	write_plan(r, json);
}

/* ---- the verb ---- */

/* The second bundle; NULL: the second argument, if there is one, is the model. */
static const char *
second_bundle(const Options *options)
{
	const char *path = options->args.count > 1 ? options->args.data[1] : NULL;
	bool is_bundle = path && file_kind(path, file_map(options->arena, path)) == FILE_BUNDLE;
	return is_bundle ? path : NULL;
}

/* model.html in the current folder, unless -o says another. */
static const char *
page_name(const Options *options)
{
	const char *bundle = bundle_name(options->arena, options->args.data[0]);
	return options->output ? options->output
	                       : arena_printf(options->arena, "%.*s.html",
	                                      (int)(strlen(bundle) - strlen(".twb")), bundle);
}

static void
write_one(const Reported *r, Buf *json, const char *output)
{
	const char *path = explained_model(r->options, r->arena, r->bundle, r->path);
	if (file_same(path, output))
		fail_as(FAIL_USAGE, NULL, "%s would be written over the model; give another name", output);
	Graph *model = model_read(r->options, r->arena, path);
	graph_infer(model);
	const ZipEntry *part = zip_find(&r->bundle->zip, HISTORY_ENTRY);
	const History history = part ? history_read(r->arena, r->path, part->data) : (History){0};
	Map texts = {.arena = r->arena};
	const NetAbout about = {&texts, r->plan, &history};
	write_subject(r, json);
	json_put(json, "],\n'titles':['Before','After'],\n");
	write_graphs(json, model, result_of(r), &about);
}

static void
write_two(const Reported *r, const Reported *other, Buf *json)
{
	if (strcmp(r->bundle->manifest->model_sha256, other->bundle->manifest->model_sha256) != 0)
		fail_as(FAIL_USAGE, NULL, "%s and %s were compiled from different models: %s and %s",
		        r->path, other->path, r->bundle->manifest->model_name,
		        other->bundle->manifest->model_name);
	write_subject(r, json);
	buf_puts(json, ",\n");
	write_subject(other, json);
	json_put(json, "],\n'titles':[%s,%s],\n", file_base(r->path), file_base(other->path));
	write_graphs(json, result_of(r), result_of(other), NULL);
}

int
verb_report(const Options *options)
{
	Arena *arena = options->arena;
	const char *output = page_name(options), *second = second_bundle(options);
	refuse_over_input(options, output);
	if (options->shape.count && !options->gives_runs)
		fail_as(FAIL_USAGE, NULL, "--shape says the sizes of runs: it goes with --runs");
	const Reported r = reported_read(options, options->args.data[0], !second);
	const Manifest *manifest = r.bundle->manifest;
	Buf json = {.arena = arena}, html = {.arena = arena};
	json_put(
		&json, "{'model':%s,'origin':%s,\n'subjects':[", manifest->model_name,
		arena_printf(arena, "SHA-256 %.12s… · %s", manifest->model_sha256, manifest->producer));
	if (second) {
		const Reported other = reported_read(options, second, false);
		write_two(&r, &other, &json);
	} else {
		write_one(&r, &json, output);
	}
	buf_puts(&json, "}");
	page_write(&html, buf_text(&json));
	file_write(arena, output, html.data, html.size);
	Report *report = report_new(options);
	report_text(report, "output", "wrote", output);
	report_number(report, "bytes", "bytes", (double)html.size, "%.0f");
	report_print(report);
	return 0;
}
