# A convolution with a stride as a product of what each place sees.
graph conv_im2col(%x: f32[N,3,9,9]) -> %y, %z {
  %w: f32[4,3,3,3] = weight 0
  %y = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]}
  %z = Expression(%x, %w) {expr="expr im2col(X: f32[N,3,9,9], W: f32[4,3,3,3]) -> Y {\n  M[n:N, p:25, j:27]: f32 = X[n, j/9, 2*(p/5)+j/3%3-1, 2*(p%5)+j%3-1] else 0\n  V[f:4, j:27]: f32 = W[f, j/9, j/3%3, j%3]\n  T[n:N, p:25, f:4]: f32 = sum(j:27) M[n, p, j] * V[f, j]\n  Y[n:N, f:4, h:5, w:5]: f32 = T[n, 5*h+w, f]\n}\n"}  "derived"
}
