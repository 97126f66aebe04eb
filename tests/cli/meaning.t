# Each node's expression.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: f32[N,3]) -> %y {
  %y = Relu(%x)  "r"
}
-- out
# r (Relu)
expr Relu(x: f32[N,3]) -> y {
  y[i0:N, i1:3]: f32 = max(x[i0, i1], 0)
}
