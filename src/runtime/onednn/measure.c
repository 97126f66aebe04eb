/* Timing a vendor call for the compiler: all its pieces, one after another, with made-up data and
 * the second-level cache flushed before each run, as the steps between two runs of a layer do. What
 * cannot be cut counts for more, because it is slow on many threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "runtime/memory.h"
#include "runtime/onednn/call.h"

enum {
	RUNS_MOST = 15,
	RUNS_LEAST = 3,
	FLUSH_BYTES = 4 << 20,
	FILL = 0x3c, /* floats of about 0.01: no overflow, no denormal numbers */
};

/* A first run of so many is not repeated: what is not yet in a cache is the smaller part of it. */
static const double ENOUGH_SECONDS = 0.03;

/* Runs that differ by so little, by their quartiles, say the same. */
static const double AGREED = 0.02;

/* What so far is so much slower than another call does not run again; nor if the first run, in
 * fresh memory, is slower by that again. */
static const double HOPELESS = 1.2;

/* A call cannot be interrupted: a process of its own is ended when it takes longer. */
static const double MOST_SECONDS = 10;

/* Bytes from the first to the last element of an argument. */
static size_t
argument_bytes(const VendorArg *tensor)
{
	char error[128];
	VendorCall desc = {.narg = 1, .args = tensor};
	CallPlan plan = {.desc = &desc, .error = error, .error_size = sizeof error};
	CallTensor memory;
	if (!call_tensor(&plan, 0, &memory))
		return 64;
	int64_t last = memory.block;
	for (int i = 0; i < memory.rank; i++) {
		int64_t units =
			i == 1 ? (memory.dims[i] + memory.block - 1) / memory.block : memory.dims[i];
		last += (units - 1) * memory.strides[i];
	}
	return (size_t)last * (size_t)dtype_bits(memory.type) / 8;
}

static bool
run_all(PreparedCall *call, void *const *buffers, void *scratch, char *error, size_t size)
{
	for (int i = 0; i < call->pieces; i++)
		if (!call_run(call, i, buffers, scratch, error, size))
			return false;
	return true;
}

/* What a measurement holds. */
typedef struct Trial {
	Memory memory;
	Block blocks[VENDOR_MAX_ARGS], scratch, flush;
	void *buffers[VENDOR_MAX_ARGS];
	VendorArg args[VENDOR_MAX_ARGS];
} Trial;

static void
fill(const Block *block)
{
	if (block->data)
		memset(block->data, FILL, block->capacity);
}

typedef struct Timed {
	PreparedCall *call;
	Trial *trial;
	Timing time;
	double hopeless; /* seconds from which on it takes no further run; 0: runs are not compared */
	bool is_done;
	char error[256];
} Timed;

static bool
time_run(Timed *timed, double *seconds)
{
	Trial *trial = timed->trial;
	double start = thread_seconds();
	bool is_done = run_all(timed->call, trial->buffers, trial->scratch.data, timed->error,
	                       sizeof timed->error);
	*seconds = thread_seconds() - start;
	return is_done;
}

/* Of the processor: one thread computes, and what else the machine does is not the call's. Memory
 * is filled here, because a process's first store to a page that it shares takes longer. */
static void
time_call(void *arg)
{
	Timed *timed = arg;
	Trial *trial = timed->trial;
	double times[RUNS_MOST], total = 0;
	for (int i = 0; i < VENDOR_MAX_ARGS; i++)
		if (trial->args[i].constant != trial->blocks[i].data)
			fill(&trial->blocks[i]);
	fill(&trial->scratch);
	timed->is_done = time_run(timed, &times[0]);
	double hopeless = timed->hopeless > 0 ? timed->hopeless : HUGE_VAL;
	bool is_long = times[0] > ENOUGH_SECONDS || times[0] > HOPELESS * hopeless;
	int runs = is_long; /* else the first is not one of them */
	bool is_enough = is_long;
	while (timed->is_done && !is_enough) {
		memset(trial->flush.data, runs, FLUSH_BYTES);
		timed->is_done = time_run(timed, &times[runs]);
		total += times[runs++];
		is_enough = times[runs - 1] > hopeless ||
		            (runs >= RUNS_LEAST && (runs == RUNS_MOST || total >= ENOUGH_SECONDS ||
		                                    timing_of(runs, times).spread <= AGREED));
	}
	timed->time = timing_of(runs, times);
}

/* Made-up data for what has none. Where no time is asked for, nothing is read: a weight is then any
 * address. */
static bool
make_data(Trial *trial, const VendorCall *desc, bool is_timed)
{
	for (int i = 0; i < desc->narg; i++) {
		VendorArg *arg = &trial->args[i];
		*arg = desc->args[i];
		bool is_packed = arg->is_weight && !arg->constant;
		if (is_packed && !is_timed)
			arg->constant = trial;
		if (arg->type == DT_NONE || !is_timed)
			continue;
		size_t bytes = argument_bytes(arg);
		if (!block_reserve(&trial->memory, &trial->blocks[i], bytes))
			return false;
		trial->buffers[i] = trial->blocks[i].data;
		if (is_packed) {
			fill(&trial->blocks[i]);
			arg->constant = trial->blocks[i].data;
		}
	}
	return !is_timed || block_reserve(&trial->memory, &trial->flush, FLUSH_BYTES);
}

/* Where the library has no Winograd, or there are no rows to cut, the call runs another variant,
 * and measuring it would only say which of two equal times was smaller. */
static bool
is_as_asked(const VendorCall *desc, const PreparedCall *call, char *error, size_t size)
{
	const CallPlan plan = {.desc = desc};
	const char *name = call_attr_text(&plan, "algorithm", ""), *impl = call->impl;
	if (strcmp(name, "winograd") == 0 && !strstr(impl, "wino"))
		return refuse_with(error, size, "oneDNN runs %s where winograd was asked for", impl);
	if (call_attr_int(&plan, "rows", 0, 0) && !call_has_slabs(call))
		return refuse_with(error, size, "no rows are cut");
	return true;
}

/* Of the time of all pieces: half-way, as a factor, between one thread and so many, one of which
 * has the largest share. By the largest share alone ResNet-18 lost its Winograd, a sixth of its
 * speed on one thread, and gained nothing on two. */
static double
share_of_time(int pieces, int threads)
{
	int most = (pieces + threads - 1) / threads;
	return sqrt((double)most / pieces);
}

/* Whether the library also has it whole: at other sizes there may be nothing to cut. For a sum with
 * a mask for all heads it has only a reference then, while each head alone is a plain product. */
static bool
is_real_whole(Dnnl *dnnl, const VendorCall *desc, char *error, size_t size)
{
	const int64_t one = 1;
	StepAttr *attrs = calloc((size_t)desc->nattr + 1, sizeof *attrs);
	VendorCall whole = *desc;
	if (!attrs)
		return refuse_with(error, size, "out of memory");
	if (desc->nattr)
		memcpy(attrs, desc->attrs, (size_t)desc->nattr * sizeof *attrs);
	attrs[desc->nattr] = (StepAttr){.name = "pieces", .count = 1, .ints = &one};
	whole.attrs = attrs;
	whole.nattr++;
	PreparedCall *call = call_make(dnnl, &whole, true, error, size);
	call_drop(call);
	free(attrs);
	return call != NULL;
}

static bool
time_limited(PreparedCall *call, Trial *trial, double share, Timing *time, char *error, size_t size)
{
	Timed timed = {.call = call, .trial = trial, .hopeless = HOPELESS * time->seconds / share};
	const char *why;
	if (!run_limited(MOST_SECONDS, time_call, &timed, &timed, sizeof timed, &why))
		return refuse_with(error, size, "timing %s: %s", call->impl, why);
	*time = timed.time;
	time->seconds *= share;
	return timed.is_done || refuse_with(error, size, "%s", timed.error);
}

static bool
try_call(Dnnl *dnnl, const VendorCall *desc, int threads, Trial *trial, Timing *time, char *impl,
         char *error, size_t size)
{
	PreparedCall *call = call_make(dnnl, desc, !time, error, size);
	if (!call)
		return false;
	snprintf(impl, VENDOR_IMPL_SIZE, "%s", call->impl);
	bool is_done = is_as_asked(desc, call, error, size) &&
	               (call->pieces == 1 || is_real_whole(dnnl, desc, error, size));
	if (is_done && time) {
		is_done = block_reserve(&trial->memory, &trial->scratch, call->scratch);
		if (!is_done)
			snprintf(error, size, "out of memory");
		is_done = is_done && time_limited(call, trial, share_of_time(call->pieces, threads), time,
		                                  error, size);
	}
	call_drop(call);
	return is_done;
}

bool
dnnl_measure(Vendor *vendor, const VendorCall *desc, int threads, Timing *time,
             char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size)
{
	Dnnl *dnnl = (Dnnl *)vendor;
	Trial trial = {.buffers = {NULL}};
	VendorCall made = *desc;
	made.args = trial.args;
	if (desc->narg > VENDOR_MAX_ARGS || desc->narg < 0)
		return refuse_with(error, error_size, "too many arguments");
	bool is_done = make_data(&trial, desc, time != NULL);
	if (!is_done)
		snprintf(error, error_size, "out of memory");
	is_done = is_done && try_call(dnnl, &made, threads, &trial, time, impl, error, error_size);
	for (int i = 0; i < VENDOR_MAX_ARGS; i++) {
		packed_forget(dnnl, trial.blocks[i].data, trial.blocks[i].capacity);
		block_free(&trial.blocks[i]);
	}
	block_free(&trial.scratch);
	block_free(&trial.flush);
	return is_done;
}

bool
dnnl_accept(Vendor *vendor, const VendorCall *desc, char impl[VENDOR_IMPL_SIZE], char *error,
            size_t error_size)
{
	return dnnl_measure(vendor, desc, 1, NULL, impl, error, error_size);
}
