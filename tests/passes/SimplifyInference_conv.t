# The scale moves into the convolution's weights, the shift stays behind as an Add.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,3,8,8]) -> %y {
  %w: f32[4,3,3,3] = weight 0
  %s: f32[4] = weight 1
  %b: f32[4] = weight 2
  %m: f32[4] = weight 3
  %v: f32[4] = {0.5, 1, 2, 0.25}
  %c = Conv(%x, %w) {pads=[1,1,1,1]}                "conv"
  %y = BatchNormalization(%c, %s, %b, %m, %v)       "bn"
}
-- out
graph g(%x: f32[N,3,8,8]) -> %y {
  %w_1: f32[4,3,3,3] = weight 0
  %shift: f32[4,1,1] = weight 1
  %c: f32[N,4,8,8] = Conv(%x, %w_1) {pads=[1,1,1,1]}  "conv" from "conv", "bn"
  %y: f32[N,4,8,8] = Add(%c, %shift)  "bn"
}
