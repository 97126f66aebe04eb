/* compare --tensors and --kernels: the values inside of a model, beside the base's. */
#include "cli/verbs/compared.h"

#include <math.h>
#include <stdlib.h>

#include "bundle/json.h"
#include "cli/measure/distance.h"
#include "cli/measure/tensors.h"
#include "driver/files.h"
#include "driver/sizes/npy.h"

/* ---- --output ---- */

void
compared_write(Compared *c, int subject, const char *name, const Array *array)
{
	const char *folder = arena_printf(c->arena, "%s/%d", c->options->result_dir, subject);
	if (array->type == DT_STRING)
		return;
	file_make_folder(folder);
	npy_write(c->arena, npy_path(c->arena, folder, name), array);
}

static void
write_tensors(Compared *c, int subject, const ModelTensors *tensors)
{
	for (int i = 0; i < tensors->list.count; i++)
		if (tensors->list.data[i].name)
			compared_write(c, subject, tensors->list.data[i].name, &tensors->list.data[i].array);
}

/* ---- tensors ---- */

/* One beside the base's. */
typedef struct Pair {
	const ModelTensor *base, *seen;
	Distance distance;
} Pair;

typedef VEC(Pair) Pairs;

/* The model that says which tensors there are: that of the first subject that is one. */
static const char *
model_of(const Compared *c)
{
	for (int i = 0; i < c->count; i++) {
		const Subject *s = c->subjects[i];
		bool is_file = s->executor != &executor_command;
		if (is_file && file_kind(s->file, file_map(c->arena, s->file)) == FILE_ONNX)
			return s->file;
	}
	fail_as(
		FAIL_USAGE, NULL,
		"--tensors and --kernels: none of the subjects is an ONNX model, which says what tensors "
		"are called: give one, as m.onnx@O0");
}

/* In the base's order. A value of another shape, or integers of another type, is another one. */
static Pairs
pair_tensors(Compared *c, Arena *arena, const ModelTensors *base, const ModelTensors *seen)
{
	Pairs pairs = {0};
	for (int i = 0; i < base->list.count; i++) {
		const ModelTensor *a = &base->list.data[i];
		const ModelTensor *b = a->name ? tensors_find(seen, a->name) : NULL;
		if (!b)
			continue;
		Pair pair = {a, b, distance_quick(c->options, arena, &a->array, &b->array)};
		if (!pair.distance.comparison.reason)
			vec_push(arena, &pairs, pair);
	}
	return pairs;
}

static int
compare_pairs(const void *a, const void *b)
{
	double x = ((const Pair *)a)->distance.relative, y = ((const Pair *)b)->distance.relative;
	return x < y ? 1 : x > y ? -1 : 0;
}

/* "%relu1 of node "conv1" (Conv)" */
static const char *
tensor_text(Arena *arena, const ModelTensor *tensor)
{
	return arena_printf(arena, "%%%s of node \"%s\" (%s)", tensor->name, tensor->node->name,
	                    tensor->node->op);
}

static void
tensor_row(Table *table, const Subject *subject, const Pair *pair)
{
	const Distance *d = &pair->distance;
	table_row(table, "%s|%.1e|%.2e|%.1e|%.9f|%s|%s|%s|%s", subject->text, d->relative,
	          d->comparison.worst, d->mean, d->cosine, d->comparison.wrong ? "differs" : "",
	          pair->base->node->op, pair->base->name, pair->base->node->name);
}

/* All for programs, the ten worst for people. */
static void
report_pairs(Compared *c, Table *table, const Subject *subject, Pairs *pairs)
{
	enum { SHOWN = 10 };
	if (pairs->count && !c->options->json)
		qsort(pairs->data, (size_t)pairs->count, sizeof *pairs->data, compare_pairs);
	for (int i = 0; i < pairs->count && (c->options->json || i < SHOWN); i++)
		tensor_row(table, subject, &pairs->data[i]);
}

/* Where a subject leaves the base, and where it is farthest from it: a row of `parts`, and the
 * sentence that says the same. */
static void
part_from_base(Compared *c, Buf *json, Buf *said, const Subject *subject, const Pairs *pairs)
{
	const Pair *first = NULL, *worst = NULL;
	int differing = 0;
	const char *what = "", *first_name = "", *worst_name = "";
	for (int i = 0; i < pairs->count; i++) {
		const Pair *pair = &pairs->data[i];
		first = !first && pair->distance.comparison.wrong ? pair : first;
		differing += pair->distance.comparison.wrong > 0;
		worst = !worst || pair->distance.relative > worst->distance.relative ? pair : worst;
	}
	c->differs |= differing > 0;
	if (pairs->count == 0)
		warn(NULL, "%s and the first subject have no tensor of one name", subject->text);
	buf_printf(said, "%s: %d tensor%s compared, %d differ", subject->text, pairs->count,
	           pairs->count == 1 ? " is" : "s are", differing);
	if (first) {
		first_name = first->base->name;
		what = comparison_text(c->arena, &first->distance.comparison, &first->base->array,
		                       &first->seen->array);
		buf_printf(said, ", first %s: %s", tensor_text(c->arena, first->base), what);
	}
	if (worst) {
		worst_name = worst->base->name;
		buf_printf(said, "; the farthest is %s, by %.1e of its largest element",
		           tensor_text(c->arena, worst->base), worst->distance.relative);
	}
	buf_puts(said, "\n");
	json_put(json, "{'subject': %s, 'tensors': %d, 'differ': %d, 'first': %s, 'what': %s, ",
	         subject->text, pairs->count, differing, first_name, what);
	json_put(json, "'worst': %s}", worst_name);
}

/* Each step of ours: what is wrong with it for the inputs it had, and how far it is from the base's
 * run, with all that came before it. */
static void
report_kernels(Compared *c, Table *table, const Subject *subject, const ModelTensors *base,
               const ModelTensors *seen)
{
	for (int i = 0; i < seen->list.count; i++) {
		const ModelTensor *tensor = &seen->list.data[i];
		const ModelTensor *beside =
			tensor->name && base != seen ? tensors_find(base, tensor->name) : NULL;
		double apart = NAN;
		if (beside) {
			Distance d = distance_quick(c->options, c->arena, &beside->array, &tensor->array);
			apart = d.comparison.reason ? NAN : d.relative;
		}
		c->differs |= tensor->wrong != NULL;
		const char *wrong = arena_strdup(c->arena, tensor->wrong ? tensor->wrong : "");
		table_row(table, "%s|%s|%.0f|%.2g|%.1e|%s|%s|%s", subject->text, tensor->kind,
		          (double)tensor->points, tensor->points ? tensor->worst : NAN, apart,
		          arena_strdup(c->arena, tensor->step), tensor->name, wrong);
	}
}

void
compared_tensors(Compared *c, Progress *progress)
{
	const Options *options = c->options;
	const Outline *outline = outline_read(c->arena, model_of(c));
	Arena *passing = arena_new_in(c->arena, "tensors");
	Table *table = NULL, *kernels = NULL;
	Buf json = {.arena = c->arena};
	if (options->tensors)
		table = report_table(c->report, "tensors",
		                     "subject|>relative|>max:largest difference|>mean|>cosine|differs:|op|"
		                     "tensor|node");
	if (options->kernels)
		kernels = report_table(c->report, "kernels",
		                       "subject|kind|>points|>alone|>in_place:in place|step|tensor|wrong:");
	ModelTensors base = tensors_of(c->subjects[0], c->arena, outline, NULL);
	for (int i = 0; i < c->count; i++) {
		Subject *subject = c->subjects[i];
		progress_show(progress, "tensors", i, c->count);
		ModelTensors seen = i ? tensors_of(subject, passing, outline, &base) : base;
		Pairs pairs = {0};
		if (table && i > 0) {
			pairs = pair_tensors(c, passing, &base, &seen);
			buf_puts(&json, json.size ? ", " : "");
			part_from_base(c, &json, &c->said, subject, &pairs);
			report_pairs(c, table, subject, &pairs);
		}
		if (kernels && !subject->executor)
			report_kernels(c, kernels, subject, i ? &base : &seen, &seen);
		if (options->result_dir)
			write_tensors(c, i, &seen);
		arena_reset(passing);
	}
	if (table)
		report_json(c->report, "parts", arena_printf(c->arena, "[%s]", buf_text(&json)));
}
