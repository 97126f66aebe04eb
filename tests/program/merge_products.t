# Products of one factor become one, the others beside each other, whatever the order of loops.
-- args
derive -q --replay 'merge_products 0 0'
-- in
expr f(X: f32[10,32], V: f32[32,16], W: f32[32,6,2], Z: f32[16,32]) -> A, B, C {
  A[m:10, n:16] = sum(k:32) X[m,k]*V[k,n]
  B[n:6, m:10, h:2] = sum(k:32) W[k,n,h]*X[m,k]
  C[m:10, n:16] = sum(k:32 where k <= m) Z[n,k]*X[m,k]
}
-- out
given:
expr f(X: f32[10,32], V: f32[32,16], W: f32[32,6,2], Z: f32[16,32]) -> A, B, C {
  A[i0:10, i1:16]: f32 = sum(i2:32) X[i0, i2] * V[i2, i1]
  B[i0:6, i1:10, i2:2]: f32 = sum(i3:32) W[i3, i0, i2] * X[i1, i3]
  C[i0:10, i1:16]: f32 = sum(i2:32 where 0 <= i0-i2) X[i0, i2] * Z[i1, i2]
}
merge_products 0 0:
expr f(X: f32[10,32], V: f32[32,16], W: f32[32,6,2], Z: f32[16,32]) -> A_3, B, C {
  A[i0:28, i1:32]: f32 = 0 <= i0-16 ? W[i1, i0/2-8, i0%2] : V[i1, i0]
  A_2[i0:10, i1:28]: f32 = sum(i2:32) X[i0, i2] * A[i1, i2]
  A_3[i0:10, i1:16]: f32 = A_2[i0, i1]
  B[i0:6, i1:10, i2:2]: f32 = A_2[i1, i0*2+i2+16]
  C[i0:10, i1:16]: f32 = sum(i2:32 where 0 <= i0-i2) X[i0, i2] * Z[i1, i2]
}
