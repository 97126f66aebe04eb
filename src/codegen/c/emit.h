/* Inside of the walk from Stmt to C: what its files share.
 *
 *     dialect.c  what is C's alone, and what CUDA C has in its place (src/codegen/cuda)
 *     emit.c     statements and loops
 *     condition.c  branches, masks
 *     vector.c   @vector loops: lanes, tails, reductions across lanes
 *     value.c    scalars to C expressions, one node at a time
 *     memory.c   reads and stores: addresses, masks
 *     reg.c      register buffers and other local ones
 *     text.c     types, numbers, casts and operations as C text
 *     narrow.c   integers of 32 bits
 *     kernel.c   names, functions
 *     prelude.c  what the kernels use of the prelude
 *     units.c    the file, cut into texts that are compiled one by one
 *
 * A value inside a @vector loop has one of three forms. UNIFORM: one scalar for all lanes. VECTOR:
 * a C vector, a lane per iteration. LANES: a C array with an element per iteration, for types that
 * have no vector here (i64 indices in a loop of f32) and operations without a vector form; such a
 * value is computed by a loop over the lanes (`lane mode`), in which everything is scalar again.
 */
#ifndef CODEGEN_C_EMIT_H
#define CODEGEN_C_EMIT_H

#include "codegen/common/codegen.h"
#include "tir/rewrite.h"

typedef enum Form {
	UNIFORM,
	VECTOR,
	LANES,
} Form;

/* The C text of a value: an atom or in parentheses. VECTOR and LANES values are names when kept. */
typedef struct Val {
	const char *text;
	Form form;
} Val;

/* The @vector loop being emitted. */
typedef struct Vector {
	const Stmt *loop;
	int lanes, width; /* width: bytes of a mask's lane, 4 or 8 */
	const char *mask; /* name, or NULL: all lanes */
	const char *tail; /* the mask of a loop's last, partial vector; NULL: a whole one */
	const char *live; /* a mask that is known to have a lane */
	const char *lane; /* lane mode: name of the lane counter */
} Vector;

enum { LANES_MAX = 17 };

typedef struct Memo {
	const Expr *e;
	Val val;
} Memo;

typedef struct Emit Emit;

/* What dialects of C say each in its own way. */
typedef struct Dialect {
	const char *const *reserved; /* no names, besides the words of C; NULL ends them */
	const char *restricted;      /* restrict */
	const char *reporter;        /* whom tw_report() tells: its first arguments */
	const char *aligned;         /* behind an array */
	bool is_cuda;                /* intrin.def's column; indices of 32 bits where they fit */
	/* What a function begins with, and what one is called by: all around its body. */
	void (*head)(Emit *em);
	void (*function)(Buf *out, int index, const char *name, const Kernel *kernel, const char *text);
	/* A loop that is not @serial; false: it is written like one. */
	bool (*loop)(Emit *em, const Stmt *loop);
	/* Barriers, operations of threads, shared memory. */
	void (*threads)(Emit *em, const Stmt *stmt);
} Dialect;

struct Emit {
	Arena *arena;
	const Dialect *dialect;
	const Target *target;
	const Kernel *kernel;
	ExprCtx *ctx;
	Facts *facts; /* of loops' variables: lets are put in place (see without_lets()) */
	Buf *out;
	int depth;      /* indentation */
	int next_name;  /* of temporaries */
	Map names;      /* Tensor, Var, Symbol to C name */
	Map forms;      /* Var of a let to the form of its value */
	Map lets;       /* Var of a let of integers or conditions to its value, without such lets */
	Map uses;       /* Expr to number of users in the statement */
	Map varying;    /* Expr to 1: uniform, 2: differs between lanes */
	VEC(Memo) memo; /* values at hand in this statement */
	Map masks;      /* Tensor of a register to the mask under which it was made */
	Vector *vector; /* NULL: no @vector loop around */
	Lanes lanes;    /* its */
};

/* ---- text.c ---- */
const char *c_type(DType type);                        /* tw_f32; of bool and codes: tw_u8 */
const char *c_vector(Emit *em, DType type, int lanes); /* tw_f32x16: what values of type take */
const char *value_name(DType type, char out[24], int lanes);
DType lane_type(DType type);   /* f32, i32, u32, f64, i64, u64 */
DType memory_type(DType type); /* the element as stored: f16 is u16 */
const char *c_number(Emit *em, DType type, Scalar value);
const char *c_cast(Emit *em, DType to, int flags, DType from, const char *x);
const char *c_operation(Emit *em, const Expr *e, const char *const *args);
const char *fma_text(Emit *em, DType type, const char *a, const char *b, const char *c);
/* NULL: no vector form. Operands are vectors of e's argument types (masks for bool). */
const char *v_operation(Emit *em, const Expr *e, const char *const *args);
const char *v_pick(Emit *em, DType type, const char *mask, const char *yes, const char *no);
const char *v_cast(Emit *em, DType to, int flags, DType from, const char *x);
#define emit_text(em, ...) arena_printf((em)->arena, __VA_ARGS__)

/* ---- value.c ---- */
void begin_statement(Emit *em, int count, const Expr *const *exprs);
Val emit_value(Emit *em, const Expr *e);
/* The value as a scalar (outside lanes, or in lane mode), or as a vector of its type. */
const char *emit_scalar(Emit *em, const Expr *e);
const char *emit_vector(Emit *em, const Expr *e);
bool emit_varies(Emit *em, const Expr *e); /* differs between lanes */
const char *new_name(Emit *em, char kind);
const char *name_of(const Emit *em, const void *owner); /* of a Tensor, Var or Symbol */
void emit_line(Emit *em, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A mask of the loop's width in lanes of a type's, and one of these in the loop's. */
const char *natural_mask(Emit *em, const char *mask, DType type);
const char *full_mask(Emit *em, const char *mask, DType type);
bool has_vector(const Emit *em, DType type); /* values of the type can be vectors here */
bool in_lanes(const Emit *em);               /* a vector loop is around and not lane mode */
/* Begin and end of a loop over the lanes, with everything in it scalar; guarded by the mask. */
int enter_lanes(Emit *em);
void leave_lanes(Emit *em, int mark);
/* One lane of a value, in lane mode. */
const char *lane_of(Emit *em, DType type, Val val);

/* ---- memory.c ---- */
Val emit_read(Emit *em, const Expr *e);
void emit_store(Emit *em, const Stmt *stmt);
/* The new contents of a place that holds `old`, by a store. */
const char *stored_text(Emit *em, const Stmt *stmt, bool is_vector, const char *old);

/* ---- reg.c ---- */
bool is_register(const Tensor *tensor); /* else memory */
/* An access outside of lanes as an lvalue. */
const char *scalar_place(Emit *em, const Tensor *tensor, const Expr *const *index);
Val read_reg(Emit *em, const Expr *e);
void store_reg(Emit *em, const Stmt *stmt);
void emit_alloc(Emit *em, const Stmt *stmt);
const char *sum_text(Emit *em, const Expr *e);
/* The step of lane * step, or of the lane itself; NULL when it is no such product. */
const Expr *lane_step(Emit *em, const Expr *e);

/* ---- narrow.c ---- */
bool is_narrow(Emit *em, const Expr *e); /* i64, and known to fit 32 bits that are to be used */
const char *value_type(Emit *em, const Expr *e);
const char *narrow_text(Emit *em, const Expr *e, const char *text); /* text, which may be wider */
/* The first operand of an integer operation whose result e may not fit the operands' type. */
const char *first_operand(Emit *em, const Expr *e, const char *text);
const char *narrow_operation(Emit *em, const Expr *e, const char *const *args); /* or NULL */

/* ---- condition.c ---- */
void emit_if(Emit *em, const Stmt *stmt);
void learn_condition(Emit *em, const Expr *condition, bool holds); /* from here on */

/* ---- vector.c ---- */
void emit_vector_loop(Emit *em, const Stmt *loop);
void emit_turn(Emit *em, const Stmt *loop); /* @turn, with its @vector loop */
/* Combine a value into its accumulator; false: the store is no reduction across lanes. */
bool emit_fold(Emit *em, const Stmt *stmt);
/* An operation on texts of operands of a type. */
const char *binary_text(Emit *em, ExprOp op, DType type, bool is_vector, const char *a,
                        const char *b);

/* ---- prelude.c ---- */
/* The items of the prelude that the text of the kernels uses, and those that these use; and memcpy
 * and the like, which the compiler may call. */
void prelude_print(Buf *out, const Target *target, const char *kernels, bool has_memory);

/* ---- kernel.c ---- */
/* The functions of kernels, flat from then on. Those of one text share one function: function[i] is
 * the first with the text of kernel i. */
void emit_kernels(Buf *out, const Target *target, const Dialect *dialect, int count,
                  Kernel *const *kernels, int *function);
void emit_parameters(Emit *em); /* arguments and symbols, each with a comma behind */
void print_ancestry(Buf *out, const Kernel *kernel);

/* ---- dialect.c ---- */
/* What a file begins with; `memory`: the linkage of memcpy and the like. */
void print_frame(Buf *out, const char *memory);

/* ---- emit.c ---- */
void emit_serial_loop(Emit *em, const Stmt *loop);
void emit_list(Emit *em, const Stmt *list);
void emit_block(Emit *em, const Stmt *list); /* a list with definitions of its own */
void learn_loop(Emit *em, const Stmt *loop);
const Expr *without_lets(Emit *em, const Expr *e); /* as facts know it */

#endif
