# Four rows of a window at once, counted by the rows that are read.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel depthwise(X: f32[8,28,28], W: f32[8,3,3], Y: out f32[8,28,28]) {
  for f in 8, p in 28, q in 28 {
        acc: f32 @reg = 0
        for r in 3, s in 3
          if (0 <= p+r-1 && p+r-1 < 28 && 0 <= q+s-1 && q+s-1 < 28)
            acc[] += X[f, p+r-1, q+s-1] * W[f, r, s]
        Y[f, p, q] = acc[]
      }
}
schedule {
  split p 4 -> p_tile, u
  reorder p_tile, q, u
  bind f @parallel
  bind p_tile @parallel
  bind q @vector
  bind u @unroll
  fission u acc @reg -> u_1
  reorder r, s, u
  skew r, u -> r_row
  bind r_row @unroll
  bind s @unroll
}
-- out
kernel depthwise(X: f32[8,28,28], W: f32[8,3,3], Y: out f32[8,28,28]) {
  for f in 8 @parallel
    for p_tile in 7 @parallel
      for q in 28 @vector {
        acc: f32[4] @reg = 0
        for r_row in 6 @unroll
          for s in 3 @unroll
            for u in 4 @unroll
              if (0 <= r_row-u && r_row-u < 3 && (0 <= p_tile*4+r_row-1 && p_tile*4+r_row-1 < 28 && 0 <= q+s-1 && q+s-1 < 28))
                acc[u] += X[f, p_tile*4+r_row-1, q+s-1] * W[f, r_row-u, s]
        for u_1 in 4 @unroll
          Y[f, p_tile*4+u_1, q] = acc[u_1]
      }
}
