# seed 20261185784254
# No rows: a tile of none.
graph random(%x_1: f32[4,0,33], %x: f32[2,4,33], %x_2: f32[2,4,1], %x_3: f32[2,8], %x_4: f32[2,3]) -> %v_12 {
  %v_7, _, %v_12 = LSTM(%x_1, %x, %x_2, %x_3, _, _, _, %x_4) {direction="bidirectional"}
}
