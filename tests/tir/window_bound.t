# The ends of a tile's windows, clamped where the image ends, are bounded without the clamp: 19 x 67.
-- args
print --ir=loops --require ApplySchedule --target cuda:sm_90
-- in
kernel k0_dw(x: f32[128,42,169,169], w: f32[42,5,5], conv: out f32[128,42,83,83]) "dw" {
  for n in 128, f in 42, p in 83, q in 83 {
    acc: f32 @reg = 0
    for r in 5, s in 5
      acc[] += x[n, f+0, p*2+r, q*2+s] * w[f, r, s]
    conv[n, f, p, q] = acc[]
  }
}
schedule {
  split_whole p 8 -> block, y
  split_whole q 32 -> block_1, x_1
  reorder n, f, block, block_1, y, x_1
  fuse n, f -> i
  bind i @block.z
  bind block @block.y
  bind block_1 @block.x
  bind y @thread.y
  bind x_1 @thread.x
  cache_read x at x_1 @shared -> tile
}
-- has
            tile: f32[1273] @shared
