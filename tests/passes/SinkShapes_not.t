# It stays: at an input, at a value that is stored anyway, where nothing passes the dims on, and
# where its user comes first.
-- args
print --passes=InferShapes,SinkShapes
-- in
graph g(%x: f32[N,4], %w: f32[4,4]) -> %y, %r, %d, %v {
  %flat: i64[1] = {-1}
  %s = Shape(%x)                "of an input"
  %r = Relu(%x)                 "a result"
  %t = Shape(%r)                "of a result"
  %p = Add(%t, %s)              "both"
  %c = MatMul(%r, %w)           "product"
  %u = Shape(%c)                "of a product"
  %a = Reshape(%c, %flat)       "flat"
  %b = Exp(%a)                  "exp"
  %y = Reshape(%b, %u)          "back"
  %k = MatMul(%y, %w)           "another"
  %q = Shape(%k)                "used first"
  %d = Sub(%p, %q)              "first"
  %e = Tanh(%k)                 "later"
  %v = Neg(%e)                  "last"
}
-- out
graph g(%x: f32[N,4], %w: f32[4,4]) -> %y, %r, %d, %v {
  %flat: i64[1] = {-1}
  %s: i64[2]   = Shape(%x)  "of an input"
  %r: f32[N,4] = Relu(%x)  "a result"
  %t: i64[2]   = Shape(%r)  "of a result"
  %p: i64[2]   = Add(%t, %s)  "both"
  %c: f32[N,4] = MatMul(%r, %w)  "product"
  %u: i64[2]   = Shape(%c)  "of a product"
  %a: f32[N*4] = Reshape(%c, %flat)  "flat"
  %b: f32[N*4] = Exp(%a)  "exp"
  %y: f32[N,4] = Reshape(%b, %u)  "back"
  %k: f32[N,4] = MatMul(%y, %w)  "another"
  %q: i64[2]   = Shape(%k)  "used first"
  %d: i64[2]   = Sub(%p, %q)  "first"
  %e: f32[N,4] = Tanh(%k)  "later"
  %v: f32[N,4] = Neg(%e)  "last"
}
