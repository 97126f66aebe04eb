# However it is written: powers or products, quotients or reciprocals, in any order.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,16,32], %g: f32[32], %b: f32[32]) -> %y, %z, %u {
  %ax: i64[1] = {-1}
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
  %y = Add(%w, %b)  "pow and div"
  %eps2: f32 = {0.001}
  %half: f32 = {-0.5}
  %count: f32 = {0.03125}
  %sum2 = ReduceSum(%x, %ax)
  %m2 = Mul(%sum2, %count)
  %d2 = Sub(%x, %m2)
  %p2 = Mul(%d2, %d2)
  %v2 = ReduceMean(%p2, %ax)
  %e2 = Add(%eps2, %v2)
  %s2 = Pow(%e2, %half)
  %w2 = Mul(%g, %s2)
  %k2 = Mul(%d2, %w2)
  %z = Add(%b, %k2)  "pow of -1/2, scale first"
  %m3 = ReduceMean(%x, %ax)
  %d3 = Sub(%x, %m3)
  %p3 = Mul(%d3, %d3)
  %v3 = ReduceMean(%p3, %ax)
  %e3 = Add(%v3, %eps)
  %s3 = Sqrt(%e3)
  %r3 = Reciprocal(%s3)
  %n3 = Mul(%d3, %r3)
  %u = Mul(%n3, %g)  "no bias"
}
-- out
graph g(%x: f32[N,16,32], %g: f32[32], %b: f32[32]) -> %y, %z, %u {
  %ax: i64[1] = {-1}
  %two: f32   = {2}
  %eps: f32   = {1e-05}
  %eps2: f32  = {0.001}
  %half: f32  = {-0.5}
  %count: f32 = {0.03125}
  %y: f32[N,16,32] = LayerNormalization(%x, %g, %b) {axis=-1, epsilon=1e-05}  "pow and div"
  %z: f32[N,16,32] = LayerNormalization(%x, %g, %b) {axis=-1, epsilon=0.001}  "pow of -1/2, scale first"
  %u: f32[N,16,32] = LayerNormalization(%x, %g) {axis=-1, epsilon=1e-05}  "no bias"
}
