# Two symbols and a number meet in the batches of products: all are the number, wherever they stand.
-- args
print -O0
-- in
graph g(%x1: f32[N], %x2: f32[N,6,3], %x3: f32[M,2,5]) -> %y, %z {
  %w: f32[4,3,2] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}
  %p = MatMul(%x2, %w)
  %y = MatMul(%p, %x3)
  %z = Relu(%x1)
}
-- out
graph g(%x1: f32[4], %x2: f32[4,6,3], %x3: f32[4,2,5]) -> %y, %z {
  %w: f32[4,3,2] = weight 0
  %p: f32[4,6,2] = MatMul(%x2, %w)
  %y: f32[4,6,5] = MatMul(%p, %x3)
  %z: f32[4]     = Relu(%x1)
}
