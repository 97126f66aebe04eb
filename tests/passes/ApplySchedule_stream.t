# A sum down the columns: its loop comes to stand outside the lanes of a tile.
-- args
print --ir=loops --passes=ApplySchedule,SimplifyLoops
-- in
kernel sums(X: f32[20,600], Y: out f32[600]) {
  for i in 600 {
    s: f32 @reg
    acc: f32 @reg = 0
    for k in 20
      acc[] += X[k, i]
    s[] = acc[]
    Y[i] = exp(s[])
  }
}
schedule {
  split i 512 -> piece, lane
  bind piece @parallel
  bind lane @vector
  fission lane s @stack -> lane_1
  fission lane acc @stack -> lane_2
  reorder k, lane
}
-- out
kernel sums(X: f32[20,600], Y: out f32[600]) {
  for piece in 2 @parallel {
    s: f32[512] @stack
    acc: f32[512] @stack
    for lane_init in min(512, 600-piece*512) @vector
      acc[lane_init] = 0
    for k in 20
      for lane in min(512, 600-piece*512) @vector
        acc[lane] += X[k, lane+piece*512]
    for lane_2 in min(512, 600-piece*512) @vector
      s[lane_2] = acc[lane_2]
    for lane_1 in min(512, 600-piece*512) @vector
      Y[lane_1+piece*512] = exp(s[lane_1])
  }
}
