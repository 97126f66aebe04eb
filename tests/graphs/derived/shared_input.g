# Two products with one input as one, by weights side by side.
graph shared_input(%x: f32[N,8]) -> %y, %y2, %z, %z2 {
  %v: f32[8,3] = weight 0
  %w: f32[8,4] = weight 1
  %y = MatMul(%x, %v)
  %y2 = MatMul(%x, %w)
  %z, %z2 = Expression(%x, %v, %w) {expr="expr both(X: f32[N,K], V: f32[K,3], W: f32[K,4]) -> Y, Y2 {\n  U[k:K, m:7]: f32 = m < 3 ? V[k, m] : W[k, m-3]\n  T[n:N, m:7]: f32 = sum(k:K) X[n, k] * U[k, m]\n  Y[n:N, m:3]: f32 = T[n, m]\n  Y2[n:N, m:4]: f32 = T[n, m+3]\n}\n"}  "derived"
}
