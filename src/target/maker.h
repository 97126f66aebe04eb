/* Makers: what a kind of device decides when kernels are made for it. A row of devices.def names
 * its maker, and whoever must know asks it: nobody else asks which kind of device it is.
 *
 * The record stands here, where programs, passes and lowering can see it. What decides is
 * lowering's: src/lower/cpu. How many pieces a kernel has nobody is asked: they are counted in its
 * loops once the script is applied (lower/split_reduction.c), so that there is one answer.
 */
#ifndef TARGET_MAKER_H
#define TARGET_MAKER_H

#include "target/target.h"

struct Group;
struct Nest;
struct Script;
struct Weighted;

/* Whom a row of passes.def is for. */
typedef enum PassDevices {
	DEVICES_all = 0,
	DEVICES_vectors = 1, /* kernels run in the vector registers of a few cores */
} PassDevices;

typedef struct Maker {
	unsigned passes;     /* PassDevices that it is one of */
	int64_t group_bytes; /* intermediates of a kernel per point of its shared loops, at most */
	int64_t local_bytes; /* its arrays at hand; larger ones lie in memory that it is given, … */
	bool lacks_scratch;  /* … but for kernels that are given none */
	int enough_pieces;   /* of a kernel: with these, more gain little */
	int most_pieces;     /* that are of use at all */
	int align;           /* arguments of kernels begin at multiples of so many bytes; 0: anywhere */
	/* Whether one kernel should do all stages of the group, which are several and could stand in
	 * one; if not, why. */
	bool (*may_join)(const struct Group *group, const Target *target, const char **reason);
	/* What to do to the group's naive loops: 0 is what it thinks best, 1, 2, … are others that may
	 * be faster, best first, for whoever measures them; NULL: there are no more. */
	const struct Script *(*script)(Arena *arena, const struct Group *group, const Target *target,
	                               const struct Nest *nest, int candidate);
	/* Of a scan or scatter, whose loops these are that may run in parallel, the outermost last. */
	const struct Script *(*script_outer)(Arena *arena, int count, const Var *const *loops);
	/* Into how many pieces a step of so much work is cut when it runs. */
	int (*pieces_of_work)(double operations, double bytes);
	/* How many elements of a type run side by side, which is how many channels a block of weights
	 * has. */
	int64_t (*lanes)(const Device *device, DType type);
	bool takes_quads; /* sums of products of bytes as dot products of four (lower/quads.c) */
	/* Whether products unpack weights of so many bits in lanes (lower/codes.c), which have as many
	 * columns and terms; NULL: never. */
	bool (*unpacks)(const Device *device, int bits, int64_t columns, int64_t terms);
	/* How many output channels of a sum with constant weights, of `lanes`, are stored side by side
	 * so that they run so; 0: the weights stay as they are. */
	int64_t (*weight_lanes)(const struct Weighted *sum, int64_t lanes);
	/* Whether so many channels are better lanes than what the sum reads side by side: stored in a
	 * layout of values, or in panels of their own. */
	bool (*weights_pay)(const struct Weighted *sum, int64_t lanes, bool in_layout);
	/* Whether a library's call for the program's first stage, a sum whose result is written and
	 * read again, takes less time than loops would. */
	bool (*call_pays)(const Target *target, const Program *program);
	/* About how long a kernel of the stages from `first` on takes, maps behind a sum. */
	double (*seconds)(const Target *target, const Program *program, int first);
} Maker;

/* The target's; without a device, that of the first row. */
const Maker *maker_of(const Target *target);
int64_t target_lanes(const Target *target, DType type);
bool target_unpacks(const Target *target, int bits, int64_t columns, int64_t terms);

#endif
