# A window of many taps counts to bounds, for most tests of its would fail at a border.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel k(X: f32[32], W: f32[16], Y: out f32[32]) {
  for y in 32 @parallel {
    acc: f32 @reg = 0
    for r in 16
      if (0 <= y + r - 8 && y + r - 8 < 32)
        acc[] += X[y + r - 8] * W[r]
    Y[y] = acc[]
  }
}
-- out
kernel k(X: f32[32], W: f32[16], Y: out f32[32]) {
  for y in 32 @parallel {
    acc: f32 @reg = 0
    for r in max(0, 8-y)..min(16, 40-y)
      acc[] += X[r+y-8] * W[r]
    Y[y] = acc[]
  }
}
