/* fields: reading and writing a row of each kind; all else follows from the tables. */
#include "bundle/fields.h"

#include <string.h>

#include "base/dtype.h"

static size_t
size_of(const Field *f)
{
	static const size_t sizes[] = {
		[FIELD_INT] = sizeof(int),       [FIELD_LONG] = sizeof(int64_t),
		[FIELD_FLAG] = sizeof(bool),     [FIELD_FLOAT] = sizeof(float),
		[FIELD_NUMBER] = sizeof(double), [FIELD_TEXT] = sizeof(const char *),
		[FIELD_WORD] = sizeof(int),
	};
	return f->kind == FIELD_RECORD ? f->of->size : sizes[f->kind];
}

static bool
is_of(const Record *record, const Field *f, const void *from)
{
	int kind;
	memcpy(&kind, (const char *)from + record->kind_at, sizeof kind);
	return f->when == 0 || f->when >> kind & 1;
}

/* Whole numbers of all sizes: words by their place. */
static int64_t
get_whole(const Field *f, const void *from)
{
	return f->kind == FIELD_LONG   ? *(const int64_t *)from
	       : f->kind == FIELD_FLAG ? *(const bool *)from
	                               : *(const int *)from;
}

static void
set_whole(const Field *f, void *to, int64_t value)
{
	if (f->kind == FIELD_LONG)
		*(int64_t *)to = value;
	else if (f->kind == FIELD_FLAG)
		*(bool *)to = value != 0;
	else
		*(int *)to = (int)value;
}

/* ---- reading ---- */

static int64_t
read_word(const FieldReader *reader, const Field *f, const Json *item)
{
	const char *word = json_item_text(reader->json, item, f->name);
	DType type = f->words ? DT_NONE : dtype_find(word);
	for (int i = 0; i < f->nword; i++)
		if (strcmp(f->words[i], word) == 0)
			return i;
	if (type == DT_NONE)
		json_fail(reader->json, "%s '%.40s' is not known", f->name, word);
	return type;
}

static int64_t
read_whole(const FieldReader *reader, const Field *f, const Json *item)
{
	int64_t hi = f->kind == FIELD_FLAG ? 1 : f->hi;
	if (f->below)
		hi = *(const int *)(const void *)((const char *)reader->around + f->below - 1) - 1;
	return json_item_int(reader->json, item, f->name, f->lo, hi);
}

static void
read_value(const FieldReader *reader, const Field *f, const Json *item, void *to)
{
	if (f->kind == FIELD_FLOAT)
		*(float *)to = (float)json_item_number(reader->json, item, f->name);
	else if (f->kind == FIELD_NUMBER)
		*(double *)to = json_item_number(reader->json, item, f->name);
	else if (f->kind == FIELD_TEXT)
		*(const char **)to = json_item_text(reader->json, item, f->name);
	else if (f->kind == FIELD_WORD)
		set_whole(f, to, read_word(reader, f, item));
	else if (f->kind != FIELD_RECORD)
		set_whole(f, to, read_whole(reader, f, item));
	else if (f->read)
		f->read(reader, item, to);
	else
		record_read(reader, f->of, item, to);
}

static void
set_default(const Field *f, void *to)
{
	if (f->kind == FIELD_NUMBER)
		*(double *)to = (double)f->otherwise;
	else if (f->kind == FIELD_TEXT)
		*(const char **)to = f->otherwise ? NULL : "";
	else if (f->kind != FIELD_FLOAT && f->kind != FIELD_RECORD)
		set_whole(f, to, f->otherwise);
}

static void
read_list(const FieldReader *reader, const Field *f, const Json *item, char *record)
{
	JsonReader *r = reader->json;
	int *count = (int *)(void *)(record + f->count_at), seen = 0;
	size_t size = size_of(f);
	for (const Json *at = json_is(item, JSON_ARRAY) ? item->child : NULL; at; at = at->next)
		seen++;
	if (!json_is(item, JSON_ARRAY) || seen > f->most || (f->has_count && seen != *count)) {
		json_fail(r, "%s is not a list of %s%d elements", f->name, f->has_count ? "" : "at most ",
		          f->has_count ? *count : f->most);
		return;
	}
	if (!f->has_count)
		*count = seen;
	if (seen == 0 && f->is_optional)
		return;
	char *elements = json_alloc(r, (size_t)seen, size);
	if (!elements)
		return;
	memcpy(record + f->at, &elements, sizeof elements);
	for (const Json *at = item->child; at && !r->failed; at = at->next, elements += size)
		read_value(reader, f, at, elements);
}

static void
read_field(const FieldReader *reader, const Field *f, const Json *item, char *record)
{
	const Json *value = json_member(item, f->name);
	if (!value && !f->is_optional)
		json_fail(reader->json, "%s is missing", f->name);
	else if (!value && !f->is_list)
		set_default(f, record + f->at);
	else if (value && f->is_list)
		read_list(reader, f, value, record);
	else if (value)
		read_value(reader, f, value, record + f->at);
}

void
record_read(const FieldReader *reader, const Record *record, const Json *item, void *to)
{
	JsonReader *r = reader->json;
	if (!json_is(item, JSON_OBJECT))
		json_fail(r, "an element is not an object");
	if (!r->failed && record->begin)
		record->begin(reader, item, to);
	for (int i = 0; i < record->nfield && !r->failed; i++) {
		const Field *f = &record->fields[i];
		if (is_of(record, f, to))
			read_field(reader, f, item, to);
		if (f->check && !r->failed)
			f->check(reader, to);
	}
}

/* ---- writing ---- */

static bool
is_default(const Field *f, const void *from)
{
	if (f->kind == FIELD_NUMBER)
		return *(const double *)from == (double)f->otherwise;
	if (f->kind == FIELD_TEXT)
		return !*(const char *const *)from || !**(const char *const *)from;
	return f->kind != FIELD_FLOAT && f->kind != FIELD_RECORD && get_whole(f, from) == f->otherwise;
}

static void
write_value(Buf *json, const Field *f, const void *from)
{
	if (f->kind == FIELD_FLOAT)
		json_put(json, "%g", (double)*(const float *)from);
	else if (f->kind == FIELD_NUMBER)
		json_put(json, "%g", *(const double *)from);
	else if (f->kind == FIELD_TEXT)
		json_put(json, "%s", *(const char *const *)from);
	else if (f->kind == FIELD_WORD)
		json_put(json, "%s",
		         f->words ? f->words[get_whole(f, from)] : dtype_name((DType)get_whole(f, from)));
	else if (f->kind != FIELD_RECORD)
		json_put(json, "%lld", (long long)get_whole(f, from));
	else if (f->write)
		f->write(json, from);
	else
		record_write(json, f->of, from);
}

static void
write_list(Buf *json, const Field *f, const char *elements, int count)
{
	buf_putc(json, '[');
	for (int i = 0; i < count; i++) {
		buf_puts(json, i == 0 ? "" : f->is_long ? ",\n  " : ", ");
		write_value(json, f, elements + (size_t)i * size_of(f));
	}
	buf_putc(json, ']');
}

void
record_write(Buf *json, const Record *record, const void *from)
{
	bool is_first = true;
	buf_putc(json, '{');
	for (int i = 0; i < record->nfield; i++) {
		const Field *f = &record->fields[i];
		const char *member = (const char *)from + f->at, *elements = NULL;
		int count = 0;
		if (f->is_list) {
			memcpy(&elements, member, sizeof elements);
			memcpy(&count, (const char *)from + f->count_at, sizeof count);
		}
		bool is_absent = f->is_list ? !elements || !count : is_default(f, member);
		if (!is_of(record, f, from) || (f->is_optional && is_absent))
			continue;
		json_put(json, is_first ? "%s: " : f->is_long ? ",\n %s: " : ", %s: ", f->name);
		is_first = false;
		if (f->is_list)
			write_list(json, f, elements, elements ? count : 0);
		else
			write_value(json, f, member);
	}
	buf_putc(json, '}');
}
