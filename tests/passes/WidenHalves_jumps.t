# Where results jump, the model's own rounding decides: what is read there is rounded to f16, what is
# continuous is not.
-- args
print --passes=WidenHalves --target cpu:x86-64-v4
-- in
graph g(%x: f16[4,64]) -> %i, %b, %f, %m, %r {
  %w: f16[64,2] = weight 0
  %h = MatMul(%x, %w)
  %i = Cast(%h) {to=6}
  %b = Greater(%h, %h)
  %f = Floor(%h)
  %m = Mod(%h, %h) {fmod=1}
  %r = Relu(%h)
}
-- out
graph g(%x: f16[4,64]) -> %i, %b, %f, %m, %r {
  %w: f16[64,2]   = weight 0
  %w_1: f32[64,2] = weight 1
  %v: f32[4,64]  = Cast(%x) {to=1}
  %v_2: f32[4,2] = MatMul(%v, %w_1)
  %h: f16[4,2]   = Cast(%v_2) {to=10}
  %i: i32[4,2]   = Cast(%h) {to=6}
  %b: bool[4,2]  = Greater(%h, %h)
  %f: f16[4,2]   = Floor(%h)
  %m: f16[4,2]   = Mod(%h, %h) {fmod=1}
  %v_3: f32[4,2] = Relu(%v_2)
  %r: f16[4,2]   = Cast(%v_3) {to=10}
}
