# A convolution becomes one product of places and taps, and a sum of it at offsets.
-- args
derive --constant W --replay 'split_sum 0 6; position 0 1 2 4; position 0 1 3 5; converge 0'
-- in
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y {
  Y[n:1, f:4, p:7, q:9]: f32 = sum(c:5, r:3, s:3 where 0 <= p+r-1, p+r-1 < 7, 0 <= q+s-1, q+s-1 < 9) X[n, c, p+r-1, q+s-1] * W[f, c, r, s]
}
-- out
given:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y {
  Y[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:5, i5:3, i6:3 where 0 <= i2+i6-1, 0 <= 7-i2-i6, 0 <= 9-i3-i5, 0 <= i3+i5-1) X[i0, i4, i2+i6-1, i3+i5-1] * W[i1, i4, i6, i5]
}
split_sum 0 6:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y_2 {
  Y[i0:3, i1:3, i2:1, i3:4, i4:7, i5:9]: f32 = sum(i6:5 where 0 <= i0+i5-1, 0 <= i1+i4-1, 0 <= 9-i0-i5, 0 <= 7-i1-i4) W[i3, i6, i1, i0] * X[i2, i6, i1+i4-1, i0+i5-1]
  Y_2[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:3, i5:3 where 0 <= i2+i4-1, 0 <= 9-i3-i5, 0 <= 7-i2-i4, 0 <= i3+i5-1) Y[i5, i4, i0, i1, i2, i3]
}
position 0 1 2 4:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y_2 {
  Y[i0:3, i1:3, i2:1, i3:4, i4:7, i5:9]: f32 = sum(i6:5 where 0 <= i0+i5-1, 0 <= 9-i0-i5) W[i3, i6, i1, i0] * X[i2, i6, i4, i0+i5-1]
  Y_2[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:3, i5:3 where 0 <= i2+i4-1, 0 <= 9-i3-i5, 0 <= 7-i2-i4, 0 <= i3+i5-1) Y[i5, i4, i0, i1, i2+i4-1, i3]
}
position 0 1 3 5:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y_2 {
  Y[i0:3, i1:3, i2:1, i3:4, i4:7, i5:9]: f32 = sum(i6:5) W[i3, i6, i1, i0] * X[i2, i6, i4, i5]
  Y_2[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:3, i5:3 where 0 <= i3+i4-1, 0 <= 7-i2-i5, 0 <= i2+i5-1, 0 <= 9-i3-i4) Y[i4, i5, i0, i1, i2+i5-1, i3+i4-1]
}
converge 0:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y_3 {
  Y[i0:3, i1:3, i2:4, i3:5]: f32 = W[i2, i3, i1, i0]
  Y_2[i0:3, i1:3, i2:4, i3:7, i4:9]: f32 = sum(i5:5) Y[i0, i1, i2, i5] * X[0, i5, i3, i4]
  Y_3[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:3, i5:3 where 0 <= i2+i4-1, 0 <= 9-i3-i5, 0 <= 7-i2-i4, 0 <= i3+i5-1) Y_2[i5, i4, i1, i2+i4-1, i3+i5-1]
}
