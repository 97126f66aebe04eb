# A convolution is a product whose rows are filters, columns places, and terms those of the window.
-- args
print -O3 --disable DeriveExpressions --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[N,64,28,28], %w: f32[96,64,3,3]) -> %y {
  %c = Conv(%x, %w) {pads=[1,1,1,1]} "conv"
  %y = Relu(%c) "relu"
}
-- out
kernel k0_relu(N, vx: f32[N,64,28,28], vw: f32[96,64,3,3], y: out f32[N,96,28,28]) "conv + relu" {
  for i0 in N, i1 in 96, i2 in 28, i3 in 28 {
    conv: f32 @reg
    acc: f32 @reg = 0
    for c in 64, r in 3, s in 3
      if (0 <= i2+r-1 && i2+r-1 < 28 && 0 <= i3+s-1 && i3+s-1 < 28)
        acc[] += vx[i0, c, i2+r-1, i3+s-1] * vw[i1, c, r, s]
    conv[] = acc[]
    y[i0, i1, i2, i3] = max(conv[], 0)
  }
}
schedule {
  reorder i1, i0, i2, i3
  fuse i0, i2 -> i
  fuse i, i3 -> i_1
  split_whole i1 32 -> rows, inner
  split inner 8 -> u, y_1
  split_whole i_1 32 -> columns, inner_2
  split inner_2 32 -> u_1, inner_3
  split inner_3 2 -> x, v
  reorder rows, columns, y_1, x, u, u_1, v
  bind rows @block.y
  bind columns @block.x
  bind y_1 @thread.y
  bind x @thread.x
  fission v acc @reg -> v_1
  fission u_1 acc @reg -> u_1_1
  fission u acc @reg -> u_2
  fuse c, r -> i_2
  fuse i_2, s -> i_3
  split_whole i_3 32 -> slice, term
  split term 8 -> term_1, step
  reorder slice, term_1, step, u, u_1, v
  bind v @vector
  bind v_1 @vector
  reindex u, y_1, term_1, step 2 vw at slice @shared -> left
  reindex term_1, step, u_1, x, v 2 vx at slice @shared -> right
  prefetch left, right at slice
  bind step @unroll
  bind u @unroll
  bind u_1 @unroll
  bind u_1_1 @unroll
  bind u_2 @unroll
}
