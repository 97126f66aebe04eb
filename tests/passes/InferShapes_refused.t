# What does not fit together is the model's fault, and has the node's place.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,2], %w: f32[3,4]) -> %y {
  %y = MatMul(%x, %w)  "product"
}
-- err
-:2: node "product" (MatMul): columns of a and rows of b: 2 and 3 differ (inputs x: f32[N,2], w: f32[3,4])
