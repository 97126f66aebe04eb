# A node whose inputs are constants is evaluated as a kernel would.
-- args
print --passes=FoldConstant,DeadCodeElimination
-- in
graph g(%x: f32[4]) -> %y {
  %a: f32[4] = {1, 2, 3, 4}
  %b: f32    = {0.5}
  %m = Mul(%a, %b)   "m"
  %y = Add(%x, %m)   "y"
}
-- out
graph g(%x: f32[4]) -> %y {
  %m_1: f32[4] = weight 0
  %y: f32[4] = Add(%x, %m_1)  "y"
}
