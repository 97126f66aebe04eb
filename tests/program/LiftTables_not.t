# No table: what every loop counts for, arithmetic on integers, what costs as little as a load, what
# reads, and what would be read less than 16 times.
-- args
print --ir=expr --passes=LiftTables
-- in
expr f(X: f32[C,64,128], S: f32[128]) -> A, B, D, E, F {
  A[c:C,h:64,p:128]: f32 = X[c, h, p] * exp(f32(c * 8192 + h * 128 + p))
  B[c:C,h:64,p:128]: f32 = X[c, h, at((p * 7 + 3) / 5 * 3 % 11, 0..128)]
  D[c:C,h:64,p:128]: f32 = X[c, h, p] * f32(p)
  E[c:C,h:64,p:128]: f32 = X[c, h, p] * exp(S[p])
  F[p:128,q:8]: f32 = exp(f32(p)) * S[p]
}
-- out
expr f(X: f32[C,64,128], S: f32[128]) -> A, B, D, E, F {
  A[c:C, h:64, p:128]: f32 = X[c, h, p] * exp(f32(c*8192+h*128+p))
  B[c:C, h:64, p:128]: f32 = X[c, h, at((p*7+3)/5*3%11, 0..128)]
  D[c:C, h:64, p:128]: f32 = X[c, h, p] * f32(p)
  E[c:C, h:64, p:128]: f32 = X[c, h, p] * exp(S[p])
  F[p:128, q:8]: f32 = exp(f32(p)) * S[p]
}
