# What nobody reads goes, from the end backwards, with its constants.
-- args
print --passes=DeadCodeElimination
-- in
graph g(%x: f32[4]) -> %y {
  %w: f32[4] = weight 0
  %v: f32[4] = weight 1
  %a = Add(%x, %w)  "a"
  %b = Mul(%a, %v)  "b"
  %c = Exp(%b)      "c"
  %y = Add(%a, %x)  "y"
}
-- out
graph g(%x: f32[4]) -> %y {
  %w: f32[4] = weight 0
  %a: f32[4] = Add(%x, %w)  "a"
  %y: f32[4] = Add(%a, %x)  "y"
}
