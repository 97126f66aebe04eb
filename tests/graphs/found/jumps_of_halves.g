# seed 3
# What jumps reads numbers as f16 rounds them, though the sums before are f32.
graph g(%x: f16[40,64]) -> %i, %b, %f, %r, %s, %m, %a, %q, %t {
  %w: f16[64,16] = weight 0
  %p: f16[16] = weight 1
  %o: f16 = {0.5}
  %z: u8 = {128}
  %k: i64[1] = {3}
  %h = MatMul(%x, %w)
  %i = Cast(%h) {to=6}
  %b = Greater(%h, %p)
  %f = Floor(%h)
  %r = Round(%h)
  %s = Sign(%h)
  %m = Mod(%h, %p) {fmod=1}
  %a = ArgMax(%h) {axis=1}
  %q = QuantizeLinear(%h, %o, %z)
  %v, %t = TopK(%h, %k)
}
