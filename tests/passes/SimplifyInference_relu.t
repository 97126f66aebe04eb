# Nothing moves through an activation.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,3,8,8]) -> %y {
  %w: f32[4,3,3,3] = weight 0
  %s: f32[4,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %r = Relu(%c)                       "relu"
  %y = Mul(%r, %s)                    "scale"
}
-- out
graph g(%x: f32[N,3,8,8]) -> %y {
  %w: f32[4,3,3,3] = weight 0
  %s: f32[4,1,1]   = weight 1
  %c: f32[N,4,8,8] = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %r: f32[N,4,8,8] = Relu(%c)  "relu"
  %y: f32[N,4,8,8] = Mul(%r, %s)  "scale"
}
