# A tile of a product for each block, slices of the factors in shared memory, and what follows it.
-- args
print -O2 --disable SplitReduction --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[N,140,300], %w: f32[300,200], %b: f32[200]) -> %y {
  %c = MatMul(%x, %w) "mm"
  %a = Add(%c, %b) "add"
  %y = Relu(%a) "relu"
}
-- out
kernel k0_relu(N, vx: f32[N*140,300], vw: f32[300,200], vb: f32[200], y: out f32[N*140,200]) "mm + add + relu" {
  for i0 in N*140, i2 in 200 {
    product: f32 @reg
    acc: f32 @reg = 0
    for k in 300
      acc[] += vx[i0, k] * vw[k, i2]
    product[] = acc[]
    y[i0, i2] = max(product[] + vb[i2], 0)
  }
}
schedule {
  reorder i0, i2
  split_whole i0 16 -> rows, inner
  split inner 16 -> u, y_1
  split_whole i2 8 -> columns, inner_2
  split inner_2 8 -> u_1, x
  reorder rows, columns, y_1, x, u, u_1
  bind rows @block.x
  bind columns @block.y
  bind y_1 @thread.y
  bind x @thread.x
  fission u_1 acc @reg -> u_1_1
  fission u acc @reg -> u_2
  split k 32 -> slice, term
  split term 8 -> term_1, step
  reorder slice, term_1, step, u, u_1
  reindex u, y_1, term_1, step 2 vx at slice @shared -> left
  reindex term_1, step, u_1, x 2 vw at slice @shared -> right
  prefetch left, right at slice
  bind step @unroll
  bind u @unroll
  bind u_1 @unroll
  bind u_1_1 @unroll
  bind u_2 @unroll
}
