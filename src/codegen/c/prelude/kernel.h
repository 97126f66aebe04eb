/* Prelude K1: what a freestanding object brings along because the compiler may call it, checked
 * indices, and codes of less than a byte. TW_CUDA: for CUDA C.
 */

#if TW_CUDA
#define TW_TELL TwStatus *status, int32_t step
#define TW_TOLD status, step
#else
#define TW_TELL const TwArgs *args
#define TW_TOLD args
#if defined(__GNUC__) && !defined(__clang__)
#define TW_PLAIN_LOOPS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define TW_PLAIN_LOOPS
#endif
#define TW_KEPT TW_LINKAGE __attribute__((used, noinline)) TW_PLAIN_LOOPS

TW_KEPT void *
memcpy(void *to, const void *from, __SIZE_TYPE__ size)
{
	unsigned char *d = to;
	const unsigned char *s = from;
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(size) : : "memory");
#else
	while (size--)
		*d++ = *s++;
#endif
	return to;
}

TW_KEPT void *
memmove(void *to, const void *from, __SIZE_TYPE__ size)
{
	unsigned char *d = to;
	const unsigned char *s = from;
	if (d <= s || d >= s + size)
		return memcpy(to, from, size);
	while (size--)
		d[size] = s[size];
	return to;
}

TW_KEPT void *
memset(void *to, int value, __SIZE_TYPE__ size)
{
	unsigned char *d = to;
#if defined(__x86_64__)
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(size) : "a"(value) : "memory");
#else
	while (size--)
		*d++ = (unsigned char)value;
#endif
	return to;
}

#endif
/* The first failure of a run stays: whoever turns code from 0 to -1 writes the rest, code last. */
TW_SLOW void
tw_report(TW_TELL, int32_t code, tw_i64 value, tw_i64 limit)
{
#if TW_CUDA
	if (!status || atomicCAS(&status->code, TW_CHECK_NONE, -1) != TW_CHECK_NONE)
		return;
	status->step = step;
#else
	TwStatus *status = args->status;
	int32_t none = TW_CHECK_NONE;
	if (!status || !__atomic_compare_exchange_n(&status->code, &none, -1, 0, __ATOMIC_ACQ_REL,
	                                            __ATOMIC_RELAXED))
		return;
	status->step = args->step;
#endif
	status->value = value;
	status->limit = limit;
#if TW_CUDA
	__threadfence_system();
	atomicExch(&status->code, code);
#else
	__atomic_store_n(&status->code, code, __ATOMIC_RELEASE);
#endif
}

/* An index with a declared range: at(i, 0..extent). What is outside is clamped. */
TW_FN tw_i64
tw_at(tw_i64 i, tw_i64 extent)
{
	return i < 0 || extent <= 0 ? 0 : i >= extent ? extent - 1 : i;
}

TW_FN tw_i64
tw_at_check(TW_TELL, tw_i64 i, tw_i64 extent, tw_i64 said)
{
	if (__builtin_expect((tw_u64)i >= (tw_u64)extent, 0))
		tw_report(TW_TOLD, TW_CHECK_INDEX, said, extent);
	return tw_at(i, extent);
}

/* Codes of `bits` bits, the first in the low bits of its byte. Two workers may store into one byte,
 * so a store changes its own bits only, atomically. */
TW_FN tw_u8
tw_load_code(const tw_u8 *p, tw_i64 i, int bits)
{
	int per_byte = 8 / bits;
	return (tw_u8)(p[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1));
}

TW_FN void
tw_store_code(tw_u8 *p, tw_i64 i, int bits, tw_u8 code)
{
	int per_byte = 8 / bits, shift = (int)(i % per_byte) * bits, mask = ((1 << bits) - 1) << shift;
#if TW_CUDA
	tw_u64 byte = (tw_u64)p + (tw_u64)(i / per_byte);
	tw_u32 *word = (tw_u32 *)(byte & ~3ull), left = (tw_u32)(byte & 3) * 8;
	atomicAnd(word, ~((tw_u32)mask << left));
	atomicOr(word, ((tw_u32)code << shift & (tw_u32)mask) << left);
#else
	__atomic_fetch_and(&p[i / per_byte], (tw_u8)~mask, __ATOMIC_RELAXED);
	__atomic_fetch_or(&p[i / per_byte], (tw_u8)(code << shift & mask), __ATOMIC_RELAXED);
#endif
}
