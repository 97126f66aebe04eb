# A view of elements that share bytes has strides, and was said to reach outside of what it shows.
graph random(%x: i4[2,3], %x_1: u2[5]) -> %v, %v_1, %v_2, %v_3, %v_4 {
  %c: i64[1]   = {0}
  %c_1: i64[1] = {1}
  %c_2: i64[1] = {6}
  %v        = Unsqueeze(%x, %c)
  %v_1      = Slice(%x, %c_1, %c_2, %c)
  %v_2      = Reshape(%v, %c_2)
  %v_3      = Identity(%x_1)
  %v_4      = Concat(%x_1, %v_3) {axis=0}
}
