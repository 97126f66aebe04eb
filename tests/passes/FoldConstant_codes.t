# Where no machine is given, as for optimize, quantised numbers stay: whoever runs the model sums integers.
-- args
print --passes=FoldConstant,DeadCodeElimination
-- in
graph g(%x: f32[N,4]) -> %p, %g, %m, %a {
  %w: u4[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  %b: i8[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  %s: f32[2,2] = {1, 2, 3, 4}
  %c: f32[2] = {1, 2}
  %d = DequantizeLinear(%w, %s) {axis=0, block_size=2}
  %p = MatMul(%x, %d) "product"
  %e = DequantizeLinear(%b, %s) {axis=0, block_size=2}
  %g = Gemm(%x, %e) "bytes in blocks"
  %f = DequantizeLinear(%b, %c) {axis=1}
  %m = MatMul(%x, %f) "bytes by channel"
  %h = DequantizeLinear(%w, %c) {axis=1}
  %a = Neg(%h) "no product"
}
-- out
graph g(%x: f32[N,4]) -> %p, %g, %m, %a {
  %w: u4[4,2]  = weight 0
  %b: i8[4,2]  = {1, 2, 3, 4, 5, 6, 7, 8}
  %s: f32[2,2] = weight 2
  %c: f32[2]   = {1, 2}
  %d: f32[4,2] = DequantizeLinear(%w, %s) {axis=0, block_size=2}
  %p: f32[N,2] = MatMul(%x, %d)  "product"
  %e: f32[4,2] = DequantizeLinear(%b, %s) {axis=0, block_size=2}
  %g: f32[N,2] = Gemm(%x, %e)  "bytes in blocks"
  %f: f32[4,2] = DequantizeLinear(%b, %c) {axis=1}
  %m: f32[N,2] = MatMul(%x, %f)  "bytes by channel"
  %h: f32[4,2] = DequantizeLinear(%w, %c) {axis=1}
  %a: f32[4,2] = Neg(%h)  "no product"
}
