# With AVX2 alone they are no faster than those of f32.
-- args
print --passes=FakeQuantizationToInteger --no-vendor --target cpu:x86-64-v3
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
  %x: f32[8,64]     = DequantizeLinear(%p, %s)
  %d: f32[64,16]    = DequantizeLinear(%w, %s)
  %y: f32[8,16]     = MatMul(%x, %d)  "product"
  %u: f32[1,4,8,8]  = DequantizeLinear(%q, %s)
  %e: f32[16,4,3,3] = DequantizeLinear(%k, %s)
  %c: f32[1,16,8,8] = Conv(%u, %e) {pads=[1,1,1,1]}  "convolution"
}
