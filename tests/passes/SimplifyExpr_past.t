# A node reads what the one before it reads, where its meaning is the same.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[1,3], %b: f32[7], %w: f32[3,7], %k: f32[K,3]) -> %y, %z, %v {
  %dims: i64[2] = {4, 3}
  %e = Expand(%x, %dims)                          "as many"
  %f: f32[4,3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
  %y = Add(%e, %f)                                "y"
  %front: i64[1] = {0}
  %u = Unsqueeze(%b, %front)                      "front"
  %p = MatMul(%f, %w)                             "product"
  %z = Add(%p, %u)                                "z"
  %r = Relu(%k)                                   "relu"
  %low: f32 = {0}
  %high: f32 = {6}
  %v = Clip(%r, %low, %high)                      "six"
}
-- out
graph g(%x: f32[1,3], %b: f32[7], %w: f32[3,7], %k: f32[K,3]) -> %y, %z, %v {
  %f: f32[4,3] = weight 0
  %low: f32    = {0}
  %high: f32   = {6}
  %y: f32[4,3] = Add(%x, %f)  "y" from "y", "as many"
  %p: f32[4,7] = MatMul(%f, %w)  "product"
  %z: f32[4,7] = Add(%p, %b)  "z" from "z", "front"
  %v: f32[K,3] = Clip(%k, %low, %high)  "six" from "six", "relu"
}
