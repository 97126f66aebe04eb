# A strided view keeps its dims.
-- args
print --ir=expr --passes=SqueezeDims --config SqueezeDims.X=fixed
-- in
expr f(X: f32[1,N,8]) -> Y {
  Y[a:1, n:N, c:8]: f32 = X[a, n, c] * 2.0
}
-- out
expr f(X: f32[1,N,8]) -> Y {
  Y[n:N, c:8]: f32 = X[0, n, c] * 2
}
