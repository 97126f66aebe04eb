# f16 in f32, for a machine without units for it: converted where it comes in and goes out. A table of
# which few rows are taken stays as it is, and bf16 where there are units for that.
-- args
print --passes=WidenHalves --target cpu:x86-64-v4-dot
-- in
graph g(%i: i64[4], %x: f16[4,512], %b: bf16[8,8]) -> %y, %z {
  %t: f16[4096,512] = weight 0
  %w: f16[512,2] = weight 1
  %c: f16[2] = {1, 0.5}
  %e = Gather(%t, %i) "rows"
  %s = Add(%e, %x) "sum"
  %n = Cast(%s) {to=1} "cast"
  %h = Cast(%n) {to=10} "back"
  %p = MatMul(%h, %w) "product"
  %q = Add(%p, %c) "bias"
  %y = Relu(%q) "relu"
  %z = MatMul(%b, %b) "other"
}
-- out
graph g(%i: i64[4], %x: f16[4,512], %b: bf16[8,8]) -> %y, %z {
  %t: f16[4096,512] = weight 0
  %w: f16[512,2]    = weight 1
  %c: f16[2]        = {1, 0.5}
  %w_5: f32[512,2]  = weight 3
  %c_7: f32[2]      = {1, 0.5}
  %v_1: f32[4,512] = Cast(%x) {to=1}
  %e: f16[4,512]   = Gather(%t, %i)  "rows"
  %v: f32[4,512]   = Cast(%e) {to=1}  "rows"
  %v_2: f32[4,512] = Add(%v, %v_1)  "sum"
  %n: f32[4,512]   = Cast(%v_2) {to=1}  "cast"
  %v_4: f32[4,512] = Cast(%n) {to=1}  "back"
  %v_6: f32[4,2]   = MatMul(%v_4, %w_5)  "product"
  %v_8: f32[4,2]   = Add(%v_6, %c_7)  "bias"
  %v_9: f32[4,2]   = Relu(%v_8)  "relu"
  %y: f16[4,2]     = Cast(%v_9) {to=10}  "relu"
  %z: bf16[8,8]    = MatMul(%b, %b)  "other"
}
