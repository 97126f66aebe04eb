# What is made of W and S alone is made once in front of all rows; lanes come last.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel product(X: f32[8,6], W: i8[2,6,4], S: f32[2,4], Y: out f32[8,2,4]) {
  for m in 8, n in 2, b in 4 {
    acc: f32 @reg = 0
    for k in 6
      acc[] += X[m, k] * (f32(W[n, k, b]) * S[n, b])
    Y[m, n, b] = acc[]
  }
}
schedule {
  reorder n, m, b
  bind n @parallel
  bind b @vector
  precompute W at n @scratch -> panel
  bind panel_1 @vector
}
-- out
kernel product(X: f32[8,6], W: i8[2,6,4], S: f32[2,4], Y: out f32[8,2,4]) {
  for n in 2 @parallel {
    panel: f32[6,4] @scratch
    for panel_0 in 6
      for panel_1 in 4 @vector
        panel[panel_0, panel_1] = f32(W[n, panel_0, panel_1]) * S[n, panel_1]
    for m in 8
      for b in 4 @vector {
        acc: f32 @reg = 0
        for k in 6
          acc[] += X[m, k] * panel[k, b]
        Y[m, n, b] = acc[]
      }
  }
}
