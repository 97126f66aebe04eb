# seed 44
# A sum whose weights are one word: all of its terms read the same.
graph g(%x: f16[1,12,8], %z: f32[9,5]) -> %y, %u {
  %w: i4[8,16] = weight 0
  %s: f16[4,16] = weight 1
  %d = DequantizeLinear(%w, %s) {axis=0, block_size=2}
  %m = MatMul(%x, %d)
  %y = GlobalAveragePool(%m)
  %v: i4[5,16] = weight 2
  %t: f32[1,16] = weight 3
  %e = DequantizeLinear(%v, %t) {axis=0, block_size=5}
  %u = MatMul(%z, %e)
}
