# A kernel of 5 by 5 as four of 3 by 3, whose results are added at offsets.
graph conv_5x5(%x: f32[N,3,8,8]) -> %y, %z {
  %w: f32[4,3,5,5] = weight 0
  %y = Conv(%x, %w) {pads=[2,2,2,2]}
  %z = Expression(%x, %w) {expr="expr quarters(A: f32[N,3,8,8], K: f32[4,3,5,5]) -> Y {\n  K2[g:16, c:3, i:3, j:3]: f32 = K[g/4, c, 3*(g/2%2)+i, 3*(g%2)+j] else 0\n  T[n:N, g:16, t:10, u:10]: f32 = sum(c:3, i:3, j:3 where 0 <= t+i-2, t+i-2 < 8, 0 <= u+j-2, u+j-2 < 8) A[n, c, t+i-2, u+j-2] * K2[g, c, i, j]\n  Y[n:N, f:4, h:8, w:8]: f32 = sum(a:2, b:2 where h+3*a < 10, w+3*b < 10) T[n, 4*f+2*a+b, h+3*a, w+3*b]\n}\n"}  "derived"
}
