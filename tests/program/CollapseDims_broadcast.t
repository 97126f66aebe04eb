# The channel is used alone: what is before it and what is behind it become one each.
-- args
print --ir=expr --passes=CollapseDims
-- in
expr f(X: f32[N,C,8,8], B: f32[C]) -> Y {
  Y[n:N, c:C, h:8, w:8]: f32 = X[n, c, h, w] + B[c]
}
-- out
expr f(X: f32[N,C,64], B: f32[C]) -> Y {
  Y[n:N, c:C, h:64]: f32 = X[n, c, h] + B[c]
}
