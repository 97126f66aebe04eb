# A dilated convolution becomes a plain one of four images; 13 columns are two phases of 7.
-- args
derive --constant W --replay 'split_loop 0 2 2; split_loop 1 4 2; converge 0'
-- in
expr f(X: f32[1,5,14,13], W: f32[4,5,3,3]) -> Y {
  Y[n:1, f:4, p:14, q:13]: f32 = sum(c:5, r:3, s:3 where 0 <= p+2*r-2, p+2*r-2 < 14, 0 <= q+2*s-2, q+2*s-2 < 13) X[n, c, p+2*r-2, q+2*s-2] * W[f, c, r, s]
}
-- out
given:
expr f(X: f32[1,5,14,13], W: f32[4,5,3,3]) -> Y {
  Y[i0:1, i1:4, i2:14, i3:13]: f32 = sum(i4:3, i5:5, i6:3 where 0 <= 15-i2-i4*2, 0 <= i2+i4*2-2, 0 <= 14-i3-i6*2, 0 <= i3+i6*2-2) X[i0, i5, i2+i4*2-2, i3+i6*2-2] * W[i1, i5, i4, i6]
}
split_loop 0 2 2:
expr f(X: f32[1,5,14,13], W: f32[4,5,3,3]) -> Y_3 {
  Y[i0:1, i1:5, i2:7, i3:2, i4:13]: f32 = X[i0, i1, i2*2+i3, i4]
  Y_2[i0:1, i1:4, i2:7, i3:2, i4:13]: f32 = sum(i5:5, i6:3, i7:3 where 0 <= i4+i6*2-2, 0 <= i2+i7-1, 0 <= 7-i2-i7, 0 <= 14-i4-i6*2) Y[i0, i5, i2+i7-1, i3, i4+i6*2-2] * W[i1, i5, i7, i6]
  Y_3[i0:1, i1:4, i2:14, i3:13]: f32 = Y_2[i0, i1, i2/2, i2%2, i3]
}
split_loop 1 4 2:
expr f(X: f32[1,5,14,13], W: f32[4,5,3,3]) -> Y_3 {
  Y[i0:1, i1:5, i2:7, i3:2, i4:7, i5:2]: f32 = 0 <= i4*2+i5-13 ? 0 : X[i0, i1, i2*2+i3, i4*2+i5]
  Y_2[i0:1, i1:4, i2:7, i3:2, i4:7, i5:2]: f32 = sum(i6:3, i7:5, i8:3 where 0 <= i4+i6-1, 0 <= 7-i2-i8, 0 <= i2+i8-1, 0 <= 7-i4-i6) Y[i0, i7, i2+i8-1, i3, i4+i6-1, i5] * W[i1, i7, i8, i6]
  Y_3[i0:1, i1:4, i2:14, i3:13]: f32 = Y_2[i0, i1, i2/2, i2%2, i3/2, i3%2]
}
converge 0:
expr f(X: f32[1,5,14,13], W: f32[4,5,3,3]) -> Y_4 {
  Y[i0:4, i1:3, i2:5, i3:3]: f32 = W[i0, i2, i3, i1]
  Y_2[i0:2, i1:2, i2:5, i3:7, i4:7, i5:1]: f32 = 0 <= i1+i4*2-13 ? 0 : X[i5, i2, i0+i3*2, i1+i4*2]
  Y_3[i0:2, i1:2, i2:4, i3:7, i4:7]: f32 = sum(i5:3, i6:3, i7:5 where 0 <= i4+i5-1, 0 <= 7-i4-i5, 0 <= i3+i6-1, 0 <= 7-i3-i6) Y_2[i0, i1, i7, i3+i6-1, i4+i5-1, 0] * Y[i2, i5, i7, i6]
  Y_4[i0:1, i1:4, i2:14, i3:13]: f32 = Y_3[i2%2, i3%2, i1, i2/2, i3/2]
}
