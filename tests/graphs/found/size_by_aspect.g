# Sides that keep their ratio: the common scale is a minimum of quotients.
graph g(%x: f32[1,2,H,W]) -> %y, %z {
  %sizes: i64[2] = {7, 5}
  %y = Resize(%x, _, _, %sizes) {axes=[2,3], keep_aspect_ratio_policy="not_larger"}
  %z = Resize(%x, _, _, %sizes) {mode="linear", axes=[2,3], keep_aspect_ratio_policy="not_smaller"}
}
