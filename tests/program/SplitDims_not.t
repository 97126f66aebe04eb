# 770 is no multiple of 64: the last row would be part of one.
-- args
print --ir=expr --passes=SplitDims
-- in
expr f(X: f32[13,64]) -> Y {
  Y[m:770]: f32 = X[m / 64, m % 64]
}
-- out
expr f(X: f32[13,64]) -> Y {
  Y[m:770]: f32 = X[m/64, m%64]
}
