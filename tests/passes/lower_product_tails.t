# What has no whole tiles: a row of 29 positions gets one of 15 and one of 14, and 40 columns are two vectors
# and a half. Loops with a shorter last piece are serial, so that PartitionLoops may cut them.
-- args
print -O3 --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[1,16,29,29], %a: f32[12,20], %b: f32[20,40]) -> %y, %m {
  %w: f32[16,16,3,3] = weight 0
  %y = Conv(%x, %w) {pads=[1,1,1,1]} "y"
  %m = MatMul(%a, %b) "m"
}
-- out
kernel k0_y(x: f32[16,29,29], w: f32[16,3,3,16], conv: out f32[16,29,29]) "y" {
  for b in 16, p in 29, q in 29 {
    acc: f32 @reg = 0
    for c in 16, r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 29 && 0 <= q+s-1 && q+s-1 < 29)
        acc[] += x[c, p+r-1, q+s-1] * w[c, r, s, b]
    conv[b, p, q] = acc[]
  }
}
schedule {
  split q 15 -> tile, u
  reorder p, tile, b, u
  bind p @parallel
  cache_write conv at tile @stack -> turned
  bind turned_1 @vector
  bind b @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder c, r, s, u
  bind s @unroll
  bind u @unroll
}
kernel k1_m(a: f32[12,20], b: f32[20,40], product: out f32[12,40]) "m" {
  for m in 12, n in 40 {
    acc: f32 @reg = 0
    for k in 20
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
