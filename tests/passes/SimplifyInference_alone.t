# Where no producer can take the scale, a normalisation becomes a product and a sum, on a machine.
-- args
print --passes=SimplifyInference,WidenHalves --target=cpu:x86-64-v4
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
  %s: f32[2]       = {2, 4}
  %b: f32[2]       = {0, 1}
  %m: f32[2]       = {1, 1}
  %v: f32[2]       = {1, 4}
  %scale: f32[2,1] = {2, 2}
  %shift: f32[2,1] = {-2, -1}
  %r: f32[N,2,4]   = Relu(%x)  "relu"
  %v_1: f32[N,2,4] = Mul(%r, %scale)  "norm"
  %y: f32[N,2,4]   = Add(%v_1, %shift)  "norm"
}
