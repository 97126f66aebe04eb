# A transposed convolution: a product, and of each phase of the stride the taps that meet it.
graph conv_transpose(%x: f32[N,5,3,3]) -> %y, %z {
  %w: f32[5,4,4,4] = weight 0
  %y = ConvTranspose(%x, %w) {pads=[1,1,1,1], strides=[2,2]}
  %z = Expression(%x, %w) {expr="expr phases(A: f32[N,C,H,W], K: f32[C,F,4,4]) -> Y {\n  T[n:N, h:H, w:W, r:4, s:4, f:F]: f32 = sum(c:C) A[n, c, h, w] * K[c, f, r, s]\n  Y[n:N, f:F, h:2*H, w:2*W]: f32 = sum(q:2, u:2 where 0 <= (h+1)/2-q, (h+1)/2-q < H, 0 <= (w+1)/2-u, (w+1)/2-u < W) T[n, (h+1)/2-q, (w+1)/2-u, (h+1)%2+2*q, (w+1)%2+2*u, f]\n}\n"}  "derived"
}
