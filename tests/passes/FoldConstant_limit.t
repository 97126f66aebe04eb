# A result above the limit stays a node.
-- args
print --passes=FoldConstant --config FoldConstant.limit=100
-- in
graph g(%x: f32[64]) -> %y {
  %s: i64[1] = {64}
  %one: f32[1] = {1}
  %e = Expand(%one, %s)  "big"
  %y = Add(%x, %e)       "y"
}
-- out
graph g(%x: f32[64]) -> %y {
  %s: i64[1]   = {64}
  %one: f32[1] = {1}
  %e: f32[64] = Expand(%one, %s)  "big"
  %y: f32[64] = Add(%x, %e)  "y"
}
