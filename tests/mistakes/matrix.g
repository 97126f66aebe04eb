# Matrix products, square ones too, with what follows them; normalisations.
graph matrix(%x: f32[3,32,32], %z: f32[3,32,32], %q: f32[13,48], %r: f32[13,48], %l: f32[512,256]) -> %y, %g, %n, %s, %h, %o {
  %w: f32[48,48] = weight 0
  %w2: f32[48,48] = weight 1
  %b: f32[48] = weight 2
  %e: f32[48] = weight 3
  %t = Transpose(%z) {perm=[0,2,1]}  "turn"
  %y = MatMul(%x, %t)  "square"
  %c = MatMul(%q, %w)  "linear"
  %d = Add(%c, %b)  "bias"
  %f = Add(%d, %r)  "first"
  %k = Mul(%f, %q)  "second"
  %g = Relu(%k)  "third"
  %n = LayerNormalization(%g, %e, %b) {axis=-1}  "norm"
  %s = Softmax(%y) {axis=1}  "softmax"
  %w3: f32[256,256] = weight 4
  %o = MatMul(%l, %w3)  "large"
  %h = Gemm(%n, %w2, %b) {transB=1, alpha=0.5}  "gemm"
}
