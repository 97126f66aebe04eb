# An array that other threads use lies in shared memory, and barriers stand behind what uses it.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel soft(X: f32[64,200], Y: out f32[64,200]) {
  for n in 64 {
    e: f32[200] @stack
    most: f32 @reg = -inf
    for c in 200
      most[] max= X[n, c]
    for i in 200
      e[i] = exp(X[n, i] - most[])
    sum: f32 @reg = 0
    for k in 200
      sum[] += e[199-k]
    for j in 200
      Y[n, j] = e[j] / sum[]
  }
}
schedule {
  bind n @block.x
  spread c, i, k, j 64 -> t
}
-- out
kernel soft(X: f32[64,200], Y: out f32[64,200]) {
  for n in 64 @block.x
    for t in 64 @thread.x {
      parts: f32[2] @shared
      parts_1: f32[2] @shared
      e: f32[200] @shared
      most: f32 @reg = -inf
      for c in 4 @unroll
        if (c*64+t < 200)
          most[] max= X[n, c*64+t]
      for lane in 5 @unroll
        most[] max= shfl.xor(most[], shr(16, lane))
      if (t%32 == 0)
        parts_1[t/32] = most[]
      sync
      most[] = -inf
      for warp in 2
        most[] max= parts_1[warp]
      for i in 4 @unroll
        if (i*64+t < 200)
          e[i*64+t] = exp(X[n, i*64+t] - most[])
      sync
      sum: f32 @reg = 0
      for k in 4 @unroll
        if (k*64+t < 200)
          sum[] += e[199-k*64-t]
      for lane_1 in 5 @unroll
        sum[] += shfl.xor(sum[], shr(16, lane_1))
      if (t%32 == 0)
        parts[t/32] = sum[]
      sync
      sum[] = 0
      for warp_1 in 2
        sum[] += parts[warp_1]
      for j in 4 @unroll
        if (j*64+t < 200)
          Y[n, j*64+t] = e[j*64+t] / sum[]
    }
}
