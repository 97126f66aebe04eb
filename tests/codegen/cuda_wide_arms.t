# What a select reads on one way only is loaded under its condition, where that is the same for all
# lanes; what is there in any case is loaded in any case. Several stores are several accesses, and a
# loop over what is left has all its iterations in one, or one by one.
-- args
print --ir=loops --cuda --target=cuda:h100
-- in
kernel k(X: f32[64,64], Z: f32[32,64], B: bool[96,64], Y: out f32[96,64], W: out f32[96,64], R: f32[6144], Q: out f32[6144]) {
  for n in 96 @block.x for t in 16 @thread.x {
    for v in 4 @vector {
      s: f32 @reg
      s[] = n < 64 ? X[n, t*4+v] : Z[n-64, t*4+v]
      Y[n, t*4+v] = s[]
      W[n, t*4+v] = B[n, t*4+v] ? s[] * 2.0 : s[]
    }
    for v in min(4, 5857-n*64-t*4) @vector
      Q[n*64+t*4+v] = R[n*64+t*4+v] * 2.0
  }
}
-- has
tw_move_4(t0, &B[n * 64 + t * 4]);
if ((n < 64)) {
tw_move_16(t1, &X[n * 64 + t * 4]);
if ((!(n < 64))) {
tw_move_16(t2, &Z[n * 64 + t * 4 - 4096]);
tw_move_16(&Y[n * 64 + t * 4], t3);
tw_move_16(&W[n * 64 + t * 4], t4);
if ((4 <= tw_min
tw_move_16(&Q[n * 64 + t * 4], t6);
for (tw_i32 v_v1 = 0; v_v1 < e7; v_v1++) {
