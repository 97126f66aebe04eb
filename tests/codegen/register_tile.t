# Accumulators of an unrolled tile are C locals, one per vector; products contract into them.
-- args
print --ir=loops --passes=Flatten,Vectorize,Unroll --c --target cpu:x86-64-v3
-- in
kernel tile(N, A: f32[2,N], B: f32[N,16], C: out f32[2,16]) "matmul1; tile 2x16" {
  acc: f32[2,16] @reg = 0.0
  for k in N
    for i in 2 @unroll
      for j in 16 @vector
        acc[i, j] += A[i, k] * B[k, j]
  for i in 2 @unroll
    for j in 16 @vector
      C[i, j] = acc[i, j]
}
-- has
/* matmul1; tile 2x16 */
k0_tile(const TwArgs *args, const tw_f32 *restrict A, const tw_f32 *restrict B, tw_f32 *restrict C, const tw_i64 N, const tw_i64 begin, const tw_i64 end)
tw_f32x8 acc_0 = tw_set_f32x8(0.0f);
tw_f32x8 acc_3 = tw_set_f32x8(0.0f);
for (tw_i64 k = 0; k < e0; k++) {
acc_0 = tw_fma_f32x8(tw_set_f32x8(A[k]), tw_load_f32x8(B + (k * 16)), acc_0);
acc_1 = tw_fma_f32x8(tw_set_f32x8(A[k]), tw_load_f32x8(B + (k * 16 + 8)), acc_1);
acc_3 = tw_fma_f32x8(tw_set_f32x8(A[N + k]), tw_load_f32x8(B + (k * 16 + 8)), acc_3);
tw_store_f32x8(C + (24), acc_3);
