# More than one number stays a tensor, and so does what is not known.
-- args
print --ir=expr --passes=FoldNumbers --config FoldNumbers.D=8
-- in
expr f(X: f32[N], D: f32[N], E: f32[]) -> Y {
  Y[n:N]: f32 = X[n] / D[n] + E[]
}
-- out
expr f(X: f32[N], D: f32[N], E: f32[]) -> Y {
  Y[n:N]: f32 = X[n] / D[n] + E[]
}
