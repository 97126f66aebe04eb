/* base/json.h: what is JSON is read, and nothing else; nothing is read beyond the end. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/buf.h"
#include "base/json.h"
#include "random_number.h"

/* From memory that ends with the text, so that a sanitizer sees what is read behind it. */
static Json *
read_exactly(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	memcpy(copy + 1, text, size);
	Json *json = json_read(copy + 1, size);
	free(copy);
	return json;
}

START_TEST(test_values)
{
	static const char text[] =
		" {\"a\" : [1, -2.5e-1 ,true,false,null, [ ], {}], \"b\": \"x\", "
		"\"a\": 3, \"\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"}\n";
	Json *json = read_exactly(text, strlen(text));
	ck_assert(json_is(json, JSON_OBJECT));
	const Json *a = json_member(json, "a"), *item = a->child;
	ck_assert(json_is(a, JSON_ARRAY));
	ck_assert(item->kind == JSON_NUMBER && item->number == 1);
	item = item->next;
	ck_assert(item->kind == JSON_NUMBER && item->number == -0.25);
	item = item->next;
	ck_assert(item->kind == JSON_BOOL && item->number == 1);
	item = item->next;
	ck_assert(item->kind == JSON_BOOL && item->number == 0);
	item = item->next;
	ck_assert(item->kind == JSON_NULL);
	item = item->next;
	ck_assert(item->kind == JSON_ARRAY && !item->child);
	item = item->next;
	ck_assert(item->kind == JSON_OBJECT && !item->child && !item->next && !item->name);
	ck_assert_str_eq(json_member(json, "b")->text, "x");
	ck_assert_str_eq(json_member(json, "")->text, "\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80");
	ck_assert(!json_member(json, "c") && !json_member(a, "a") && !json_member(NULL, "a"));
	json_free(json);
	const char *bytes = "\"\xff\xfe\"";
	json = read_exactly(bytes, strlen(bytes));
	ck_assert_str_eq(json->text, "\xff\xfe");
	json_free(json);
}
END_TEST

START_TEST(test_refused)
{
	static const char *const texts[] = {"",
	                                    " ",
	                                    "{",
	                                    "}",
	                                    "[",
	                                    "]",
	                                    "[1,]",
	                                    "[,1]",
	                                    "[1 2]",
	                                    "{\"a\"}",
	                                    "{\"a\":}",
	                                    "{a:1}",
	                                    "{\"a\":1,}",
	                                    "\"",
	                                    "\"\\\"",
	                                    "\"\\x\"",
	                                    "\"\\u12\"",
	                                    "\"\n\"",
	                                    "\"\\u0000\"",
	                                    "\"\\ud800\"",
	                                    "\"\\ud800\\u0041\"",
	                                    "\"\\udc00\"",
	                                    "01",
	                                    "-",
	                                    "+1",
	                                    "1.",
	                                    ".5",
	                                    "1e",
	                                    "1e+",
	                                    "0x1",
	                                    "nan",
	                                    "inf",
	                                    "tru",
	                                    "truefalse",
	                                    "1 1",
	                                    "[1]]",
	                                    "//\n1",
	                                    "'a'",
	                                    "nulll",
	                                    "\\"};
	for (size_t i = 0; i < countof(texts); i++)
		ck_assert_msg(!read_exactly(texts[i], strlen(texts[i])), "%s", texts[i]);
	ck_assert(!read_exactly("1\0", 2) && !read_exactly("\"a\0b\"", 5));
	char number[80] = "1";
	memset(number + 1, '0', 70);
	ck_assert(!read_exactly(number, 71));
}
END_TEST

/* Nesting ends somewhere; commas and brackets in texts are no values. */
START_TEST(test_large)
{
	enum { DEEP = 100000 };
	char *text = malloc(2 * DEEP);
	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	ck_assert(!read_exactly(text, 2 * DEEP) && !read_exactly(text, DEEP));
	Json *json = read_exactly(text + DEEP - 900, 1800);
	ck_assert(json_is(json, JSON_ARRAY));
	json_free(json);
	memset(text, ',', 2 * DEEP);
	text[0] = text[2 * DEEP - 1] = '"';
	json = read_exactly(text, 2 * DEEP);
	ck_assert_uint_eq(strlen(json->text), 2 * DEEP - 2);
	json_free(json);
	free(text);
}
END_TEST

/* Whatever the bytes: an answer. Those of JSON come more often than others. */
START_TEST(test_random)
{
	static const char bytes[] = "{}[],:\"\\u0018eE.+-truefalsn \t\n\xff";
	uint64_t seed = 1;
	for (int i = 0; i < 200000; i++) {
		char text[24];
		size_t size = random_below(&seed, sizeof text);
		for (size_t k = 0; k < size; k++)
			text[k] = bytes[random_below(&seed, sizeof bytes)];
		json_free(read_exactly(text, size));
	}
}
END_TEST

/* A process that writes 0,5 reads 0.5. */
START_TEST(test_locale)
{
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
		return; /* none is installed */
	Json *json = read_exactly("0.5", 3);
	setlocale(LC_NUMERIC, "C");
	ck_assert(json && json->number == 0.5);
	json_free(json);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("json");
	tcase_add_test(tcase, test_values);
	tcase_add_test(tcase, test_refused);
	tcase_add_test(tcase, test_large);
	tcase_add_test(tcase, test_random);
	tcase_add_test(tcase, test_locale);
	return unit_run(tcase);
}
