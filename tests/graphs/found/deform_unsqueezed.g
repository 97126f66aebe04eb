# What DeformConv's samples are of must have four axes: a pass tried them without an Unsqueeze.
graph random(%x_31: f32[1,14,1,1], %x_32: f32[1], %x_3: f32[1,7], %x: f32[1,7,1,1]) -> %v_35 {
  %c_28: i64[2] = {2, 3}
  %v_29 = Unsqueeze(%x_3, %c_28)
  %v_35 = DeformConv(%v_29, %x, %x_31, %x_32) {offset_group=7}
}
