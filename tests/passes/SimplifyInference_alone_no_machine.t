# optimize leaves it: other runtimes have a kernel for it, and would run two.
-- args
print --passes=SimplifyInference
-- in
graph g(%x: f32[N,2,4]) -> %y {
  %s: f32[2] = {2, 4}
  %b: f32[2] = {0, 1}
  %m: f32[2] = {1, 1}
  %v: f32[2] = {1, 4}
  %r = Relu(%x)  "relu"
  %y = BatchNormalization(%r, %s, %b, %m, %v) {epsilon=0.0}  "norm"
}
-- out
graph g(%x: f32[N,2,4]) -> %y {
  %s: f32[2] = {2, 4}
  %b: f32[2] = {0, 1}
  %m: f32[2] = {1, 1}
  %v: f32[2] = {1, 4}
  %r: f32[N,2,4] = Relu(%x)  "relu"
  %y: f32[N,2,4] = BatchNormalization(%r, %s, %b, %m, %v) {epsilon=0}  "norm"
}
