# A loop of the local whose end is no number.
-- args
print --ir=loops --passes=ApplySchedule
-- in
kernel product(N, X: f32[8,N], W: i8[N], Y: out f32[8]) {
  for m in 8 {
    acc: f32 @reg = 0
    for k in N
      acc[] += X[m, k] * f32(W[k])
    Y[m] = acc[]
  }
}
schedule {
  precompute W at m @scratch -> panel
}
-- err
-:10: kernel product: precompute m: loop k does not run from 0 to a number
