# Not where the numbers differ: epsilon beside the root, another count, a bias as large as x; nor
# where others need what is between.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,32], %g: f32[32], %r: f32[N,32]) -> %y, %z, %u, %t, %n4 {
  %ax: i64[1] = {-1}
  %eps: f32 = {0.00001}
  %part: f32 = {0.032}
  %m = ReduceMean(%x, %ax)
  %d = Sub(%x, %m)
  %p = Mul(%d, %d)
  %v = ReduceMean(%p, %ax)
  %s = Sqrt(%v)
  %e = Add(%s, %eps)
  %n = Div(%d, %e)
  %y = Mul(%n, %g)  "epsilon"
  %d2 = Sub(%x, %m)
  %p2 = Mul(%d2, %d2)
  %q2 = ReduceSum(%p2, %ax)
  %v2 = Mul(%q2, %part)
  %e2 = Add(%v2, %eps)
  %s2 = Sqrt(%e2)
  %n2 = Div(%d2, %s2)
  %z = Mul(%n2, %g)  "count"
  %m3 = ReduceMean(%x, %ax)
  %d3 = Sub(%x, %m3)
  %p3 = Mul(%d3, %d3)
  %v3 = ReduceMean(%p3, %ax)
  %e3 = Add(%v3, %eps)
  %s3 = Sqrt(%e3)
  %n3 = Div(%d3, %s3)
  %w3 = Mul(%n3, %g)
  %u = Add(%w3, %r)  "residual"
  %m4 = ReduceMean(%x, %ax)
  %d4 = Sub(%x, %m4)
  %p4 = Mul(%d4, %d4)
  %v4 = ReduceMean(%p4, %ax)
  %e4 = Add(%v4, %eps)
  %s4 = Sqrt(%e4)
  %n4 = Div(%d4, %s4)
  %t = Mul(%n4, %g)  "between"
}
-- out
graph g(%x: f32[N,32], %g: f32[32], %r: f32[N,32]) -> %y, %z, %u, %t, %n4 {
  %ax: i64[1] = {-1}
  %eps: f32   = {1e-05}
  %part: f32  = {0.032}
  %m: f32[N,1]   = ReduceMean(%x, %ax)
  %d: f32[N,32]  = Sub(%x, %m)
  %p: f32[N,32]  = Mul(%d, %d)
  %v: f32[N,1]   = ReduceMean(%p, %ax)
  %s: f32[N,1]   = Sqrt(%v)
  %e: f32[N,1]   = Add(%s, %eps)
  %n: f32[N,32]  = Div(%d, %e)
  %y: f32[N,32]  = Mul(%n, %g)  "epsilon"
  %d2: f32[N,32] = Sub(%x, %m)
  %p2: f32[N,32] = Mul(%d2, %d2)
  %q2: f32[N,1]  = ReduceSum(%p2, %ax)
  %v2: f32[N,1]  = Mul(%q2, %part)
  %e2: f32[N,1]  = Add(%v2, %eps)
  %s2: f32[N,1]  = Sqrt(%e2)
  %n2: f32[N,32] = Div(%d2, %s2)
  %z: f32[N,32]  = Mul(%n2, %g)  "count"
  %w3: f32[N,32] = LayerNormalization(%x, %g) {axis=-1, epsilon=1e-05}
  %u: f32[N,32]  = Add(%w3, %r)  "residual"
  %m4: f32[N,1]  = ReduceMean(%x, %ax)
  %d4: f32[N,32] = Sub(%x, %m4)
  %p4: f32[N,32] = Mul(%d4, %d4)
  %v4: f32[N,1]  = ReduceMean(%p4, %ax)
  %e4: f32[N,1]  = Add(%v4, %eps)
  %s4: f32[N,1]  = Sqrt(%e4)
  %n4: f32[N,32] = Div(%d4, %s4)
  %t: f32[N,32]  = Mul(%n4, %g)  "between"
}
