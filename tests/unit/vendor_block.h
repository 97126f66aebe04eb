/* What oneDNN has on this machine, or on the one that it is taken for: blocks of channels for
 * convolutions and pools, as many as a vector register has floats, and products of bytes.
 */
#ifndef UNIT_VENDOR_BLOCK_H
#define UNIT_VENDOR_BLOCK_H

#include <stdbool.h>

#include "base/cpu.h"

/* AVX-512; without it the library has no Winograd for f32 either. */
static inline bool
vendor_is_wide(void)
{
	return cpu_supports("x86-64-v4");
}

static inline int
vendor_block(void)
{
	return vendor_is_wide() ? 16 : 8;
}

static inline const char *
vendor_layout(void)
{
	return vendor_is_wide() ? "nc16hw" : "nc8hw";
}

/* Its products of bytes are exact with AVX-512 VNNI only, and refused without. */
static inline bool
vendor_has_bytes(void)
{
#ifdef __x86_64__
	return cpu_cap() ? cpu_supports("cooperlake") : __builtin_cpu_supports("avx512vnni");
#else
	return false;
#endif
}

#endif
