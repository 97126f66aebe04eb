# seed 1000083
# A product across lanes of 64 bits: two lanes of 32 bits are left in the end, which gcc 12 multiplies
# one by one and says so.
graph random(%x: u8[5], %x_1: i64[1], %x_3: f32[1]) -> %v_14 {
  %c: i64[1]   = {-1}
  %c_3: i64[2] = {0, 1}
  %v           = ReduceProd(%x, %c) {keepdims=0}
  %v_4         = Unsqueeze(%v, %c_3)
  %v_5         = Cast(%v_4) {to=1}
  %v_13, %v_14 = SoftmaxCrossEntropyLoss(%v_5, %x_1, %x_3)
}
