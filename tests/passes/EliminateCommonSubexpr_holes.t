# An absent input is not the same as none: these two differ.
-- args
print --passes=EliminateCommonSubexpr
-- in
graph g(%x: f32[4], %c: f32) -> %y {
  %a = Clip(%x, _, %c)  "a"
  %b = Clip(%x, %c)     "b"
  %y = Add(%a, %b)      "y"
}
-- out
graph g(%x: f32[4], %c: f32) -> %y {
  %a: f32[4] = Clip(%x, _, %c)  "a"
  %b: f32[4] = Clip(%x, %c)  "b"
  %y: f32[4] = Add(%a, %b)  "y"
}
