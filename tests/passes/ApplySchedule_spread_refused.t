# All threads would store to what they share: a loop that fills an array must be one of those shared.
-- args
print --ir=loops --passes=ApplySchedule
-- in
kernel k(X: f32[64,200], Y: out f32[64,200]) {
  for n in 64 {
    e: f32[200] @stack
    for i in 200
      e[i] = X[n, i]
    for j in 200 {
      e[j] = e[j] * 2
      Y[n, j] = e[j]
    }
  }
}
schedule {
  bind n @block.x
  spread j 64 -> t
}
-- err
-:14: kernel k: spread j: all threads store to e
