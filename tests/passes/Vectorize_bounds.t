# Few vectors stand one after the other, the last one early where that does no harm (Y), else partial
# (Z, in place); more are counted; where lanes are tested, the first and the last stand apart.
-- args
print --ir=loops --passes=Flatten,Vectorize --target cpu:x86-64-v4
-- in
kernel bounds(X: f32[300], Y: out f32[50], Z: out alias f32[50], V: out f32[300], U: out i64[3]) {
  for i in 50 @vector
    Y[i] = X[i]
  for i in 50 @vector
    Z[i] = X[i]
  for i in 300 @vector
    V[i] = X[i]
  for i in 300 @vector
    if (0 <= i-1)
      V[i] = X[i-1]
  for i in 3 @vector
    U[i] = i
}
-- out
kernel bounds(X: f32[300], Y: out f32[50], Z: out alias f32[50], V: out f32[300], U: out i64[3]) flat {
  for v in 3 @unroll
    for i in 16 @vector(i32x16)
      Y[i+v*16] = X[i+v*16]
  for i_1 in 16 @vector(i32x16)
    Y[i_1+34] = X[i_1+34]
  for v_1 in 3 @unroll
    for i_2 in 16 @vector(i32x16)
      Z[i_2+v_1*16] = X[i_2+v_1*16]
  for i_3 in 2 @vector(i32x16)
    Z[i_3+48] = X[i_3+48]
  for v_2 in 18
    for i_4 in 16 @vector(i32x16)
      V[i_4+v_2*16] = X[i_4+v_2*16]
  for i_5 in 12 @vector(i32x16)
    V[i_5+288] = X[i_5+288]
  for i_6 in 16 @vector(i32x16)
    if (0 <= i_6-1)
      V[i_6] = X[i_6-1]
  for v_3 in 1..18
    for i_7 in 16 @vector(i32x16)
      V[i_7+v_3*16] = X[i_7+v_3*16-1]
  for i_8 in 16 @vector(i32x16)
    V[i_8+284] = X[i_8+283]
  for i_9 in 3 @vector(i64x4)
    U[i_9] = i_9
}
