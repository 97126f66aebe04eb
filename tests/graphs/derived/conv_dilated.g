# A dilated convolution: its phases as a batch, a plain convolution, and back.
graph conv_dilated(%x: f32[N,3,6,6]) -> %y, %z {
  %w: f32[4,3,3,3] = weight 0
  %y = Conv(%x, %w) {dilations=[2,2], pads=[2,2,2,2]}
  %z = Expression(%x, %w) {expr="expr batch(A: f32[N,C,2*H,2*W], K: f32[F,C,3,3]) -> Y {\n  S[n:N, a:2, b:2, c:C, i:H, j:W]: f32 = A[n, c, 2*i+a, 2*j+b]\n  T[n:N, a:2, b:2, f:F, i:H, j:W]: f32 = sum(c:C, r:3, s:3 where 0 <= i+r-1, i+r-1 < H, 0 <= j+s-1, j+s-1 < W) S[n, a, b, c, i+r-1, j+s-1] * K[f, c, r, s]\n  Y[n:N, f:F, h:2*H, w:2*W]: f32 = T[n, h%2, w%2, f, h/2, w/2]\n}\n"}  "derived"
}
