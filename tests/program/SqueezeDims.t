# Dims and iterators of extent 1 go.
-- args
print --ir=expr --passes=SqueezeDims
-- in
expr f(X: f32[1,N,1,8]) -> Y {
  Y[a:1, n:N, b:1, c:8]: f32 = sum(k:1) X[a, n, k, c] * 2.0
}
-- out
expr f(X: f32[N,8]) -> Y {
  Y[n:N, c:8]: f32 = sum() X[n, c] * 2
}
