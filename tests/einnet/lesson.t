# The example of docs/derivation.md.
-- args
derive --constant W --replay 'split_sum 0 1; position 0 0 1 2; converge 0'
-- in
expr conv(X: f32[16,9], W: f32[8,16,3]) -> Y {
  Y[f:8, p:7]: f32 = sum(c:16, r:3) X[c, p+r] * W[f, c, r]
}
-- out
given:
expr f(X: f32[16,9], W: f32[8,16,3]) -> Y {
  Y[i0:8, i1:7]: f32 = sum(i2:3, i3:16) W[i0, i3, i2] * X[i3, i1+i2]
}
split_sum 0 1:
expr f(X: f32[16,9], W: f32[8,16,3]) -> Y_2 {
  Y[i0:3, i1:8, i2:7]: f32 = sum(i3:16) X[i3, i0+i2] * W[i1, i3, i0]
  Y_2[i0:8, i1:7]: f32 = sum(i2:3) Y[i2, i0, i1]
}
position 0 0 1 2:
expr f(X: f32[16,9], W: f32[8,16,3]) -> Y_2 {
  Y[i0:3, i1:8, i2:9]: f32 = sum(i3:16) X[i3, i2] * W[i1, i3, i0]
  Y_2[i0:8, i1:7]: f32 = sum(i2:3) Y[i2, i0, i1+i2]
}
converge 0:
expr f(X: f32[16,9], W: f32[8,16,3]) -> Y_3 {
  Y[i0:3, i1:8, i2:16]: f32 = W[i1, i2, i0]
  Y_2[i0:3, i1:8, i2:9]: f32 = sum(i3:16) Y[i0, i1, i3] * X[i3, i2]
  Y_3[i0:8, i1:7]: f32 = sum(i2:3) Y_2[i2, i0, i1+i2]
}
