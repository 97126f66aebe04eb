# A sum across the lanes is gathered in four vectors of registers, which a loop over lanes joins; so
# is a sum into many places, in one vector each, as the loop holds others.
-- args
print --ir=loops --passes=Flatten,Vectorize --target cpu:x86-64-v3
-- in
kernel sum(N, X: f32[N], W: f64[N,2], Y: out f32[1], Z: out f64[2]) {
  s: f32 @reg = 0
  for i in N @vector
    s[] += X[i]
  Y[0] = s[]
  t: f64[2] @reg = 0
  for i in N @vector
    for k in 2
      t[k] max= W[i, k]
  for k in 2
    Z[k] = t[k]
}
-- out
kernel sum(N, X: f32[N], W: f64[N*2], Y: out f32[1], Z: out f64[2]) flat {
  s: f32 @reg = 0
  f: f32[4,8] @reg = 0
  for v in N/32
    for c in 4 @unroll
      for i in 8 @vector(i32x8)
        f[c, i] += X[c*8+i+v*32]
  for v_1 in N/32*4..N/8
    for i_1 in 8 @vector(i32x8)
      f[0, i_1] += X[i_1+v_1*8]
  if (0 < N%8)
    for i_2 in N%8 @vector(i32x8)
      f[0, i_2] += X[i_2+N/8*8]
  for i_3 in 8 @vector(i32x8)
    s[] += f[0, i_3] + f[1, i_3] + f[2, i_3] + f[3, i_3]
  Y[0] = s[]
  t: f64[2] @reg = 0
  f_1: f64[1,2,4] @reg = -inf
  for v_2 in N/4
    for i_4 in 4 @vector(i64x4)
      for k in 2
        f_1[0, k, i_4] max= W[i_4*2+k+v_2*8]
  if (0 < N%4)
    for i_5 in N%4 @vector(i64x4)
      for k_1 in 2
        f_1[0, k_1, i_5] max= W[i_5*2+k_1+N/4*8]
  for k_2 in 2 @unroll
    for i_6 in 4 @vector(i64x4)
      t[k_2] max= f_1[0, k_2, i_6]
  for k_3 in 2
    Z[k_3] = t[k_3]
}
