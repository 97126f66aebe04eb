/* Records as JSON, both ways from one table: a row for each member.
 *
 *     static const Field point_fields[] = {
 *         {FIELD("name", Point, name)},
 *         {FIELD("x", Point, x), .hi = 100},
 *         {FIELD_OR("y", Point, y, 7), .hi = 100},
 *         {FIELD_LIST("marks", Point, marks, nmark), .most = 8, .hi = 9},
 *     };
 *     static const Record point_record = {RECORD(Point, point_fields)};
 *
 * What a row reads and writes follows from the type of the C member. Nothing that is read is
 * believed: numbers have limits, words are of a list, lists have a most, and a row may check the
 * record as far as it is read. Rows are read in the order of the table, so that a check and a limit
 * may depend on the members before. A member with its default is not written.
 */
#ifndef BUNDLE_FIELDS_H
#define BUNDLE_FIELDS_H

#include <stddef.h>

#include "bundle/json.h"

typedef enum FieldKind {
	FIELD_INT,    /* int: lo..hi */
	FIELD_LONG,   /* int64_t: lo..hi */
	FIELD_FLAG,   /* bool: 0 or 1 */
	FIELD_FLOAT,  /* float */
	FIELD_NUMBER, /* double */
	FIELD_TEXT,   /* const char *: "" where it is left out, NULL where `otherwise` is 1 */
	FIELD_WORD,   /* an enum: one of words, without them the name of a DType */
	FIELD_RECORD, /* a struct: by its own table, or by functions of its own */
} FieldKind;

typedef struct Record Record;

/* Who reads: `around` is the record that limits by count look into. */
typedef struct FieldReader {
	JsonReader *json;
	void *around;
} FieldReader;

typedef struct Field {
	const char *name;
	FieldKind kind;
	size_t at;         /* of the member in its record */
	bool is_list;      /* the member points to so many: */
	bool has_count;    /* … as the record says already, or to none */
	size_t count_at;   /* … an int in the record */
	int most;          /* … and no more than this */
	bool is_long;      /* each element on a line of its own */
	bool is_optional;  /* may be left out, and then is `otherwise` */
	uint64_t when;     /* the kinds of record that have it, by bit; 0: all */
	int64_t lo, hi;    /* what a number may be */
	size_t below;      /* 1 + where an int lies in what is around, which hi is below; 0: hi */
	int64_t otherwise; /* a number, a word's place */
	const Record *of;  /* of FIELD_RECORD: its table, or */
	void (*read)(const FieldReader *reader, const Json *item, void *member);
	void (*write)(Buf *json, const void *member);
	void (*check)(const FieldReader *reader, void *record); /* behind this row; fails the reader */
	const char *const *words;
	int nword;
} Field;

struct Record {
	size_t size;
	int nfield;
	const Field *fields;
	size_t kind_at; /* of the int that `when` asks for */
	/* Before the first row. May be NULL. */
	void (*begin)(const FieldReader *reader, const Json *item, void *record);
};

#define FIELD_KIND(value) \
	_Generic((value), int: FIELD_INT, int64_t: FIELD_LONG, uint64_t: FIELD_LONG, bool: FIELD_FLAG, \
	    float: FIELD_FLOAT, double: FIELD_NUMBER, const char *: FIELD_TEXT, \
	    unsigned int: FIELD_WORD, default: FIELD_RECORD)
#define FIELD(name_, record, member) \
	.name = name_, .kind = FIELD_KIND(((record *)0)->member), .at = offsetof(record, member)
#define FIELD_LIST(name_, record, member, count) \
	.name = name_, .kind = FIELD_KIND(*((record *)0)->member), .at = offsetof(record, member), \
	.is_list = true, .count_at = offsetof(record, count)
/* What may be left out, and then is `value`; a list then has no elements. */
#define FIELD_OR(name_, record, member, value) \
	FIELD(name_, record, member), .is_optional = true, .otherwise = value
#define FIELD_LIST_OR_NONE(name_, record, member, count) \
	FIELD_LIST(name_, record, member, count), .is_optional = true
/* An object in the text whose members are the record's own. */
#define FIELD_PART(name_) .name = name_, .kind = FIELD_RECORD
#define FIELD_WORDS(list) .words = list, .nword = (int)(sizeof list / sizeof *list)
#define FIELD_BELOW(record, member) .below = 1 + offsetof(record, member)
#define FIELD_WHEN(kind) ((uint64_t)1 << (kind))
#define RECORD(type, table) \
	.size = sizeof(type), .nfield = (int)(sizeof table / sizeof *table), .fields = table

/* The record, zeroed before, from an object; where that fails, so does the reader. */
void record_read(const FieldReader *reader, const Record *record, const Json *item, void *to);
void record_write(Buf *json, const Record *record, const void *from);

#endif
