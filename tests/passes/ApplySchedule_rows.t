# Six rows of a product at once: each element of B is read once for them.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel mm(N, A: f32[12,N], B: f32[N,33], Y: out f32[12,33]) {
  for m in 12, n in 33 {
    acc: f32 @reg = 0
    for k in N
      if (0 < k)
        acc[] += A[m, k] * B[k, n]
    Y[m, n] = acc[]
  }
}
schedule {
  split m 6 -> tile, u
  reorder tile, n, u
  bind tile @parallel
  bind n @vector
  bind u @unroll
  fission u acc @reg -> u_1
  reorder k, u
  unswitch u
}
-- out
kernel mm(N, A: f32[12,N], B: f32[N,33], Y: out f32[12,33]) {
  for tile in 2 @parallel
    for n in 33 @vector {
      acc: f32[6] @reg = 0
      for k in N
        if (0 < k)
          for u in 6 @unroll
            acc[u] += A[tile*6+u, k] * B[k, n]
      for u_1 in 6 @unroll
        Y[tile*6+u_1, n] = acc[u_1]
    }
}
