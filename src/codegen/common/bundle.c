/* Writing a bundle: all parts are made, hashed, and written behind the manifest that names them
 * (the form is bundle/bundle.h's). Weights stay where they are: each is a piece of the part.
 */
#include "codegen/common/bundle.h"

#include <string.h>

#include "bundle/bundle.h"

typedef struct Part {
	const char *entry;
	Blob data;
} Part;

typedef struct Writer {
	Arena *arena;
	const BundleInput *input;
	WeightPool weights;
	Plan **plans;        /* per target */
	KernelList *kernels; /* per target */
	VEC(Part) parts;
	VEC(Part) sources; /* of kernels: behind the weights */
	ManifestTarget *targets;
	int64_t code_bytes;
} Writer;

static void
add_text(Writer *writer, const char *entry, const char *text)
{
	Part part = {entry, blob_of(writer->arena, text, strlen(text))};
	vec_push(writer->arena, &writer->parts, part);
}

const char *
device_file_name(Arena *arena, const char *device)
{
	char *name = arena_strdup(arena, device);
	for (char *c = name; *c; c++)
		if (*c == ':' || *c == '/')
			*c = '-';
	return name;
}

static bool
has_word(const StrVec *words, const char *word)
{
	for (int i = 0; i < words->count; i++)
		if (strcmp(words->data[i], word) == 0)
			return true;
	return false;
}

/* The libraries that a module calls. */
static void
list_libraries(Arena *arena, const Module *module, StrVec *list)
{
	MStepVec steps = module_steps(arena, module);
	for (int i = 0; i < steps.count; i++) {
		const PlanStep *step = &steps.data[i]->plan;
		if (step->kind == PT_VENDOR && !has_word(list, step->library))
			vec_push(arena, list, step->library);
	}
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void
share_names(Plan *plan, int count, const char *const *names)
{
	plan->nkernel = count;
	plan->kernels = names;
	for (int i = 0; i < plan->nstep; i++)
		for (int k = 0; k < plan->steps[i].nbody; k++)
			share_names(plan->steps[i].bodies[k], count, names);
}

void
plan_name_kernels(Arena *arena, Plan *plan, const KernelList *list)
{
	const char **names = NEW_N(arena, const char *, list->kernels.count + 1);
	for (int i = 0; i < list->kernels.count; i++)
		names[i] = list->kernels.data[i]->function ? list->kernels.data[i]->function
		                                           : list->kernels.data[i]->name;
	share_names(plan, list->kernels.count, names);
}

static void
make_target(Writer *writer, int t)
{
	Arena *arena = writer->arena;
	const BundleInput *input = writer->input;
	const Target *target = input->targets[t].target;
	const char *name = device_file_name(arena, target->device->name);
	StrVec libraries = {0};
	list_libraries(arena, input->targets[t].module, &libraries);
	Buf vendors = {.arena = arena};
	for (int i = 0; i < libraries.count; i++)
		buf_printf(&vendors, "%s%s", i ? " " : "", libraries.data[i]);
	KernelList *list = &writer->kernels[t];
	const Artefact *artefact = artefact_of(target->device);
	Plan *plan = plan_of_module(arena, input->targets[t].module, &writer->weights, list);
	const char *source = artefact->emit(arena, target, list->kernels.count, list->kernels.data);
	plan_name_kernels(arena, plan, list);
	writer->plans[t] = plan;
	Buf json = {.arena = arena};
	plan_write(&json, plan);
	ManifestTarget *entry = &writer->targets[t];
	*entry = (ManifestTarget){.device = target->device->name,
	                          .needs = artefact->needs(arena, target->device),
	                          .plan = arena_printf(arena, "plan/%s.json", name),
	                          .kernels = "",
	                          .vendor = buf_text(&vendors)};
	add_text(writer, entry->plan, buf_text(&json));
	if (list->kernels.count == 0)
		return;
	CodegenWatch watch = {input->progress, input->progress_arg};
	Bytes code = artefact->compile(arena, target, source, &watch);
	entry->kernels = arena_printf(arena, "kernels/%s%s", name, artefact->suffix);
	writer->code_bytes += (int64_t)code.size;
	vec_push(arena, &writer->parts, (Part){entry->kernels, blob_of(arena, code.data, code.size)});
	if (artefact->later) {
		Bytes later = artefact->later(arena, target, source);
		vec_push(arena, &writer->parts,
		         (Part){arena_printf(arena, "kernels/%s%s", name, artefact->later_suffix),
		                blob_of(arena, later.data, later.size)});
	}
	if (artefact->modelled) {
		const char *text =
			artefact->modelled(arena, target, list->kernels.count, list->kernels.data, code);
		vec_push(arena, &writer->sources,
		         (Part){arena_printf(arena, MODELLED_FOLDER "%s.json", name),
		                blob_of(arena, text, strlen(text))});
	}
	vec_push(arena, &writer->sources,
	         (Part){arena_printf(arena, "kernels/%s%s", name, artefact->source_suffix),
	                blob_of(arena, source, strlen(source))});
}

static void
make_weights(Writer *writer)
{
	const WeightPool *pool = &writer->weights;
	if (pool->size == 0)
		return;
	BlobPiece *pieces = NEW_N(writer->arena, BlobPiece, pool->pieces.count);
	for (int i = 0; i < pool->pieces.count; i++)
		pieces[i] = (BlobPiece){(uint64_t)pool->pieces.data[i].offset,
		                        {pool->pieces.data[i].data->data, pool->pieces.data[i].bytes}};
	Blob blob = {(uint64_t)pool->size, pool->pieces.count, pieces};
	vec_push(writer->arena, &writer->parts, (Part){"weights.bin", blob});
}

/* Entries in the order that bundle/bundle.h fixes: plans, code, weights, the rest. */
static void
make_parts(Writer *writer)
{
	const BundleInput *input = writer->input;
	Arena *arena = writer->arena;
	for (int t = 0; t < input->ntarget; t++)
		make_target(writer, t);
	make_weights(writer);
	for (int i = 0; i < writer->sources.count; i++)
		vec_push(arena, &writer->parts, writer->sources.data[i]);
	if (input->choices)
		add_text(writer, "choices.jsonl", input->choices);
	for (int t = 0; t < input->ntarget; t++)
		add_text(writer,
		         arena_printf(arena, GRAPH_FOLDER "%s.txt",
		                      device_file_name(arena, input->targets[t].target->device->name)),
		         input->targets[t].graph);
	for (int i = 0; i < input->npart; i++)
		vec_push(arena, &writer->parts,
		         (Part){input->parts[i].entry,
		                blob_of(arena, input->parts[i].data.data, input->parts[i].data.size)});
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static ManifestTensor
signature_tensor(Arena *arena, const Plan *plan, int number)
{
	const PlanBuffer *buffer = &plan->buffers[number];
	const char **dims = NEW_N(arena, const char *, buffer->rank + 1);
	for (int d = 0; d < buffer->rank; d++) {
		Buf text = {.arena = arena};
		bundle_dim_text(&text, plan, buffer->dims[d]);
		dims[d] = buf_text(&text);
	}
	return (ManifestTensor){buffer->name, buffer->type, buffer->rank, dims};
}

static void
fill_signature(Arena *arena, const Plan *plan, Manifest *manifest)
{
	ManifestSymbol *symbols = NEW_N(arena, ManifestSymbol, plan->nsymbol + 1);
	ManifestTensor *inputs = NEW_N(arena, ManifestTensor, plan->ninput + 1);
	ManifestTensor *outputs = NEW_N(arena, ManifestTensor, plan->noutput + 1);
	for (int i = 0; i < plan->nsymbol; i++)
		symbols[i] =
			(ManifestSymbol){plan->symbols[i].name, plan->symbols[i].lo, plan->symbols[i].hi};
	for (int i = 0; i < plan->ninput; i++)
		inputs[i] = signature_tensor(arena, plan, plan->inputs[i]);
	for (int i = 0; i < plan->noutput; i++)
		outputs[i] = signature_tensor(arena, plan, plan->outputs[i]);
	manifest->symbols = symbols;
	manifest->inputs = inputs;
	manifest->outputs = outputs;
	manifest->nsymbol = plan->nsymbol;
	manifest->ninput = plan->ninput;
	manifest->noutput = plan->noutput;
}

static const char *
manifest_text(const Writer *writer)
{
	Arena *arena = writer->arena;
	const BundleInput *input = writer->input;
	Manifest manifest = {.major = BUNDLE_MAJOR,
	                     .minor = BUNDLE_MINOR,
	                     .producer = input->producer,
	                     .model_name = input->model_name,
	                     .model_sha256 = input->model_sha256,
	                     .pipeline = input->pipeline,
	                     .ntarget = input->ntarget,
	                     .targets = writer->targets,
	                     .weights = writer->weights.size ? "weights.bin" : "",
	                     .npart = writer->parts.count};
	fill_signature(arena, writer->plans[0], &manifest);
	ManifestPart *parts = NEW_N(arena, ManifestPart, manifest.npart + 1);
	for (int i = 0; i < manifest.npart; i++) {
		const Part *part = &writer->parts.data[i];
		parts[i] = (ManifestPart){part->entry, part->data.size, blob_hash(&part->data)};
	}
	manifest.parts = parts;
	Buf json = {.arena = arena};
	manifest_write(&json, &manifest);
	return buf_text(&json);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What calls lose, each way once. */
static void
note_losses(Arena *arena, const PlanStep *step, BundleReport *report)
{
	const StepAttr *loses = plan_attr(step, "loses");
	report->lossy += loses != NULL;
	for (const char *at = loses ? loses->string : ""; *at;) {
		size_t length = strcspn(at, ",");
		const char *way = arena_strndup(arena, at, length);
		if (!report->loses)
			report->loses = way;
		else if (!strstr(report->loses, way))
			report->loses = arena_printf(arena, "%s, %s", report->loses, way);
		at += length + strspn(at + length, ", ");
	}
}

static void
count_steps(Arena *arena, const Plan *plan, BundleReport *report)
{
	for (int i = 0; i < plan->nstep; i++) {
		PlanStepKind kind = plan->steps[i].kind;
		note_losses(arena, &plan->steps[i], report);
		report->kernels += kind == PT_KERNEL;
		report->vendor += kind == PT_VENDOR;
		report->host += kind == PT_HOST;
		report->copies += kind == PT_COPY;
		for (int k = 0; k < plan->steps[i].nbody; k++)
			count_steps(arena, plan->steps[i].bodies[k], report);
	}
}

/* What we wrote must be what the runtime accepts. */
static void
check_plans(const Writer *writer)
{
	char error[512];
	for (int t = 0; t < writer->input->ntarget; t++)
		if (!plan_verify(writer->plans[t], (size_t)writer->weights.size, error, sizeof error))
			fail_as(FAIL_BUG, NULL, "%s", error);
}

void
bundle_rehearse(Arena *arena, const Target *target, const Module *module)
{
	char error[512];
	WeightPool weights = {.arena = arena};
	KernelList list = {0};
	Buf json = {.arena = arena};
	Plan *plan = plan_of_module(arena, module, &weights, &list);
	artefact_of(target->device)->emit(arena, target, list.kernels.count, list.kernels.data);
	plan_name_kernels(arena, plan, &list);
	plan_write(&json, plan);
	Plan *read = NULL;
	bool is_sound = plan_read(buf_text(&json), json.size, &read, error, sizeof error) &&
	                plan_verify(read, (size_t)weights.size, error, sizeof error);
	plan_free(read);
	if (!is_sound)
		fail_as(FAIL_BUG, NULL, "%s", error);
}

BundleReport
bundle_write(Arena *arena, const char *path, const BundleInput *input)
{
	Writer writer = {.arena = arena, .input = input, .weights = {.arena = arena}};
	writer.plans = NEW_N(arena, Plan *, input->ntarget);
	writer.kernels = NEW_N(arena, KernelList, input->ntarget);
	writer.targets = NEW_N(arena, ManifestTarget, input->ntarget);
	make_parts(&writer);
	check_plans(&writer);
	const char *manifest = manifest_text(&writer);
	ZipWriter *zip = zip_create(arena, path);
	zip_add(zip, "manifest.json", manifest, strlen(manifest));
	BundleReport report = {.weight_bytes = writer.weights.size, .code_bytes = writer.code_bytes};
	for (int i = 0; i < writer.parts.count; i++) {
		const Part *part = &writer.parts.data[i];
		zip_add_blob(zip, part->entry, &part->data);
	}
	zip_commit(zip);
	count_steps(arena, writer.plans[0], &report);
	return report;
}
