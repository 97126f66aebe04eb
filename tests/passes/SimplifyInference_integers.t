# Behind a sum of integers the shift stands before the scale, in its units; behind another sum after it.
-- args
print --passes=SimplifyInference
-- in
graph g(%x: u8[3,2], %z: f32[3,2]) -> %y, %u {
  %w: i8[2,2] = {1, 2, 3, 4}
  %a: f32[2] = {3, 5}
  %s: f32[2] = {0.5, 0.25}
  %b: f32[2] = {1, 1}
  %i = MatMulInteger(%x, %w)
  %f = Cast(%i) {to=1}
  %c = Add(%f, %a)
  %d = Mul(%c, %s)
  %y = Add(%d, %b)
  %t = Add(%z, %a)
  %v = Mul(%t, %s)
  %u = Add(%v, %b)
}
-- out
graph g(%x: u8[3,2], %z: f32[3,2]) -> %y, %u {
  %w: i8[2,2]      = {1, 2, 3, 4}
  %a: f32[2]       = {3, 5}
  %s: f32[2]       = {0.5, 0.25}
  %b: f32[2]       = {1, 1}
  %shift: f32[2]   = {5, 9}
  %scale: f32[2]   = {0.5, 0.25}
  %scale_3: f32[2] = {0.5, 0.25}
  %shift_5: f32[2] = {2.5, 2.25}
  %i: i32[3,2]   = MatMulInteger(%x, %w)
  %f: f32[3,2]   = Cast(%i) {to=1}
  %v_1: f32[3,2] = Add(%f, %shift)
  %y: f32[3,2]   = Mul(%v_1, %scale)
  %v_4: f32[3,2] = Mul(%z, %scale_3)
  %u: f32[3,2]   = Add(%v_4, %shift_5)
}
