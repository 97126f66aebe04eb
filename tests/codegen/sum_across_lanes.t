# A sum across the lanes runs in four vectors and ends in a fixed tree.
-- args
print --ir=loops --c --target cpu:x86-64-v4
-- in
kernel sum(N, X: f32[N], Y: out f32[1]) {
  s: f32 @reg = 0.0
  for i in N @vector
    s += X[i]
  Y[0] = s
}
-- has
tw_f32x16 f0_0 = tw_set_f32x16(0.0f);
tw_f32x16 f0_3 = tw_set_f32x16(0.0f);
for (; v_i + 64 <= e1; v_i += 64) {
f0_3 = (f0_3 + tw_load_f32x16(X + (b4)));
for (; v_i + 16 <= e1; v_i += 16) {
f0_0 = tw_pick_f32x16(m5, (f0_0 + tw_loadm_f32x16(X + (v_i), m5)), f0_0);
tw_add_lanes_f32x16((((f0_0 + f0_1) + f0_2) + f0_3))
