/* Programs of threads made by chance: lists of steps, their text as threads and as plain loops, and
 * a model that says whether two unordered accesses meet. tir_threads_random.c explains them.
 */
#ifndef UNIT_THREAD_STEPS_H
#define UNIT_THREAD_STEPS_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"
#include "random_number.h"

enum { THREADS = 64, BLOCKS = 3, ARRAYS = 3, RESULT = 2, MAX_STEPS = 24 };

typedef enum Kind {
	STEP_STORE, /* s[…] = r + by */
	STEP_ADD,   /* s[…] += r */
	STEP_LOAD,  /* r = r * 3 + s[…] */
	STEP_COPY,  /* s[…] = X, asynchronously */
	STEP_COMMIT,
	STEP_WAIT, /* for all groups but `by` - 1 */
	STEP_SHUFFLE,
	STEP_SYNC,
	STEP_LOOP, /* the steps up to the end are taken `by` times */
	STEP_END,
	STEP_KINDS
} Kind;

typedef struct Step {
	Kind kind;
	int array;      /* 0, 1: shared; RESULT: Y, whose row is that of the block, or of the next */
	int scale, add; /* the place of thread t in turn i: (t * scale + add + i) % THREADS */
	int row;        /* Y: of how many blocks on */
	int guard;      /* threads whose t % 4 is less take the step; 4: all */
	int by;
	int shuffle;
	bool in_loop;
} Step;

typedef struct Steps {
	int count;
	Step list[MAX_STEPS];
} Steps;

static const char *const shuffles[] = {"shfl.xor", "shfl.up", "shfl.down", "shfl.idx"};

/* ---- making ---------------------------------------------------------------------------------- */

/* What comes next: behind a copy, often what lets it arrive. */
static inline Kind
choose_kind(uint64_t *state, const Steps *steps, int sync_weight)
{
	Kind last = steps->count > 0 ? steps->list[steps->count - 1].kind : STEP_SYNC;
	if (last >= STEP_COPY && last <= STEP_WAIT && random_below(state, 4) > 0)
		return last == STEP_WAIT ? STEP_SYNC : last + 1;
	Kind kind = (Kind)random_below(state, STEP_KINDS + (unsigned)sync_weight);
	return kind >= STEP_KINDS ? STEP_SYNC : kind;
}

static inline Steps
make_steps(uint64_t *state)
{
	Steps steps = {0};
	bool in_loop = false;
	int wanted = 4 + (int)random_below(state, MAX_STEPS - 6);
	int sync_weight = (int)random_below(state, 12), rows = (int)random_below(state, 8);
	bool has_copies = random_below(state, 2) == 0;
	while (steps.count < wanted) {
		Kind kind = choose_kind(state, &steps, sync_weight);
		bool is_of_copies = kind >= STEP_COPY && kind <= STEP_WAIT;
		if ((kind == STEP_LOOP && in_loop) || (kind == STEP_END && !in_loop) ||
		    (is_of_copies && !has_copies))
			continue;
		in_loop = kind == STEP_LOOP || (in_loop && kind != STEP_END);
		steps.list[steps.count++] = (Step){
			.kind = kind,
			.array = (int)random_below(state, kind == STEP_COPY ? RESULT : ARRAYS),
			.scale = random_below(state, 3) ? 1 : 3,
			.add = random_below(state, 3) ? 0 : (int)random_below(state, THREADS),
			.row = rows == 0 ? (int)random_below(state, BLOCKS) : 0,
			.guard = random_below(state, 4) ? 4 : 1 + (int)random_below(state, 3),
			.by = 1 + (int)random_below(state, 3),
			.shuffle = (int)random_below(state, countof(shuffles)),
			.in_loop = in_loop,
		};
	}
	if (in_loop)
		steps.list[steps.count++] = (Step){.kind = STEP_END};
	return steps;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static inline const char *
place_text(const Step *step)
{
	const char *turn = step->in_loop ? "+i" : "";
	const char *at =
		arena_printf(arena, "(t*%d+%d%s) %% %d", step->scale, step->add, turn, THREADS);
	if (step->array == RESULT)
		return arena_printf(arena, "Y[(b+%d) %% %d, %s]", step->row, BLOCKS, at);
	return arena_printf(arena, "s%d[%s]", step->array, at);
}

/* One statement for all threads, or for those of the guard. */
__attribute__((format(printf, 4, 5))) static inline void
add_line(Buf *buf, bool is_plain, const Step *step, const char *format, ...)
{
	va_list args;
	char text[256];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	buf_puts(buf, is_plain ? arena_printf(arena, "for t in %d\n", THREADS) : "");
	buf_puts(buf,
	         step && step->guard < 4 ? arena_printf(arena, "if (t %% 4 < %d)\n", step->guard) : "");
	buf_printf(buf, "%s\n", text);
}

/* Where thread t of the plain program finds what the shuffle gives it. */
static inline const char *
source_text(const Step *step)
{
	static const char *const sources[] = {"bitxor(t, %d)", "t%%32 < %d ? t : t-%d",
	                                      "t%%32 + %d > 31 ? t : t+%d", "t/32*32 + %d"};
	Buf buf = {.arena = arena};
	buf_printf(&buf, sources[step->shuffle], step->by, step->by);
	return buf_text(&buf);
}

static inline void
add_shuffle(Buf *buf, bool is_plain, const Step *step)
{
	if (is_plain) {
		add_line(buf, true, NULL, "q[t] = r[at(%s, 0..%d, nowrap, check)]", source_text(step),
		         THREADS);
		add_line(buf, true, NULL, "r[t] = r[t]*7 + q[t]");
	} else {
		add_line(buf, false, NULL, "q[] = %s(r[], %d)", shuffles[step->shuffle], step->by);
		add_line(buf, false, NULL, "r[] = r[]*7 + q[]");
	}
}

/* Plain copies have arrived at once. */
static inline void
add_group(Buf *buf, bool is_plain, const Step *step)
{
	if (is_plain)
		return;
	if (step->kind == STEP_COMMIT)
		add_line(buf, false, step, "cp.async.commit()");
	else
		add_line(buf, false, step, "cp.async.wait(%d)", step->by - 1);
}

static inline void
add_step(Buf *buf, bool is_plain, const Step *step)
{
	const char *r = is_plain ? "r[t]" : "r[]";
	if (step->kind == STEP_STORE)
		add_line(buf, is_plain, step, "%s = %s + %d", place_text(step), r, step->by);
	else if (step->kind == STEP_ADD)
		add_line(buf, is_plain, step, "%s += %s", place_text(step), r);
	else if (step->kind == STEP_LOAD)
		add_line(buf, is_plain, step, "%s = %s*3 + %s", r, r, place_text(step));
	else if (step->kind == STEP_COPY)
		add_line(buf, is_plain, step, is_plain ? "%s = X[b, t]" : "%s = cp.async(X[b, t], 8)",
		         place_text(step));
	else if (step->kind == STEP_COMMIT || step->kind == STEP_WAIT)
		add_group(buf, is_plain, step);
	else if (step->kind == STEP_SHUFFLE)
		add_shuffle(buf, is_plain, step);
	else if (step->kind == STEP_SYNC)
		buf_puts(buf, is_plain ? "" : "sync\n");
	else
		buf_puts(buf, step->kind == STEP_LOOP ? arena_printf(arena, "for i in %d {\n", step->by)
		                                      : "}\n");
}

static inline const char *
program_text(const Steps *steps, bool is_plain)
{
	const char *scope = is_plain ? "scratch" : "shared";
	Buf buf = {.arena = arena};
	buf_printf(&buf, "kernel k(X: i64[%d,%d], Y: out i64[%d,%d]) {\nfor b in %d%s {\n", BLOCKS,
	           THREADS, BLOCKS, THREADS, BLOCKS, is_plain ? "" : " @block.x");
	buf_printf(&buf, "s0: i64[%d] @%s\ns1: i64[%d] @%s\n", THREADS, scope, THREADS, scope);
	if (is_plain)
		buf_printf(&buf, "r: i64[%d] @scratch\nq: i64[%d] @scratch\n", THREADS, THREADS);
	else
		buf_printf(&buf, "for t in %d @thread.x {\nr: i64 @reg\nq: i64 @reg\n", THREADS);
	add_line(&buf, is_plain, NULL, "%s = X[b, t]", is_plain ? "r[t]" : "r[]");
	add_line(&buf, is_plain, NULL, "s0[t] = X[b, t] + 1");
	add_line(&buf, is_plain, NULL, "s1[t] = X[b, t] * 2");
	buf_puts(&buf, is_plain ? "" : "sync\n");
	for (int i = 0; i < steps->count; i++)
		add_step(&buf, is_plain, &steps->list[i]);
	add_line(&buf, is_plain, NULL, "Y[b, t] = %s", is_plain ? "r[t]" : "r[]");
	buf_puts(&buf, is_plain ? "}\n}\n" : "}\n}\n}\n");
	return buf_text(&buf);
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct Touch {
	int block, thread, epoch;
	bool is_write;
} Touch;

/* A copy on its way to an element. */
typedef struct Coming {
	bool is_coming;
	int thread, group;
} Coming;

typedef struct Model {
	VEC(Touch) touches[ARRAYS][BLOCKS][THREADS];
	Coming coming[ARRAYS][BLOCKS][THREADS];
	int groups[THREADS]; /* committed */
	int epoch;
	bool is_wrong;
} Model;

static inline void
touch(Model *model, int array, int row, int at, Touch now)
{
	model->is_wrong |= model->coming[array][row][at].is_coming;
	for (int i = 0; i < model->touches[array][row][at].count; i++) {
		Touch then = model->touches[array][row][at].data[i];
		bool is_unordered =
			then.block != now.block || (then.thread != now.thread && then.epoch == now.epoch);
		model->is_wrong |= is_unordered && (then.is_write || now.is_write);
	}
	vec_push(arena, &model->touches[array][row][at], now);
}

static inline void
model_wait(Model *model, int block, int thread, int left)
{
	for (int i = 0; i < RESULT * THREADS; i++) {
		int array = i / THREADS, at = i % THREADS;
		Coming *coming = &model->coming[array][block][at];
		if (!coming->is_coming || coming->thread != thread ||
		    coming->group + left >= model->groups[thread])
			continue;
		coming->is_coming = false;
		touch(model, array, block, at, (Touch){block, thread, model->epoch, true});
	}
}

static inline void
model_step(Model *model, const Step *step, int block, int turn)
{
	model->epoch += step->kind == STEP_SYNC;
	for (int t = 0; t < THREADS; t++) {
		if (t % 4 >= step->guard || step->kind > STEP_WAIT)
			continue;
		model->groups[t] += step->kind == STEP_COMMIT;
		if (step->kind == STEP_WAIT)
			model_wait(model, block, t, step->by - 1);
		if (step->kind > STEP_COPY)
			continue;
		int at = (t * step->scale + step->add + turn) % THREADS;
		int row = step->array == RESULT ? (block + step->row) % BLOCKS : block;
		touch(model, step->array, row, at,
		      (Touch){block, t, model->epoch, step->kind != STEP_LOAD});
		if (step->kind == STEP_COPY)
			model->coming[step->array][row][at] = (Coming){true, t, model->groups[t]};
	}
}

/* The steps of [from, to), and those of a loop as often as it turns. */
static inline void
model_steps(Model *model, const Steps *steps, int from, int to, int block, int turn)
{
	for (int i = from; i < to; i++) {
		if (steps->list[i].kind != STEP_LOOP) {
			model_step(model, &steps->list[i], block, turn);
			continue;
		}
		int end = i;
		while (steps->list[end].kind != STEP_END)
			end++;
		for (int k = 0; k < steps->list[i].by; k++)
			model_steps(model, steps, i + 1, end, block, k);
		i = end;
	}
}

static inline bool
is_wrong(const Steps *steps)
{
	Model *model = NEW(arena, Model);
	const Step last = {.kind = STEP_STORE, .array = RESULT, .scale = 1, .guard = 4};
	for (int block = 0; block < BLOCKS; block++) {
		model->epoch++;
		memset(model->groups, 0, sizeof model->groups);
		model_steps(model, steps, 0, steps->count, block, 0);
		model_step(model, &last, block, 0);
	}
	return model->is_wrong;
}

#endif
