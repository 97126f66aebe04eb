# Random nodes are not folded; an initializer the caller may override is not a constant.
-- args
print --passes=FoldConstant,DeadCodeElimination
-- in
graph g(%x: f32[2]) -> %y {
  %r = RandomUniform() {shape=[2]}  "r"
  %y = Add(%x, %r)                  "y"
}
-- out
graph g(%x: f32[2]) -> %y {
  %r: f32[2] = RandomUniform() {shape=[2]}  "r"
  %y: f32[2] = Add(%x, %r)  "y"
}
