graph g(%x: f32[2,3,5], %b: f32[6]) -> %y, %z {
  %w: f32[3,4] = weight 0
  %r = Relu(%x)
  %e, %m = Expression(%r, %w, %b) {expr="expr f(A: f32[N,C,H], W: f32[C,D], B: f32[K]) -> Y, M {\n  t[n:N, h:H, d:D]: f32 = sum(c:C) A[n, c, h]*W[c, d]\n  Y[n:N, d:D, h:H+1]: f32 = (t[n, h, d] else 0) + (t[n, h-1, d] else 0)\n  M[k:K]: f32 = B[K-1-k]\n}\n"}  "e"
  %y = Sigmoid(%e)
  %z = Neg(%m)
}
