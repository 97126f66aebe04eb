# A recurrence of two states in lockstep, backwards.
-- args
print --ir=expr
-- in
expr cell(X: f32[T,N], H0: f32[N]) -> H {
  scan reverse t:T, (h: f32[N] = H from H0, c: f32[N] = C from 0) {
    C[t:T, n:N]: f32 = c[n] * X[t, n] + h[n]
    H[t:T, n:N]: f32 = tanh(C[t, n])
  }
}
-- out
expr cell(X: f32[T,N], H0: f32[N]) -> H {
  scan reverse t:T, (h: f32[N] = H from H0, c: f32[N] = C from 0) {
    C[t:T, n:N]: f32 = c[n] * X[t, n] + h[n]
    H[t:T, n:N]: f32 = tanh(C[t, n])
  }
}
