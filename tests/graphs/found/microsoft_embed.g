# seed 4
# EmbedLayerNormalization with and without what is optional; quantised numbers of 16 bits.
graph g(%x: f32[N,6], %i: i32[2,5]) -> %a, %c, %e, %f, %j, %k, %q, %d, %r {
  %w: f32[11,8] = weight 0
  %t: f32[7,8]  = weight 1
  %u: f32[2,8]  = weight 2
  %g: f32[8]    = weight 3
  %b: f32[8]    = weight 4
  %m: i32[2,5]  = {1, 1, 1, 0, 0, 1, 1, 1, 1, 0}
  %h: f32       = {0.03125}
  %z: u16       = {30000}
  %y: i16[6]    = {1, -2, 3, -4, 5, -6}
  %v: f32[6]    = {0.5, 0.25, 1, 2, 0.125, 0.75}
  %two: i32     = {2}
  %i1 = Mod(%i, %two)
  %a, _ = com.microsoft.EmbedLayerNormalization(%i1, _, %w, %t, _, %g, %b)
  %c, %e, %f = com.microsoft.EmbedLayerNormalization(%i1, %i1, %w, %t, %u, %g, %b, %m, %i1) {epsilon=0.1}
  %j, %k = com.microsoft.EmbedLayerNormalization(%i1, %i1, %w, %t, %u, %g, %b)
  %q = com.microsoft.QuantizeLinear(%x, %h, %z)
  %d = com.microsoft.DequantizeLinear(%q, %h, %z)
  %r = com.microsoft.QuantizeLinear(%x, %v, %y) {axis=1}
}
