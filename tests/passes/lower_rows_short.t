# Rows of 17 would leave nearly half of two vectors empty: lanes are 16 rows, which are turned for that.
# Sums cost less at their end than maxima: rows of 12 have lanes of their own.
-- args
print -O2 --no-vendor --schedule --target cpu:x86-64-v4
-- in
graph short(%x: f32[100,17], %z: f32[100,12]) -> %y, %s {
  %a: i64[1] = {1}
  %y = Softmax(%x) {axis=-1} "softmax"
  %s = ReduceSum(%z, %a) {keepdims=0} "sum"
}
-- out
kernel k0_softmax(input: f32[100,17], y: out f32[100,17]) "softmax" {
  for i0 in 100 {
    max: f32 @reg
    e: f32[17] @stack
    sum: f32 @reg
    acc: f32 @reg = -inf
    for k in 17
      acc[] max= input[i0, k]
    max[] = acc[]
    for i1 in 17
      e[i1] = exp(input[i0, i1] - max[])
    acc_1: f32 @reg = 0
    for k_1 in 17
      acc_1[] += e[k_1]
    sum[] = acc_1[]
    for i1_1 in 17
      y[i0, i1_1] = e[i1_1] / sum[]
  }
}
schedule {
  split i0 16 -> piece, lane
  bind piece @parallel
  bind lane @vector
  fission lane max @stack -> lane_1
  fission lane_1 e @stack -> lane_2
  fission lane_2 sum @stack -> lane_3
  reorder i1, lane_1
  reorder i1_1, lane_3
  pack input at piece ba @stack -> turned
  bind turned_1 @vector
  fetch piece input, y 1 at piece
}
kernel k1_sum(x: f32[100,12], sum: out f32[100]) "sum" {
  for i0 in 100 {
    acc: f32 @reg = 0
    for k in 12
      acc[] += x[i0, k]
    sum[i0] = acc[]
  }
}
schedule {
  bind i0 @parallel
  bind k @vector
}
