/* The CPU as a backend: kernels are functions in this process, its memory is the host's. */
#ifndef RUNTIME_CPU_CPU_H
#define RUNTIME_CPU_CPU_H

#include "runtime/backend.h"

typedef struct CpuCode {
	BackendCode head;
	TwKernel *const *table;
	void *memory; /* where the object lies; NULL: functions of somebody else's */
	size_t size;
} CpuCode;

/* Functions of the record, for backends that run CPU kernels (load.c, launch.c). Code needs a row
 * of cpu.def: "x86-64-v3". */
BackendFit cpu_fit(const char *needs);
TwCode cpu_load(Bytes image, const char *name, const Plan *plan, BackendCode **loaded, char *error,
                size_t error_size);
void cpu_unload(BackendCode *loaded);
Stream *cpu_open(const BackendCode *code, const Workers *workers, Memory *memory);
void cpu_close(Stream *stream);
bool cpu_reserve(Stream *stream, size_t bytes);
bool cpu_copy(Stream *stream, const BackendCopy *copy, BackendReport *report);
bool cpu_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report);
bool cpu_call(Stream *stream, const BackendCall *call, BackendReport *report);

#endif
