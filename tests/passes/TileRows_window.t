# Four rows of a depthwise convolution at once, and then their borders.
-- args
print --ir=loops --passes=TileRows,SplitBorders
-- in
kernel depthwise(X: f32[8,28,28], W: f32[8,3,3], Y: out f32[8,28,28]) {
  for f in 8 @parallel
    for p in 28 @parallel
      for q in 28 @vector {
        acc: f32 @reg = 0
        for r in 3, s in 3
          if (0 <= p+r-1 && p+r-1 < 28 && 0 <= q+s-1 && q+s-1 < 28)
            acc[] += X[f, p+r-1, q+s-1] * W[f, r, s]
        Y[f, p, q] = acc[]
      }
}
-- out
kernel depthwise(X: f32[8,28,28], W: f32[8,3,3], Y: out f32[8,28,28]) {
  for f in 8 @parallel
    for p_tile in 7 @parallel
      if (0 <= p_tile*4-1 && 0 <= 23-p_tile*4) {
        for q in 28 @vector {
          acc: f32[4] @reg = 0
          for r_row in 6 @unroll
            for s in 3 @unroll
              for u in 4 @unroll
                if (0 <= r_row-u && r_row-u < 3 && 0 <= q+s-1 && q+s-1 < 28)
                  acc[u] += X[f, p_tile*4+r_row-1, q+s-1] * W[f, r_row-u, s]
          for u_1 in 4 @unroll
            Y[f, p_tile*4+u_1, q] = acc[u_1]
        }
      }
      else {
        for q_1 in 28 @vector {
          acc_1: f32[4] @reg = 0
          for r_row_1 in 6 @unroll
            if (0 <= p_tile*4+r_row_1-1 && p_tile*4+r_row_1-1 < 28)
              for s_1 in 3 @unroll
                for u_2 in 4 @unroll
                  if (0 <= r_row_1-u_2 && r_row_1-u_2 < 3 && 0 <= q_1+s_1-1 && q_1+s_1-1 < 28)
                    acc_1[u_2] += X[f, p_tile*4+r_row_1-1, q_1+s_1-1] * W[f, r_row_1-u_2, s_1]
          for u_3 in 4 @unroll
            Y[f, p_tile*4+u_3, q_1] = acc_1[u_3]
        }
      }
}
