/* From loops to machine code: one walk over Stmt, dialects by table; compiled by the system
 * compiler into one freestanding object per target.
 */
#ifndef CODEGEN_COMMON_CODEGEN_H
#define CODEGEN_COMMON_CODEGEN_H

#include "base/file.h"
#include "target/target.h"
#include "tir/module.h"

/* The text of one C file with what it needs of the prelude, all kernels (flat from then on) and the
 * table tw_kernels_v1. Vectors are as wide as the target. Deterministic. */
const char *codegen_c(Arena *arena, const Target *target, int count, Kernel *const *kernels);
/* This text cut into texts that are compiled one by one and linked in their order; any other text
 * is one unit. */
StrVec codegen_units(Arena *arena, const Target *target, const char *text);

/* Of which kernel a line of such a text is, for sentences: ", in conv1+relu1; derive: …", what
 * stands in the comment before it; "" where it is of none. */
const char *codegen_kernel_at(Arena *arena, const char *text, int line);

/* Is told after each part how many are compiled; nothing when the cache has the object. */
typedef struct CodegenWatch {
	void (*progress)(void *arg, const char *what, int done, int total);
	void *arg;
} CodegenWatch;

/* What is made for a kind of devices. */
typedef struct Artefact {
	const char *name;                   /* as rows of devices have it */
	const char *suffix, *source_suffix; /* of the entries in a bundle: ".so", ".c" */
	/* One text of all kernels, which get their functions' names. Deterministic. */
	const char *(*emit)(Arena *arena, const Target *target, int count, Kernel *const *kernels);
	/* What a backend loads. The bytes live in the arena; `watch` may be NULL. */
	Bytes (*compile)(Arena *arena, const Target *target, const char *source,
	                 const CodegenWatch *watch);
	/* What a machine must have, as its backend reads it. */
	const char *(*needs)(Arena *arena, const Device *device);
	/* The same for machines that come later, which compile it themselves; NULL: there is none. */
	const char *later_suffix;
	Bytes (*later)(Arena *arena, const Target *target, const char *source);
	/* What a model says of kernels whose code this is, for inspect, as JSON; NULL: nothing. */
	const char *(*modelled)(Arena *arena, const Target *target, int count, Kernel *const *kernels,
	                        Bytes code);
} Artefact;

/* NULL: nothing is made for this device. */
const Artefact *artefact_of(const Device *device);

/* C objects; CUDA's cubins; and these simulated on the CPU (codegen/cuda). */
extern const Artefact artefact_object, artefact_cubin, artefact_simulation;

/* The compiler's command and what it says of its version. Fails as codegen_compile(). */
const char *codegen_compiler(Arena *arena);

/* Compile C text to a relocatable object / shared object with -ffreestanding -nostdlib for this
 * target; cached by text, target and compiler. Fails (FAIL_ENVIRONMENT) with the compiler's words.
 * The bytes live in the arena. `watch` may be NULL. */
Bytes codegen_compile(Arena *arena, const Target *target, const char *text,
                      const CodegenWatch *watch);
/* The same of C++, by $CXX or c++, for this machine. */
Bytes codegen_compile_cpp(Arena *arena, const Target *target, const char *text,
                          const CodegenWatch *watch);

#endif
