# A border along the row is a bound.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel row(X: f32[56], W: f32[3], Y: out f32[56]) {
  for p in 56 {
    acc: f32 @reg = 0
    for r in 3
      if (0 <= p+r-1 && p+r-1 < 56)
        acc[] += X[p+r-1] * W[r]
    Y[p] = acc[]
  }
}
-- out
kernel row(X: f32[56], W: f32[3], Y: out f32[56]) {
  for p in 56 {
    acc: f32 @reg = 0
    for r in max(0, 1-p)..min(3, 57-p)
      acc[] += X[p+r-1] * W[r]
    Y[p] = acc[]
  }
}
