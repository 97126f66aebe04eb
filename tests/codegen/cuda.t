# Blocks and threads, shared memory, barriers, operations of threads as CUDA C.
-- args
print --ir=loops --cuda --target=cuda:a100
-- in
kernel k(N in 1..4096, A: f16[N,64,64], B: f16[64,16], Y: out f32[N,16,16]) {
  for n in N @block.x {
    a: f16[2,16,16] @shared
    b: f16[16,16] @shared
    for w in 2 @thread.y for t in 32 @thread.x {
      fa: f16[8] @reg
      fb: f16[4] @reg
      acc: f32[4] @reg = 0
      m: f32 @reg = 0
      if (w == 0)
        a[0, t / 2, t % 2 * 8] = cp.async(A[n, t / 2, t % 2 * 8], 16)
      cp.async.commit()
      cp.async.wait(0)
      for i in 4 @unroll { b[i*4 + w*2 + t/16, t % 16] = B[i*4 + w*2 + t/16, t % 16] }
      sync
      fa[0] = ldmatrix.x4(a[0, t % 16, t / 16 * 8])
      fb[0] = ldmatrix.x2.trans(b[t % 16, w * 8])
      acc[0] += mma.m16n8k16.f16(fa[0], fb[0])
      m = shfl.xor(acc[0], 16)
      m max= shfl.down(acc[0] + 1, 1)
      m += shfl.idx(m, 3)
      for i in 4 { Y[n, t/4 + i/2*8, w*8 + t%4*2 + i%2] = acc[i] + m }
    }
  }
}
-- has
/* Kernels for cuda:a100, as C++20. */
asm volatile("cp.async." "cg" ".shared.global [%0], [%1], " "16" ";"
asm volatile("ldmatrix.sync.aligned.m8n8." "x4" ".shared.b16 {%0, %1, %2, %3}, [%4];"
asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." "f16" "." "f16" ".f32 "
extern "C" __global__ void __launch_bounds__(64)
k0_k(const tw_u16 *__restrict__ A, const tw_u16 *__restrict__ B, tw_f32 *__restrict__ Y, const tw_i64 N, struct TwStatus *status, const int step)
const tw_i32 n = blockIdx.x;
__shared__ __align__(16) tw_u16 a[512];
const tw_i32 w = threadIdx.y;
const tw_i32 t = threadIdx.x;
tw_cp_async_16(&a[t * 8], &A[n * 4096 +
tw_cp_async_commit();
tw_cp_async_wait<0>();
#pragma unroll
__syncthreads();
tw_ldmatrix_x4(&fa[0], &a[
tw_ldmatrix_x2_trans(&fb[0], &b[
tw_mma_m16n8k16_f16(&acc[0], &fa[0], &fb[0]);
const tw_f32 t1 = __shfl_xor_sync(0xffffffffu, acc[0], (int)(16));
m = t1;
const tw_f32 t2 = __shfl_down_sync(0xffffffffu, (acc[0] + 1.0f), (int)(1));
m = tw_max_f32(m, t2);
const tw_f32 t3 = __shfl_sync(0xffffffffu, m, (int)(3));
