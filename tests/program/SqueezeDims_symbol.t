# A symbolic extent stays, whatever it may be bound to.
-- args
print --ir=expr --passes=SqueezeDims
-- in
expr f(X: f32[N,8]) -> Y {
  Y[n:N, c:8]: f32 = X[n, c] * 2.0
}
-- out
expr f(X: f32[N,8]) -> Y {
  Y[n:N, c:8]: f32 = X[n, c] * 2
}
