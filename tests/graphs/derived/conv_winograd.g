# A convolution by Winograd's transforms of tiles of 2 by 2, and a bias with an activation.
graph conv_winograd(%x: f32[N,3,8,8]) -> %y, %z {
  %w: f32[4,3,3,3] = weight 0
  %b: f32[4] = weight 1
  %bt: f32[4,4] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1}
  %g: f32[4,3] = {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1}
  %at: f32[2,4] = {1, 1, 1, 0, 0, 1, -1, -1}
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]}
  %y = Relu(%c)
  %z = Expression(%x, %w, %b, %bt, %g, %at) {expr="expr winograd(X: f32[N,3,8,8], W: f32[4,3,3,3], B: f32[4], P: f32[4,4], G: f32[4,3], Q: f32[2,4]) -> Y {\n  D[n:N, c:3, a:4, b:4, i:4, j:4]: f32 = X[n, c, 2*a+i-1, 2*b+j-1] else 0\n  V1[n:N, c:3, a:4, b:4, i:4, j:4]: f32 = sum(k:4) P[i, k] * D[n, c, a, b, k, j]\n  V[n:N, c:3, a:4, b:4, i:4, j:4]: f32 = sum(k:4) P[j, k] * V1[n, c, a, b, i, k]\n  U1[f:4, c:3, i:4, s:3]: f32 = sum(r:3) G[i, r] * W[f, c, r, s]\n  U[f:4, c:3, i:4, j:4]: f32 = sum(s:3) G[j, s] * U1[f, c, i, s]\n  M[n:N, f:4, a:4, b:4, i:4, j:4]: f32 = sum(c:3) U[f, c, i, j] * V[n, c, a, b, i, j]\n  R1[n:N, f:4, a:4, b:4, p:2, j:4]: f32 = sum(i:4) Q[p, i] * M[n, f, a, b, i, j]\n  R[n:N, f:4, a:4, b:4, p:2, q:2]: f32 = sum(j:4) Q[q, j] * R1[n, f, a, b, p, j]\n  Y[n:N, f:4, h:8, w:8]: f32 = max(R[n, f, h/2, w/2, h%2, w%2] + B[f], 0)\n}\n"}  "derived"
}
