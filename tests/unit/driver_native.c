/* The row of this machine as a text (driver/measure/native.h): what a cache or a file of choices
 * may hold in its place changes nothing. */
#include "unit.h"

#include <string.h>

#include "driver/measure/native.h"

#define ROW(rates, l1, ways) \
	"{\"device\": \"cpu:x86-64-v4\", " rates ", \"l1\": " l1 ", \"l1_ways\": " ways \
	", \"l2\": 1048576, \"l2_ways\": 16}"
#define RATES "\"gflops\": 88, \"bf16\": 0, \"bandwidth\": 31.6"

static const char *const refused[] = {
	"",
	"{}",
	"[]",
	"nothing",
	ROW(RATES, "49152", "12") "x",
	"{\"device\": \"cpu:x86-64-v3\", " RATES ", \"l1\": 49152, \"l1_ways\": 12}",
	ROW("\"gflops\": 88, \"bf16\": 0", "49152", "12"),
	ROW("\"gflops\": 88, \"bandwidth\": 31.6", "49152", "12"),
	ROW("\"gflops\": 88, \"bf16\": 88, \"bandwidth\": 31.6", "49152", "12"),
	ROW("\"gflops\": 0, \"bf16\": 0, \"bandwidth\": 31.6", "49152", "12"),
	ROW("\"gflops\": -88, \"bf16\": 0, \"bandwidth\": 31.6", "49152", "12"),
	ROW("\"gflops\": 1e300, \"bf16\": 0, \"bandwidth\": 31.6", "49152", "12"),
	ROW("\"gflops\": 88, \"bf16\": 0, \"bandwidth\": 1e-9", "49152", "12"),
	ROW("\"gflops\": \"88\", \"bf16\": 0, \"bandwidth\": 31.6", "49152", "12"),
	ROW(RATES, "0", "12"),
	ROW(RATES, "-49152", "12"),
	ROW(RATES, "1e18", "12"),
	ROW(RATES, "49152", "0"),
	ROW(RATES, "49152", "1e9"),
	ROW(RATES, "49152", "null"),
	ROW(RATES, "[49152]", "12"),
};

START_TEST(reads_a_row)
{
	const Device *table = device_find("cpu:x86-64-v4");
	const char *text = ROW(RATES, "32768", "8");
	Device row = *table;
	ck_assert(native_read(text, strlen(text), &row));
	ck_assert_double_eq(row.gflops, 88);
	ck_assert_double_eq(row.bandwidth, 31.6);
	ck_assert_double_eq(row.levels[row.nlevel - 1].rate, 31.6);
	ck_assert_double_eq(row.peak.f64 / table->peak.f64, 0.5);
	ck_assert_double_eq(row.levels[2].rate / table->levels[2].rate, 0.5);
	ck_assert_int_eq(row.l1, 32768);
	ck_assert_int_eq(row.levels[1].ways, 8);
	ck_assert_int_eq(row.levels[1].banks, 64);
	ck_assert_int_eq(row.l2, 1048576);
}
END_TEST

/* The rate of bf16 is the text's, and not that of a faster clock. */
START_TEST(reads_the_rate_of_bf16)
{
	const Device *table = device_find("cpu:x86-64-v4-dot");
	const char *text = "{\"device\": \"cpu:x86-64-v4-dot\", \"gflops\": 88, \"bf16\": 124.5, "
					   "\"bandwidth\": 31.6, \"l1\": 49152, \"l1_ways\": 12, \"l2\": 1048576, "
					   "\"l2_ways\": 16}";
	Device row = *table;
	ck_assert(native_read(text, strlen(text), &row));
	ck_assert_double_eq(row.peak.bf16, 124.5);
	ck_assert_double_eq(row.peak.s8 / table->peak.s8, 0.5);
}
END_TEST

START_TEST(refuses_what_no_machine_has)
{
	const Device *table = device_find("cpu:x86-64-v4");
	for (int i = 0; i < (int)(sizeof refused / sizeof *refused); i++) {
		Device row = *table;
		ck_assert_msg(!native_read(refused[i], strlen(refused[i]), &row), "read: %s", refused[i]);
		ck_assert_msg(row.gflops == table->gflops && row.bandwidth == table->bandwidth &&
		                  row.l1 == table->l1 && row.levels[1].ways == table->levels[1].ways,
		              "changed by: %s", refused[i]);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("native");
	tcase_add_test(t, reads_a_row);
	tcase_add_test(t, reads_the_rate_of_bf16);
	tcase_add_test(t, refuses_what_no_machine_has);
	return unit_run(t);
}
