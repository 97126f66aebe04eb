# What is computed on the way, goes to an argument, has no 4 bytes, begins elsewhere, or lies side by
# side already is left alone.
-- args
print --ir=loops --passes=Flatten,Vectorize,Unroll,Normalize,HoistBranches,TurnLoops --verify=each --target cpu:x86-64-v3
-- in
kernel left(X: f32[8,40], H: i64[8,40], Y: out f32[40,8]) {
  t: f32[40,8] @stack
  h: i64[40,8] @stack
  for u in 40
    for i in 8 @vector
      t[u, i] = X[i, u] + 1.0
  for u in 40
    for i in 8 @vector
      Y[u, i] = X[i, u]
  for u in 40
    for i in 8 @vector
      h[u, i] = H[i, u]
  for u in 39
    for i in 8 @vector
      t[u, i] += X[i, u+1]
  for u in 20
    for i in 8 @vector
      t[u, i] = X[i, 2*u]
  for u in 8
    for i in 8 @vector
      t[u, i] = X[u, i]
  for u in 40
    for i in 8 @vector
      Y[u, i] += t[u, i] + f32(h[u, i])
}
-- out
kernel left(X: f32[320], H: i64[320], Y: out f32[320]) flat {
  t: f32[320] @stack
  h: i64[320] @stack
  for u in 40
    for i in 8 @vector(i32x8)
      t[u*8+i] = X[u+i*40] + 1
  for u_1 in 40
    for i_1 in 8 @vector(i32x8)
      Y[u_1*8+i_1] = X[u_1+i_1*40]
  for u_2 in 40 {
    for i_2 in 4 @vector(i64x4)
      h[u_2*8+i_2] = H[u_2+i_2*40]
    for i_2_1 in 4 @vector(i64x4)
      h[u_2*8+4+i_2_1] = H[u_2+160+i_2_1*40]
  }
  for u_3 in 39
    for i_3 in 8 @vector(i32x8)
      t[u_3*8+i_3] += X[u_3+1+i_3*40]
  for u_4 in 20
    for i_4 in 8 @vector(i32x8)
      t[u_4*8+i_4] = X[u_4*2+i_4*40]
  for u_5 in 8
    for i_5 in 8 @vector(i32x8)
      t[u_5*8+i_5] = X[u_5*40+i_5]
  for u_6 in 40
    for i_6 in 8 @vector(i32x8)
      Y[u_6*8+i_6] += t[u_6*8+i_6] + f32(h[u_6*8+i_6])
}
