/* manifest.json: written and read here only, by one table (fields.h); bundle.h shows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "bundle/bundle.h"
#include "bundle/fields.h"

enum { MANIFEST_LIMIT = 1 << 24, LIST_LIMIT = 65536 };

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

/* ---- Members that are no plain ones ---- */

static void
write_hash(Buf *json, const void *member)
{
	char text[BUNDLE_HASH_SIZE];
	bundle_hash_text(*(const Hash128 *)member, text);
	json_put(json, "%s", text);
}

static void
read_hash(const FieldReader *reader, const Json *item, void *member)
{
	if (!bundle_hash_parse(json_item_text(reader->json, item, "xxh3"), member))
		json_fail(reader->json, "a hash is not 32 hex digits");
}

static const Record hash_record = {.size = sizeof(Hash128)};

/* [major, minor] */
static void
write_format(Buf *json, const void *member)
{
	const int *format = member;
	json_put(json, "[%d, %d]", format[0], format[1]);
}

static void
read_format(const FieldReader *reader, const Json *item, void *member)
{
	int *format = member, count = 0;
	for (const Json *at = json_is(item, JSON_ARRAY) ? item->child : NULL; at;
	     at = at->next, count++)
		if (count < 2)
			format[count] = (int)json_item_int(reader->json, at, "format", 0, 1 << 20);
	if (count != 2)
		json_fail(reader->json, "format is not two numbers");
}

static const Record format_record = {.size = 2 * sizeof(int)};

/* Format first: a manifest of another major version may look different from there on. */
static void
check_format(const FieldReader *reader, void *record)
{
	const Manifest *manifest = record;
	JsonReader *r = reader->json;
	if (manifest->major == BUNDLE_MAJOR)
		return;
	r->failed = true;
	snprintf(r->error, r->error_size,
	         "the bundle has format %d.%d and this library reads %d.x: compile the model again, or "
	         "use the library that `%.60s` came with",
	         manifest->major, manifest->minor, BUNDLE_MAJOR, manifest->producer);
}

/* ---- The table ---- */

static const Field tensor_fields[] = {
	{FIELD("name", ManifestTensor, name)},
	{FIELD("type", ManifestTensor, type)},
	{FIELD_LIST("dims", ManifestTensor, dims, rank), .most = PLAN_MAX_RANK},
};
static const Record tensor_record = {RECORD(ManifestTensor, tensor_fields)};

static const Field symbol_fields[] = {
	{FIELD("name", ManifestSymbol, name)},
	{FIELD("lo", ManifestSymbol, lo), .lo = INT64_MIN, .hi = INT64_MAX},
	{FIELD("hi", ManifestSymbol, hi), .lo = INT64_MIN, .hi = INT64_MAX},
};
static const Record symbol_record = {RECORD(ManifestSymbol, symbol_fields)};

static const Field target_fields[] = {
	{FIELD("device", ManifestTarget, device)},
	{FIELD("needs", ManifestTarget, needs)},
	{FIELD("plan", ManifestTarget, plan)},
	{FIELD_OR("kernels", ManifestTarget, kernels, 0)},
	{FIELD_OR("vendor", ManifestTarget, vendor, 0)},
	{FIELD_OR("packed", ManifestTarget, packed, 0)},
};
static const Record target_record = {RECORD(ManifestTarget, target_fields)};

static const Field part_fields[] = {
	{FIELD("entry", ManifestPart, entry)},
	{FIELD("size", ManifestPart, size), .hi = INT64_MAX},
	{FIELD("xxh3", ManifestPart, hash), .of = &hash_record, .read = read_hash, .write = write_hash},
};
static const Record part_record = {RECORD(ManifestPart, part_fields)};

static const Field model_fields[] = {
	{FIELD_OR("name", Manifest, model_name, 0)},
	{FIELD_OR("sha256", Manifest, model_sha256, 0)},
};
static const Record model_record = {RECORD(Manifest, model_fields)};

static const Field signature_fields[] = {
	{FIELD_LIST("symbols", Manifest, symbols, nsymbol), .most = LIST_LIMIT, .of = &symbol_record},
	{FIELD_LIST("inputs", Manifest, inputs, ninput), .most = LIST_LIMIT, .of = &tensor_record,
     .is_long = true},
	{FIELD_LIST("outputs", Manifest, outputs, noutput), .most = LIST_LIMIT, .of = &tensor_record,
     .is_long = true},
};
static const Record signature_record = {RECORD(Manifest, signature_fields)};

static const Field manifest_fields[] = {
	{FIELD_PART("format"), .at = offsetof(Manifest, major), .of = &format_record,
     .read = read_format, .write = write_format},
	{FIELD_OR("producer", Manifest, producer, 0), .check = check_format},
	{FIELD_PART("model"), .of = &model_record},
	{FIELD_OR("pipeline", Manifest, pipeline, 0)},
	{FIELD_PART("signature"), .of = &signature_record, .is_long = true},
	{FIELD_LIST("targets", Manifest, targets, ntarget), .most = LIST_LIMIT, .of = &target_record,
     .is_long = true},
	{FIELD_OR("weights", Manifest, weights, 0)},
	{FIELD_OR("only_packed", Manifest, only_packed, 0), .hi = INT64_MAX / 2},
	{FIELD_LIST("parts", Manifest, parts, npart), .most = LIST_LIMIT, .of = &part_record,
     .is_long = true},
};
static const Record manifest_record = {RECORD(Manifest, manifest_fields)};

typedef struct ManifestBlock {
	Pile pile;
	Manifest manifest;
} ManifestBlock;

void
manifest_write(Buf *json, const Manifest *manifest)
{
	record_write(json, &manifest_record, manifest);
	buf_putc(json, '\n');
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
		record_read(&(FieldReader){.json = &r}, &manifest_record, root, &block->manifest);
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
