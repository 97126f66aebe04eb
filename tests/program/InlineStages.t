# A stage that each element is read of once is computed where it is read.
-- args
print --ir=expr --passes=InlineStages
-- in
expr f(X: f32[N,8], B: f32[8]) -> Y {
  Z[n:N, c:8]: f32 = exp(X[n, c])
  A[n:N, c:8]: f32 = Z[n, c] + B[c]
  Y[n:N]: f32 = sum(c:8) A[n, c]
}
-- out
expr f(X: f32[N,8], B: f32[8]) -> Y {
  Y[n:N]: f32 = sum(c:8) exp(X[n, c]) + B[c]
}
