# Short rows: eight threads share one, four rows a warp, and a sum goes by their three shuffles alone.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel sums(X: f32[100,32], Y: out f32[100,32]) {
  for n in 100 {
    sum: f32 @reg = 0
    for k in 32
      sum[] += X[n, k]
    for j in 32
      Y[n, j] = X[n, j] / sum[]
  }
}
schedule {
  split k 4 -> p, v
  split j 4 -> q, w
  bind v @vector
  bind w @vector
  split_whole n 16 -> b, y
  bind b @block.x
  bind y @thread.y
  spread p, q 8 -> t
}
-- out
kernel sums(X: f32[100,32], Y: out f32[100,32]) {
  for b in 7 @block.x
    for y in 16 @thread.y
      for t in 8 @thread.x {
        sum: f32 @reg = 0
        for v in 4 @vector
          sum[] += X[min(99, b*16+y), t*4+v]
        for lane in 3 @unroll
          sum[] += shfl.xor(sum[], shr(4, lane))
        for w in 4 @vector
          if (b*16+y < 100)
            Y[b*16+y, t*4+w] = X[b*16+y, t*4+w] / sum[]
      }
}
