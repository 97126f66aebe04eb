# A product with few tiles, and a sum of 3072 terms for each: Roller's parts, one more loop of both factors.
-- args
print --ir=expr --passes=SplitReduction --target cuda:h100
-- in
expr f(X: f32[128,3072], W: f32[3072,768], B: f32[768]) -> Y {
  S[m:128, n:768]: f32 = sum(k:3072) X[m,k] * W[k,n]
  Y[m:128, n:768]: f32 = max(S[m,n] + B[n], 0)
}
-- out
expr f(X: f32[128,3072], W: f32[3072,768], B: f32[768]) -> Y {
  S[k:8, m:128, n:768]: f32 = sum(k_2:384) X[m, k*384+k_2] * W[k*384+k_2, n]
  S_2[m:128, n:768]: f32 = sum(k:8) S[k, m, n]
  Y[m:128, n:768]: f32 = max(S_2[m, n] + B[n], 0)
}
