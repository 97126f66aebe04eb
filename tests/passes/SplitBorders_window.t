# Rows that reach no border run without tests for it; the others test each tap's row.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel depthwise(X: f32[56,56], W: f32[3,3], Y: out f32[56,56]) {
  for p in 56 @parallel
    for q in 56 @vector {
      acc: f32 @reg = 0
      for r in 3, s in 3
        if (0 <= p+r-1 && p+r-1 < 56 && 0 <= q+s-1 && q+s-1 < 56)
          acc[] += X[p+r-1, q+s-1] * W[r, s]
      Y[p, q] = acc[]
    }
}
-- out
kernel depthwise(X: f32[56,56], W: f32[3,3], Y: out f32[56,56]) {
  for p in 56 @parallel
    if (0 <= p-1 && 0 <= 54-p) {
      for q in 56 @vector {
        acc: f32 @reg = 0
        for r in 3 @unroll
          for s in 3 @unroll
            if (0 <= q+s-1 && q+s-1 < 56)
              acc[] += X[p+r-1, q+s-1] * W[r, s]
        Y[p, q] = acc[]
      }
    }
    else {
      for q_1 in 56 @vector {
        acc_1: f32 @reg = 0
        for r_1 in 3 @unroll
          if (0 <= p+r_1-1 && p+r_1-1 < 56)
            for s_1 in 3 @unroll
              if (0 <= q_1+s_1-1 && q_1+s_1-1 < 56)
                acc_1[] += X[p+r_1-1, q_1+s_1-1] * W[r_1, s_1]
        Y[p, q_1] = acc_1[]
      }
    }
}
