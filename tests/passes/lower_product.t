# Products with their channels in lanes, without a library: values in blocks of channels between
# convolutions, weights in blocks, a tile of positions in registers. Steps that a border tests are straight
# code. A depthwise convolution keeps blocks; 24 channels are plain, and turned behind their tile.
-- args
print -O3 --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[1,3,28,28]) -> %y {
  %w: f32[32,3,3,3] = weight 0
  %v: f32[32,1,3,3] = weight 1
  %u: f32[24,32,1,1] = weight 2
  %c = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]} "c"
  %d = Conv(%c, %v) {group=32, pads=[1,1,1,1]} "d"
  %e = Conv(%d, %u) "e"
  %y = Relu(%e) "y"
}
-- out
kernel k0_c(x: f32[3,28,28], w: f32[2,3,3,3,16], conv: out f32[2,14,14,16]) "c" {
  for f in 2, p in 14, q in 14, b in 16 {
    acc: f32 @reg = 0
    for c in 3, r in 3, s in 3
      if (0 <= p*2+r-1 && 0 <= q*2+s-1)
        acc[] += x[c, p*2+r-1, q*2+s-1] * w[f, c, r, s, b]
    conv[f, p, q, b] = acc[]
  }
}
schedule {
  split q 14 -> tile, u
  reorder p, f, tile, b, u
  bind p @parallel
  bind f @parallel
  bind tile @parallel
  bind b @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder c, r, s, u
  bind s @unroll
  bind u @unroll
}
kernel k1_d(x: f32[2,14,14,16], w: f32[2,3,3,16], conv: out f32[2,14,14,16]) "d" {
  for f in 2, p in 14, q in 14, b in 16 {
    acc: f32 @reg = 0
    for r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 14 && 0 <= q+s-1 && q+s-1 < 14)
        acc[] += x[f, p+r-1, q+s-1, b] * w[f, r, s, b]
    conv[f, p, q, b] = acc[]
  }
}
schedule {
  split q 14 -> tile, u
  reorder f, p, tile, b, u
  bind f @parallel
  bind p @parallel
  bind tile @parallel
  bind b @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder r, s, u
  bind s @unroll
  bind u @unroll
}
kernel k2_y(vd: f32[2,196,16], vu: f32[3,32,8], y: out f32[3,8,196]) "e + y" {
  for i1 in 3, b in 8, i2 in 196 {
    conv: f32 @reg
    acc: f32 @reg = 0
    for c in 2, b_1 in 16
      acc[] += vd[c, i2, b_1] * vu[i1, c*16+b_1, b]
    conv[] = acc[]
    y[i1, b, i2] = max(conv[], 0)
  }
}
schedule {
  split i2 7 -> tile, u
  split i1 3 -> blocks, v
  reorder blocks, tile, b, u, v
  bind blocks @parallel
  bind tile @parallel
  cache_write y at tile @stack -> turned
  bind turned_2 @vector
  bind b @vector
  fission v acc @reg -> v_1
  bind v_1 @unroll
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder c, b_1, u, v
  bind u @unroll
  bind v @unroll
}
