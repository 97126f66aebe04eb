# A window whose terms lie side by side in threes only: a thread an element.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[1,64,56,56], %w: f32[64,64,3,3]) -> %y {
  %y = Conv(%x, %w) {strides=[2,2], pads=[1,1,1,1]} "conv"
}
-- out
kernel k0_conv(x: f32[64,56,56], w: f32[64,64,3,3], conv: out f32[64,28,28]) "conv" {
  for f in 64, p in 28, q in 28 {
    acc: f32 @reg = 0
    for c in 64, r in 3, s in 3
      if (0 <= p*2+r-1 && 0 <= q*2+s-1)
        acc[] += x[c, p*2+r-1, q*2+s-1] * w[f, c, r, s]
    conv[f, p, q] = acc[]
  }
}
schedule {
  fuse f, p -> i
  fuse i, q -> i_1
  split_whole i_1 256 -> block, thread
  bind block @block.x
  bind thread @thread.x
}
