# Products of equal boxes that share nothing are stacked.
-- args
derive -q --replay 'merge_products 0 -1'
-- in
expr f(X: f32[10,32], Y: f32[10,32], V: f32[32,16], W: f32[32,16]) -> A, B {
  A[m:10, n:16] = sum(k:32) X[m,k]*V[k,n]
  B[m:10, n:16] = sum(k:32) Y[m,k]*W[k,n]
}
-- out
given:
expr f(X: f32[10,32], Y: f32[10,32], V: f32[32,16], W: f32[32,16]) -> A, B {
  A[i0:10, i1:16]: f32 = sum(i2:32) X[i0, i2] * V[i2, i1]
  B[i0:10, i1:16]: f32 = sum(i2:32) Y[i0, i2] * W[i2, i1]
}
merge_products 0 -1:
expr f(X: f32[10,32], Y: f32[10,32], V: f32[32,16], W: f32[32,16]) -> A_4, B {
  A[i0:2, i1:10, i2:32]: f32 = 0 <= i0-1 ? Y[i1, i2] : X[i1, i2]
  A_2[i0:2, i1:16, i2:32]: f32 = 0 <= i0-1 ? W[i2, i1] : V[i2, i1]
  A_3[i0:2, i1:10, i2:16]: f32 = sum(i3:32) A_2[i0, i2, i3] * A[i0, i1, i3]
  A_4[i0:10, i1:16]: f32 = A_3[0, i0, i1]
  B[i0:10, i1:16]: f32 = A_3[1, i0, i1]
}
