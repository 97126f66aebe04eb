# Single numbers become constants; a power of two and a quotient by one become what they mean.
-- args
print --ir=expr --passes=FoldNumbers --config FoldNumbers.E=2 --config FoldNumbers.D=8
-- in
expr f(X: f32[N], E: f32[], D: f32[]) -> Y {
  Y[n:N]: f32 = pow(X[n], E[]) / D[]
}
-- out
expr f(X: f32[N], E: f32[], D: f32[]) -> Y {
  Y[n:N]: f32 = X[n] * X[n] * 0.125
}
