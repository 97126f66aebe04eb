# Neither: other terms, and a product of the product.
-- args
derive -q --replay 'merge_products 0 0'
-- in
expr f(X: f32[32,32], V: f32[32,16], W: f32[31,16]) -> A, B, C {
  A[m:32, n:16] = sum(k:32) X[m,k]*V[k,n]
  B[m:32, n:16] = sum(k:31) X[m,k]*W[k,n]
  C[m:32, n:16] = sum(k:32) X[m,k]*A[k,n]
}
-- err
--replay: 'merge_products 0 0' does not apply there: no other product goes with it
