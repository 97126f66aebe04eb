# A convolution whose result somebody else reads keeps its weights.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,3,8,8]) -> %y, %z {
  %w: f32[4,3,3,3] = weight 0
  %s: f32[4,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %y = Mul(%c, %s)                    "scale"
  %z = Relu(%c)                       "relu"
}
-- out
graph g(%x: f32[N,3,8,8]) -> %y, %z {
  %w: f32[4,3,3,3] = weight 0
  %s: f32[4,1,1]   = weight 1
  %c: f32[N,4,8,8] = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %y: f32[N,4,8,8] = Mul(%c, %s)  "scale"
  %z: f32[N,4,8,8] = Relu(%c)  "relu"
}
