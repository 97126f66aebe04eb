# Nothing is computed twice that costs more than a load, and outputs stay.
-- args
print --ir=expr --passes=InlineStages
-- in
expr f(X: f32[N,8]) -> Y, Z {
  A[n:N, c:8]: f32 = exp(X[n, c])
  Z[n:N, c:8]: f32 = A[n, c] * A[n, 7 - c]
  Y[n:N, c:8]: f32 = Z[n, c] + 1.0
}
-- out
expr f(X: f32[N,8]) -> Y, Z {
  A[n:N, c:8]: f32 = exp(X[n, c])
  Z[n:N, c:8]: f32 = A[n, c] * A[n, 7-c]
  Y[n:N, c:8]: f32 = Z[n, c] + 1
}
