/* Copies, and runs that are recorded as a graph of CUDA's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/gpu.h"

/* ---- Between the host and the device ---- */

static size_t
dense_bytes(const BackendCopy *copy)
{
	size_t bytes = copy->size;
	for (int i = 0; i < copy->rank; i++)
		bytes *= (size_t)copy->dims[i];
	return bytes;
}

bool
gpu_reach(const void *memory, BackendReach *reach, BackendReport *report)
{
	CudaPointer pointer;
	report->step = -1;
	if (!CUDA_TRY(report, PointerGetAttributes, &pointer, memory))
		return false;
	*reach = pointer.type == CUDA_PAGEABLE ? REACH_HOST
	         : pointer.type == CUDA_DEVICE ? REACH_DEVICE
	                                       : REACH_BOTH;
	return true;
}

/* Memory for the host's side of a copy that is recorded. NULL: none. */
static void *
stage(GpuStream *gpu, void *host, size_t bytes, bool is_result, BackendReport *report)
{
	Staged *staged = calloc(1, sizeof *staged);
	if (!staged) {
		report->code = TW_MEMORY;
		snprintf(report->text, sizeof report->text, "out of memory for a copy");
		return NULL;
	}
	if (!CUDA_TRY(report, HostAlloc, &staged->pinned, bytes, CUDA_HOST_PORTABLE_MAPPED)) {
		free(staged);
		return NULL;
	}
	staged->host = host;
	staged->bytes = bytes;
	staged->is_result = is_result;
	staged->next = gpu->recording->staged;
	gpu->recording->staged = staged;
	return staged->pinned;
}

/* CUDA has read pageable memory when it returns, and has written it; of pinned memory it may have
 * done neither, and who gave it may change what it gave. */
static bool
copy_across(GpuStream *gpu, const BackendCopy *copy, BackendReport *report)
{
	size_t bytes = dense_bytes(copy);
	bool is_result = copy->to == PLACE_HOST;
	void *host = is_result ? copy->target : (void *)(uintptr_t)copy->source;
	BackendReach reach;
	if (!gpu_reach(host, &reach, report))
		return false;
	bool is_direct = reach != REACH_HOST;
	void *other = host;
	if (gpu->recording && !is_direct)
		other = stage(gpu, host, bytes, is_result, report);
	return other &&
	       CUDA_TRY(report, MemcpyAsync, is_result ? other : copy->target,
	                is_result ? copy->source : other, bytes, CUDA_COPY_BY_ADDRESS, gpu->lanes[0]) &&
	       (gpu->recording || is_result || !is_direct ||
	        CUDA_TRY(report, StreamSynchronize, gpu->lanes[0]));
}

/* ---- Within the device ---- */

/* A copy as rows of bytes that lie `pitch` apart, on both sides. */
typedef struct Rows {
	size_t width, count, from, to;
} Rows;

/* The innermost dims, as many as are one piece of rows; gives how many. Steps back, and rows that
 * overlap, are copied one by one. */
static int
find_rows(const BackendCopy *copy, const int64_t *from, const int64_t *to, Rows *rows)
{
	int rank = copy->rank, taken = 0;
	int64_t size = (int64_t)copy->size, width = size;
	if (rank > 0 && from[rank - 1] == 1 && to[rank - 1] == 1) {
		width *= copy->dims[rank - 1];
		taken = 1;
	}
	*rows = (Rows){(size_t)width, 1, (size_t)width, (size_t)width};
	int d = rank - taken - 1;
	if (d < 0 || from[d] * size < width || to[d] * size < width)
		return taken;
	*rows = (Rows){(size_t)width, (size_t)copy->dims[d], (size_t)(from[d] * size),
	               (size_t)(to[d] * size)};
	return taken + 1;
}

static bool
copy_rows(GpuStream *gpu, const Rows *rows, const unsigned char *from, unsigned char *to,
          BackendReport *report)
{
	CudaStream *stream = gpu->lanes[0];
	return rows->count == 1
	           ? CUDA_TRY(report, MemcpyAsync, to, from, rows->width, CUDA_COPY_BY_ADDRESS, stream)
	           : CUDA_TRY(report, Memcpy2DAsync, to, rows->to, from, rows->from, rows->width,
	                      rows->count, CUDA_COPY_BY_ADDRESS, stream);
}

static bool
copy_within(GpuStream *gpu, const BackendCopy *copy, BackendReport *report)
{
	int64_t from[PLAN_MAX_RANK], to[PLAN_MAX_RANK], at[PLAN_MAX_RANK] = {0};
	int64_t size = (int64_t)copy->size, dense = 1;
	const unsigned char *read = copy->source;
	unsigned char *write = copy->target;
	Rows rows;
	for (int i = copy->rank - 1; i >= 0; i--) {
		from[i] = copy->source_strides ? copy->source_strides[i] : dense;
		to[i] = copy->target_strides ? copy->target_strides[i] : dense;
		dense *= copy->dims[i];
	}
	int inner = find_rows(copy, from, to, &rows);
	for (int axis = 0; axis >= 0;) {
		if (!copy_rows(gpu, &rows, read, write, report))
			return false;
		for (axis = copy->rank - inner - 1; axis >= 0; axis--) {
			read += from[axis] * size;
			write += to[axis] * size;
			if (++at[axis] < copy->dims[axis])
				break;
			read -= copy->dims[axis] * from[axis] * size;
			write -= copy->dims[axis] * to[axis] * size;
			at[axis] = 0;
		}
	}
	return true;
}

/* Whether both sides are one piece. */
static bool
is_dense(const BackendCopy *copy)
{
	return !copy->source_strides && !copy->target_strides;
}

bool
gpu_copy(Stream *stream, const BackendCopy *copy, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	*report = (BackendReport){.step = copy->step};
	size_t bytes = dense_bytes(copy);
	if (bytes == 0)
		return true;
	int before = cuda_enter(gpu->device);
	bool is_given;
	if (copy->from != copy->to)
		is_given = copy_across(gpu, copy, report);
	else if (is_dense(copy))
		is_given = CUDA_TRY(report, MemcpyAsync, copy->target, copy->source, bytes,
		                    CUDA_COPY_BY_ADDRESS, gpu->lanes[0]);
	else
		is_given = copy_within(gpu, copy, report);
	cuda_leave(before);
	return is_given;
}

/* ---- Recording ---- */

bool
gpu_record(Stream *stream)
{
	GpuStream *gpu = (GpuStream *)stream;
	BackendReport report;
	gpu->recording = calloc(1, sizeof *gpu->recording);
	if (gpu->recording)
		gpu->recording->device = gpu->device;
	int before = cuda_enter(gpu->device);
	if (gpu->recording &&
	    !CUDA_TRY(&report, StreamBeginCapture, gpu->lanes[0], CUDA_CAPTURE_RELAXED)) {
		free(gpu->recording);
		gpu->recording = NULL;
	}
	cuda_leave(before);
	return gpu->recording != NULL;
}

BackendCapture *
gpu_capture(Stream *stream)
{
	GpuStream *gpu = (GpuStream *)stream;
	BackendCapture *capture = gpu->recording;
	BackendReport report;
	CudaGraph *graph = NULL;
	gpu->recording = NULL;
	int before = cuda_enter(gpu->device);
	bool is_whole = CUDA_TRY(&report, StreamEndCapture, gpu->lanes[0], &graph) && graph &&
	                CUDA_TRY(&report, GraphInstantiate, &capture->run, graph, 0);
	if (graph)
		cuda_runtime()->GraphDestroy(graph);
	cuda_leave(before);
	if (is_whole)
		return capture;
	gpu_forget(capture);
	return NULL;
}

bool
gpu_replay(Stream *stream, const BackendCapture *capture, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	*report = (BackendReport){.step = -1};
	for (const Staged *staged = capture->staged; staged; staged = staged->next)
		if (!staged->is_result)
			memcpy(staged->pinned, staged->host, staged->bytes);
	int before = cuda_enter(gpu->device);
	bool is_given = CUDA_TRY(report, GraphLaunch, capture->run, gpu->lanes[0]);
	cuda_leave(before);
	gpu->replayed = is_given ? capture : NULL;
	return is_given;
}

void
gpu_deliver(GpuStream *gpu)
{
	for (const Staged *staged = gpu->replayed ? gpu->replayed->staged : NULL; staged;
	     staged = staged->next)
		if (staged->is_result)
			memcpy(staged->host, staged->pinned, staged->bytes);
	gpu->replayed = NULL;
}

void
gpu_forget(BackendCapture *capture)
{
	if (!capture)
		return;
	int before = cuda_enter(capture->device);
	if (capture->run)
		cuda_runtime()->GraphExecDestroy(capture->run);
	while (capture->staged) {
		Staged *staged = capture->staged;
		capture->staged = staged->next;
		cuda_runtime()->FreeHost(staged->pinned);
		free(staged);
	}
	cuda_leave(before);
	free(capture);
}
