# The dims of a convolution's result are those of what becomes of it: the convolution is one step.
-- args
print --passes=InferShapes,SinkShapes
-- in
graph g(%x: f32[N,2,L], %w: f32[4,2,3], %k: f32[4]) -> %y {
  %groups: i64[3] = {0, 4, -1}
  %c = Conv(%x, %w)                               "conv"
  %s = Shape(%c)                                  "shape"
  %r = Reshape(%c, %groups)                       "groups"
  %n = InstanceNormalization(%r, %k, %k)          "norm"
  %b = Reshape(%n, %s)                            "back"
  %y = Relu(%b)                                   "relu"
}
-- out
graph g(%x: f32[N,2,L], %w: f32[4,2,3], %k: f32[4]) -> %y {
  %groups: i64[3] = {0, 4, -1}
  %c: f32[N,4,L-2] = Conv(%x, %w)  "conv"
  %r: f32[N,4,L-2] = Reshape(%c, %groups)  "groups"
  %n: f32[N,4,L-2] = InstanceNormalization(%r, %k, %k)  "norm"
  %s: i64[3]       = Shape(%n)  "shape"
  %b: f32[N,4,L-2] = Reshape(%n, %s)  "back"
  %y: f32[N,4,L-2] = Relu(%b)  "relu"
}
