# A product unpacks weights of 4 bits: a zero point of 8 is off when they are stored, and with eight rows the columns of a tile are unpacked once.
-- args
print -O2 --schedule --target cpu:x86-64-v3
-- in
graph g(%x: f32[8,32]) -> %y {
  %w: u4[32,16] = weight 0
  %s: f32[2,16] = weight 1
  %z: u4[2,16] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}
  %d = DequantizeLinear(%w, %s, %z) {axis=0, block_size=16}
  %y = MatMul(%x, %d) "m"
}
-- out
kernel k0_m(vx: f32[8,32], vw: u32[2,4,8], vs: f32[2,2,8], product: out f32[8,2,8]) "m" {
  for m in 8, n in 2, b in 8 {
    acc: f32 @reg = 0
    for k in 32
      acc[] += vx[m, k] * (f32(shr(i32(shl(vw[n, k/8, b], u32(28-k%8*4))), 28)) * vs[n, k/16, b])
    product[m, n, b] = acc[]
  }
}
schedule {
  split m 8 -> tile, u
  split tile 1 -> piece, tile_1
  reorder n, piece, tile_1, b, u
  bind n @parallel
  bind piece @parallel
  bind b @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder k, u
  bind u @unroll
  precompute vw at piece @scratch -> panel
  bind panel_1 @vector
}
