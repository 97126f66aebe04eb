/* Streams, events, copies, graphs: work in lists, done when it must be or by chance. */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

typedef enum OpKind { OP_CALL, OP_COPY, OP_FREE, OP_RECORD, OP_WAIT, OP_REPLAY } OpKind;

/* Rows of bytes; `taken`: what pageable memory held when the copy was given. */
typedef struct Copy {
	unsigned char *to, *taken;
	const unsigned char *from;
	size_t to_pitch, from_pitch, width, height;
} Copy;

typedef struct Op {
	struct Op *next;
	OpKind kind;
	Copy copy;
	void *memory;         /* OP_FREE */
	void (*call)(void *); /* OP_CALL, */
	void *work;           /* and with what */
	CudaEvent *event;     /* OP_RECORD, OP_WAIT: and which of its records */
	CudaStream *recorder; /* OP_WAIT: whose that is */
	unsigned long number;
	CudaGraph *graph; /* OP_REPLAY */
	/* in a graph: what must be done before, and in which run this was done */
	struct Op *after[2];
	unsigned long run;
} Op;

struct CudaStream {
	Handle head;
	Op *first, **end;
	CudaGraph *graph; /* being captured; NULL: work is done */
	Op *last;         /* in that graph, of this stream */
};

struct CudaEvent {
	Handle head;
	unsigned long recorded, done;
	CudaStream *stream;
	CudaGraph *graph; /* recorded in a capture: where */
	Op *op;
};

struct CudaGraph {
	Handle head;
	Op *ops, **end;
	CudaStream *origin;
	int users;
	unsigned long runs;
};

struct CudaGraphRun {
	Handle head;
	CudaGraph *graph;
};

/* ---- Doing work ---- */

static unsigned char *
side(const void *address, size_t bytes, const char *word)
{
	HandleKind kind;
	unsigned char *found = memory_bytes(address, bytes, &kind);
	if (!found)
		misuse("a copy %s %p, which is no memory of the device's or pinned", word, address);
	return found;
}

static bool
is_ours(const void *address)
{
	HandleKind kind;
	return memory_bytes(address, 0, &kind) != NULL;
}

static long copied;
long
copied_bytes(void)
{
	return copied;
}

static void
run_copy(const Copy *copy)
{
	copied += (long)(copy->height * copy->width);
	for (size_t i = 0; i < copy->height; i++) {
		const unsigned char *from = copy->from + i * copy->from_pitch;
		unsigned char *to = copy->to + i * copy->to_pitch;
		from = copy->taken ? copy->taken : side(from, copy->width, "from");
		memcpy(is_ours(to) ? side(to, copy->width, "to") : to, from, copy->width);
	}
}

static void step(CudaStream *stream);
static void replay(CudaGraph *graph);
static void drop_graph(CudaGraph *graph);

static void
run(const Op *op)
{
	if (op->kind == OP_CALL)
		op->call(op->work);
	if (op->kind == OP_COPY)
		run_copy(&op->copy);
	if (op->kind == OP_RECORD)
		op->event->done = op->number;
	while (op->kind == OP_WAIT && op->event->done < op->number)
		step(op->recorder);
	if (op->kind == OP_REPLAY)
		replay(op->graph);
}

static bool
is_ready(const Op *op, unsigned long run)
{
	for (int i = 0; i < 2; i++)
		if (op->after[i] && op->after[i]->run != run)
			return false;
	return true;
}

/* In any order that the edges allow. */
static void
replay(CudaGraph *graph)
{
	unsigned long number = ++graph->runs;
	for (bool is_left = true; is_left;) {
		is_left = false;
		for (Op *op = graph->ops; op; op = op->next) {
			bool is_now = op->run != number && is_ready(op, number) && chance(3) > 0;
			if (is_now && op->kind <= OP_COPY)
				run(op);
			op->run = is_now ? number : op->run;
			is_left = is_left || op->run != number;
		}
	}
}

static void
drop(Op *op)
{
	if (op->kind == OP_FREE)
		block_release(op->memory);
	if (op->kind == OP_REPLAY)
		drop_graph(op->graph);
	free(op->copy.taken);
	free(op->work);
	free(op);
}

static void
pop(CudaStream *stream)
{
	Op *op = stream->first;
	stream->first = op->next;
	if (!op->next)
		stream->end = &stream->first;
	drop(op);
}

static void
step(CudaStream *stream)
{
	if (!stream->first)
		misuse("work waits for what was never given");
	run(stream->first);
	pop(stream);
}

static void
stream_finish(CudaStream *stream)
{
	while (stream->first)
		step(stream);
}

/* The stream that has no handle: others, which do not block, do not wait for it. */
static CudaStream default_stream = {.end = &default_stream.first};

/* Streams, the first in *found; gives how many. */
static int
list_streams(CudaStream **found, int most)
{
	found[0] = &default_stream;
	return 1 + (int)handle_list(IS_STREAM, (void **)found + 1, (size_t)most - 1);
}

void
work_some(void)
{
	CudaStream *streams[64];
	int count = list_streams(streams, 64);
	for (int left = count ? chance(4) : 0; left > 0; left--) {
		CudaStream *stream = streams[chance(count)];
		const Op *op = stream->first;
		if (op && (op->kind != OP_WAIT || op->event->done >= op->number))
			step(stream);
	}
}

void
work_all(void)
{
	CudaStream *streams[64];
	int count = list_streams(streams, 64);
	for (int i = 0; i < count; i++)
		stream_finish(streams[i]);
}

void
work_none(void)
{
	while (default_stream.first)
		pop(&default_stream);
}

/* ---- Giving work ---- */

static Op *
give(CudaStream *stream, OpKind kind)
{
	Op *op = calloc(1, sizeof *op);
	op->kind = kind;
	op->after[0] = stream->last;
	Op ***end = stream->graph ? &stream->graph->end : &stream->end;
	**end = op;
	*end = &op->next;
	if (stream->graph)
		stream->last = op;
	return op;
}

void
call_give(CudaStream *stream, void (*call)(void *work), void *work)
{
	Op *op = give(stream, OP_CALL);
	op->call = call;
	op->work = work;
}

/* Begin a call with a stream; none is CUDA's own. */
static int
begin(CudaStream **stream)
{
	int error = enter();
	if (*stream)
		handle_check(*stream, IS_STREAM);
	else
		*stream = &default_stream;
	return error;
}

int
cudaStreamCreateWithFlags(CudaStream **stream, unsigned flags)
{
	int error = enter();
	*stream = error || flags != CUDA_STREAM_NON_BLOCKING ? NULL : calloc(1, sizeof **stream);
	if (*stream) {
		handle_add(*stream, IS_STREAM);
		(*stream)->end = &(*stream)->first;
	}
	leave();
	return error;
}

int
cudaStreamDestroy(CudaStream *stream)
{
	int error = begin(&stream);
	if (stream->graph)
		misuse("a stream goes that is captured");
	if (!error)
		stream_finish(stream);
	while (stream->first)
		pop(stream);
	handle_remove(stream);
	leave();
	return error;
}

int
cudaStreamSynchronize(CudaStream *stream)
{
	int error = begin(&stream);
	if (stream->graph)
		misuse("the host waits for a stream that is captured");
	if (!error)
		stream_finish(stream);
	leave();
	return error;
}

int
cudaFreeAsync(void *address, CudaStream *stream)
{
	int error = begin(&stream);
	HandleKind kind;
	if (stream->graph || !memory_bytes(address, 0, &kind) || kind != IS_DEVICE_BLOCK)
		misuse("%p is given back by a stream that cannot", address);
	give(stream, OP_FREE)->memory = address;
	leave();
	return error;
}

int
cudaLaunchKernel(const void *kernel, CudaDim grid, CudaDim block, void **args, size_t shared,
                 CudaStream *stream)
{
	int error = begin(&stream);
	Start *start = NULL;
	if (!error)
		error = start_new(&start, kernel, grid, block, args, shared);
	if (!error)
		call_give(stream, start_run, start);
	leave();
	return error;
}

/* Pageable memory is read now, or written now; pinned memory when the work is done, and until then
 * holds what nobody may take for the result. */
static void
copy_host(CudaStream *stream, Op *op)
{
	Copy *copy = &op->copy;
	HandleKind from, to;
	bool is_from = memory_bytes(copy->from, 0, &from), is_to = memory_bytes(copy->to, 0, &to);
	if (is_from && is_to && (to != IS_PINNED_BLOCK || stream->graph))
		return;
	if (stream->graph)
		misuse("a copy of pageable memory is captured");
	if (copy->height > 1 && (!is_from || !is_to))
		misuse("rows are copied between memories");
	if (!is_from) {
		copy->taken = malloc(copy->width);
		memcpy(copy->taken, copy->from, copy->width);
	}
	if (!is_to)
		stream_finish(stream);
	else if (to == IS_PINNED_BLOCK)
		memset(copy->to, 0xff, copy->width);
}

int
cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                  size_t height, int kind, CudaStream *stream)
{
	int error = begin(&stream);
	bool is_wide = to_pitch >= width && from_pitch >= width && (to_pitch | from_pitch) <= INT32_MAX;
	if (!error && (kind != CUDA_COPY_BY_ADDRESS || !is_wide))
		error = 12;
	if (!error) {
		Op *op = give(stream, OP_COPY);
		op->copy = (Copy){to, NULL, from, to_pitch, from_pitch, width, height};
		copy_host(stream, op);
	}
	leave();
	return error;
}

/* On the default stream, which it waits for; what goes to the device has been read when it
 * returns, and need not be there yet. */
int
cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	int error = enter();
	(void)kind;
	if (!error) {
		CudaStream *stream = &default_stream;
		stream_finish(stream);
		Op *op = give(stream, OP_COPY);
		op->copy = (Copy){to, NULL, from, bytes, bytes, bytes, 1};
		copy_host(stream, op);
		if (!is_ours(to))
			stream_finish(stream);
	}
	leave();
	return error;
}

/* ---- Events ---- */

int
cudaEventCreateWithFlags(CudaEvent **event, unsigned flags)
{
	int error = enter();
	(void)flags;
	*event = error ? NULL : calloc(1, sizeof **event);
	if (*event)
		handle_add(*event, IS_EVENT);
	leave();
	return error;
}

int
cudaEventDestroy(CudaEvent *event)
{
	int error = enter();
	handle_check(event, IS_EVENT);
	if (!error)
		work_all();
	handle_remove(event);
	leave();
	return error;
}

int
cudaEventRecord(CudaEvent *event, CudaStream *stream)
{
	int error = begin(&stream);
	handle_check(event, IS_EVENT);
	if (!error) {
		Op *op = give(stream, OP_RECORD);
		event->graph = stream->graph;
		event->stream = stream;
		event->op = op;
		op->event = event;
		op->number = stream->graph ? 0 : ++event->recorded;
	}
	leave();
	return error;
}

int
cudaEventSynchronize(CudaEvent *event)
{
	int error = enter();
	handle_check(event, IS_EVENT);
	if (event->graph)
		misuse("the host waits for an event that was captured");
	while (!error && event->done < event->recorded)
		step(event->stream);
	leave();
	return error;
}

/* A stream that waits for a captured event is captured from then on. */
int
cudaStreamWaitEvent(CudaStream *stream, CudaEvent *event, unsigned flags)
{
	int error = begin(&stream);
	handle_check(event, IS_EVENT);
	if (flags || (stream->graph && stream->graph != event->graph))
		misuse("a stream that is captured waits for what is not");
	if (!error) {
		stream->graph = event->graph;
		Op *op = give(stream, OP_WAIT);
		op->event = event;
		op->recorder = event->stream;
		op->number = event->recorded;
		op->after[1] = event->graph ? event->op : NULL;
	}
	leave();
	return error;
}

/* ---- Graphs ---- */

int
cudaStreamBeginCapture(CudaStream *stream, int mode)
{
	int error = begin(&stream);
	if (stream->graph || mode != CUDA_CAPTURE_RELAXED)
		misuse("a stream is captured that is already");
	CudaGraph *graph = error ? NULL : calloc(1, sizeof *graph);
	if (graph) {
		handle_add(graph, IS_GRAPH);
		*graph = (CudaGraph){.head = graph->head, .origin = stream, .users = 1};
		graph->end = &graph->ops;
		stream->graph = graph;
	}
	leave();
	return error;
}

static void
mark_needed(Op *op)
{
	for (int i = 0; i < 2 && op; i++)
		if (op->after[i] && op->after[i]->run == 0) {
			op->after[i]->run = 1;
			mark_needed(op->after[i]);
		}
}

/* All streams that came into it have joined the first again. */
static bool
is_joined(CudaGraph *graph)
{
	bool is_joined = true;
	if (graph->origin->last)
		graph->origin->last->run = 1;
	mark_needed(graph->origin->last);
	for (Op *op = graph->ops; op; op = op->next) {
		is_joined = is_joined && op->run == 1;
		op->run = 0;
	}
	return is_joined;
}

int
cudaStreamEndCapture(CudaStream *stream, CudaGraph **graph)
{
	int error = begin(&stream);
	CudaStream *streams[64];
	*graph = stream->graph;
	if (!*graph || (*graph)->origin != stream)
		misuse("a capture ends that did not begin here");
	bool is_whole = is_joined(*graph);
	int count = list_streams(streams, 64);
	for (int i = 0; i < count; i++)
		if (streams[i]->graph == *graph) {
			streams[i]->graph = NULL;
			streams[i]->last = NULL;
		}
	if (error || !is_whole) {
		drop_graph(*graph);
		*graph = NULL;
	}
	leave();
	return error ? error : is_whole ? CUDA_OK : 904;
}

static void
drop_graph(CudaGraph *graph)
{
	if (--graph->users > 0)
		return;
	while (graph->ops) {
		Op *op = graph->ops;
		graph->ops = op->next;
		drop(op);
	}
	handle_remove(graph);
}

int
cudaGraphDestroy(CudaGraph *graph)
{
	int error = enter();
	drop_graph(handle_check(graph, IS_GRAPH));
	leave();
	return error;
}

int
cudaGraphInstantiate(CudaGraphRun **run, CudaGraph *graph, unsigned long long flags)
{
	int error = enter();
	handle_check(graph, IS_GRAPH);
	*run = error || flags ? NULL : calloc(1, sizeof **run);
	if (*run) {
		handle_add(*run, IS_RUN);
		(*run)->graph = graph;
		graph->users++;
	}
	leave();
	return error;
}

/* Until a copy to pinned memory is done, that holds nothing. */
static void
spoil_results(const CudaGraph *graph)
{
	for (const Op *op = graph->ops; op; op = op->next) {
		HandleKind kind;
		unsigned char *to =
			op->kind == OP_COPY ? memory_bytes(op->copy.to, op->copy.width, &kind) : NULL;
		if (to && kind == IS_PINNED_BLOCK)
			memset(to, 0xff, op->copy.width);
	}
}

int
cudaGraphLaunch(CudaGraphRun *run, CudaStream *stream)
{
	int error = begin(&stream);
	handle_check(run, IS_RUN);
	if (!error) {
		give(stream, OP_REPLAY)->graph = run->graph;
		run->graph->users++;
		spoil_results(run->graph);
	}
	leave();
	return error;
}

int
cudaGraphExecDestroy(CudaGraphRun *run)
{
	int error = enter();
	handle_check(run, IS_RUN);
	drop_graph(run->graph);
	handle_remove(run);
	leave();
	return error;
}
