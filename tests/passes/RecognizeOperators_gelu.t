# By erf and by tanh, in the words of several exporters.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,7]) -> %y, %z, %u, %t {
  %root: f32 = {1.4142135}
  %one: f32 = {1}
  %half: f32 = {0.5}
  %three: f32 = {3}
  %c: f32 = {0.044715}
  %k: f32 = {0.7978846}
  %a = Div(%x, %root)
  %b = Erf(%a)
  %d = Add(%b, %one)
  %e = Mul(%x, %d)
  %y = Mul(%e, %half)  "half last"
  %inv: f32 = {0.70710677}
  %a2 = Mul(%x, %inv)
  %b2 = Erf(%a2)
  %h2 = Mul(%b2, %half)
  %d2 = Add(%h2, %half)
  %z = Mul(%d2, %x)  "half inside"
  %p = Pow(%x, %three)
  %q = Mul(%p, %c)
  %r = Add(%x, %q)
  %s = Mul(%r, %k)
  %v = Tanh(%s)
  %w = Add(%one, %v)
  %hx = Mul(%x, %half)
  %u = Mul(%hx, %w)  "tanh"
  %coarse: f32 = {0.7979}
  %p3 = Pow(%x, %three)
  %q3 = Mul(%p3, %c)
  %r3 = Add(%x, %q3)
  %s3 = Mul(%r3, %coarse)
  %v3 = Tanh(%s3)
  %w3 = Add(%one, %v3)
  %hx3 = Mul(%x, %half)
  %t = Mul(%hx3, %w3)  "another number"
}
-- out
graph g(%x: f32[N,7]) -> %y, %z, %u, %t {
  %root: f32   = {1.4142135}
  %one: f32    = {1}
  %half: f32   = {0.5}
  %three: f32  = {3}
  %c: f32      = {0.044715}
  %k: f32      = {0.7978846}
  %inv: f32    = {0.70710677}
  %coarse: f32 = {0.7979}
  %y: f32[N,7]   = Gelu(%x)  "half last"
  %z: f32[N,7]   = Gelu(%x)  "half inside"
  %u: f32[N,7]   = Gelu(%x) {approximate="tanh"}  "tanh"
  %p3: f32[N,7]  = Pow(%x, %three)
  %q3: f32[N,7]  = Mul(%p3, %c)
  %r3: f32[N,7]  = Add(%x, %q3)
  %s3: f32[N,7]  = Mul(%r3, %coarse)
  %v3: f32[N,7]  = Tanh(%s3)
  %w3: f32[N,7]  = Add(%one, %v3)
  %hx3: f32[N,7] = Mul(%x, %half)
  %t: f32[N,7]   = Mul(%hx3, %w3)  "another number"
}
