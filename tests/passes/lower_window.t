# Four rows of a depthwise convolution at once, counted by the rows they read; stride 2 shares little.
-- args
print -O2 --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[1,8,28,28], %w: f32[8,1,3,3]) -> %y, %z {
  %y = Conv(%x, %w) {group=8, pads=[1,1,1,1]} "c"
  %z = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2]} "p"
}
-- out
kernel k0_c(x: f32[8,28,28], w: f32[8,3,3], conv: out f32[8,28,28]) "c" {
  for f in 8, p in 28, q in 28 {
    acc: f32 @reg = 0
    for r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 28 && 0 <= q+s-1 && q+s-1 < 28)
        acc[] += x[f, p+r-1, q+s-1] * w[f, r, s]
    conv[f, p, q] = acc[]
  }
}
schedule {
  split p 4 -> tile, u
  reorder q, u
  bind f @parallel
  bind tile @parallel
  bind q @vector
  bind u @unroll
  fission u acc @reg -> u_1
  reorder r, s, u
  skew r, u -> r_row
  bind r_row @unroll
  bind s @unroll
}
kernel k1_p(x: f32[8,28,28], y: out f32[8,13,13]) "p" {
  for c in 8, p in 13, q in 13 {
    acc: f32 @reg = -inf
    for r in 3, s in 3
      acc[] max= x[c, p*2+r, q*2+s]
    y[c, p, q] = acc[]
  }
}
schedule {
  bind c @parallel
  bind p @parallel
  bind q @vector
}
