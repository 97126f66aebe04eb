# The length of a range of floats is a number, or made of dims where all its bounds are whole.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,4], %z: f32[M,4]) -> %a, %b, %r, %y {
  symbol N in 1..64
  %zero: f32 = {0}
  %half: f32 = {0.5}
  %two: f32 = {2}
  %end: f32   = {1.75}
  %back: f32 = {-1}
  %first: i64 = {0}
  %s = Shape(%x)
  %n = Gather(%s, %first)
  %f = Cast(%n) {to=1}
  %t = Shape(%z)
  %m = Gather(%t, %first)
  %g = Cast(%m) {to=1}
  %a = Range(%zero, %end, %half)
  %b = Range(%zero, %end, %back)
  %r = Range(%two, %f, %two)
  %y = Range(%zero, %g, %two)
}
-- out
graph g(%x: f32[N,4], %z: f32[M,4]) -> %a, %b, %r, %y {
  symbol N in 1..64
  symbol R2 = i64(floor(f32(M) * 1))
  %zero: f32  = {0}
  %half: f32  = {0.5}
  %two: f32   = {2}
  %end: f32   = {1.75}
  %back: f32  = {-1}
  %first: i64 = {0}
  %s: i64[2]         = Shape(%x)
  %n: i64            = Gather(%s, %first)
  %f: f32            = Cast(%n) {to=1}
  %t: i64[2]         = Shape(%z)
  %m: i64            = Gather(%t, %first)
  %g: f32            = Cast(%m) {to=1}
  %a: f32[4]         = Range(%zero, %end, %half)
  %b: f32[0]         = Range(%zero, %end, %back)
  %r: f32[(N+1)/2-1] = Range(%two, %f, %two)
  %y: f32[(R2+1)/2]  = Range(%zero, %g, %two)
}
