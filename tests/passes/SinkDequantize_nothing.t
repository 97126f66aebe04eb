# A node without inputs reads nothing, and nothing is looked up in its place.
-- args
print --passes=SinkDequantize
-- in
graph g() -> %y {
  %y = RandomUniform() {shape=[2]}  "random"
}
-- out
graph g() -> %y {
  %y: f32[2] = RandomUniform() {shape=[2]}  "random"
}
