# Dims that differ: the node, both numbers, and the operands with their types.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,3], %z: f32[4,3]) -> %y { %y = MatMul(%x, %z) "mm" }
-- err
-:1: node "mm" (MatMul): columns of a and rows of b: 3 and 4 differ (inputs x: f32[N,3], z: f32[4,3])
