# A guard whose index moves in steps bounds its loop, too: rounded to whole iterations.
-- args
print --ir=loops --passes=SplitBorders
-- in
kernel taps(X: f32[64], W: f32[31], Y: out f32[64]) {
  for p in 64 {
    for r in 64
      if (p%2+r*3 < 31 && 7 <= r*2+p)
        Y[p] += X[r] * W[p%2+r*3]
  }
}
-- out
kernel taps(X: f32[64], W: f32[31], Y: out f32[64]) {
  for p in 64, r in max(0, 4-(p+1)/2)..p%2*-1/3+11
    Y[p] += X[r] * W[r*3+p%2]
}
