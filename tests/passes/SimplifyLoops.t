# Index arithmetic and conditions fold under what loops and conditions around them say.
-- args
print --ir=loops --passes=SimplifyLoops
-- in
kernel k(N, X: f32[N,56], Y: out f32[N,56]) {
  for n in N, i in 7, j in 8 {
    if (0 <= i*8 + j && i*8 + j < 56)
      Y[n, (i*8 + j) % 56] = X[n, (8*i + j) / 8 * 8 + j]
    if (n < 0)
      Y[n, 0] = 0.0
  }
}
-- out
kernel k(N, X: f32[N,56], Y: out f32[N,56]) {
  for n in N, i in 7, j in 8
    Y[n, i*8+j] = X[n, i*8+j]
}
