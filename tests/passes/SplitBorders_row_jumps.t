# Two taps are tested where their border jumps from one iteration of a row to the next.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel row(X: f32[34], W: f32[2], Y: out f32[64]) {
  for p in 64 {
    acc: f32 @reg = 0
    for r in 2
      if (p%2+r*2 < 3 && p/2+r < 33)
        acc[] += X[p/2+r] * W[r]
    Y[p] = acc[]
  }
}
-- out
kernel row(X: f32[34], W: f32[2], Y: out f32[64]) {
  for p in 64 {
    acc: f32 @reg = 0
    for r in 2
      if (r*2+p%2 < 3)
        acc[] += X[r+p/2] * W[r]
    Y[p] = acc[]
  }
}
