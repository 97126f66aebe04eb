/* NVRTC, NVIDIA's compiler as a library, version 12 or 13: declared by hand, loaded when asked for.
 */
#ifndef CODEGEN_CUDA_NVRTC_H
#define CODEGEN_CUDA_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct NvrtcProgram NvrtcProgram;

enum { NVRTC_OK = 0 };

/* Each is nvrtc<name>(), which gives 0 where it went well. */
typedef struct Nvrtc {
	void *library;
	int major, minor;
	int (*Version)(int *major, int *minor);
	int (*CreateProgram)(NvrtcProgram **program, const char *text, const char *name, int count,
	                     const char *const *headers, const char *const *header_names);
	int (*DestroyProgram)(NvrtcProgram **program);
	int (*CompileProgram)(NvrtcProgram *program, int count, const char *const *options);
	int (*GetProgramLogSize)(NvrtcProgram *program, size_t *size);
	int (*GetProgramLog)(NvrtcProgram *program, char *log);
	int (*GetCUBINSize)(NvrtcProgram *program, size_t *size);
	int (*GetCUBIN)(NvrtcProgram *program, char *cubin);
	int (*GetPTXSize)(NvrtcProgram *program, size_t *size);
	int (*GetPTX)(NvrtcProgram *program, char *ptx);
} Nvrtc;

#define NVRTC_FUNCTIONS(F) \
	F(Version) \
	F(CreateProgram) \
	F(DestroyProgram) \
	F(CompileProgram) \
	F(GetProgramLogSize) \
	F(GetProgramLog) \
	F(GetCUBINSize) \
	F(GetCUBIN) \
	F(GetPTXSize) \
	F(GetPTX)

/* Looked for in $CUDA_HOME or $CUDA_PATH, if one is set; else where libraries are, and in
 * /usr/local/cuda. False: why not, as a sentence in error. */
bool nvrtc_load(Nvrtc *nvrtc, char *error, size_t size);

#endif
