# A kernel of 5 taps becomes two of 3, with twice the filters.
-- args
derive --constant W --replay 'split_terms 0 4 3; split_sum 1 4; position 1 0 2 3; converge 0'
-- in
expr f(X: f32[2,5,29], W: f32[4,5,5]) -> Y {
  Y[n:2, f:4, p:29]: f32 = sum(c:5, r:5 where 0 <= p+r-2, p+r-2 < 29) X[n, c, p+r-2] * W[f, c, r]
}
-- out
given:
expr f(X: f32[2,5,29], W: f32[4,5,5]) -> Y {
  Y[i0:2, i1:4, i2:29]: f32 = sum(i3:5, i4:5 where 0 <= 30-i2-i4, 0 <= i2+i4-2) X[i0, i3, i2+i4-2] * W[i1, i3, i4]
}
split_terms 0 4 3:
expr f(X: f32[2,5,29], W: f32[4,5,5]) -> Y_2 {
  Y[i0:4, i1:5, i2:2, i3:3]: f32 = 0 <= i2*3+i3-5 ? 0 : W[i0, i1, i2*3+i3]
  Y_2[i0:2, i1:4, i2:29]: f32 = sum(i3:3, i4:5, i5:2 where 0 <= i2+i3+i5*3-2, 0 <= 30-i2-i3-i5*3) X[i0, i4, i2+i3+i5*3-2] * Y[i1, i4, i5, i3]
}
split_sum 1 4:
expr f(X: f32[2,5,29], W: f32[4,5,5]) -> Y_3 {
  Y[i0:4, i1:5, i2:2, i3:3]: f32 = 0 <= i2*3+i3-5 ? 0 : W[i0, i1, i2*3+i3]
  Y_2[i0:2, i1:2, i2:4, i3:29]: f32 = sum(i4:3, i5:5 where 0 <= i0*3+i3+i4-2, 0 <= 30-i0*3-i3-i4) X[i1, i5, i0*3+i3+i4-2] * Y[i2, i5, i0, i4]
  Y_3[i0:2, i1:4, i2:29]: f32 = sum(i3:2) Y_2[i3, i0, i1, i2]
}
position 1 0 2 3:
expr f(X: f32[2,5,29], W: f32[4,5,5]) -> Y_3 {
  Y[i0:4, i1:5, i2:2, i3:3]: f32 = 0 <= i2*3+i3-5 ? 0 : W[i0, i1, i2*3+i3]
  Y_2[i0:2, i1:2, i2:4, i3:-2..29]: f32 = sum(i4:3, i5:5 where 0 <= 28-i3-i4, 0 <= i3+i4) Y[i2, i5, i0, i4] * X[i1, i5, i3+i4]
  Y_3[i0:2, i1:4, i2:29]: f32 = sum(i3:2 where 0 <= 30-i2-i3*3) Y_2[i3, i0, i1, i2+i3*3-2]
}
converge 0:
expr f(X: f32[2,5,29], W: f32[4,5,5]) -> Y_3 {
  Y[i0:2, i1:4, i2:3, i3:5]: f32 = 0 <= i0*3+i2-5 ? 0 : W[i1, i3, i0*3+i2]
  Y_2[i0:2, i1:2, i2:4, i3:31]: f32 = sum(i4:3, i5:5 where 0 <= 30-i3-i4, 0 <= i3+i4-2) X[i0, i5, i3+i4-2] * Y[i1, i2, i4, i5]
  Y_3[i0:2, i1:4, i2:29]: f32 = sum(i3:2 where 0 <= 30-i2-i3*3) Y_2[i0, i3, i1, i2+i3*3]
}
