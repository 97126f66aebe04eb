# Windows of one factor, and what is turned: a block's tile reads through shared memory.
-- args
print -O3 --disable DeriveExpressions --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[2,60,33,40], %w: f32[60,1,3,3]) -> %y, %t, %u {
  %y = Conv(%x, %w) {group=60, pads=[1,1,1,1]} "dw"
  %t = Transpose(%x) {perm=[0,2,3,1]} "tr"
  %u = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2]} "pool"
}
-- out
kernel k0_dw(x: f32[2,60,33,40], w: f32[60,3,3], conv: out f32[2,60,33,40]) "dw" {
  for n in 2, f in 60, p in 33, q in 40 {
    acc: f32 @reg = 0
    for r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 33 && 0 <= q+s-1 && q+s-1 < 40)
        acc[] += x[n, f, p+r-1, q+s-1] * w[f, r, s]
    conv[n, f, p, q] = acc[]
  }
}
schedule {
  split_whole p 7 -> block, y
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
kernel k1_tr(data: f32[2,60,1320], transposed: out f32[2,1320,60]) "tr" {
  for i0 in 2, i1 in 1320, i3 in 60
    transposed[i0, i1, i3] = data[i0, i3, i1]
}
schedule {
  split_whole i1 32 -> block, y
  split i3 4 -> pieces, v
  split_whole pieces 8 -> block_1, x
  reorder i0, block, block_1, y, x, v
  bind i0 @block.z
  bind block @block.y
  bind block_1 @block.x
  bind y @thread.y
  bind x @thread.x
  bind v @vector
  cache_read data at x @shared -> tile
}
kernel k2_pool(x: f32[120,33,40], y: out f32[120,16,19]) "pool" {
  for n in 120, p in 16, q in 19 {
    acc: f32 @reg = -inf
    for r in 3, s in 3
      acc[] max= x[n, p*2+r, q*2+s]
    y[n, p, q] = acc[]
  }
}
schedule {
  split_whole p 8 -> block, y_1
  split_whole q 19 -> block_1, x_1
  reorder n, block, block_1, y_1, x_1
  bind n @block.z
  bind block @block.y
  bind block_1 @block.x
  bind y_1 @thread.y
  bind x_1 @thread.x
  cache_read x at x_1 @shared -> tile
}
