# What moves elements goes behind nodes that work on each alike, to meet another that does.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[N,3,4,5], %z: f32[N,3,4,5]) -> %q, %y {
  %half: f32 = {0.5}
  %p = Transpose(%x) {perm=[0,2,3,1]}             "x as rows"
  %p2 = Transpose(%z) {perm=[0,2,3,1]}            "z as rows"
  %a = Add(%p, %p2)                               "sum"
  %b = Mul(%a, %half)                             "half"
  %c = Sigmoid(%b)                                "sigmoid"
  %q = Transpose(%c) {perm=[0,3,1,2]}             "as it was"
  %rows: i64[2] = {-1, 5}
  %r = Reshape(%x, %rows)                         "rows"
  %e = Exp(%r)                                    "exp"
  %images: i64[2] = {-1, 60}
  %y = Reshape(%e, %images)                       "images"
}
-- out
graph g(%x: f32[N,3,4,5], %z: f32[N,3,4,5]) -> %q, %y {
  %half: f32      = {0.5}
  %images: i64[2] = {-1, 60}
  %v: f32[N,3,4,5]    = Add(%x, %z)  "sum"
  %v_3: f32[N,3,4,5]  = Mul(%v, %half)  "half"
  %q: f32[N,3,4,5]    = Sigmoid(%v_3)  "sigmoid" from "sigmoid", "as it was"
  %v_12: f32[N,3,4,5] = Exp(%x)  "exp"
  %y: f32[N,60]       = Reshape(%v_12, %images)  "images" from "images", "rows", "exp"
}
