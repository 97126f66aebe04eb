# Every form a stage can have, as people write it and as it is printed.
-- args
print --ir=expr
-- in
expr forms(X: f32[N,H], W: f16[3], I: i64[K], X0: f32[N], H0: f32[H]) -> Y, V, A, P, G, C, S, B {
  Y[n:N, p:(H-1)/2+1]: f16 = sum f32 (r:3 where 0 <= 2*p+r-1, 2*p+r-1 < H) X[n,2*p+r-1] * f32(W[r])
  (V: f32, A: i64)[n:N] = argmax first (h:H) X[n,h] with h
  P[n:N, i:H+2]: f32 = X[n,i-1] else 0
  G[i:K, h:H]: f32 = X[at(I[i], 0..N, wrap, check), h]
  C[n:N, h:H]: f32 = scan n from H0: prev + X[n,h]
  S = scatter X0, (i:K) in order: [at(I[i], 0..N)] add= 1
  Z[n:N, h:1..H]: f32 = X[n,h-1] - X[n,h]
  B[n:N]: f32 = sum(h:1..H) Z[n,h]
}
-- out
expr forms(X: f32[N,H], W: f16[3], I: i64[K], X0: f32[N], H0: f32[H]) -> Y, V, A, P, G, C, S, B {
  Y[n:N, p:(H+1)/2]: f16 = sum f32 (r:3 where 0 <= 2*p+r-1, 2*p+r-1 < H) X[n, 2*p+r-1] * f32(W[r])
  (V: f32, A: i64)[n:N] = argmax first (h:H) X[n, h] with h
  P[n:N, i:H+2]: f32 = X[n, i-1] else 0
  G[i:K, h:H]: f32 = X[at(I[i], 0..N, wrap, check), h]
  C[n:N, h:H]: f32 = scan n from H0: prev + X[n, h]
  S = scatter X0, (i:K) in order: [at(I[i], 0..N)] add= 1
  Z[n:N, h:1..H]: f32 = X[n, h-1] - X[n, h]
  B[n:N]: f32 = sum(h:1..H) Z[n, h]
}
