# FoldBias tried a constant along the last axis as the bias of channels, which Conv refuses.
# seed 1000003013
graph random(%x: f32[1,4,8], %x_1: f32[1,4,1]) -> %v_5 {
  %c_4: f32[1,4] = weight 2
  %v_3 = Conv(%x, %x_1) {strides=[2]}
  %v_5 = Add(%v_3, %c_4)
}
