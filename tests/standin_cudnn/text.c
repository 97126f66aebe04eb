/* A plan as a text and back: "stand-in SUM BYTES", bytes as two digits each. Of a descriptor its
 * kind, the number of its attributes, and of each name, type, count and elements; parts are
 * descriptors. Handles are left out. A text whose sum is another was not written here, and ends the
 * process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn.h"

enum { CONFIG = 401 };

typedef struct Text {
	char *bytes;
	size_t size, at;
} Text;

static void
put(Text *t, const void *data, size_t size)
{
	t->bytes = realloc(t->bytes, t->size + size + 1);
	memcpy(t->bytes + t->size, data, size);
	t->size += size;
}

static void
get(Text *t, void *data, size_t size)
{
	if (size > t->size - t->at)
		misuse("a plan's text ends early");
	memcpy(data, t->bytes + t->at, size);
	t->at += size;
}

static void
put_descriptor(Text *t, const CudnnDescriptor *d)
{
	int count = 0;
	for (const Attr *attr = d->attrs; attr; attr = attr->next)
		count += attr->type != CUDNN_TYPE_HANDLE;
	put(t, &d->kind, sizeof d->kind);
	put(t, &count, sizeof count);
	for (const Attr *attr = d->attrs; attr; attr = attr->next) {
		if (attr->type == CUDNN_TYPE_HANDLE)
			continue;
		put(t, &attr->name, sizeof attr->name);
		put(t, &attr->type, sizeof attr->type);
		put(t, &attr->count, sizeof attr->count);
		for (int64_t i = 0; i < attr->count; i++)
			if (attr->type == CUDNN_TYPE_DESCRIPTOR)
				put_descriptor(t, ((CudnnDescriptor *const *)attr->bytes)[i]);
			else
				put(t, attr->bytes + (size_t)i * attr_size(attr->type), attr_size(attr->type));
	}
}

static void get_attrs(Text *t, CudnnDescriptor *to);

static CudnnDescriptor *
get_descriptor(Text *t)
{
	int kind;
	get(t, &kind, sizeof kind);
	CudnnDescriptor *made = descriptor_new(kind);
	get_attrs(t, made);
	return made;
}

static void
get_attrs(Text *t, CudnnDescriptor *to)
{
	int count, name, type;
	int64_t length;
	get(t, &count, sizeof count);
	for (; count > 0; count--) {
		get(t, &name, sizeof name);
		get(t, &type, sizeof type);
		get(t, &length, sizeof length);
		size_t size = attr_size(type);
		char *elements = calloc((size_t)length, size);
		for (int64_t i = 0; i < length; i++)
			if (type == CUDNN_TYPE_DESCRIPTOR)
				((CudnnDescriptor **)elements)[i] = get_descriptor(t);
			else
				get(t, elements + (size_t)i * size, size);
		descriptor_set(to, name, type, length, elements);
		free(elements);
	}
	to->is_final = to->is_read = true;
}

static unsigned long long
sum_of(const char *text, size_t size)
{
	unsigned long long sum = 14695981039346656037ull;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ (unsigned char)text[i]) * 1099511628211ull;
	return sum;
}

static const char FORM[] = "stand-in %016llx ";
enum { HEAD = 26 };

char *
text_of_plan(const CudnnDescriptor *plan)
{
	Text t = {NULL, 0, 0};
	put_descriptor(&t, attr_part(plan, CONFIG));
	char *text = malloc(HEAD + 2 * t.size + 1);
	for (size_t i = 0; i < t.size; i++)
		snprintf(text + HEAD + 2 * i, 3, "%02x", (unsigned char)t.bytes[i]);
	char head[HEAD + 1];
	snprintf(head, sizeof head, FORM, sum_of(text + HEAD, 2 * t.size));
	memcpy(text, head, HEAD);
	free(t.bytes);
	return text;
}

void
plan_from_text(CudnnDescriptor *plan, const char *text, int64_t size)
{
	Text t = {NULL, 0, 0};
	unsigned long long sum = 0;
	if (size <= HEAD || sscanf(text, FORM, &sum) != 1 ||
	    sum != sum_of(text + HEAD, (size_t)size - HEAD))
		misuse("a plan's text is read that was not written here");
	for (size_t i = HEAD; i + 1 < (size_t)size; i += 2) {
		unsigned byte;
		sscanf(text + i, "%2x", &byte);
		put(&t, &(unsigned char){(unsigned char)byte}, 1);
	}
	CudnnDescriptor *config = get_descriptor(&t);
	descriptor_set(plan, CONFIG, CUDNN_TYPE_DESCRIPTOR, 1, &config);
	plan->is_read = true;
	free(t.bytes);
}
