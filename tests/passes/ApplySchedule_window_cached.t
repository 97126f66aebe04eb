# Tiles of a window: input with its border, weights and result in locals.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel conv(N, X: f32[N,9,9], W: f32[3,3], Y: out f32[N,9,9]) {
  for n in N, p in 9, q in 9 {
        acc: f32 @reg = 0
        for r in 3, s in 3
          if (0 <= p+r-1 && p+r-1 < 9 && 0 <= q+s-1 && q+s-1 < 9)
            acc[] += X[n, p+r-1, q+s-1] * W[r, s]
        Y[n, p, q] = acc[]
      }
}
schedule {
  split p 4 -> po, pi
  cache_read X at po @stack -> Xc
  cache_read W at n @stack -> Wc
  cache_write Y at po @stack -> Yc
  bind n @parallel
}
-- out
kernel conv(N, X: f32[N,9,9], W: f32[3,3], Y: out f32[N,9,9]) {
  for n in N @parallel {
    Wc: f32[3,3] @stack
    for Wc_0 in 3, Wc_1 in 3
      Wc[Wc_0, Wc_1] = W[Wc_0, Wc_1]
    for po in 3 {
      Yc: f32[4,9] @stack
      Xc: f32[6,11] @stack
      for Xc_0 in min(4, 9-po*4)+2, Xc_1 in 11
        if (0 <= Xc_0+po*4-1 && Xc_0+po*4-1 < 9 && 0 <= Xc_1-1 && Xc_1-1 < 9)
          Xc[Xc_0, Xc_1] = X[n, Xc_0+po*4-1, Xc_1-1]
      for pi in min(4, 9-po*4), q in 9 {
        acc: f32 @reg = 0
        for r in 3, s in 3
          if (0 <= pi+po*4+r-1 && pi+po*4+r-1 < 9 && 0 <= q+s-1 && q+s-1 < 9)
            acc[] += Xc[pi+r, q+s] * Wc[r, s]
        Yc[pi, q] = acc[]
      }
      for Yc_0 in min(4, 9-po*4), Yc_1 in 9
        Y[n, Yc_0+po*4, Yc_1] = Yc[Yc_0, Yc_1]
    }
  }
}
