/* Opening bundles: container, manifest, hashes; plans. Only bytes are read: kernels become code in
 * a backend's load(). */
#include "bundle/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_weights(const Manifest *manifest, const char *entry)
{
	bool is_packed = false;
	for (int i = 0; i < manifest->ntarget; i++)
		is_packed = is_packed || strcmp(entry, manifest->targets[i].packed) == 0;
	return is_packed || strcmp(entry, manifest->weights) == 0;
}

/* Every entry but the manifest is listed once, in order, with its size and hash. */
static bool
check_parts(const Bundle *bundle, BundleVerify verify, char *error, size_t size)
{
	const Manifest *manifest = bundle->manifest;
	if (manifest->npart != bundle->zip.count - 1)
		return refuse_with(error, size, "the bundle has %d parts and its manifest lists %d",
		                   bundle->zip.count - 1, manifest->npart);
	for (int i = 0; i < manifest->npart; i++) {
		const ManifestPart *part = &manifest->parts[i];
		const ZipEntry *entry = &bundle->zip.entries[i + 1];
		if (strcmp(part->entry, entry->name) != 0 || part->size != entry->data.size)
			return refuse_with(
				error, size, "the bundle's part %.80s is not the one in its manifest", entry->name);
		if (verify == BUNDLE_VERIFY_CODE && is_weights(manifest, part->entry))
			continue;
		if (!hash128_equal(part->hash, hash128(entry->data.data, entry->data.size)))
			return refuse_with(error, size,
			                   "the bundle's part %.80s was changed or is damaged: compile "
			                   "the model again, or fetch the bundle again",
			                   entry->name);
	}
	return true;
}

static bool
read_bundle(Bundle *bundle, BundleVerify verify, char *error, size_t size)
{
	if (!zip_open(&bundle->zip, bundle->file, error, size))
		return false;
	const ZipEntry *entry = bundle->zip.count ? &bundle->zip.entries[0] : NULL;
	if (!entry || strcmp(entry->name, "manifest.json") != 0)
		return refuse_with(error, size, "the bundle does not begin with a manifest");
	if (crc32_of(0, entry->data.data, entry->data.size) != entry->crc32)
		return refuse_with(error, size,
		                   "the bundle's part manifest.json was changed or is damaged: "
		                   "compile the model again, or fetch the bundle again");
	if (!manifest_read((const char *)entry->data.data, entry->data.size, &bundle->manifest, error,
	                   size) ||
	    !check_parts(bundle, verify, error, size))
		return false;
	if (!*bundle->manifest->weights)
		return true;
	const ZipEntry *weights = zip_find(&bundle->zip, bundle->manifest->weights);
	if (!weights)
		return refuse_with(error, size, "the bundle's weights are missing");
	bundle->weights = weights->data;
	return true;
}

bool
bundle_open(Bundle *bundle, Bytes file, BundleVerify verify, char *error, size_t error_size)
{
	*bundle = (Bundle){.file = file};
	errno = 0;
	if (read_bundle(bundle, verify, error, error_size))
		return true;
	bundle_close(bundle);
	return false;
}

void
bundle_close(Bundle *bundle)
{
	manifest_free(bundle->manifest);
	zip_close(&bundle->zip);
	*bundle = (Bundle){0};
}

/* The signature in the manifest is what people and tools have read: it must be the plan's. */
static bool
check_signature(const Plan *plan, const int *ports, int count, const ManifestTensor *tensors,
                int listed)
{
	if (count != listed)
		return false;
	for (int i = 0; i < count; i++) {
		const PlanBuffer *buffer = &plan->buffers[ports[i]];
		if (strcmp(buffer->name, tensors[i].name) != 0 || buffer->type != tensors[i].type ||
		    buffer->rank != tensors[i].rank)
			return false;
	}
	return true;
}

bool
bundle_read_plan(const Bundle *bundle, int target, Plan **plan, char *error, size_t error_size)
{
	const Manifest *manifest = bundle->manifest;
	errno = 0;
	const ZipEntry *entry = zip_find(&bundle->zip, manifest->targets[target].plan);
	if (!entry)
		return refuse_with(error, error_size, "the bundle's plan %.80s is missing",
		                   manifest->targets[target].plan);
	if (!plan_read((const char *)entry->data.data, entry->data.size, plan, error, error_size))
		return false;
	if (!check_signature(*plan, (*plan)->inputs, (*plan)->ninput, manifest->inputs,
	                     manifest->ninput) ||
	    !check_signature(*plan, (*plan)->outputs, (*plan)->noutput, manifest->outputs,
	                     manifest->noutput))
		refuse_with(error, error_size, "the bundle's plan has another signature than its manifest");
	else if (plan_verify(*plan, bundle->weights.size + bundle->manifest->only_packed, error,
	                     error_size))
		return true;
	plan_free(*plan);
	*plan = NULL;
	return false;
}

Bytes
bundle_packed(const Bundle *bundle, int target)
{
	const ZipEntry *entry = zip_find(&bundle->zip, bundle->manifest->targets[target].packed);
	return entry ? entry->data : (Bytes){NULL, 0};
}

/* ---- Texts of dims ---- */

/* One operator of a dim as people write it. */
static void
print_operation(Arena *arena, PlanOp op, const char **stack, int top)
{
	static const char *const INFIX[] = {
		[PD_ADD] = " + ",    [PD_SUB] = " - ",  [PD_MUL] = "*",     [PD_FLOORDIV] = "/",
		[PD_FLOORMOD] = "%", [PD_FADD] = " + ", [PD_FSUB] = " - ",  [PD_FMUL] = "*",
		[PD_FDIV] = "/",     [PD_LESS] = " < ", [PD_EQUAL] = " == "};
	static const char *const NAMES[] = {
		[PD_FLOAT] = "f64",   [PD_F32] = "f32", [PD_FLOOR] = "floor", [PD_CEIL] = "ceil",
		[PD_ROUND] = "round", [PD_INT] = "i64", [PD_MIN] = "min",     [PD_MAX] = "max",
		[PD_FMIN] = "min",    [PD_FMAX] = "max"};
	const char *a = top > 1 ? stack[top - 2] : "", *b = stack[top - 1];
	if (plan_op_arity(op) == 1)
		stack[top - 1] = arena_printf(arena, "%s(%s)", NAMES[op], b);
	else if (op == PD_SELECT)
		stack[top - 3] = arena_printf(arena, "(%s ? %s : %s)", stack[top - 3], a, b);
	else if (op < PD_LESS && NAMES[op])
		stack[top - 2] = arena_printf(arena, "%s(%s, %s)", NAMES[op], a, b);
	else
		stack[top - 2] = arena_printf(arena, "(%s%s%s)", a, INFIX[op], b);
}

void
bundle_dim_text(Buf *text, const Plan *plan, int dim)
{
	const char *stack[PLAN_DIM_DEPTH] = {""};
	int top = 0;
	for (int i = 0; i < plan->dims[dim].count; i++) {
		const PlanToken *token = &plan->dims[dim].tokens[i];
		if (token->op == PD_SYMBOL)
			stack[top++] = plan->symbols[token->value].name;
		else if (token->op == PD_CONST)
			stack[top++] = arena_printf(text->arena, "%lld", (long long)token->value);
		else if (token->op == PD_NUMBER)
			stack[top++] = arena_printf(text->arena, "%.9g", plan_number(token->value));
		else {
			print_operation(text->arena, token->op, stack, top);
			top -= plan_op_arity(token->op) - 1;
		}
	}
	size_t length = strlen(stack[0]);
	bool is_wrapped = top == 1 && plan->dims[dim].count > 1 && stack[0][0] == '(';
	buf_write(text, stack[0] + is_wrapped, length - 2 * is_wrapped);
}

bool
bundle_kernels(const Bundle *bundle, int target, Bytes *image, char *error, size_t error_size)
{
	const char *name = bundle->manifest->targets[target].kernels;
	const ZipEntry *entry = *name ? zip_find(&bundle->zip, name) : NULL;
	if (*name && !entry)
		return refuse_with(error, error_size, "the bundle's kernels %.80s are missing", name);
	*image = entry ? entry->data : (Bytes){0};
	return true;
}
