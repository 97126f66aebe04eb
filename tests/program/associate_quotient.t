# What divides still divides: 1e-40 has no reciprocal.
-- args
derive -q --replay 'associate 1 0 0'
-- in
expr f(X: f32[10,32], V: f32[32,64], W: f32[64,5]) -> Y {
  T[m:10, k:64] = sum(j:32) X[m,j]*V[j,k]
  Y[m:10, f:5] = sum(k:64) T[m,k]/1e-40 * W[k,f]
}
-- out
given:
expr f(X: f32[10,32], V: f32[32,64], W: f32[64,5]) -> Y {
  T[i0:10, i1:64]: f32 = sum(i2:32) X[i0, i2] * V[i2, i1]
  Y[i0:10, i1:5]: f32 = sum(i2:64) T[i0, i2] / 1e-40 * W[i2, i1]
}
associate 1 0 0:
expr f(X: f32[10,32], V: f32[32,64], W: f32[64,5]) -> Y_3 {
  Y[i0:5, i1:32]: f32 = sum(i2:64) V[i1, i2] * W[i2, i0]
  Y_2[i0:10, i1:5]: f32 = sum(i2:32) X[i0, i2] * Y[i1, i2]
  Y_3[i0:10, i1:5]: f32 = Y_2[i0, i1] / 1e-40
}
