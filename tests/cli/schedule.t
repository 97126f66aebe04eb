# Each kernel's naive loops and the script of their schedule.
-- args
print -O2 --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%a: f32[12,N], %b: f32[N,33]) -> %y {
  %m = MatMul(%a, %b) "m"
  %y = Softmax(%m) {axis=0} "s"
}
-- out
kernel k0_m(N, a: f32[12,N], b: f32[N,33], product: out f32[12,33]) "m" {
  for m in 12, n in 33 {
    acc: f32 @reg = 0
    for k in N
      acc[] += a[m, k] * b[k, n]
    product[m, n] = acc[]
  }
}
schedule {
  split m 12 -> tile, u
  split n 16 -> vectors, lane
  reorder tile, vectors, lane, u
  bind tile @parallel
  bind lane @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder k, u
  bind u @unroll
}
kernel k1_s(input: f32[12,33], y: out f32[12,33]) "s" {
  for i1 in 33 {
    max: f32 @reg
    e: f32[12] @stack
    sum: f32 @reg
    acc: f32 @reg = -inf
    for k in 12
      acc[] max= input[k, i1]
    max[] = acc[]
    for i0 in 12
      e[i0] = exp(input[i0, i1] - max[])
    acc_1: f32 @reg = 0
    for k_1 in 12
      acc_1[] += e[k_1]
    sum[] = acc_1[]
    for i0_1 in 12
      y[i0_1, i1] = e[i0_1] / sum[]
  }
}
schedule {
  split i1 64 -> piece, lane
  bind piece @parallel
  bind lane @vector
  fission lane max @stack -> lane_1
  fission lane_1 e @stack -> lane_2
  fission lane_2 sum @stack -> lane_3
  reorder i0, lane_1
  reorder i0_1, lane_3
}
