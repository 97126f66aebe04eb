# Scales that make no number of their type stay apart: 1e-45 has one bit left (a), 1e50 is none (b), and of
# 1e-40 the quotient is not made, though the product is (c).
-- args
print --passes=FakeQuantizationToInteger,FoldConstant,DeadCodeElimination --target cpu:x86-64-v4-dot --no-vendor
-- in
graph g(%p: u8[8,64], %q: u8[8,64], %r: u8[8,64]) -> %a, %b, %c {
  %small: f32 = {1e-20}
  %smaller: f32 = {1e-25}
  %large: f32 = {1e25}
  %few: f32 = {1e-15}
  %many: f32 = {1e10}
  %w: i8[64,16] = weight 0
  %x1 = DequantizeLinear(%p, %small)
  %d1 = DequantizeLinear(%w, %smaller)
  %a = MatMul(%x1, %d1) "small"
  %x2 = DequantizeLinear(%q, %large)
  %d2 = DequantizeLinear(%w, %large)
  %b = MatMul(%x2, %d2) "large"
  %x3 = DequantizeLinear(%r, %few)
  %d3 = DequantizeLinear(%w, %few)
  %y3 = MatMul(%x3, %d3) "both"
  %c = QuantizeLinear(%y3, %many)
}
-- out
graph g(%p: u8[8,64], %q: u8[8,64], %r: u8[8,64]) -> %a, %b, %c {
  %small: f32       = {1e-20}
  %large: f32       = {1e+25}
  %many: f32        = {1e+10}
  %w: i8[64,16]     = weight 3
  %d1_5: f32[64,16] = weight 4
  %d2_6: f32[64,16] = weight 5
  %v_3_8: f32       = {1e-30}
  %x1: f32[8,64]  = DequantizeLinear(%p, %small)
  %a: f32[8,16]   = MatMul(%x1, %d1_5)  "small"
  %x2: f32[8,64]  = DequantizeLinear(%q, %large)
  %b: f32[8,16]   = MatMul(%x2, %d2_6)  "large"
  %v: i32[8,16]   = MatMulInteger(%r, %w)  "both"
  %v_1: f32[8,16] = Cast(%v) {to=1}  "both"
  %y3: f32[8,16]  = Mul(%v_1, %v_3_8)  "both"
  %c: u8[8,16]    = QuantizeLinear(%y3, %many)
}
