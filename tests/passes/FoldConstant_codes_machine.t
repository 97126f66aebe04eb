# For a machine whose kernels do not unpack so few columns, they are folded: a library reads them as f32.
-- args
print --passes=FoldConstant,DeadCodeElimination,WidenHalves --target=cpu:x86-64-v4
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
  %d_1: f32[4,2] = weight 0
  %e_2: f32[4,2] = weight 1
  %f_3: f32[4,2] = weight 2
  %a: f32[4,2]   = weight 3
  %p: f32[N,2] = MatMul(%x, %d_1)  "product"
  %g: f32[N,2] = Gemm(%x, %e_2)  "bytes in blocks"
  %m: f32[N,2] = MatMul(%x, %f_3)  "bytes by channel"
}
