/* Prelude U1: operations of threads (target/warp.def), each one instruction of PTX, and moves of
 * several elements at once. An operand names the first of the elements it stands for; which lane
 * holds which is a FRAGMENT of warp.def. On a host these do not exist: who compiles the kernels for
 * one brings functions of the same names.
 */

/* ---- elements side by side ------------------------------------------------------------------- */

TW_FN void tw_move_2(void *to, const void *from) { *(tw_u16 *)to = *(const tw_u16 *)from; }
TW_FN void tw_move_4(void *to, const void *from) { *(tw_u32 *)to = *(const tw_u32 *)from; }
TW_FN void tw_move_8(void *to, const void *from) { *(uint2 *)to = *(const uint2 *)from; }
TW_FN void tw_move_16(void *to, const void *from) { *(uint4 *)to = *(const uint4 *)from; }

/* ---- asynchronous copies --------------------------------------------------------------------- */

#ifdef __CUDA_ARCH__
TW_FN tw_u32
tw_shared_address(const void *p)
{
	return (tw_u32)__cvta_generic_to_shared(p);
}
#endif

/* Sixteen bytes go past the first cache. */
#define TW_COPY(bytes, cache) \
	TW_FN void tw_cp_async_##bytes(void *to, const void *from) \
	{ \
		asm volatile("cp.async." cache ".shared.global [%0], [%1], " #bytes ";" \
		             : \
		             : "r"(tw_shared_address(to)), "l"(__cvta_generic_to_global(from)) \
		             : "memory"); \
	}
#define TW_ZFILL(bytes, cache) \
	TW_FN void tw_cp_async_zfill_##bytes(void *to, const void *from, bool inside) \
	{ \
		asm volatile("cp.async." cache ".shared.global [%0], [%1], " #bytes ", %2;" \
		             : \
		             : "r"(tw_shared_address(to)), "l"(__cvta_generic_to_global(from)), \
		               "r"(inside ? bytes : 0) \
		             : "memory"); \
	}
#ifdef __CUDA_ARCH__
TW_COPY(4, "ca")
#endif
#ifdef __CUDA_ARCH__
TW_COPY(8, "ca")
#endif
#ifdef __CUDA_ARCH__
TW_COPY(16, "cg")
#endif
#ifdef __CUDA_ARCH__
TW_ZFILL(4, "ca")
#endif
#ifdef __CUDA_ARCH__
TW_ZFILL(8, "ca")
#endif
#ifdef __CUDA_ARCH__
TW_ZFILL(16, "cg")
#endif

#ifdef __CUDA_ARCH__
TW_FN void
tw_cp_async_commit()
{
	asm volatile("cp.async.commit_group;" : : : "memory");
}
#endif

#ifdef __CUDA_ARCH__
template <int left>
TW_FN void
tw_cp_async_wait()
{
	asm volatile("cp.async.wait_group %0;" : : "n"(left) : "memory");
}
#endif

/* ---- matrices -------------------------------------------------------------------------------- */

/* Two elements of 16 bits in a register. */
TW_FN tw_u32
tw_pair(const tw_u16 *x)
{
	return x[0] | (tw_u32)x[1] << 16;
}

TW_FN void
tw_unpair(tw_u16 *x, tw_u32 pair)
{
	x[0] = (tw_u16)pair;
	x[1] = (tw_u16)(pair >> 16);
}

#define TW_MATRIX_1(name, form) \
	TW_FN void tw_ldmatrix_##name(tw_u16 *d, const tw_u16 *row) \
	{ \
		tw_u32 a; \
		asm volatile("ldmatrix.sync.aligned.m8n8." form ".shared.b16 {%0}, [%1];" \
		             : "=r"(a) \
		             : "r"(tw_shared_address(row)) \
		             : "memory"); \
		tw_unpair(d, a); \
	}
#define TW_MATRIX_2(name, form) \
	TW_FN void tw_ldmatrix_##name(tw_u16 *d, const tw_u16 *row) \
	{ \
		tw_u32 a, b; \
		asm volatile("ldmatrix.sync.aligned.m8n8." form ".shared.b16 {%0, %1}, [%2];" \
		             : "=r"(a), "=r"(b) \
		             : "r"(tw_shared_address(row)) \
		             : "memory"); \
		tw_unpair(d, a); \
		tw_unpair(d + 2, b); \
	}
#define TW_MATRIX_4(name, form) \
	TW_FN void tw_ldmatrix_##name(tw_u16 *d, const tw_u16 *row) \
	{ \
		tw_u32 a, b, c, e; \
		asm volatile("ldmatrix.sync.aligned.m8n8." form ".shared.b16 {%0, %1, %2, %3}, [%4];" \
		             : "=r"(a), "=r"(b), "=r"(c), "=r"(e) \
		             : "r"(tw_shared_address(row)) \
		             : "memory"); \
		tw_unpair(d, a); \
		tw_unpair(d + 2, b); \
		tw_unpair(d + 4, c); \
		tw_unpair(d + 6, e); \
	}
#ifdef __CUDA_ARCH__
TW_MATRIX_1(x1, "x1")
#endif
#ifdef __CUDA_ARCH__
TW_MATRIX_2(x2, "x2")
#endif
#ifdef __CUDA_ARCH__
TW_MATRIX_4(x4, "x4")
#endif
#ifdef __CUDA_ARCH__
TW_MATRIX_1(x1_trans, "x1.trans")
#endif
#ifdef __CUDA_ARCH__
TW_MATRIX_2(x2_trans, "x2.trans")
#endif
#ifdef __CUDA_ARCH__
TW_MATRIX_4(x4_trans, "x4.trans")
#endif

#define TW_MMA_16(type) \
	TW_FN void tw_mma_m16n8k16_##type(tw_f32 *d, const tw_u16 *a, const tw_u16 *b) \
	{ \
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type ".f32 " \
		             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
		             : "r"(tw_pair(a)), "r"(tw_pair(a + 2)), "r"(tw_pair(a + 4)), \
		               "r"(tw_pair(a + 6)), "r"(tw_pair(b)), "r"(tw_pair(b + 2))); \
	}
#ifdef __CUDA_ARCH__
TW_MMA_16(f16)
#endif
#ifdef __CUDA_ARCH__
TW_MMA_16(bf16)
#endif

/* Four bytes in a register. */
TW_FN tw_u32
tw_quad(const tw_u8 *x)
{
	return x[0] | (tw_u32)x[1] << 8 | (tw_u32)x[2] << 16 | (tw_u32)x[3] << 24;
}

#define TW_MMA_8(left, right) \
	TW_FN void tw_mma_m16n8k32_##left##_##right(tw_i32 *d, const void *a, const void *b) \
	{ \
		const tw_u8 *x = (const tw_u8 *)a, *y = (const tw_u8 *)b; \
		asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." #left "." #right ".s32 " \
		             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
		             : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) \
		             : "r"(tw_quad(x)), "r"(tw_quad(x + 4)), "r"(tw_quad(x + 8)), \
		               "r"(tw_quad(x + 12)), "r"(tw_quad(y)), "r"(tw_quad(y + 4))); \
	}
#ifdef __CUDA_ARCH__
TW_MMA_8(s8, s8)
#endif
#ifdef __CUDA_ARCH__
TW_MMA_8(s8, u8)
#endif
#ifdef __CUDA_ARCH__
TW_MMA_8(u8, s8)
#endif
#ifdef __CUDA_ARCH__
TW_MMA_8(u8, u8)
#endif

#ifdef __CUDA_ARCH__
TW_FN tw_u32
tw_tf32(tw_f32 x)
{
	tw_u32 y;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
	return y;
}
#endif

#ifdef __CUDA_ARCH__
TW_FN void
tw_mma_m16n8k8_tf32(tw_f32 *d, const tw_f32 *a, const tw_f32 *b)
{
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
	             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(tw_tf32(a[0])), "r"(tw_tf32(a[1])), "r"(tw_tf32(a[2])),
	               "r"(tw_tf32(a[3])), "r"(tw_tf32(b[0])), "r"(tw_tf32(b[1])));
}
#endif

/* ---- shared memory of any size --------------------------------------------------------------- */

#ifdef __CUDA_ARCH__
extern __shared__ __align__(16) tw_u8 tw_shared[];
#endif
