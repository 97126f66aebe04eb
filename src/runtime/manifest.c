/* manifest.json: written and read here only; bundle.h shows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/bundle.h"
#include "runtime/json.h"

enum { MANIFEST_LIMIT = 1 << 24, LIST_LIMIT = 65536 };

/* ---- Writing ---- */

static void
put_tensors(Buf *json, const char *name, int count, const ManifestTensor *tensors)
{
	json_put(json, ",\n  %s: [", name);
	for (int i = 0; i < count; i++) {
		json_put(json, i ? ",\n    " : "\n    ");
		json_put(json, "{'name': %s, 'type': %s, 'dims': [", tensors[i].name,
		         dtype_name(tensors[i].type));
		for (int d = 0; d < tensors[i].rank; d++)
			json_put(json, d ? ", %s" : "%s", tensors[i].dims[d]);
		buf_puts(json, "]}");
	}
	buf_putc(json, ']');
}

static void
put_signature(Buf *json, const Manifest *manifest)
{
	json_put(json, ",\n 'signature': {\n  'symbols': [");
	for (int i = 0; i < manifest->nsymbol; i++) {
		const ManifestSymbol *symbol = &manifest->symbols[i];
		buf_puts(json, i ? ", " : "");
		json_put(json, "{'name': %s, 'lo': %lld, 'hi': %lld}", symbol->name, (long long)symbol->lo,
		         (long long)symbol->hi);
	}
	buf_putc(json, ']');
	put_tensors(json, "inputs", manifest->ninput, manifest->inputs);
	put_tensors(json, "outputs", manifest->noutput, manifest->outputs);
	buf_putc(json, '}');
}

void
manifest_write(Buf *json, const Manifest *m)
{
	json_put(json, "{'format': [%d, %d],\n 'producer': %s", m->major, m->minor, m->producer);
	json_put(json, ",\n 'model': {'name': %s, 'sha256': %s},\n 'pipeline': %s", m->model_name,
	         m->model_sha256, m->pipeline);
	put_signature(json, m);
	json_put(json, ",\n 'targets': [");
	for (int i = 0; i < m->ntarget; i++) {
		const ManifestTarget *target = &m->targets[i];
		buf_puts(json, i ? ",\n  " : "\n  ");
		json_put(json, "{'device': %s, 'needs': %s, 'plan': %s", target->device, target->needs,
		         target->plan);
		json_put(json, ", 'kernels': %s, 'vendor': %s, 'packed': %s}", target->kernels,
		         target->vendor, target->packed);
	}
	json_put(json, "],\n 'weights': %s,\n 'parts': [", m->weights);
	for (int i = 0; i < m->npart; i++) {
		char hash[BUNDLE_HASH_SIZE];
		bundle_hash_text(m->parts[i].hash, hash);
		buf_puts(json, i ? ",\n  " : "\n  ");
		json_put(json, "{'entry': %s, 'size': %lld, 'xxh3': %s}", m->parts[i].entry,
		         (long long)m->parts[i].size, hash);
	}
	buf_puts(json, "]}\n");
}

/* ---- Hashes as texts ---- */

void
bundle_hash_text(Hash128 hash, char text[BUNDLE_HASH_SIZE])
{
	snprintf(text, BUNDLE_HASH_SIZE, "%016llx%016llx", (unsigned long long)hash.high,
	         (unsigned long long)hash.low);
}

bool
bundle_hash_parse(const char *text, Hash128 *hash)
{
	uint64_t words[2] = {0, 0};
	for (int i = 0; i < 32; i++) {
		const char *digit = text[i] ? strchr("0123456789abcdef", text[i]) : NULL;
		if (!digit)
			return false;
		words[i / 16] = words[i / 16] << 4 | (uint64_t)(*digit - (*digit >= 'a' ? 'a' - 10 : '0'));
	}
	*hash = (Hash128){.low = words[1], .high = words[0]};
	return text[32] == 0;
}

/* ---- Reading ---- */

typedef struct ManifestBlock {
	Pile pile;
	Manifest manifest;
} ManifestBlock;

static const ManifestTensor *
read_tensors(JsonReader *r, const Json *json, const char *name, int *count)
{
	const Json *item = json_array(r, json, name, LIST_LIMIT, count);
	ManifestTensor *tensors = json_alloc(r, (size_t)*count, sizeof *tensors);
	for (int i = 0; item && !r->failed; item = item->next, i++) {
		tensors[i].name = json_text(r, item, "name");
		tensors[i].type = dtype_find(json_text(r, item, "type"));
		if (!r->failed && tensors[i].type == DT_NONE)
			json_fail(r, "the type of '%.60s' is not known", tensors[i].name);
		const Json *dim = json_array(r, item, "dims", PLAN_MAX_RANK, &tensors[i].rank);
		const char **dims = json_alloc(r, (size_t)tensors[i].rank, sizeof *dims);
		for (int d = 0; dim && !r->failed; dim = dim->next)
			dims[d++] = json_item_text(r, dim, "dims");
		tensors[i].dims = dims;
	}
	return tensors;
}

static void
read_signature(JsonReader *r, const Json *json, Manifest *manifest)
{
	const Json *item = json_array(r, json, "symbols", LIST_LIMIT, &manifest->nsymbol);
	ManifestSymbol *symbols = json_alloc(r, (size_t)manifest->nsymbol, sizeof *symbols);
	for (int i = 0; item && !r->failed; item = item->next)
		symbols[i++] = (ManifestSymbol){json_text(r, item, "name"),
		                                json_int(r, item, "lo", INT64_MIN, INT64_MAX),
		                                json_int(r, item, "hi", INT64_MIN, INT64_MAX)};
	manifest->symbols = symbols;
	manifest->inputs = read_tensors(r, json, "inputs", &manifest->ninput);
	manifest->outputs = read_tensors(r, json, "outputs", &manifest->noutput);
}

static void
read_targets(JsonReader *r, const Json *json, Manifest *manifest)
{
	const Json *item = json_array(r, json, "targets", LIST_LIMIT, &manifest->ntarget);
	ManifestTarget *targets = json_alloc(r, (size_t)manifest->ntarget, sizeof *targets);
	for (int i = 0; item && !r->failed; item = item->next)
		targets[i++] = (ManifestTarget){
			json_text(r, item, "device"),        json_text(r, item, "needs"),
			json_text(r, item, "plan"),          json_text_or(r, item, "kernels", ""),
			json_text_or(r, item, "vendor", ""), json_text_or(r, item, "packed", ""),
		};
	manifest->targets = targets;
}

static void
read_parts(JsonReader *r, const Json *json, Manifest *manifest)
{
	const Json *item = json_array(r, json, "parts", LIST_LIMIT, &manifest->npart);
	ManifestPart *parts = json_alloc(r, (size_t)manifest->npart, sizeof *parts);
	for (int i = 0; item && !r->failed; item = item->next, i++) {
		parts[i].entry = json_text(r, item, "entry");
		parts[i].size = (uint64_t)json_int(r, item, "size", 0, INT64_MAX);
		if (!bundle_hash_parse(json_text(r, item, "xxh3"), &parts[i].hash))
			json_fail(r, "the hash of '%.60s' is not 32 hex digits", parts[i].entry);
	}
	manifest->parts = parts;
}

/* Format first: a manifest of a newer major version may look different from there on. */
static bool
read_format(JsonReader *r, const Json *json, Manifest *manifest)
{
	int count;
	const int *format = json_ints(r, json, "format", 2, 0, 1 << 20, &count);
	if (!r->failed && count != 2)
		json_fail(r, "format is not two numbers");
	if (r->failed)
		return false;
	manifest->major = format[0];
	manifest->minor = format[1];
	if (manifest->major == BUNDLE_MAJOR)
		return true;
	const char *producer = json_text_or(r, json, "producer", "");
	r->failed = true;
	snprintf(r->error, r->error_size,
	         "the bundle has format %d.%d and this library reads %d.x: compile the model again, or "
	         "use the library that `%.60s` came with",
	         manifest->major, manifest->minor, BUNDLE_MAJOR, producer);
	return false;
}

static void
read_manifest(JsonReader *r, const Json *json, Manifest *manifest)
{
	if (!read_format(r, json, manifest))
		return;
	manifest->producer = json_text(r, json, "producer");
	const Json *model = json_object(r, json, "model");
	manifest->model_name = json_text_or(r, model, "name", "");
	manifest->model_sha256 = json_text_or(r, model, "sha256", "");
	manifest->pipeline = json_text_or(r, json, "pipeline", "");
	const Json *signature = json_object(r, json, "signature");
	read_signature(r, signature, manifest);
	read_targets(r, json, manifest);
	manifest->weights = json_text_or(r, json, "weights", "");
	read_parts(r, json, manifest);
}

bool
manifest_read(const char *json, size_t size, Manifest **manifest, char *error, size_t error_size)
{
	ManifestBlock *block = calloc(1, sizeof *block);
	*manifest = NULL;
	if (!block)
		return refuse_with(error, error_size, "out of memory while reading the manifest");
	JsonReader r = {&block->pile, "the bundle's manifest", error, error_size, false};
	Json *root = json_parse(&r, json, size, MANIFEST_LIMIT);
	if (!r.failed)
		read_manifest(&r, root, &block->manifest);
	json_free(root);
	if (r.failed) {
		manifest_free(&block->manifest);
		return false;
	}
	*manifest = &block->manifest;
	return true;
}

void
manifest_free(Manifest *manifest)
{
	if (!manifest)
		return;
	ManifestBlock *block =
		(ManifestBlock *)(void *)((char *)manifest - offsetof(ManifestBlock, manifest));
	pile_free(&block->pile);
	free(block);
}
