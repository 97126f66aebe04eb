# A convolution of single positions, whose images come in rows of pixels, is a product of two matrices:
# all positions of an image are one loop, which runs in lanes, and the weights stay as they are.
# Few positions, which are no tile of four vectors, leave the lanes to channels.
-- args
print --schedule --no-vendor --target cpu:x86-64-v4
-- in
graph g(%x: f32[2,64,8,8], %z: f32[2,64,3,3]) -> %y, %u {
  %w: f32[32,64,1,1] = weight 0
  %y = Conv(%x, %w)  "many"
  %u = Conv(%z, %w)  "few"
}
-- out
kernel k0_many(x: f32[2,64,64], w: f32[32,64], conv: out f32[2,32,64]) "many" {
  for n in 2, f in 32, p in 64 {
    acc: f32 @reg = 0
    for c in 64
      acc[] += x[n, c, p] * w[f, c]
    conv[n, f, p] = acc[]
  }
}
schedule {
  split f 4 -> mt, u
  split mt 2 -> mo, mi
  split p 64 -> nt, nv
  split nv 16 -> w_1, v
  split nt 1 -> no, ni
  reorder n, mo, no, ni, mi, v, w_1, u
  bind n @parallel
  bind mo @parallel
  bind no @parallel
  bind v @vector
  fission u acc @reg -> u_1
  bind u_1 @unroll
  fission w_1 acc @reg -> w_1_1
  bind w_1_1 @unroll
  reorder c, w_1, u
  bind u @unroll
  bind w_1 @unroll
}
kernel k1_few(x: f32[2,64,9], w: f32[2,64,16], conv: out f32[2,2,16,9]) "few" {
  for n in 2, f in 2, b in 16, p in 9 {
    acc: f32 @reg = 0
    for c in 64
      acc[] += x[n, c, p] * w[f, c, b]
    conv[n, f, b, p] = acc[]
  }
}
schedule {
  split p 9 -> tile, u
  split f 2 -> blocks, v
  reorder n, blocks, tile, b, u, v
  bind n @parallel
  bind blocks @parallel
  bind tile @parallel
  cache_write conv at tile @stack -> turned
  bind turned_2 @vector
  bind b @vector
  fission v acc @reg -> v_1
  bind v_1 @unroll
  fission u acc @reg -> u_1
  bind u_1 @unroll
  reorder c, u, v
  bind u @unroll
  bind v @unroll
}
