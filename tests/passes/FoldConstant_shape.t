# Dims that inference knows become constants, and the nodes that computed them go.
-- args
print --passes=FoldConstant,DeadCodeElimination
-- in
graph g(%x: f32[2,3,4]) -> %y {
  %i: i64[1] = {1}
  %m: i64[1] = {-1}
  %s = Shape(%x)                       "shape"
  %d = Gather(%s, %i) {axis=0}         "dim"
  %t = Concat(%d, %m) {axis=0}         "target"
  %y = Reshape(%x, %t)                 "reshape"
}
-- out
graph g(%x: f32[2,3,4]) -> %y {
  %t_3: i64[2] = {3, -1}
  %y: f32[3,8] = Reshape(%x, %t_3)  "reshape"
}
