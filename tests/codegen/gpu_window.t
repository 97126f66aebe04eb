# A pool: windows of one factor, read through shared memory.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[1,64,56,56]) -> %y {
  %y = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} "pool"
}
-- out
kernel k0_pool(x: f32[64,56,56], y: out f32[64,28,28]) "pool" {
  for c in 64, p in 28, q in 28 {
    acc: f32 @reg = -inf
    for r in 3, s in 3
      if (0 <= p*2+r-1 && 0 <= q*2+s-1)
        acc[] max= x[c, p*2+r-1, q*2+s-1]
    y[c, p, q] = acc[]
  }
}
schedule {
  split_whole p 7 -> block, y_1
  split_whole q 28 -> block_1, x_1
  reorder c, block, block_1, y_1, x_1
  bind c @block.z
  bind block @block.y
  bind block_1 @block.x
  bind y_1 @thread.y
  bind x_1 @thread.x
  cache_read x at x_1 @shared -> tile
}
