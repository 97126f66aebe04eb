# Two scales stay between the products: as one they were 0.
-- args
derive -q --replay 'associate 1 0 0'
-- in
expr f(X: f32[10,32], V: f32[32,64], W: f32[64,5]) -> Y {
  T[m:10, k:64] = sum(j:32) X[m,j]*V[j,k]
  Y[m:10, f:5] = sum(k:64) T[m,k]/1e30/1e30 * W[k,f]
}
-- err
--replay: 'associate 1 0 0' does not apply there: no product that nothing else reads makes the factor
