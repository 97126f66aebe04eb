# What is never negative has the zero point 0, and its range is the largest number.
-- args
print --passes=SplitDynamicQuantize
-- in
graph g(%x: f32[1,8,N,N], %a: f32[4]) -> %q, %s, %z, %r, %t, %u {
  %low: f32 = {0}
  %high: f32 = {6}
  %c = Clip(%x, %low, %high) "clip"
  %p = AveragePool(%c) {kernel_shape=[2,2]} "pool"
  %q, %s, %z = DynamicQuantizeLinear(%p) "quantise"
  %n = Neg(%a) "negative"
  %r, %t, %u = DynamicQuantizeLinear(%n) "any"
}
-- out
graph g(%x: f32[1,8,N,N], %a: f32[4]) -> %q, %s, %z, %r, %t, %u {
  %low: f32       = {0}
  %high: f32      = {6}
  %step: f32      = {0}
  %step_1: f32    = {1}
  %step_2: i64[1] = {1}
  %step_7: f32    = {255}
  %z: u8          = {0}
  %c: f32[1,8,N,N]     = Clip(%x, %low, %high)  "clip"
  %p: f32[1,8,N-1,N-1] = AveragePool(%c) {kernel_shape=[2,2]}  "pool"
  %v: f32[1,N-1,N-1]   = ReduceMax(%p, %step_2) {keepdims=0}  "quantise"
  %v_3: f32            = ReduceMax(%v) {keepdims=0}  "quantise"
  %v_4: f32            = Max(%v_3, %step)  "quantise"
  %v_5: bool           = Equal(%v_4, %step)  "quantise"
  %v_6: f32            = Where(%v_5, %step_1, %v_4)  "quantise"
  %s: f32              = Div(%v_6, %step_7)  "quantise"
  %q: u8[1,8,N-1,N-1]  = QuantizeLinear(%p, %s, %z)  "quantise"
  %n: f32[4]           = Neg(%a)  "negative"
  _, %t: f32, %u: u8   = DynamicQuantizeLinear(%n)  "any"
  %r: u8[4]            = QuantizeLinear(%n, %t, %u)  "any"
}
