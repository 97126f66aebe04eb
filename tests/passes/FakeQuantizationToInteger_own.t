# Without a library, dot products of our own sum bytes of matrices; of a convolution they do not.
-- args
print --passes=FakeQuantizationToInteger --no-vendor --target cpu:x86-64-v4-dot
-- in
graph g(%p: u8[8,64], %q: u8[1,4,8,8]) -> %y, %c {
  %s: f32 = {0.5}
  %w: i8[64,16] = weight 0
  %k: i8[16,4,3,3] = weight 1
  %x = DequantizeLinear(%p, %s)
  %d = DequantizeLinear(%w, %s)
  %y = MatMul(%x, %d) "product"
  %u = DequantizeLinear(%q, %s)
  %e = DequantizeLinear(%k, %s)
  %c = Conv(%u, %e) {pads=[1,1,1,1]} "convolution"
}
-- out
graph g(%p: u8[8,64], %q: u8[1,4,8,8]) -> %y, %c {
  %s: f32          = {0.5}
  %w: i8[64,16]    = weight 0
  %k: i8[16,4,3,3] = weight 1
  %dims: i64[0]    = {}
  %x: f32[8,64]     = DequantizeLinear(%p, %s)
  %d: f32[64,16]    = DequantizeLinear(%w, %s)
  %v: i32[8,16]     = MatMulInteger(%p, %w)  "product"
  %v_1: f32[8,16]   = Cast(%v) {to=1}  "product"
  %v_2: f32         = Mul(%s, %s)  "product"
  %v_3: f32         = Reshape(%v_2, %dims)  "product"
  %y: f32[8,16]     = Mul(%v_1, %v_3)  "product"
  %u: f32[1,4,8,8]  = DequantizeLinear(%q, %s)
  %e: f32[16,4,3,3] = DequantizeLinear(%k, %s)
  %c: f32[1,16,8,8] = Conv(%u, %e) {pads=[1,1,1,1]}  "convolution"
}
