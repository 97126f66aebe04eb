# im2col: a row for each place, a column for each tap and channel.
-- args
derive --constant W --replay 'unfold 0 0; converge 0'
-- in
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y {
  Y[n:1, f:4, p:7, q:9]: f32 = sum(c:5, r:3, s:3 where 0 <= p+r-1, p+r-1 < 7, 0 <= q+s-1, q+s-1 < 9) X[n, c, p+r-1, q+s-1] * W[f, c, r, s]
}
-- out
given:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y {
  Y[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:5, i5:3, i6:3 where 0 <= i2+i6-1, 0 <= 7-i2-i6, 0 <= 9-i3-i5, 0 <= i3+i5-1) X[i0, i4, i2+i6-1, i3+i5-1] * W[i1, i4, i6, i5]
}
unfold 0 0:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y_2 {
  Y[i0:1, i1:7, i2:9, i3:5, i4:3, i5:3]: f32 = 0 <= 9-i2-i4 && 0 <= i2+i4-1 && 0 <= 7-i1-i5 && 0 <= i1+i5-1 ? X[i0, i3, i1+i5-1, i2+i4-1] : 0
  Y_2[i0:1, i1:4, i2:7, i3:9]: f32 = sum(i4:3, i5:5, i6:3) Y[i0, i2, i3, i5, i4, i6] * W[i1, i5, i6, i4]
}
converge 0:
expr f(X: f32[1,5,7,9], W: f32[4,5,3,3]) -> Y_4 {
  Y[i0:4, i1:3, i2:5, i3:3]: f32 = W[i0, i2, i3, i1]
  Y_2[i0:7, i1:9, i2:3, i3:5, i4:3]: f32 = 0 <= i0+i4-1 && 0 <= 7-i0-i4 && 0 <= 9-i1-i2 && 0 <= i1+i2-1 ? X[0, i3, i0+i4-1, i1+i2-1] : 0
  Y_3[i0:7, i1:9, i2:4]: f32 = sum(i3:3, i4:5, i5:3) Y_2[i0, i1, i3, i4, i5] * Y[i2, i3, i4, i5]
  Y_4[i0:1, i1:4, i2:7, i3:9]: f32 = Y_3[i2, i3, i1]
}
