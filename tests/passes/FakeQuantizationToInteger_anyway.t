# What is a sum of integers anyway loses its zero points on every machine.
-- args
print --passes=FakeQuantizationToInteger,FoldConstant,DeadCodeElimination --no-vendor --target cpu:x86-64-v3
-- in
graph g(%x: u8[1,2,4,4], %z: u8) -> %y {
  %w: i8[1,2,2,2] = {1, 2, 3, 4, 5, 6, 7, -8}
  %y = ConvInteger(%x, %w, %z) {pads=[1,1,1,1]} "convolution"
}
-- out
graph g(%x: u8[1,2,4,4], %z: u8) -> %y {
  %w: i8[1,2,2,2] = {1, 2, 3, 4, 5, 6, 7, -8}
  %dims: i64[0]   = {}
  %dims_1: i64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  %dims_8: i64[0] = {}
  %v_11_18: i32   = {-20}
  %v: u8              = Reshape(%z, %dims)  "convolution"
  %v_2: u8[1,2,6,6]   = Pad(%x, %dims_1, %v)  "convolution"
  %v_7: i32           = Cast(%z) {to=6}  "convolution"
  %v_9: i32           = Reshape(%v_7, %dims_8)  "convolution"
  %v_12: i32          = Mul(%v_11_18, %v_9)  "convolution"
  %v_13: i32[1,1,5,5] = ConvInteger(%v_2, %w)  "convolution"
  %y: i32[1,1,5,5]    = Add(%v_13, %v_12)  "convolution"
}
