# A convolution as a product over all positions and a sum of it at offsets.
graph conv_offsets(%x: f32[N,8,7,7]) -> %y, %z {
  %w: f32[6,8,3,3] = weight 0
  %y = Conv(%x, %w) {pads=[1,1,1,1]}
  %z = Expression(%x, %w) {expr="expr offsets(A: f32[N,C,H,W], K: f32[F,C,3,3]) -> Y {\n  T[n:N, h:H, w:W, r:3, s:3, f:F]: f32 = sum(c:C) A[n, c, h, w] * K[f, c, r, s]\n  Y[n:N, f:F, h:H, w:W]: f32 = sum(r:3, s:3 where 0 <= h+r-1, h+r-1 < H, 0 <= w+s-1, w+s-1 < W) T[n, h+r-1, w+s-1, r, s, f]\n}\n"}  "derived"
}
