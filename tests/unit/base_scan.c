/* The tokenizer: every kind of token, the doubtful places, and errors with their line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/scan.h"
#include "unit.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("test");
}

static void
tear_down(void)
{
	arena_free(arena);
}

/* The tokens of a text as "kind:text kind:text", one letter per kind. */
static const char *
cut(const char *text)
{
	Scanner scan;
	Buf out = {.arena = arena};
	scan_open(&scan, arena, "f.t", text);
	for (; scan_peek(&scan)->kind != TOK_END; scan_next(&scan))
		buf_printf(&out, "%s%c:%s", out.size ? " " : "", "enifsp"[scan_peek(&scan)->kind],
		           scan_peek(&scan) -> text);
	return buf_text(&out);
}

START_TEST(all_kinds)
{
	ck_assert_str_eq(cut(""), "");
	ck_assert_str_eq(cut(" # only a comment"), "");
	ck_assert_str_eq(cut("f32[N,3] # c\nx"), "n:f32 p:[ n:N p:, i:3 p:] n:x");
	ck_assert_str_eq(cut("0..2 a..b"), "i:0 p:.. i:2 n:a p:.. n:b");
	ck_assert_str_eq(cut("1.5 1e-3 1e3 0x1p-2 0x1.8p1 7"),
	                 "f:1.5 f:1e-3 f:1e3 f:0x1p-2 f:0x1.8p1 i:7");
	ck_assert_str_eq(cut("-> .. <= >= == != && || +="),
	                 "p:-> p:.. p:<= p:>= p:== p:!= p:&& p:|| p:+=");
	ck_assert_str_eq(cut("->=-<==>"), "p:-> p:= p:- p:<= p:= p:>");
	ck_assert_str_eq(cut("a.b conv1.w x.1"), "n:a.b n:conv1.w n:x p:. i:1");
	ck_assert_str_eq(cut("$x _y a$1 @block.x @ 3"), "n:$x n:_y n:a$1 n:@block.x p:@ i:3");
	ck_assert_str_eq(cut("2*p+r-3"), "i:2 p:* n:p p:+ n:r p:- i:3");
	ck_assert_str_eq(cut("\"a \\\"b\\\" \\\\ \\n\\t\\x41\""), "s:a \"b\" \\ \n\tA");
	ck_assert_str_eq(cut("\"# no comment\" x"), "s:# no comment n:x");
}
END_TEST

START_TEST(percent_is_a_name_or_a_remainder)
{
	ck_assert_str_eq(cut("f(%x, %12)"), "n:f p:( n:%x p:, n:%12 p:)");
	ck_assert_str_eq(cut("%x"), "n:%x");
	ck_assert_str_eq(cut("t%112 (a)%n b[i]%4 t % 3"),
	                 "n:t p:% i:112 p:( n:a p:) p:% n:n n:b p:[ n:i p:] p:% i:4 n:t p:% i:3");
}
END_TEST

START_TEST(buffers_quote_and_print_what_scanners_read)
{
	const char *texts[] = {"", "a\"b\\c", "line\nand\ttab", "\x01\x7f end", "\xc3\xa9 utf-8"};
	for (size_t i = 0; i < countof(texts); i++) {
		Buf out = {.arena = arena};
		Scanner scan;
		buf_quote(&out, texts[i]);
		scan_open(&scan, arena, "f.t", buf_text(&out));
		ck_assert_str_eq(scan_string(&scan, "a string"), texts[i]);
	}
	const double numbers[] = {0,       -0.0,     1,         -1.5, 0.1,
	                          1e300,   5e-324,   0x1p-1022, 1e21, 1e22,
	                          1.0 / 3, INFINITY, -INFINITY, 1e6,  123456789012345678};
	for (size_t i = 0; i < countof(numbers); i++) {
		Buf out = {.arena = arena};
		Scanner scan;
		buf_double(&out, numbers[i]);
		buf_putc(&out, ' ');
		buf_float(&out, (float)numbers[i]);
		scan_open(&scan, arena, "f.t", buf_text(&out));
		double value = scan_number(&scan, "a number");
		ck_assert_double_eq(value, numbers[i]);
		ck_assert_int_eq(signbit(value) != 0, signbit(numbers[i]) != 0);
		ck_assert_float_eq((float)scan_number(&scan, "a number"), (float)numbers[i]);
	}
}
END_TEST

START_TEST(shortest_numbers)
{
	Buf out = {.arena = arena};
	buf_float(&out, 0.1f);
	buf_pad(&out, 6);
	buf_double(&out, 0.1);
	buf_puts(&out, "\n");
	buf_pad(&out, 2);
	buf_float(&out, 16777216.0f);
	ck_assert_str_eq(buf_text(&out), "0.1   0.1\n  16777216");
	ck_assert_str_eq(buf_text(&(Buf){.arena = arena}), "");
}
END_TEST

START_TEST(numbers_and_lines)
{
	Scanner scan;
	scan_open(&scan, arena, "f.t",
	          "-9223372036854775808 0xFF\n\n nan -inf -0 18446744073709551615");
	ck_assert(scan_peek(&scan)->starts_line);
	ck_assert_int_eq(scan_integer(&scan, "n"), INT64_MIN);
	ck_assert(!scan_peek(&scan)->starts_line);
	ck_assert_int_eq(scan_integer(&scan, "n"), 255);
	ck_assert(scan_peek(&scan)->starts_line);
	ck_assert_int_eq(scan_loc(&scan).line, 3);
	ck_assert(isnan(scan_number(&scan, "n")));
	ck_assert_double_eq(scan_number(&scan, "n"), -INFINITY);
	ck_assert(signbit(scan_number(&scan, "n")));
	ck_assert_uint_eq((uint64_t)scan_peek(&scan)->integer, UINT64_MAX);
	ck_assert_double_eq(scan_peek(&scan)->number, 0x1p64);
	scan_next(&scan);
	ck_assert_int_eq(scan_next(&scan)->kind, TOK_END);
	ck_assert_int_eq(scan_next(&scan)->kind, TOK_END);
	ck_assert_int_eq(scan_peek_at(&scan, 5)->kind, TOK_END);
}
END_TEST

START_TEST(looking_and_taking)
{
	Scanner scan;
	scan_open(&scan, arena, "f.t", "a ( \"a\" b");
	ck_assert(scan_at(&scan, "a") && !scan_at(&scan, "("));
	ck_assert_str_eq(scan_peek_at(&scan, 1)->text, "(");
	ck_assert(!scan_accept(&scan, "b") && scan_accept(&scan, "a"));
	scan_expect(&scan, "(", "here");
	ck_assert(!scan_at(&scan, "a")); /* a string is not a name */
	ck_assert_str_eq(scan_string(&scan, "s"), "a");
	ck_assert_ptr_eq(scan_name(&scan, "name"), scan.tokens[3].text);
}
END_TEST

typedef struct Wrong {
	const char *text, *message;
	void (*read)(Scanner *);
} Wrong;

static void
read_two_and_paren(Scanner *scan)
{
	scan_next(scan);
	scan_next(scan);
	scan_expect(scan, ")", "after inputs of Relu");
}

static void
read_name(Scanner *scan)
{
	scan_name(scan, "a value");
}

static void
read_integer(Scanner *scan)
{
	scan_integer(scan, "an extent");
}

static void
read_string(Scanner *scan)
{
	scan_string(scan, "a node's name");
}

static void
run_wrong(void *arg)
{
	const Wrong *wrong = arg;
	Scanner scan;
	scan_open(&scan, arena, "fuse.t", wrong->text);
	wrong->read(&scan);
}

START_TEST(errors_say_what_and_where)
{
	Wrong wrongs[] = {
		{"a\nb\n{", "fuse.t:3: expected ')' after inputs of Relu, saw '{'", read_two_and_paren},
		{"a\nb", "fuse.t:2: expected ')' after inputs of Relu, saw the end of the text",
	     read_two_and_paren},
		{"12", "fuse.t:1: expected a value, saw '12'", read_name},
		{"\n\"s\"", "fuse.t:2: expected a value, saw \"s\"", read_name},
		{"x", "fuse.t:1: expected an extent, saw 'x'", read_integer},
		{"1.5", "fuse.t:1: expected an extent, saw '1.5'", read_integer},
		{"9223372036854775808", "fuse.t:1: integer 9223372036854775808 does not fit in 64 bits",
	     read_integer},
		{"-9223372036854775809", "fuse.t:1: integer -9223372036854775809 does not fit in 64 bits",
	     read_integer},
		{"\n18446744073709551616", "fuse.t:2: integer 18446744073709551616 does not fit in 64 bits",
	     read_integer},
		{"x", "fuse.t:1: expected a node's name, saw 'x'", read_string},
		{"\n\n\"abc\n\"", "fuse.t:3: expected '\"' at the end of a string, saw the end of the line",
	     read_string},
		{"\"abc\\", "fuse.t:1: expected \\n, \\t, \\\", \\\\ or \\xHH (not 00) in a string",
	     read_string},
		{"\"\\x00\"", "fuse.t:1: expected \\n, \\t, \\\", \\\\ or \\xHH (not 00) in a string",
	     read_string},
		{"\"\\x4\"", "fuse.t:1: expected \\n, \\t, \\\", \\\\ or \\xHH (not 00) in a string",
	     read_string},
		{"a `", "fuse.t:1: stray character '`'", read_name},
		{"a\n\x80", "fuse.t:2: stray byte 0x80", read_name},
	};
	for (size_t i = 0; i < countof(wrongs); i++) {
		Failure failure;
		ck_assert(!try_run(run_wrong, &wrongs[i], &failure));
		ck_assert_int_eq(failure.kind, FAIL_INVALID);
		ck_assert_str_eq(failure.text, wrongs[i].message);
	}
}
END_TEST

static void
scan_bytes(void *arg)
{
	Scanner scan;
	scan_open(&scan, arena, "f.t", arg);
}

/* Whatever the bytes: tokens or one sentence. */
START_TEST(random_bytes)
{
	uint32_t seed = 12345;
	for (int round = 0; round < 3000; round++) {
		char text[64];
		for (size_t i = 0; i + 1 < sizeof text; i++) {
			seed = seed * 1664525 + 1013904223;
			text[i] = (char)((seed >> 24) % 96 + (round % 2 ? 32 : 1));
		}
		text[sizeof text - 1] = 0;
		Failure failure = {.kind = FAIL_NONE};
		if (!try_run(scan_bytes, text, &failure))
			ck_assert_int_eq(failure.kind, FAIL_INVALID);
	}
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("scan");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, all_kinds);
	tcase_add_test(tcase, percent_is_a_name_or_a_remainder);
	tcase_add_test(tcase, buffers_quote_and_print_what_scanners_read);
	tcase_add_test(tcase, shortest_numbers);
	tcase_add_test(tcase, numbers_and_lines);
	tcase_add_test(tcase, looking_and_taking);
	tcase_add_test(tcase, errors_say_what_and_where);
	tcase_add_test(tcase, random_bytes);
	return unit_run(tcase);
}
