# FoldBias looked for the dims of a scalar where the constant has more axes.
graph random(%x: f32) -> %v_24 {
  %c_7: i64[2] = {0, 1}
  %v_24 = Unsqueeze(%x, %c_7)
}
