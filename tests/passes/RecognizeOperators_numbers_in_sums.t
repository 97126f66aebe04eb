# A number before a sum is the number behind it; another one on one side is none.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,16,32], %g: f32[32], %b: f32[32]) -> %y, %z, %u {
  %ax: i64[1] = {-1}
  %eps: f32 = {0.00001}
  %count: f32 = {0.03125}
  %xc = Mul(%x, %count)
  %m = ReduceSum(%xc, %ax)
  %d = Sub(%x, %m)
  %p = Mul(%d, %d)
  %pc = Mul(%count, %p)
  %v = ReduceSum(%pc, %ax)
  %e = Add(%v, %eps)
  %s = Sqrt(%e)
  %n = Div(%d, %s)
  %w = Mul(%n, %g)
  %y = Add(%w, %b)  "before both sums"
  %half: f32 = {-0.5}
  %rest: f32 = {-0.0625}
  %q = Mul(%x, %x)
  %qc = Mul(%q, %half)
  %r = ReduceSum(%qc, %ax)
  %rc = Mul(%r, %rest)
  %re = Add(%rc, %eps)
  %rs = Sqrt(%re)
  %rn = Div(%x, %rs)
  %z = Mul(%rn, %g)  "on both sides"
  %other: f32 = {-0.0624}
  %q2 = Mul(%x, %x)
  %qc2 = Mul(%q2, %half)
  %r2 = ReduceSum(%qc2, %ax)
  %rc2 = Mul(%r2, %other)
  %re2 = Add(%rc2, %eps)
  %rs2 = Sqrt(%re2)
  %rn2 = Div(%x, %rs2)
  %u = Mul(%rn2, %g)  "another number"
}
-- out
graph g(%x: f32[N,16,32], %g: f32[32], %b: f32[32]) -> %y, %z, %u {
  %ax: i64[1] = {-1}
  %eps: f32   = {1e-05}
  %count: f32 = {0.03125}
  %half: f32  = {-0.5}
  %rest: f32  = {-0.0625}
  %other: f32 = {-0.0624}
  %y: f32[N,16,32]   = LayerNormalization(%x, %g, %b) {axis=-1, epsilon=1e-05}  "before both sums"
  %z: f32[N,16,32]   = RMSNormalization(%x, %g) {axis=-1, epsilon=1e-05}  "on both sides"
  %q2: f32[N,16,32]  = Mul(%x, %x)
  %qc2: f32[N,16,32] = Mul(%q2, %half)
  %r2: f32[N,16,1]   = ReduceSum(%qc2, %ax)
  %rc2: f32[N,16,1]  = Mul(%r2, %other)
  %re2: f32[N,16,1]  = Add(%rc2, %eps)
  %rs2: f32[N,16,1]  = Sqrt(%re2)
  %rn2: f32[N,16,32] = Div(%x, %rs2)
  %u: f32[N,16,32]   = Mul(%rn2, %g)  "another number"
}
