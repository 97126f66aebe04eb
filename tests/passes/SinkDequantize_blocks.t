# What is transposed of constants with scales by block or channel is the bytes and the scales; not of what others read as well.
-- args
print --passes=SinkDequantize
-- in
graph g(%x: f32[N,4]) -> %p, %q, %t {
  %w: u4[2,4] = {1, 2, 3, 4, 5, 6, 7, 8}
  %s: f32[2,2] = {1, 2, 3, 4}
  %z: u4[2,2] = {1, 2, 3, 4}
  %c: f32[2] = {1, 2}
  %d = DequantizeLinear(%w, %s, %z) {axis=1, block_size=2}
  %e = Transpose(%d) "by block"
  %p = MatMul(%x, %e)
  %f = DequantizeLinear(%w, %c) {axis=0}
  %g = Transpose(%f) {perm=[1,0]} "by channel"
  %q = MatMul(%x, %g)
  %h = DequantizeLinear(%w, %c) {axis=0}
  %i = Transpose(%h) "others read it"
  %t = Add(%i, %i)
  %u = Neg(%h)
}
-- out
graph g(%x: f32[N,4]) -> %p, %q, %t {
  %w: u4[2,4]  = weight 0
  %s: f32[2,2] = weight 1
  %z: u4[2,2]  = weight 2
  %c: f32[2]   = {1, 2}
  %d: f32[2,4]   = DequantizeLinear(%w, %s, %z) {axis=1, block_size=2}
  %v: u4[4,2]    = Transpose(%w)  "by block"
  %v_1: f32[2,2] = Transpose(%s)  "by block"
  %v_2: u4[2,2]  = Transpose(%z)  "by block"
  %e: f32[4,2]   = DequantizeLinear(%v, %v_1, %v_2) {block_size=2, axis=0}  "by block"
  %p: f32[N,2]   = MatMul(%x, %e)
  %f: f32[2,4]   = DequantizeLinear(%w, %c) {axis=0}
  %v_4: u4[4,2]  = Transpose(%w) {perm=[1,0]}  "by channel"
  %g: f32[4,2]   = DequantizeLinear(%v_4, %c) {axis=1}  "by channel"
  %q: f32[N,2]   = MatMul(%x, %g)
  %h: f32[2,4]   = DequantizeLinear(%w, %c) {axis=0}
  %i: f32[4,2]   = Transpose(%h)  "others read it"
  %t: f32[4,2]   = Add(%i, %i)
  %u: f32[2,4]   = Neg(%h)
}
