# A sum across the lanes runs in four vectors and ends in a fixed tree.
-- args
print --ir=loops --passes=Flatten,Vectorize,Unroll --c --target cpu:x86-64-v4
-- in
kernel sum(N, X: f32[N], Y: out f32[1]) {
  s: f32 @reg = 0.0
  for i in N @vector
    s += X[i]
  Y[0] = s
}
-- has
tw_f32x16 f_0 = tw_set_f32x16(0.0f);
tw_f32x16 f_3 = tw_set_f32x16(0.0f);
for (tw_i64 v = 0; v < e0; v++) {
f_3 = (f_3 + tw_load_f32x16(X + (v * 64 + 48)));
f_0 = (f_0 + tw_load_f32x16(X + (v_v1 * 16)));
if ((0 < ((tw_i64)((tw_u64)N % (tw_u64)16)))) {
tw_add_lanes_f32x16((((f_0 + f_1) + f_2) + f_3))
