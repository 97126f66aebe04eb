# Rows without lanes that lie inside of the image run without tests: what bounds their windows does
# not depend on the row's counter, and the C compiler finds lanes of its own.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel row(X: f32[56,8], W: f32[3,8], Y: out f32[56,8]) {
  for p in 56
    for f in 8 {
      acc: f32 @reg = 0
      for r in 3
        if (0 <= p+r-1 && p+r-1 < 56)
          acc[] += X[p+r-1, f] * W[r, f]
      Y[p, f] = acc[]
    }
}
-- out
kernel row(X: f32[56,8], W: f32[3,8], Y: out f32[56,8]) {
  for p in 56
    if (0 <= p-1 && 0 <= 54-p) {
      for f in 8 {
        acc: f32 @reg = 0
        for r in 3
          acc[] += X[p+r-1, f] * W[r, f]
        Y[p, f] = acc[]
      }
    }
    else {
      for f_1 in 8 {
        acc_1: f32 @reg = 0
        for r_1 in 3
          if (0 <= p+r_1-1 && p+r_1-1 < 56)
            acc_1[] += X[p+r_1-1, f_1] * W[r_1, f_1]
        Y[p, f_1] = acc_1[]
      }
    }
}
