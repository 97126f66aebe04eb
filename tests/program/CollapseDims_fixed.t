# A strided view keeps its dims, and all that is read with it.
-- args
print --ir=expr --passes=CollapseDims --config CollapseDims.X=fixed
-- in
expr f(X: f32[N,8,8]) -> Y {
  Y[n:N, h:8, w:8]: f32 = X[n, h, w] * 2.0
}
-- out
expr f(X: f32[N,8,8]) -> Y {
  Y[n:N, h:8, w:8]: f32 = X[n, h, w] * 2
}
