# An operator that says itself what it computes: its symbols are read off the dims of the inputs.
-- args
print --passes=InferShapes --meaning
-- in
graph g(%x: f32[N,3,2*H+4], %b: f32[M], %h: f32[H]) -> %y, %z {
  %w: f32[3,4] = weight 0
  %y, %z = Expression(%x, %w, %b) {expr="expr f(A: f32[N,C,2*L], W: f32[C,D], B: f32[K]) -> Y, M {\n  t[n:N, h:2*L, d:D]: f32 = sum(c:C) A[n, c, h]*W[c, d]\n  Y[n:N, d:D, h:L]: f32 = t[n, 2*h, d] + t[n, 2*h+1, d]\n  M[k:K]: f32 = B[K-1-k]\n}\n"}  "e"
}
-- out
# e (Expression)
expr Expression(x0: f32[N,3,H*2+4], x1: f32[3,4], x2: f32[M]) -> Y, M {
  t[n:N, h:H*2+4, d:4]: f32 = sum(c:3) x0[n, c, h] * x1[c, d]
  Y[n:N, d:4, h:H+2]: f32 = t[n, 2*h, d] + t[n, 2*h+1, d]
  M[k:M]: f32 = x2[M-1-k]
}
