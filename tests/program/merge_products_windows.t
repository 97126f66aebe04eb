# Windows of one image become one; conditions are the same in whatever order the sums have them.
-- args
derive -q --replay 'merge_products 0 0'
-- in
expr f(X: f32[1,64,14,14], V: f32[32,64,3,3], W: f32[16,64,3,3]) -> A, B {
  A[n:1, f:32, p:14, q:14] = sum(c:64, r:3, s:3 where 0 <= p+r-1, p+r-1 < 14, 0 <= q+s-1, q+s-1 < 14) X[n,c,p+r-1,q+s-1]*V[f,c,r,s]
  B[n:1, f:16, p:14, q:14] = sum(c:64, s:3, r:3 where 0 <= q+s-1, q+s-1 < 14, 0 <= p+r-1, p+r-1 < 14) X[n,c,p+r-1,q+s-1]*W[f,c,r,s]
}
-- out
given:
expr f(X: f32[1,64,14,14], V: f32[32,64,3,3], W: f32[16,64,3,3]) -> A, B {
  A[i0:1, i1:32, i2:14, i3:14]: f32 = sum(i4:3, i5:3, i6:64 where 0 <= 14-i3-i5, 0 <= i2+i4-1, 0 <= 14-i2-i4, 0 <= i3+i5-1) X[i0, i6, i2+i4-1, i3+i5-1] * V[i1, i6, i4, i5]
  B[i0:1, i1:16, i2:14, i3:14]: f32 = sum(i4:3, i5:3, i6:64 where 0 <= 14-i2-i5, 0 <= 14-i3-i4, 0 <= i3+i4-1, 0 <= i2+i5-1) W[i1, i6, i5, i4] * X[i0, i6, i2+i5-1, i3+i4-1]
}
merge_products 0 0:
expr f(X: f32[1,64,14,14], V: f32[32,64,3,3], W: f32[16,64,3,3]) -> A_3, B {
  A[i0:48, i1:3, i2:3, i3:64]: f32 = W[i0-32, i3, i1, i2] else V[i0, i3, i1, i2]
  A_2[i0:1, i1:14, i2:14, i3:48]: f32 = sum(i4:3, i5:64, i6:3 where 0 <= 14-i1-i6, 0 <= i2+i4-1, 0 <= 14-i2-i4, 0 <= i1+i6-1) X[i0, i5, i1+i6-1, i2+i4-1] * A[i3, i6, i4, i5]
  A_3[i0:1, i1:32, i2:14, i3:14]: f32 = A_2[i0, i2, i3, i1]
  B[i0:1, i1:16, i2:14, i3:14]: f32 = A_2[i0, i2, i3, i1+32]
}
