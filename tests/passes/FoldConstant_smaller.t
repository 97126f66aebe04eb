# No larger than what it replaces: no limit holds.
-- args
print --passes=FoldConstant,DeadCodeElimination --config FoldConstant.limit=100
-- in
graph g(%x: f32[64]) -> %y {
  %w: f32[64] = weight 0
  %n = Neg(%w)      "other"
  %y = Add(%x, %n)  "y"
}
-- out
graph g(%x: f32[64]) -> %y {
  %n_1: f32[64] = weight 0
  %y: f32[64] = Add(%x, %n_1)  "y"
}
