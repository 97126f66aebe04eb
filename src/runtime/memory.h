/* A session's memory: counted, limited, from the caller's functions or the system's. */
#ifndef RUNTIME_MEMORY_H
#define RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_ALIGN = 64 };

typedef struct Memory {
	void *(*allocate)(void *context, size_t bytes, size_t alignment); /* NULL: the system's */
	void (*release)(void *context, void *memory, size_t bytes);
	void *context;
	size_t limit; /* 0: none */
	size_t now, most;
} Memory;

/* 64-byte aligned, not cleared; NULL when there is none or the limit is reached. Size 0 is 1. */
void *memory_alloc(Memory *memory, size_t bytes);
void memory_release(Memory *memory, void *block, size_t bytes); /* NULL is accepted */

/* Memory that grows and keeps its high-water mark; contents are lost when it grows. */
typedef struct Block {
	unsigned char *data;
	size_t capacity;
	Memory *memory; /* that gave it */
} Block;

bool block_reserve(Memory *memory, Block *block, size_t bytes);
void block_free(Block *block);

/* Copy elements of `size` bytes between strides in elements; NULL strides: dense. What is dense on
 * both sides may overlap. */
void copy_strided(size_t size, int rank, const int64_t *dims, const void *source,
                  const int64_t *source_strides, void *target, const int64_t *target_strides);

#endif
