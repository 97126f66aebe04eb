# Powers that cost less than pow: by products, a quotient, a root; halves only when they lose nothing.
-- args
print --ir=expr --passes=FoldNumbers --config FoldNumbers.A=3 --config FoldNumbers.B=4 --config FoldNumbers.C=-1 --config FoldNumbers.D=0.5 --config FoldNumbers.E=5
-- in
expr f(X: f32[N], H: f16[N], A: f32[], B: f32[], C: f32[], D: f32[], E: f32[]) -> Y0, Y1, Y2, Y3, Y4, Y5, Y6 {
  Y0[n:N]: f32 = pow(X[n], A[])
  Y1[n:N]: f32 = pow(X[n], B[])
  Y2[n:N]: f32 = pow(X[n], C[])
  Y3[n:N]: f32 = pow(X[n], D[])
  Y4[n:N]: f32 = pow(X[n], E[])
  Y5[n:N]: f16 = pow(H[n], f16(A[]))
  Y6[n:N]: f16 = pow(H[n], f16(2))
}
-- out
expr f(X: f32[N], H: f16[N], A: f32[], B: f32[], C: f32[], D: f32[], E: f32[]) -> Y0, Y1, Y2, Y3, Y4, Y5, Y6 {
  Y0[n:N]: f32 = X[n] * X[n] * X[n]
  Y1[n:N]: f32 = X[n] * X[n] * (X[n] * X[n])
  Y2[n:N]: f32 = 1 / X[n]
  Y3[n:N]: f32 = X[n] == -inf ? inf : sqrt(X[n]) + 0
  Y4[n:N]: f32 = pow(X[n], 5)
  Y5[n:N]: f16 = pow(H[n], 3)
  Y6[n:N]: f16 = H[n] * H[n]
}
