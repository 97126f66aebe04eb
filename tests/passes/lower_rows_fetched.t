# The next row is fetched where it is known which that is: not of what is read at an index from memory.
-- args
print -O2 --no-vendor --schedule --target cpu:x86-64-v4
-- in
graph rows(%x: f32[40,6,300], %i: i64, %z: f32[8,100,600]) -> %y, %w {
  %g = Gather(%x, %i) {axis=1}
  %y = Softmax(%g) {axis=-1} "gathered"
  %w = Softmax(%z) {axis=1} "columns"
}
-- out
kernel k0_gathered(vi: i64, vx: f32[40,6,300], y: out f32[40,300]) "gathered" {
  for i0 in 40 {
    max: f32 @reg
    e: f32[300] @stack
    sum: f32 @reg
    acc: f32 @reg = -inf
    for k in 300
      acc[] max= vx[i0, at(vi[], 0..6, wrap, check), k]
    max[] = acc[]
    for i1 in 300
      e[i1] = exp(vx[i0, at(vi[], 0..6, wrap, check), i1] - max[])
    acc_1: f32 @reg = 0
    for k_1 in 300
      acc_1[] += e[k_1]
    sum[] = acc_1[]
    for i1_1 in 300
      y[i0, i1_1] = e[i1_1] / sum[]
  }
}
schedule {
  bind i0 @parallel
  bind k @vector
  bind i1 @vector
  bind k_1 @vector
  split i1_1 256 -> part, lane
  fetch i0 y 1 at part
  bind lane @vector
}
kernel k1_columns(input: f32[8,100,600], y: out f32[8,100,600]) "columns" {
  for i0 in 8, i2 in 600 {
    max: f32 @reg
    e: f32[100] @stack
    sum: f32 @reg
    acc: f32 @reg = -inf
    for k in 100
      acc[] max= input[i0, k, i2]
    max[] = acc[]
    for i1 in 100
      e[i1] = exp(input[i0, i1, i2] - max[])
    acc_1: f32 @reg = 0
    for k_1 in 100
      acc_1[] += e[k_1]
    sum[] = acc_1[]
    for i1_1 in 100
      y[i0, i1_1, i2] = e[i1_1] / sum[]
  }
}
schedule {
  split i2 256 -> piece, lane
  bind i0 @parallel
  bind piece @parallel
  bind lane @vector
  fission lane max @stack -> lane_1
  fission lane_1 e @stack -> lane_2
  fission lane_2 sum @stack -> lane_3
  fission lane acc @stack -> lane_4
  reorder k, lane
  reorder i1, lane_1
  reorder i1_1, lane_3
  fetch piece input 2 at i1
  fetch piece y 2 at i1_1
}
