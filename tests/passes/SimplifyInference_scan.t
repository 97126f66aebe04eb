# A recurrence is no scale, whatever its body looks like.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[8]) -> %y {
  %axis: i64 = {0}
  %r = Relu(%x)           "relu"
  %y = CumSum(%r, %axis)  "sum"
}
-- out
graph g(%x: f32[8]) -> %y {
  %axis: i64 = {0}
  %r: f32[8] = Relu(%x)  "relu"
  %y: f32[8] = CumSum(%r, %axis)  "sum"
}
