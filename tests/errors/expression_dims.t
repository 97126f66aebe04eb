# A text that does not fit its inputs: the node, the dim, what was expected and what is there.
-- args
print --passes=InferShapes
-- in
graph g(%a: f32[3,4], %b: f32[5]) -> %y {
  %y = Expression(%a, %b) {expr="expr f(A: f32[N,C], B: f32[C]) -> Y {\n  Y[n:N, c:C]: f32 = A[n, c] + B[c]\n}\n"}  "add"
}
-- err
-:2: node "add" (Expression): dim 0 of input 1 (B): 4 and 5 differ (inputs a: f32[3,4], b: f32[5])
