# Whole vectors, the last one over elements already done; in place one masked vector for the rest.
# The parallel loops count like an odometer.
-- args
print --ir=loops --passes=Flatten,Vectorize,Unroll --c --target cpu:x86-64-v4
-- in
kernel relu(N, X: f32[N,3,50], Y: out f32[N,3,50], Z: out alias f32[N,3,50]) {
  for n in N @parallel
    for c in 3 @parallel {
      for i in 50 @vector
        Y[n, c, i] = max(X[n, c, i], 0.0)
      for i in 50 @vector
        Z[n, c, i] = X[n, c, i]
    }
}
-- has
tw_i64 c = (tw_i64)((tw_u64)rest % (tw_u64)3);
for (tw_i64 flat = begin; flat < end; flat++) {
tw_store_f32x16(Y + (n * 150 + c * 50), (tw_atleast_f32x16(tw_set_f32x16(0.0f), tw_load_f32x16(X + (n * 150 + c * 50))) + 0));
tw_store_f32x16(Y + (n * 150 + c * 50 + 34)
tw_iota_i32x16() < tw_set_i32x16(2)
tw_storem_f32x16(Z + (n * 150 + c * 50 + 48)
if (++c < 3)
n++;
