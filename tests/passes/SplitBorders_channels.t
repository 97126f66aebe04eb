# A window's row for 12 channels at once is unrolled, its rows are not: 36 stores, but not 108.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel conv(X: f32[8,32], W: f32[12,8,3,3], Y: out f32[12,32]) {
  for q in 32 @vector {
    acc: f32[12] @reg
    for u in 12 @unroll
      acc[u] = 0
    for c in 8, r in 3, s in 3
      if (0 <= q+s-1 && q+s-1 < 32)
        for u in 12 @unroll
          acc[u] += X[c, q+s-1] * W[u, c, r, s]
    for u in 12 @unroll
      Y[u, q] = acc[u]
  }
}
-- out
kernel conv(X: f32[8,32], W: f32[12,8,3,3], Y: out f32[12,32]) {
  for q in 32 @vector {
    acc: f32[12] @reg
    for u in 12 @unroll
      acc[u] = 0
    for c in 8, r in 3
      for s in 3 @unroll
        if (0 <= q+s-1 && q+s-1 < 32)
          for u_1 in 12 @unroll
            acc[u_1] += X[c, q+s-1] * W[u_1, c, r, s]
    for u_2 in 12 @unroll
      Y[u_2, q] = acc[u_2]
  }
}
