# Over the last two dims, whose scale has both.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,8,4], %g: f32[8,4], %b: f32[8,4]) -> %y {
  %ax: i64[2] = {1, 2}
  %two: f32 = {2}
  %eps: f32 = {0.00001}
  %m = ReduceMean(%x, %ax)
  %d = Sub(%x, %m)
  %p = Pow(%d, %two)
  %v = ReduceMean(%p, %ax)
  %e = Add(%v, %eps)
  %s = Sqrt(%e)
  %n = Div(%d, %s)
  %w = Mul(%n, %g)
  %y = Add(%w, %b)
}
-- out
graph g(%x: f32[N,8,4], %g: f32[8,4], %b: f32[8,4]) -> %y {
  %ax: i64[2] = {1, 2}
  %two: f32   = {2}
  %eps: f32   = {1e-05}
  %y: f32[N,8,4] = LayerNormalization(%x, %g, %b) {axis=-2, epsilon=1e-05}
}
