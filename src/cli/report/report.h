/* Results for people and for programs, from one description.
 *
 *     Report *report = report_new(options);
 *     report_number(report, "median_ms", "median", 18.4, "%.2f ms");
 *     Table *table = report_table(report, "steps", "name:kernel|>ms");
 *     table_row(table, "%s|%.2f", "conv1+relu1", 1.25);
 *     report_print(report);
 *
 * With --json each fact and each table is a member of one object, numbers in full; otherwise facts
 * are lines and tables have aligned columns; with --quiet nothing is printed. A number of the form
 * "%.2f ms" is told in microseconds where it is under a tenth of a millisecond; not in JSON.
 */
#ifndef CLI_REPORT_REPORT_H
#define CLI_REPORT_REPORT_H

#include <stdio.h>

#include "bundle/bundle.h"
#include "cli/cli.h"
#include "graph/graph.h"

typedef struct Report Report;
typedef struct Table Table;

Report *report_new(const Options *options);

/* `key` names it in JSON, `label` for people (NULL: JSON only). Texts are not copied. */
void report_text(Report *report, const char *key, const char *label, const char *value);
void report_number(Report *report, const char *key, const char *label, double value,
                   const char *format);
/* Lines as they are, which --quiet does not hold back; in JSON a text, or (key NULL) nothing. */
void report_body(Report *report, const char *key, const char *text);
/* A member that is JSON already: an object or an array. People do not see it. */
void report_json(Report *report, const char *key, const char *text);

/* Columns are "KEY" or "KEY:LABEL", with > in front where cells stand at the right. */
Table *report_table(Report *report, const char *key, const char *columns);
/* A conversion for each column: %s is a text, any other a number. NULL and NAN: an empty cell. */
void table_row(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void report_print(Report *report);

/* A line for people: not with --json or --quiet. */
void report_say(const Options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* 512, "1.5 KB", "47 MB": decimal. */
const char *size_text(Arena *arena, double bytes);

/* What a bundle consists of, in bytes; the parts are of all, and what is left is not named. */
typedef struct BundleSizes {
	double all, weights, packed, code;
} BundleSizes;

/* Of a bundle of so many bytes. */
BundleSizes bundle_sizes(const Manifest *manifest, size_t all);

/* "129 MB: weights 47 MB, weights packed for the library 82 MB, code 50 KB, the rest 0.3 MB". */
const char *bundle_sizes_text(Arena *arena, const BundleSizes *sizes);

/* What a graph consists of, for tables before and after. */
typedef struct GraphCounts {
	Map ops; /* operator to its count */
	int nodes, constants;
	double constant_bytes;
} GraphCounts;

GraphCounts graph_counts(Arena *arena, const Graph *graph);
void report_graphs(Report *report, const GraphCounts *before, const GraphCounts *after);

/* "f32[1,64,56,56] @nc16hw": of a buffer of a plan, and of what a step makes. */
const char *buffer_type_text(Arena *arena, const Plan *plan, const PlanBuffer *buffer);
const char *result_text(Arena *arena, const Plan *plan, const PlanStep *step);

#endif
