# A transposed convolution becomes a plain one of its phases: four times the filters, half the sides.
-- args
derive --constant W --replay 'position 0 0 2 2; position 1 1 3 4; converge 0'
-- in
expr f(X: f32[1,6,5,7], W: f32[6,4,4,4]) -> Y {
  Y[n:1, f:4, p:10, q:14]: f32 = sum(c:6, r:4, s:4 where (p+1-r)%2 == 0, (q+1-s)%2 == 0, 0 <= (p+1-r)/2, (p+1-r)/2 < 5, 0 <= (q+1-s)/2, (q+1-s)/2 < 7) X[n, c, (p+1-r)/2, (q+1-s)/2] * W[c, f, r, s]
}
-- out
given:
expr f(X: f32[1,6,5,7], W: f32[6,4,4,4]) -> Y {
  Y[i0:1, i1:4, i2:10, i3:14]: f32 = sum(i4:6, i5:4, i6:4 where 0 <= (i2-i6+1)/2, 0 <= 6-(i3-i5+1)/2, (i2-i6+1)%2 == 0, (i3-i5+1)%2 == 0, 0 <= 4-(i2-i6+1)/2, 0 <= (i3-i5+1)/2) X[i0, i4, (i2-i6+1)/2, (i3-i5+1)/2] * W[i4, i1, i6, i5]
}
position 0 0 2 2:
expr f(X: f32[1,6,5,7], W: f32[6,4,4,4]) -> Y_3 {
  Y[i0:4, i1:2, i2:6, i3:4, i4:2]: f32 = W[i2, i0, i1-i4*2+2, i3]
  Y_2[i0:1, i1:4, i2:2, i3:6, i4:14]: f32 = sum(i5:4, i6:2, i7:6 where 0 <= 5-i3-i6, (i4-i5+1)%2 == 0, 0 <= i3+i6-1, 0 <= 6-(i4-i5+1)/2, 0 <= (i4-i5+1)/2) Y[i1, i2, i7, i5, i6] * X[i0, i7, i3+i6-1, (i4-i5+1)/2]
  Y_3[i0:1, i1:4, i2:10, i3:14]: f32 = Y_2[i0, i1, (i2+1)%2, (i2+1)/2, i3]
}
position 1 1 3 4:
expr f(X: f32[1,6,5,7], W: f32[6,4,4,4]) -> Y_3 {
  Y[i0:4, i1:2, i2:2, i3:2, i4:2, i5:6]: f32 = W[i5, i0, i1-i4*2+2, i2-i3*2+2]
  Y_2[i0:1, i1:4, i2:2, i3:6, i4:2, i5:8]: f32 = sum(i6:2, i7:2, i8:6 where 0 <= i5+i7-1, 0 <= 5-i3-i6, 0 <= 7-i5-i7, 0 <= i3+i6-1) Y[i1, i2, i4, i7, i6, i8] * X[i0, i8, i3+i6-1, i5+i7-1]
  Y_3[i0:1, i1:4, i2:10, i3:14]: f32 = Y_2[i0, i1, (i2+1)%2, (i2+1)/2, (i3+1)%2, (i3+1)/2]
}
converge 0:
expr f(X: f32[1,6,5,7], W: f32[6,4,4,4]) -> Y_3 {
  Y[i0:2, i1:2, i2:4, i3:2, i4:2, i5:6]: f32 = W[i5, i2, i0-i3*2+2, i1-i4*2+2]
  Y_2[i0:1, i1:2, i2:2, i3:4, i4:6, i5:8]: f32 = sum(i6:2, i7:2, i8:6 where 0 <= i5+i7-1, 0 <= i4+i6-1, 0 <= 7-i5-i7, 0 <= 5-i4-i6) X[i0, i8, i4+i6-1, i5+i7-1] * Y[i1, i2, i3, i6, i7, i8]
  Y_3[i0:1, i1:4, i2:10, i3:14]: f32 = Y_2[i0, (i2+1)%2, (i3+1)%2, i1, (i2+1)/2, (i3+1)/2]
}
