# A stage computed tile by tile, as far as a tile reads it.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel k(X: f32[64], Y: out f32[62]) {
  t: f32[64] @stack
  for i in 64
    t[i] = exp(X[i])
  for j in 62 {
    acc: f32 @reg = 0
    for r in 3
      acc[] += t[j + r]
    Y[j] = acc[]
  }
}
schedule {
  split j 16 -> jo, ji
 compute_at t at jo @stack
}
-- out
kernel k(X: f32[64], Y: out f32[62]) {
  for jo in 4 {
    t: f32[18] @stack
    for i in min(16, 62-jo*16)+2
      t[i] = exp(X[i+jo*16])
    for ji in min(16, 62-jo*16) {
      acc: f32 @reg = 0
      for r in 3
        acc[] += t[ji+r]
      Y[ji+jo*16] = acc[]
    }
  }
}
