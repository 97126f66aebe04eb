# An index taken apart by a constant: two loops, no division.
-- args
print --ir=expr --passes=SplitDims
-- in
expr f(X: f32[12,64]) -> Y {
  Y[m:768]: f32 = X[m / 64, m % 64]
}
-- out
expr f(X: f32[12,64]) -> Y {
  Y[m:12, b:64]: f32 = X[m, b]
}
