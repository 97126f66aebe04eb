# A range of floats whose bounds are not whole: its length is a symbol that the dims decide.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,4]) -> %y {
  %half: f32 = {0.5}
  %one: f32 = {1}
  %first: i64 = {0}
  %s = Shape(%x)
  %n = Gather(%s, %first)
  %f = Cast(%n) {to=1}
  %y = Range(%half, %f, %one)
}
-- out
graph g(%x: f32[N,4]) -> %y {
  symbol R1 = i64(max(ceil((f64(f32(N)) - 0.5) / 1), 0))
  %half: f32  = {0.5}
  %one: f32   = {1}
  %first: i64 = {0}
  %s: i64[2]  = Shape(%x)
  %n: i64     = Gather(%s, %first)
  %f: f32     = Cast(%n) {to=1}
  %y: f32[R1] = Range(%half, %f, %one)
}
