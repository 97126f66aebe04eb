# i8 with its lowest number as zero point becomes u8 with 0, u8 with 128 i8; not weights, not what is seen.
-- args
print --passes=ShiftZeroPoints
-- in
graph g(%x: f32[4]) -> %a, %b, %c, %s {
  %w: f32[4] = {1, 2, 3, 4}
  %sx: f32 = {0.5}
  %low: i8 = {-128}
  %mid: u8 = {128}
  %other: i8 = {-127}
  %qa = QuantizeLinear(%x, %sx, %low)
  %a = DequantizeLinear(%qa, %sx, %low)
  %qb = QuantizeLinear(%x, %sx, %mid)
  %b = DequantizeLinear(%qb, %sx, %mid)
  %qw = QuantizeLinear(%w, %sx, %low)
  %dw = DequantizeLinear(%qw, %sx, %low)
  %qo = QuantizeLinear(%x, %sx, %other)
  %do = DequantizeLinear(%qo, %sx, %other)
  %c = Add(%dw, %do)
  %s = QuantizeLinear(%x, %sx, %low)
}
-- out
graph g(%x: f32[4]) -> %a, %b, %c, %s {
  %w: f32[4]  = weight 0
  %sx: f32    = {0.5}
  %low: i8    = {-128}
  %mid: u8    = {128}
  %other: i8  = {-127}
  %zero: u8   = {0}
  %zero_1: u8 = {0}
  %zero_2: i8 = {0}
  %zero_3: i8 = {0}
  %qa: u8[4]  = QuantizeLinear(%x, %sx, %zero)
  %a: f32[4]  = DequantizeLinear(%qa, %sx, %zero_1)
  %qb: i8[4]  = QuantizeLinear(%x, %sx, %zero_2)
  %b: f32[4]  = DequantizeLinear(%qb, %sx, %zero_3)
  %qw: i8[4]  = QuantizeLinear(%w, %sx, %low)
  %dw: f32[4] = DequantizeLinear(%qw, %sx, %low)
  %qo: i8[4]  = QuantizeLinear(%x, %sx, %other)
  %do: f32[4] = DequantizeLinear(%qo, %sx, %other)
  %c: f32[4]  = Add(%dw, %do)
  %s: i8[4]   = QuantizeLinear(%x, %sx, %low)
}
