# A sum of one term: behind the split of a row into tiles one loop is left in the sum, and has no order.
-- args
print -O3 --schedule --no-vendor --target cpu:x86-64-v3
-- in
graph g(%a: f32[4,1], %b: f32[1,8]) -> %m { %m = MatMul(%a, %b) "m" }
-- out
kernel k0_m(a: f32[4], b: f32[8], product: out f32[4,8]) "m" {
  for m in 4, n in 8 {
    acc: f32 @reg = 0
    acc[] += a[m] * b[n]
    product[m, n] = acc[]
  }
}
schedule {
  split m 4 -> tile, u
  reorder tile, n, u
  bind tile @parallel
  bind n @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  bind u @unroll
}
