# Blocks in another order, zero points of floats, tables of few bits, and Where of bytes.
# seed 8
graph random(%x: f32[3,40], %i: i64[N], %w: bool[4,6], %p: u8[4,6], %q: u8[4,6]) -> %v, %v_1, %v_2, %v_3, %v_4, %v_5, %v_6 {
  %b: u8[5,3,8] = weight 0
  %s: f32[5,3] = weight 1
  %z: f32[5,3] = weight 2
  %k: i64[1] = {40}
  %g: i32[40] = {0, 2, 1, 0, 0, 1, 2, 2, 0, 1, 1, 1, 0, 2, 0, 0, 1, 2, 0, 1, 0, 2, 1, 0, 0, 1, 2, 2, 0, 1, 1, 1, 0, 2, 0, 0, 1, 2, 0, 1}
  %t: u8[6,24] = weight 3
  %f: f32[6,3] = weight 4
  %y: u8[6,2] = weight 5
  %u: u4[6,48] = weight 6
  %a: i64[4] = {5, 0, -1, 3}
  %h: f32 = {0.25}
  %c: u8 = {100}
  %v = com.microsoft.MatMulNBits(%x, %b, %s, %z) {K=40, N=5, block_size=16}
  %v_1 = com.microsoft.MatMulNBits(%x, %b, %s, _, %g) {K=40, N=5, block_size=16}
  %v_2 = com.microsoft.MatMulNBits(%x, %b, %s, %z, %g) {K=40, N=5, block_size=16}
  %v_3 = com.microsoft.GatherBlockQuantized(%t, %a, %f, %y) {block_size=16}
  %v_4 = com.microsoft.GatherBlockQuantized(%t, %i, %f) {block_size=16}
  %v_5 = com.microsoft.GatherBlockQuantized(%u, %a, %f) {block_size=16}
  %v_6 = com.microsoft.QLinearWhere(%w, %p, %h, %c, %q, %h, %c, %h, %c)
}
