# seed 2
# What ONNX Runtime's optimiser joins: with and without what is optional, and what is skipped lacks a batch.
graph g(%x: f32[N,S,8], %s: f32[N,S,8], %r: f32[S,8], %q: f32[1,S,8]) -> %a, %b, %c, %d, %e, %f, %h, %i, %j, %j4, %k, %l, %m, %n, %n4 {
  %w: f32[8]    = weight 0
  %v: f32[8]    = weight 1
  %t: f32[3,8]  = weight 2
  %a = com.microsoft.FastGelu(%x, %w)
  %b = com.microsoft.FastGelu(%x)
  %c = com.microsoft.QuickGelu(%x)
  %d = com.microsoft.QuickGelu(%x) {alpha=0.5}
  %e = com.microsoft.BiasGelu(%x, %w)
  %f = com.microsoft.Gelu(%x)
  %h = SimplifiedLayerNormalization(%x, %w)
  %i = SimplifiedLayerNormalization(%t, %t) {axis=0, epsilon=0.1}
  %j, _, _, %j4 = com.microsoft.SkipLayerNormalization(%x, %s, %w, %v, %v)
  %k = com.microsoft.SkipLayerNormalization(%x, %r, %w, %v) {epsilon=0.01}
  %l = com.microsoft.SkipLayerNormalization(%x, %q, %w, _, %v)
  %m = com.microsoft.SkipLayerNormalization(%r, %r, %w)
  %n, _, _, %n4 = com.microsoft.SkipSimplifiedLayerNormalization(%x, %s, %w, %v)
}
