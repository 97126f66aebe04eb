# Short rows, and many: a warp has one, and eight stand in a block.
-- args
print -O2 --target=cuda:sm_90 --schedule
-- in
graph g(%x: f32[4096,100], %s: f32[100], %b: f32[100]) -> %y {
  %y = LayerNormalization(%x, %s, %b) "norm"
}
-- out
kernel k0_norm(x: f32[4096,100], scale: f32[100], b: f32[100], y: out f32[4096,100]) "norm" {
  for i0 in 4096 {
    sum: f32 @reg
    mean: f32 @reg
    squares: f32 @reg
    deviation: f32 @reg
    acc: f32 @reg = 0
    for k in 100
      acc[] += x[i0, k]
    sum[] = acc[]
    mean[] = sum[] / 1e+02
    acc_1: f32 @reg = 0
    for k_1 in 100
      acc_1[] += (x[i0, k_1] - mean[]) * (x[i0, k_1] - mean[])
    squares[] = acc_1[]
    deviation[] = sqrt(squares[] / 1e+02 + 1e-05)
    for i1 in 100
      y[i0, i1] = (x[i0, i1] - mean[]) / deviation[] * scale[i1] + b[i1]
  }
}
schedule {
  split k 4 -> piece, v
  bind v @vector
  split k_1 4 -> piece_1, v_1
  bind v_1 @vector
  split i1 4 -> piece_2, v_2
  bind v_2 @vector
  split_whole i0 8 -> block, thread
  bind block @block.x
  bind thread @thread.y
  spread piece, piece_1, piece_2 32 -> thread_1
}
