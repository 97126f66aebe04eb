/* NonMaxSuppression: per batch and class, boxes by falling score; one is kept unless a kept one
 * overlaps it by more than the threshold.
 */
#include <math.h>
#include <stdlib.h>

#include "host/inner.h"

typedef struct Box {
	float y1, x1, y2, x2;
} Box;

typedef struct Candidate {
	float score;
	int64_t index;
} Candidate;

static int
compare_scores(const void *left, const void *right)
{
	const Candidate *a = left, *b = right;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Corners in order, whatever two opposite ones (or centre and size) the model gives. */
static Box
box_of(const float *data, bool is_center)
{
	if (is_center) {
		float w = data[2] / 2, h = data[3] / 2;
		return (Box){data[1] - h, data[0] - w, data[1] + h, data[0] + w};
	}
	return (Box){fminf(data[0], data[2]), fminf(data[1], data[3]), fmaxf(data[0], data[2]),
	             fmaxf(data[1], data[3])};
}

static float
overlap(const Box *a, const Box *b)
{
	float h = fminf(a->y2, b->y2) - fmaxf(a->y1, b->y1);
	float w = fminf(a->x2, b->x2) - fmaxf(a->x1, b->x1);
	float area_a = (a->y2 - a->y1) * (a->x2 - a->x1), area_b = (b->y2 - b->y1) * (b->x2 - b->x1);
	if (h <= 0 || w <= 0 || area_a <= 0 || area_b <= 0)
		return 0;
	float both = h * w;
	return both / (area_a + area_b - both);
}

typedef struct Suppression {
	const Array *boxes, *scores;
	int64_t limit;
	float iou, least; /* least: scores at or below it are out */
	bool is_center;
	Candidate *candidates; /* room for all boxes */
	int64_t *kept;         /* of one class */
} Suppression;

/* Choose the boxes of one class into s->kept. */
static int64_t
suppress(Suppression *s, int64_t batch, int64_t class)
{
	int64_t count = s->boxes->dims[1], ncandidate = 0, nkept = 0;
	const float *scores =
		(const float *)s->scores->data + (batch * s->scores->dims[1] + class) * count;
	const float *boxes = (const float *)s->boxes->data + batch * count * 4;
	for (int64_t i = 0; i < count; i++)
		if (scores[i] > s->least)
			s->candidates[ncandidate++] = (Candidate){scores[i], i};
	qsort(s->candidates, (size_t)ncandidate, sizeof *s->candidates, compare_scores);
	for (int64_t i = 0; i < ncandidate && nkept < s->limit; i++) {
		Box box = box_of(boxes + s->candidates[i].index * 4, s->is_center);
		bool is_free = true;
		for (int64_t k = 0; k < nkept && is_free; k++) {
			Box other = box_of(boxes + s->kept[k] * 4, s->is_center);
			is_free = !(overlap(&box, &other) > s->iou);
		}
		if (is_free)
			s->kept[nkept++] = s->candidates[i].index;
	}
	return nkept;
}

static float
number(const HostCall *call, int index, float otherwise)
{
	const Array *x = host_input(call, index);
	return x && array_count(x) > 0 ? (float)dtype_load_f64(x->type, x->data, 0) : otherwise;
}

const char *
host_NonMaxSuppression(HostCall *call)
{
	Suppression s = {.boxes = host_input(call, 0), .scores = host_input(call, 1)};
	const Array *limit = host_input(call, 2);
	if (s.boxes->rank != 3 || s.scores->rank != 3 || s.boxes->dims[2] != 4 ||
	    s.boxes->dims[0] != s.scores->dims[0] || s.boxes->dims[1] != s.scores->dims[2])
		return "boxes must be [batches, boxes, 4] and scores [batches, classes, boxes]";
	int64_t batches = s.scores->dims[0], classes = s.scores->dims[1], count = s.boxes->dims[1];
	s.limit = limit && array_count(limit) > 0 ? dtype_load_i64(limit->type, limit->data, 0) : 0;
	s.limit = s.limit < 0 ? 0 : s.limit < count ? s.limit : count;
	s.iou = number(call, 3, 0);
	s.least = number(call, 4, -INFINITY);
	s.is_center = host_int(call, "center_point_box", 0) != 0;
	s.candidates = call->scratch(call->context, (size_t)(count + 1) * sizeof(Candidate));
	s.kept = call->scratch(call->context, (size_t)(count + 1) * sizeof(int64_t));
	int64_t room, total = 0;
	if (__builtin_mul_overflow(batches * classes, s.limit, &room) || room > INT64_MAX / 32)
		return host_no_memory;
	int64_t *found = call->scratch(call->context, (size_t)(room + 1) * 3 * sizeof(int64_t));
	if (!s.candidates || !s.kept || !found)
		return host_no_memory;
	for (int64_t b = 0; b < batches; b++)
		for (int64_t c = 0; c < classes; c++) {
			int64_t kept = suppress(&s, b, c);
			for (int64_t i = 0; i < kept; i++, total++) {
				found[3 * total] = b;
				found[3 * total + 1] = c;
				found[3 * total + 2] = s.kept[i];
			}
		}
	Array *y = call->output(call->context, 0, DT_I64, 2, (int64_t[]){total, 3});
	if (!y)
		return host_no_memory;
	host_copy(DT_I64, y->data, 0, found, 0, 3 * total);
	return NULL;
}
