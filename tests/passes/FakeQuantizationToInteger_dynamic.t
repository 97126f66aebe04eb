# A convolution of numbers quantised by their range. That they are has two nodes, the range and the
# numbers, which lie as the convolution wants them. Weights of u8 whose zero point leaves them outside of
# i8 keep a part of it: that times the sum of the numbers is taken off.
-- args
print --passes=SplitDynamicQuantize,FakeQuantizationToInteger,DeadCodeElimination --no-vendor --target cpu:x86-64-v4-dot
-- in
graph g(%a: f32[8,8]) -> %y {
  %w: u8[8,2] = {0, 200, 30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 255}
  %wz: u8 = {3}
  %ws: f32 = {0.5}
  %x, %s, %z = DynamicQuantizeLinear(%a) "range"
  %p = MatMulInteger(%x, %w, %z, %wz) "product"
  %c = Cast(%p) {to=1} "cast"
  %t = Mul(%s, %ws) "scale"
  %y = Mul(%c, %t) "scaled"
}
-- out
graph g(%a: f32[8,8]) -> %y {
  %ws: f32         = {0.5}
  %w_4: i8[8,2]    = {-128, 72, -98, -127, -126, -125, -124, -123, -122, -121, -120, -119, -118, -117, -116, 127}
  %dims: i64[1]    = {0}
  %step: i32       = {-1000}
  %dims_8: i64[0]  = {}
  %dims_10: i64[1] = {-1}
  %step_15: i32    = {125}
  %dims_17: i64[1] = {1}
  _, %s: f32, %z: u8 = DynamicQuantizeLinear(%a)  "range"
  %x: u8[8,8]        = QuantizeLinear(%a, %s, %z)  "range"
  %v: i32[8,2]       = Cast(%w_4) {to=6}  "product"
  %v_5: i32[2]       = ReduceSum(%v, %dims) {keepdims=0}  "product"
  %v_6: i32[2]       = Sub(%step, %v_5)  "product"
  %v_7: i32          = Cast(%z) {to=6}  "product"
  %v_9: i32          = Reshape(%v_7, %dims_8)  "product"
  %v_11: i32[2]      = Reshape(%v_6, %dims_10)  "product"
  %v_12: i32[2]      = Mul(%v_11, %v_9)  "product"
  %v_13: i32[8,2]    = MatMulInteger(%x, %w_4)  "product"
  %v_14: i32[8,2]    = Add(%v_13, %v_12)  "product"
  %v_16: i32[8,8]    = Cast(%x) {to=6}  "product"
  %v_18: i32[8,1]    = ReduceSum(%v_16, %dims_17) {keepdims=1}  "product"
  %v_19: i32[8,1]    = Mul(%v_18, %step_15)  "product"
  %v_20: i32[8,2]    = Add(%v_14, %v_19)  "product"
  %c: f32[8,2]       = Cast(%v_20) {to=1}  "product"
  %t: f32            = Mul(%s, %ws)  "scale"
  %y: f32[8,2]       = Mul(%c, %t)  "scaled"
}
