# Windows of many images: a thread has some places, whose column lies in registers.
-- args
print -O3 --disable DeriveExpressions --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[64,60,84,84], %w: f32[60,1,3,3]) -> %y, %u {
  %y = Conv(%x, %w) {group=60, pads=[1,1,1,1]} "dw"
  %u = MaxPool(%x) {kernel_shape=[5,3], strides=[2,2]} "pool"
}
-- out
kernel k0_dw(x: f32[64,60,84,84], w: f32[60,3,3], conv: out f32[64,60,84,84]) "dw" {
  for n in 64, f in 60, p in 84, q in 84 {
    acc: f32 @reg = 0
    for r in 3, s in 3
      if (0 <= p+r-1 && p+r-1 < 84 && 0 <= q+s-1 && q+s-1 < 84)
        acc[] += x[n, f, p+r-1, q+s-1] * w[f, r, s]
    conv[n, f, p, q] = acc[]
  }
}
schedule {
  split_whole p 42 -> block, rows
  split rows 7 -> y, u
  split_whole q 42 -> block_1, x_1
  reorder n, f, block, block_1, y, x_1, u
  fuse n, f -> i
  bind i @block.z
  bind block @block.y
  bind block_1 @block.x
  bind y @thread.y
  bind x_1 @thread.x
  fission u acc @reg -> u_1
  reorder s, r, u
  cache_read x at s @reg -> column
  bind column_0 @unroll
  bind r @unroll
  bind u @unroll
  bind u_1 @unroll
}
kernel k1_pool(x: f32[3840,84,84], y: out f32[3840,40,41]) "pool" {
  for n in 3840, p in 40, q in 41 {
    acc: f32 @reg = -inf
    for r in 5, s in 3
      acc[] max= x[n, p*2+r, q*2+s]
    y[n, p, q] = acc[]
  }
}
schedule {
  split_whole p 40 -> block, rows
  split rows 8 -> y_1, u
  split_whole q 41 -> block_1, x_1
  reorder n, block, block_1, y_1, x_1, u
  bind n @block.z
  bind block @block.y
  bind block_1 @block.x
  bind y_1 @thread.y
  bind x_1 @thread.x
  fission u acc @reg -> u_1
  reorder s, r, u
  cache_read x at s @reg -> column
  bind column_0 @unroll
  bind r @unroll
  bind u @unroll
  bind u_1 @unroll
}
