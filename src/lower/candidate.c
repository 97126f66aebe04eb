/* Candidates: a kernel can be made with several scripts, and the choices say which one it takes.
 *
 *     {"key": "tile 3f0c…", "chosen": "3", "candidates": "0 812.0 us, 3 640.2 us, …"}
 *
 * The key is what the kernel computes and how its arguments lie, at the probe sizes, under nobody's
 * names: kernels that are alike are measured once, in whatever model they stand.
 */
#include <stdlib.h>
#include <string.h>

#include "expr/stage/canon.h"
#include "lower/lower.h"
#include "lower/vendor.h"
#include "target/target.h"

/* -O: below, nothing is measured, and choices may only be given. */
enum { MEASURED = 3 };

static Hash128
hash_number(int64_t number)
{
	return hash128(&number, sizeof number);
}

/* With numbers for symbols, which other models call otherwise; but such code is another. */
static Hash128
meaning_of(const Program *program, const Target *target)
{
	Hash128 given = program_fingerprint(program), bound;
	if (!target->probe || target->probe->count == 0)
		return given;
	bound = program_fingerprint(program_bind(program, target->probe));
	return hash128_equal(given, bound) ? given : hash128_combine(bound, hash_number(-1));
}

static const char *
key_of(Arena *arena, const KernelSource *source, const Target *target)
{
	const Program *program = source->program;
	Hash128 hash = meaning_of(program, target);
	for (int i = 0; i < program->ninput + program->noutput; i++) {
		bool is_output = i >= program->ninput;
		int rank =
			is_output ? program->outputs[i - program->ninput]->rank : program->inputs[i]->rank;
		for (int d = 0; source->strides[i] && d < rank; d++)
			hash = hash128_combine(hash, hash_number(probe_dim(target, source->strides[i][d])));
		hash = hash128_combine(hash, hash_number(i));
	}
	return arena_printf(arena, "tile %016llx%016llx", (unsigned long long)hash.high,
	                    (unsigned long long)hash.low);
}

static Kernel *
make(Arena *arena, const KernelSource *source, const char *name, const Loc *loc,
     const char *ancestry, const Target *target, int candidate)
{
	Target own = *target;
	own.is_plain = source->is_plain;
	own.is_finite = source->is_finite;
	Kernel *kernel =
		lower_group(arena, source->program, source->strides, name, loc, ancestry, &own, candidate);
	if (kernel)
		kernel->source = source;
	return kernel;
}

/* 0: none was recorded, or what was is no number of one. Behind it stands what took how long. */
static int
recorded_candidate(const PassContext *context, const char *key)
{
	const char *text = map_find(&context->recorded, key);
	char *end = NULL;
	long number = text ? strtol(text, &end, 10) : 0;
	return text && end > text && (!*end || *end == ' ') && number > 0 && number < INT16_MAX
	           ? (int)number
	           : 0;
}

Kernel *
lower_source(Arena *arena, const KernelSource *given, const char *name, const Loc *loc,
             const char *ancestry, PassContext *context)
{
	KernelSource *source = arena_memdup(arena, given, sizeof *given);
	const Target *target = context->target;
	bool is_asked = !source->is_plain && !target->is_trial &&
	                (context->level >= MEASURED || context->recorded.count > 0);
	source->key = is_asked ? key_of(arena, source, target) : NULL;
	int candidate = is_asked ? recorded_candidate(context, source->key) : 0;
	Kernel *kernel = candidate ? make(arena, source, name, loc, ancestry, target, candidate) : NULL;
	if (kernel)
		lower_note_choice(context, (PassChoice){.key = source->key,
		                                        .chosen = map_find(&context->recorded, source->key),
		                                        .candidates = ""});
	return kernel ? kernel : make(arena, source, name, loc, ancestry, target, 0);
}

Kernel *
lower_candidate(Arena *arena, const Kernel *kernel, const Target *target, int candidate)
{
	return make(arena, kernel->source, kernel->name, &kernel->loc, kernel->ancestry, target,
	            candidate);
}
