# A norm without a mean; and the number that stands for what is solved, as an epsilon of the model.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,5,32], %g: f32[32]) -> %y, %z {
  %ax: i64[1] = {2}
  %two: f32 = {2}
  %eps: f32 = {0.000001}
  %p = Pow(%x, %two)
  %v = ReduceMean(%p, %ax)
  %e = Add(%v, %eps)
  %s = Sqrt(%e)
  %r = Reciprocal(%s)
  %n = Mul(%x, %r)
  %y = Mul(%n, %g)
  %eps2: f32 = {0.7392741}
  %p2 = Mul(%x, %x)
  %v2 = ReduceMean(%p2, %ax)
  %e2 = Add(%v2, %eps2)
  %s2 = Sqrt(%e2)
  %n2 = Div(%x, %s2)
  %z = Mul(%n2, %g)
}
-- out
graph g(%x: f32[N,5,32], %g: f32[32]) -> %y, %z {
  %ax: i64[1] = {2}
  %two: f32   = {2}
  %eps: f32   = {1e-06}
  %eps2: f32  = {0.7392741}
  %y: f32[N,5,32] = RMSNormalization(%x, %g) {axis=-1, epsilon=1e-06}
  %z: f32[N,5,32] = RMSNormalization(%x, %g) {axis=-1, epsilon=0.7392741}
}
