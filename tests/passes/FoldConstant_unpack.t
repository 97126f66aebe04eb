# Asked for, they are folded.
-- args
print --passes=FoldConstant,DeadCodeElimination --config FoldConstant.unpack=1
-- in
graph g(%x: f32[N,4]) -> %p {
  %w: u4[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  %s: f32[2,2] = {1, 2, 3, 4}
  %d = DequantizeLinear(%w, %s) {axis=0, block_size=2}
  %p = MatMul(%x, %d) "product"
}
-- out
graph g(%x: f32[N,4]) -> %p {
  %d_1: f32[4,2] = weight 0
  %p: f32[N,2] = MatMul(%x, %d_1)  "product"
}
