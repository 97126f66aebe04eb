/* Which of cuDNN's engines runs a graph: the first in the order of its heuristics that computes
 * what the graph means, and of which it makes a plan for the device. No device is needed to ask;
 * a plan that will be executed is made with a handle.
 *
 *     engine 34, 0 bytes, 2=5 3=0     engine 34 with knob 2 at 5 and knob 3 at 0, and its workspace
 *     at open: engine 4 or another    cuDNN compiles it where it runs
 *
 * To compile one takes a driver, and a second. When only the answer is asked for no such engine is
 * tried, so that the answer is the same with a driver and without. When a plan is made the engine
 * that the call names ("impl") is the first; none is compiled but where that says so, and what was
 * is kept for the next process (keep.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/cudnn/api.h"

/* Configurations that are looked at, in each mode. */
enum { MOST = 48, KNOBS = 32, NOTES = 16 };

#define AT_OPEN "at open: "

/* Numerical notes of engines that are not taken: they round operands or sums to fewer bits, add in
 * an order that changes, or are no sum of the terms at all (FFT, Winograd). Tensor cores round
 * operands of f32 to tf32; of 16 bits they compute what is meant. */
enum {
	NOTE_TENSOR_CORE = 1 << 0,
	NOTES_LOSING = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8,
};

typedef struct Chooser {
	const Cudnn *cudnn;
	const VendorCall *call;
	CudnnPlan *plan;
	char *impl, *error;
	size_t error_size;
	bool may_compile;                /* the engine that is tried may be one that cuDNN compiles */
	bool is_at_open, is_passed_over; /* the second: an engine was, by its notes */
} Chooser;

/* A handle stands for its device already. */
static CudnnAttr
for_device(const Chooser *c, int name)
{
	return (CudnnAttr){name, CUDNN_TYPE_DESCRIPTOR, 1, c->cudnn->handle ? NULL : &c->cudnn->device};
}

static CudnnDescriptor *
get_engine(const Chooser *c, CudnnPile *pile, const CudnnDescriptor *config)
{
	enum { ENGINE = 300 };
	int64_t count;
	CudnnDescriptor *engine = cudnn_create(pile, CUDNN_ENGINE);
	bool is_there = engine && !c->cudnn->api.BackendGetAttribute(
								  config, ENGINE, CUDNN_TYPE_DESCRIPTOR, 1, &count, &engine);
	return is_there ? engine : NULL;
}

/* An engine's notes of one kind, a bit for each. False: it does not say. */
static bool
get_notes(const Chooser *c, const CudnnDescriptor *engine, int name, int type, unsigned *found)
{
	int notes[NOTES] = {0};
	int64_t count = 0;
	*found = 0;
	if (c->cudnn->api.BackendGetAttribute(engine, name, type, NOTES, &count, notes))
		return false;
	for (int i = 0; i < count && i < NOTES; i++)
		*found |= notes[i] < 31 ? 1u << notes[i] : 0;
	return true;
}

/* Whether cuDNN compiles it where it runs. */
static bool
is_compiled(const Chooser *c, const CudnnDescriptor *engine)
{
	enum { NOTE = 1305, RUNTIME_COMPILATION = 1 << 0 };
	unsigned found;
	return !get_notes(c, engine, NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, &found) ||
	       found & RUNTIME_COMPILATION;
}

static bool
is_taken(Chooser *c, const CudnnDescriptor *engine)
{
	enum { NOTE = 1303 };
	unsigned found;
	if (!get_notes(c, engine, NOTE, CUDNN_TYPE_NUMERICAL_NOTE, &found))
		return false;
	bool is_f32 = c->call->args[0].type == DT_F32;
	bool is_lossy = found & (NOTES_LOSING | (is_f32 ? NOTE_TENSOR_CORE : 0));
	c->is_passed_over |= is_lossy;
	return !is_lossy;
}

/* What is told of a configuration, shortened where it is long. */
static void
name_config(const Chooser *c, CudnnPile *pile, const CudnnDescriptor *config,
            const CudnnDescriptor *engine, int64_t workspace)
{
	enum { INDEX = 1301, CHOICES = 302, TYPE = 600, VALUE = 601 };
	const CudnnApi *api = &c->cudnn->api;
	CudnnDescriptor *knobs[KNOBS];
	int64_t index = -1, count = 0, one;
	api->BackendGetAttribute(engine, INDEX, CUDNN_TYPE_INT64, 1, &one, &index);
	snprintf(c->impl, VENDOR_IMPL_SIZE, "engine %lld, %lld bytes", (long long)index,
	         (long long)workspace);
	for (int i = 0; i < KNOBS; i++)
		knobs[i] = cudnn_create(pile, CUDNN_KNOB);
	if (pile->status ||
	    api->BackendGetAttribute(config, CHOICES, CUDNN_TYPE_DESCRIPTOR, KNOBS, &count, knobs))
		return;
	for (int i = 0; i < count && i < KNOBS; i++) {
		int type = 0;
		int64_t value = 0;
		api->BackendGetAttribute(knobs[i], TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &one, &type);
		api->BackendGetAttribute(knobs[i], VALUE, CUDNN_TYPE_INT64, 1, &one, &value);
		size_t used = strlen(c->impl);
		snprintf(c->impl + used, VENDOR_IMPL_SIZE - used, "%s%d=%lld", i ? " " : ", ", type,
		         (long long)value);
	}
}

/* A plan of one configuration, if the library makes it. */
static void
try_config(Chooser *c, CudnnDescriptor *config)
{
	enum { HANDLE = 400, CONFIG, WORKSPACE, DEVICE = 407 };
	char said[256] = "";
	CudnnPlan *made = c->plan;
	CudnnPile *pile = &made->made;
	*pile = (CudnnPile){.api = &c->cudnn->api, .error = said, .error_size = sizeof said};
	const CudnnDescriptor *engine = get_engine(c, pile, config);
	const CudnnAttr where = {HANDLE, CUDNN_TYPE_HANDLE, 1, &c->cudnn->handle};
	const CudnnAttr attrs[] = {{CONFIG, CUDNN_TYPE_DESCRIPTOR, 1, &config},
	                           c->cudnn->handle ? where : for_device(c, DEVICE),
	                           {0}};
	bool is_tried = engine && (c->may_compile || !is_compiled(c, engine)) && is_taken(c, engine);
	const CudnnDescriptor *plan = is_tried ? cudnn_make(pile, CUDNN_PLAN, attrs) : NULL;
	int64_t one;
	if (plan && !c->cudnn->api.BackendGetAttribute(plan, WORKSPACE, CUDNN_TYPE_INT64, 1, &one,
	                                               &made->workspace)) {
		name_config(c, pile, config, engine, made->workspace);
		made->plan = plan;
		return;
	}
	if (!c->error[0])
		snprintf(c->error, c->error_size, "%s", said);
	cudnn_free(pile);
}

/* What a plan may be made of, until one is. */
static CudnnPile *
begin_list(Chooser *c, char *said, size_t size)
{
	c->plan->listed = (CudnnPile){.api = &c->cudnn->api, .error = said, .error_size = size};
	return &c->plan->listed;
}

static void
end_list(Chooser *c, const char *said)
{
	if (!c->error[0])
		snprintf(c->error, c->error_size, "%s", said);
	if (!c->plan->plan)
		cudnn_free(&c->plan->listed);
}

/* The engine of a graph that has this number among the library's. */
static CudnnDescriptor *
make_engine(const Chooser *c, CudnnPile *pile, const CudnnDescriptor *graph, int64_t index)
{
	enum { GRAPH = 1300, INDEX = 1301, DEVICE = 1307 };
	const CudnnAttr attrs[] = {{GRAPH, CUDNN_TYPE_DESCRIPTOR, 1, &graph},
	                           {INDEX, CUDNN_TYPE_INT64, 1, &index},
	                           for_device(c, DEVICE),
	                           {0}};
	return cudnn_make(pile, CUDNN_ENGINE, attrs);
}

/* The knobs behind an engine's name; their number. */
static int
read_knobs(CudnnPile *pile, const char *name, CudnnDescriptor **knobs)
{
	enum { TYPE = 600, VALUE = 601 };
	int count = 0, type;
	long long read;
	const char *text = strstr(name, "bytes,");
	while (count < KNOBS && text && (text = strchr(text, ' ')) != NULL &&
	       sscanf(text++, " %d=%lld", &type, &read) == 2) {
		int64_t value = read;
		const CudnnAttr attrs[] = {
			{TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type}, {VALUE, CUDNN_TYPE_INT64, 1, &value}, {0}};
		knobs[count++] = cudnn_make(pile, CUDNN_KNOB, attrs);
	}
	return count;
}

/* What heuristics of this mode list, until a plan is made. */
static void
try_mode(Chooser *c, const CudnnDescriptor *graph, int mode)
{
	enum { MODE = 200, GRAPH = 201, RESULTS = 202, DEVICE = 204 };
	char said[256] = "";
	CudnnPile *pile = begin_list(c, said, sizeof said);
	CudnnDescriptor *configs[MOST];
	const CudnnAttr attrs[] = {{GRAPH, CUDNN_TYPE_DESCRIPTOR, 1, &graph},
	                           {MODE, CUDNN_TYPE_HEURISTICS_MODE, 1, &mode},
	                           for_device(c, DEVICE),
	                           {0}};
	int64_t count = 0;
	const CudnnDescriptor *heuristics = cudnn_make(pile, CUDNN_HEURISTICS, attrs);
	for (int i = 0; i < MOST; i++)
		configs[i] = cudnn_create(pile, CUDNN_CONFIG);
	if (heuristics && !pile->status &&
	    !c->cudnn->api.BackendGetAttribute(heuristics, RESULTS, CUDNN_TYPE_DESCRIPTOR, MOST, &count,
	                                       configs))
		for (int i = 0; i < count && i < MOST && !c->plan->plan; i++)
			try_config(c, configs[i]);
	end_list(c, said);
}

/* The engine that was chosen when compiling: heuristics need not be asked. */
static void
try_chosen(Chooser *c, const CudnnDescriptor *graph, const char *name, int64_t index)
{
	enum { ENGINE = 300, CHOICES = 302 };
	char said[256] = "";
	CudnnPile *pile = begin_list(c, said, sizeof said);
	CudnnDescriptor *knobs[KNOBS];
	const CudnnDescriptor *engine = make_engine(c, pile, graph, index);
	int count = read_knobs(pile, name, knobs);
	const CudnnAttr attrs[] = {{ENGINE, CUDNN_TYPE_DESCRIPTOR, 1, &engine},
	                           {CHOICES, CUDNN_TYPE_DESCRIPTOR, count, count ? knobs : NULL},
	                           {0}};
	CudnnDescriptor *config = pile->status ? NULL : cudnn_make(pile, CUDNN_CONFIG, attrs);
	if (config)
		try_config(c, config);
	end_list(c, said);
}

/* The first engine that cuDNN compiles, of which nothing more is known without a driver. */
static void
find_compiled(Chooser *c, const CudnnDescriptor *graph)
{
	enum { ENGINES = 802 };
	int64_t count = 0, one;
	c->cudnn->api.BackendGetAttribute(graph, ENGINES, CUDNN_TYPE_INT64, 1, &one, &count);
	for (int64_t i = 0; i < count && !c->is_at_open; i++) {
		char said[256] = "";
		CudnnPile *pile = begin_list(c, said, sizeof said);
		const CudnnDescriptor *engine = make_engine(c, pile, graph, i);
		c->is_at_open = engine && is_compiled(c, engine) && is_taken(c, engine);
		if (c->is_at_open)
			snprintf(c->impl, VENDOR_IMPL_SIZE, AT_OPEN "engine %lld or another", (long long)i);
		end_list(c, said);
	}
}

/* The first of those that heuristics list, in their two modes. */
static void
try_modes(Chooser *c, const CudnnDescriptor *graph)
{
	enum { MODE_A = 3, MODE_FALLBACK = 2 };
	static const int modes[] = {MODE_A, MODE_FALLBACK};
	for (int i = 0; i < 2 && !c->plan->plan; i++)
		try_mode(c, graph, modes[i]);
}

/* Where engines may be compiled: heuristics list such engines where a driver is. */
static void
try_compiled(Chooser *c, const CudnnDescriptor *graph, const char *name)
{
	Hash128 key;
	bool is_kept = cudnn_key(c->cudnn, &c->plan->graph, name, &key);
	if (is_kept && cudnn_recall(c->cudnn, key, c->plan, c->impl))
		return;
	c->may_compile = true;
	try_modes(c, graph);
	c->may_compile = false;
	if (is_kept && c->plan->plan)
		cudnn_keep(c->cudnn, key, c->plan, c->impl);
}

/* As the answer of cudnn_choose() names it. */
static void
try_named(Chooser *c, const CudnnDescriptor *graph, const char *name)
{
	static const char word[] = "engine ";
	const char *number = strstr(name, word);
	int64_t index = number ? strtoll(number + strlen(word), NULL, 10) : -1;
	if (strncmp(name, AT_OPEN, strlen(AT_OPEN)) == 0)
		try_compiled(c, graph, name);
	else if (number)
		try_chosen(c, graph, number, index);
}

/* What was asked for in vain. */
static bool
refuse(Chooser *c, const char *said)
{
	if (c->is_passed_over)
		return refuse_with(c->error, c->error_size,
		                   "cuDNN's engines for it compute less exactly: in fewer bits (tf32), or "
		                   "by transforms");
	if (!c->error[0])
		snprintf(c->error, c->error_size, "%s", said[0] ? said : "cuDNN has no engine for it");
	return false;
}

bool
cudnn_choose(const Cudnn *cudnn, const VendorCall *call, CudnnPlan *plan,
             char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size)
{
	char said[256] = "";
	CudnnPlan tried = {.graph = {.api = &cudnn->api, .error = said, .error_size = sizeof said}};
	Chooser c = {.cudnn = cudnn, .call = call, .plan = &tried, .impl = impl, .error = error};
	c.error_size = error_size;
	error[0] = 0;
	const CudnnDescriptor *graph = cudnn_graph(&tried.graph, call, cudnn->handle);
	const StepAttr *named = step_attr(call->nattr, call->attrs, "impl");
	if (graph && plan && named && named->kind == SA_STRING)
		try_named(&c, graph, named->string);
	if (graph && !tried.plan)
		try_modes(&c, graph);
	if (graph && !tried.plan && !plan)
		find_compiled(&c, graph);
	/* Where the first engines of f32 are those of tf32, cuDNN has no other. */
	c.is_at_open = c.is_at_open && !(c.is_passed_over && call->args[0].type == DT_F32);
	bool is_taken = tried.plan || (c.is_at_open && !plan);
	if (tried.plan && plan)
		*plan = tried;
	else
		cudnn_drop_plan(&tried);
	return is_taken || refuse(&c, said);
}

void
cudnn_drop_plan(CudnnPlan *plan)
{
	cudnn_free(&plan->made);
	cudnn_free(&plan->listed);
	cudnn_free(&plan->graph);
}
