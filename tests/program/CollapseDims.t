# Dims that are always used together become one.
-- args
print --ir=expr --passes=CollapseDims
-- in
expr f(X: f32[N,C,8,8], Z: f32[N,C,8,8]) -> Y {
  Y[n:N, c:C, h:8, w:8]: f32 = X[n, c, h, w] + Z[n, c, h, w]
}
-- out
expr f(X: f32[C*N*64], Z: f32[C*N*64]) -> Y {
  Y[n:C*N*64]: f32 = X[n] + Z[n]
}
