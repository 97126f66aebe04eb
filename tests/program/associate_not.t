# The first product is read twice.
-- args
derive -q --replay 'associate 1 0 0'
-- in
expr f(X: f32[10,32], V: f32[32,64], W: f32[64,5]) -> Y, Z {
  T[m:10, k:64] = sum(j:32) X[m,j]*V[j,k]
  Y[m:10, f:5] = sum(k:64) T[m,k]*W[k,f]
  Z[m:10] = max(k:64) T[m,k]
}
-- err
--replay: 'associate 1 0 0' does not apply there: no product that nothing else reads makes the factor
