# What costs no more than a load is computed wherever it is read.
-- args
print --ir=expr --passes=InlineStages
-- in
expr f(X: f32[N,8], B: f32[8]) -> Y, Z {
  T[c:8, n:N]: f32 = X[n, c]
  Y[n:N]: f32 = sum(c:8) T[c, n]
  Z[n:N]: f32 = max(c:8) T[c, n] * B[c]
}
-- out
expr f(X: f32[N,8], B: f32[8]) -> Y, Z {
  Y[n:N]: f32 = sum(c:8) X[n, c]
  Z[n:N]: f32 = max(c:8) X[n, c] * B[c]
}
