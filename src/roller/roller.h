/* Tiles: how the points of a group are cut for the memories of a device (Roller).
 *
 *     Y[m:4096, n:4096] = sum(k:4096) A[m,k] * B[k,n]     on cuda:v100
 *
 *     registers   m 8, n 8, k 1       a thread's sums
 *     shared      m 128, n 128, k 8   what a block of 256 threads loads in each step
 *
 * A TileTask is the group as tiles see it: axes (loops and terms of sums), and the tensors it
 * reads and writes with which part of each a tile touches (span.h). A TileProgram has one tile for
 * each memory level of the device's row that tiles are made for, from registers on: roller_tiles()
 * builds many and gives the ones that a model of time ranks first. It knows no kind of device,
 * only what the row says; docs/tiles.md explains it by an example.
 *
 * Sizes are numbers: symbols have their typical values (target/probe.c).
 */
#ifndef ROLLER_ROLLER_H
#define ROLLER_ROLLER_H

#include "expr/index/span.h"
#include "target/maker.h"

enum {
	TILE_ACCESSES = 128,
	TILE_DIMS = 12,
	TILE_WORKS = 64,
	TILE_ITERS = 32,
	TILE_LEVELS = MEM_LEVELS - 1
};

typedef enum AxisKind {
	AXIS_loop,  /* the results have it: tiles along it are independent */
	AXIS_inner, /* of a group: not shared by its stages, so one piece does all of it */
	AXIS_term,  /* only sums have it */
} AxisKind;

typedef struct TileAxis {
	const char *name; /* of the iterators that it is, joined by dots */
	AxisKind kind;
	int64_t extent;
	int stage, iters[TILE_DIMS], niter; /* the iterators, outermost first, of this stage */
} TileAxis;

/* A tensor as the group reads or writes it. */
typedef struct TileAccess {
	const Tensor *tensor;
	int stage;        /* the first that reads or writes it so */
	int argument;     /* among the program's inputs, then its outputs; -1: it is neither */
	int bits;         /* of an element */
	bool is_result;   /* written */
	bool is_local;    /* an intermediate of the group: it occupies room, and never moves */
	bool is_gathered; /* its copy in a tile's memory has a dim for each axis, as im2col's */
	bool is_window; /* … and where an element of that lies must be computed: dims that axes share */
	int rank;
	const Span *dims[TILE_DIMS];
	int64_t extents[TILE_DIMS], elements; /* of the tensor */
	uint64_t axes;                        /* those that move it, as bits */
	uint64_t users;                       /* stages that read or write it, as bits */
	int run_axis;                         /* along which neighbours lie side by side; -1: none */
	int64_t run_limit;                    /* so many do at most */
} TileAccess;

typedef struct TileTask {
	Arena *arena;
	const Target *target;
	const Device *device;
	int naxis;
	TileAxis axes[SPAN_AXES];
	int64_t extents[SPAN_AXES];
	int naccess;
	TileAccess accesses[TILE_ACCESSES];
	int axis_of[TILE_WORKS][TILE_ITERS]; /* of each stage's iterators; -1: there is none */
	int nwork;                           /* one for each stage: operations of a point of its axes */
	struct {
		double operations;
		double cost; /* the same in units of one addition */
		uint64_t axes;
	} works[TILE_WORKS];
	DType type;  /* in which it computes */
	bool is_dot; /* a sum of products of two tensors, of which each has loops of its own */
	double peak; /* operations a second, at best, on what it computes with */
	int64_t unit[SPAN_AXES]; /* what one instruction of a product takes */
	int unit_threads;        /* threads that it takes: 1, or a warp's */
	int lane; /* the axis whose neighbours one vector, or neighbouring threads, take; -1: none */
	int lane_of[TILE_WORKS]; /* the same of each stage, which may differ where that is cheaper */
	int nlevel;              /* of the device, that tiles are made for */
} TileTask;

/* What a program of one group is for tiles on the target's device; NULL with a reason where there
 * are none: scans, scatters, too many axes. */
const TileTask *roller_task(Arena *arena, const Program *program, const Target *target,
                            const char **reason);

/* Fill in the lanes of the task and of each stage. (lanes.c) */
void find_lanes(TileTask *task, const Program *program);

typedef struct TileProgram {
	int64_t tile[TILE_LEVELS][SPAN_AXES]; /* [0]: in registers; extents, 1 or more */
	int64_t padding[TILE_ACCESSES]; /* elements behind each row of a copy, so that banks differ */
	int64_t pieces;                 /* that can run at once: over loops, times cut */
	int64_t cut;                    /* into so many pieces sums are cut, whose results are added */
	int64_t threads;                /* of a piece */
	int64_t sharers;                /* threads that share a sum, of these */
	int stages;                     /* copies of a step's data that are under way at once */
	double seconds;                 /* predicted */
	const char *reason;             /* what bounds it, and how it was found */
} TileProgram;

/* The best programs, best first; at most `most`, and how many were looked at. */
typedef VEC(TileProgram) TilePrograms;
TilePrograms roller_tiles(const TileTask *task, int most, int *visited);

/* ---- what a tile touches (footprint.c) ---- */

double tile_points(const TileTask *task, const int64_t *tile); /* operations of one tile */
int64_t access_elements(const TileTask *task, const TileAccess *access, const int64_t *tile);
/* The elements of a copy of it whose last dim is followed by so much padding. */
int64_t access_padded(const TileTask *task, const TileAccess *access, const int64_t *tile,
                      int64_t padding);
/* Elements between neighbours along the axis; INT64_MAX: they are nowhere certain. (task.c) */
int64_t access_stride(const TileAccess *access, int axis);
/* The dim of the access that is this axis, as it is; -1: none. */
int access_dim(const TileAccess *access, int axis);
/* An intermediate with a dim that the group's stages do not share: an array, not a number each. */
bool access_is_array(const TileTask *task, const TileAccess *access);
/* What a tile reads of it is a box, of which it is known where it begins. */
bool access_is_box(const TileAccess *access);
/* Whether tiles of it are turned in registers, where neighbours along the lanes' axis do not lie
 * side by side: an argument, whose memory lies along another axis, of which a tile takes all. */
bool access_turns(const TileTask *task, const TileAccess *access, int lane);
/* How many neighbours of memory it touches in a row, in bytes. */
double access_run(const TileTask *task, const TileAccess *access, const int64_t *tile);
/* Bytes of the inputs with sums at full length, and of the results, that a tile moves. */
double tile_input_bytes(const TileTask *task, const int64_t *tile);
double tile_result_bytes(const TileTask *task, const int64_t *tile);
/* Bytes that the tile of a level occupies there. */
int64_t program_footprint(const TileTask *task, const TileProgram *program, int level);
/* Registers: of a thread 32 bits each, or vectors. */
int64_t program_registers(const TileTask *task, const TileProgram *program);
/* How many pieces of this size it takes, the last of which may be smaller. */
int64_t pieces_of(int64_t extent, int64_t size);
/* How many tiles there are, over loops. */
int64_t tile_count(const TileTask *task, const int64_t *tile, const int64_t *of);
/* What a larger axis saves for the room that it takes: with `next` in the place of its size,
 * traffic saved for each byte of footprint added. */
double tile_reuse(const TileTask *task, const TileProgram *program, int level, int axis,
                  int64_t next);
/* So few elements behind rows of `row`, of which parts of `part` are read together, that rows begin
 * in different ones of banks that hold `lane` elements each. */
int64_t bank_padding(int64_t row, int64_t part, int64_t banks, int64_t lane);

/* ---- construction (construct.c) ---- */

/* What guides it: tests have those of the published artifact. Sizes are of `program` at `level`. */
typedef struct TilePolicy {
	const void *self;
	/* Fill in the first tile of a level from that of the one above; false: there is none. */
	bool (*first)(const struct TilePolicy *policy, const TileTask *task, TileProgram *program,
	              int level);
	/* The next larger size of an axis; 0: none. */
	int64_t (*next)(const struct TilePolicy *policy, const TileTask *task,
	                const TileProgram *program, int level, int axis);
	/* Which axis to enlarge first: the largest score. */
	double (*score)(const struct TilePolicy *policy, const TileTask *task,
	                const TileProgram *program, int level, int axis, int64_t next);
	bool (*fits)(const struct TilePolicy *policy, const TileTask *task, TileProgram *program,
	             int level);
	/* It gives all execution units of the level the same. */
	bool (*is_regular)(const struct TilePolicy *policy, const TileTask *task,
	                   const TileProgram *program, int level);
	/* Its arithmetic takes longer than its loads. */
	bool (*is_enough)(const struct TilePolicy *policy, const TileTask *task,
	                  const TileProgram *program, int level);
	bool takes_any; /* a tile is regular in any case: where there is no other */
	double waste;   /* an axis may grow by this share where a tile does not divide it (epsilon) */
	int most;       /* programs to find */
	int share[TILE_LEVELS]; /* at most so many of them from one tile of the level; 0: any */
	int visits;             /* tiles to look at, at most */
} TilePolicy;

/* Programs in the order in which they are found, from the smallest tile on; `visited` counts the
 * tiles looked at. */
TilePrograms construct_tiles(const TileTask *task, const TilePolicy *policy, int *visited);

/* Whether the size leaves no more of the extent than the policy may waste. */
bool is_aligned_to_shape(int64_t extent, int64_t size, double waste);
/* Ours. (policy.c) Tiles are constructed by each of the first three, which waste ever more, and by
 * the last, which takes any tile, where these find none. */
enum { TILE_POLICIES = 4 };
TilePolicy roller_policy(const TileTask *task, int index);
/* What tiles of a level may take of it: registers of a thread or a core, else bytes. */
int64_t tile_room(const TileTask *task, int level);

/* ---- how a tile comes about (steps.c) ---- */

typedef struct TileStep {
	int level, axis;         /* the axis that has grown; -1: the first tile of the level */
	TileProgram program;     /* with that */
	double score[SPAN_AXES]; /* of the axes that could grow, before one did; NAN: of the others */
	bool is_enough;          /* the next level begins from here, or it is a program */
} TileStep;

/* From the smallest tile to the program, along the axis whose score is largest of those that are
 * shorter than the program's; `waste` is its policy's. None where it was not constructed so: it is
 * a smaller piece of one that was. */
typedef VEC(TileStep) TileSteps;
TileSteps tile_steps(const TileTask *task, const TileProgram *program, double *waste);

/* ---- ranking (rank.c, model.c) ---- */

/* Registers of a thread for indices and what is loaded next. */
enum { TILE_REGISTERS = 24 };

/* Seconds by the device's row; fills in what the program says of pieces, stages and why. */
double predict_seconds(const TileTask *task, TileProgram *program);

#endif
