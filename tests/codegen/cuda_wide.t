# @vector loops are accesses of up to 16 bytes where elements lie side by side from an aligned place
# on; what is not proven to is read by itself, and a loop that stores so is unrolled. Places have 64
# bits where N may be large.
-- args
print --ir=loops --cuda --target=cuda:h100
-- in
kernel k(N, X: f32[N,64,8], Z: f16[N,64,2], Y: out f32[N,64,8], W: out f16[N,64,2]) {
  for n in N @block.x for t in 64 @thread.x {
    for v in 8 @vector
      Y[n, t, v] = X[n, t, v] + X[n, t, 7-v]
    for v in 4 @vector
      Y[n, t, v+2] = X[n, t, v] * 2.0
    for v in 2 @vector
      W[n, t, v] = Z[n, t, v]
  }
}
-- has
tw_f32 t0[8] __attribute__((aligned(16)));
tw_move_16(t0, &X[(tw_i64)(n) * 512 + t * 8]);
tw_move_16(t0 + 4, &X[(tw_i64)(n) * 512 + t * 8 + 4]);
#pragma unroll
for (tw_i32 v = 0; v < 8; v++) {
= (t0[v] + X[
tw_move_16(&Y[(tw_i64)(n) * 512 + t * 8], t1);
tw_move_16(&Y[(tw_i64)(n) * 512 + t * 8 + 4], t1 + 4);
tw_move_16(t2, &X[(tw_i64)(n) * 512 + t * 8]);
#pragma unroll
Y[(tw_i64)(n) * 512 + t * 8
tw_move_4(t3, &Z[(tw_i64)(n) * 128 + t * 2]);
tw_move_4(&W[(tw_i64)(n) * 128 + t * 2], t4);
