# The same as a product of matrices, whose rows are places and whose columns are taps.
graph conv_flat(%x: f32[2,8,7,7]) -> %y, %z {
  %w: f32[6,8,3,3] = weight 0
  %y = Conv(%x, %w) {pads=[1,1,1,1]}
  %z = Expression(%x, %w) {expr="expr flat(A: f32[2,8,7,7], K: f32[6,8,3,3]) -> Y {\n  K2[j:54, c:8]: f32 = K[j%6, c, j/18, j/6%3]\n  A2[i:98, c:8]: f32 = A[i/49, c, i/7%7, i%7]\n  T[i:98, j:54]: f32 = sum(c:8) A2[i, c] * K2[j, c]\n  Y[n:2, f:6, h:7, w:7]: f32 = sum(r:3, s:3 where 0 <= h+r-1, h+r-1 < 7, 0 <= w+s-1, w+s-1 < 7) T[49*n+7*(h+r-1)+w+s-1, 18*r+6*s+f]\n}\n"}  "derived"
}
