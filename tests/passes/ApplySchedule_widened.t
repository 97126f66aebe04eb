# A copy of f16 whose reads are all turned into f32 holds f32; one that is used as it is, too, does not.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel product(X: f16[8,9], W: f32[9,4], Z: bf16[9], Y: out f32[8,4], U: out f32[8], V: out bf16[8]) {
  for m in 8 {
    for n in 4 {
      acc: f32 @reg = 0
      for k in 9
        acc[] += f32(X[m, k]) * W[k, n]
      Y[m, n] = acc[]
    }
    U[m] = f32(Z[m])
    V[m] = Z[m] + Z[m+1]
  }
}
schedule {
  cache_read X at m @stack -> wide
  cache_read Z at m @stack -> narrow
  bind wide_0 @vector
}
-- out
kernel product(X: f16[8,9], W: f32[9,4], Z: bf16[9], Y: out f32[8,4], U: out f32[8], V: out bf16[8]) {
  for m in 8 {
    narrow: bf16[2] @stack
    for narrow_0 in 2
      narrow[narrow_0] = Z[m+narrow_0]
    wide: f32[9] @stack
    for wide_0 in 9 @vector
      wide[wide_0] = f32(X[m, wide_0])
    for n in 4 {
      acc: f32 @reg = 0
      for k in 9
        acc[] += wide[k] * W[k, n]
      Y[m, n] = acc[]
    }
    U[m] = f32(narrow[0])
    V[m] = narrow[0] + narrow[1]
  }
}
