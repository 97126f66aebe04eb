# Rows of 3 positions do not fill a tile of 16 sums: it takes 8 images, and two vectors of channels.
-- args
print -O3 --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[16,8,3,3]) -> %y {
  %w: f32[64,8,3,3] = weight 0
  %y = Conv(%x, %w) {pads=[1,1,1,1]} "y"
}
-- out
kernel k0_y(x: f32[16,8,3,3], w: f32[4,8,3,3,16], conv: out f32[16,4,16,3,3]) "y" {
  for n in 16, f in 4, b in 16, p in 3, q in 3 {
    acc: f32 @reg = 0
    for c in 8, r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 3 && 0 <= q+s-1 && q+s-1 < 3)
        acc[] += x[n, c, p+r-1, q+s-1] * w[f, c, r, s, b]
    conv[n, f, b, p, q] = acc[]
  }
}
schedule {
  split n 8 -> tile, u
  split f 2 -> blocks, v
  reorder p, q, blocks, tile, b, u, v
  bind p @parallel
  bind q @parallel
  bind blocks @parallel
  bind tile @parallel
  cache_write conv at tile @stack -> turned
  bind turned_2 @vector
  bind b @vector
  fission v acc @reg -> v_1
  bind v_1 @unroll
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder c, r, s, u, v
  bind u @unroll
  bind v @unroll
}
