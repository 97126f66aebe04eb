# Random nodes are never merged.
-- args
print --passes=EliminateCommonSubexpr
-- in
graph g(%x: f32[2]) -> %y {
  %a = RandomUniform() {shape=[2]}  "a"
  %b = RandomUniform() {shape=[2]}  "b"
  %c = Sub(%a, %b)                  "c"
  %y = Add(%x, %c)                  "y"
}
-- out
graph g(%x: f32[2]) -> %y {
  %a: f32[2] = RandomUniform() {shape=[2]}  "a"
  %b: f32[2] = RandomUniform() {shape=[2]}  "b"
  %c: f32[2] = Sub(%a, %b)  "c"
  %y: f32[2] = Add(%x, %c)  "y"
}
