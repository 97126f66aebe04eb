# Products of quantised numbers: dequantised ones with a zero point in the padding, QLinear operators,
# dynamic scales.
graph quantised(%p: u8[2,16,9,10], %r: u8[24,64], %f: f32[24,64]) -> %a, %c, %d {
  %q: i8[32,16,3,3] = weight 0
  %sx: f32 = {0.5}
  %zx: u8 = {101}
  %sw: f32[32] = weight 1
  %t: f32[32] = weight 2
  %sy: f32 = {4}
  %zy: u8 = {121}
  %x = DequantizeLinear(%p, %sx, %zx)              "x"
  %w = DequantizeLinear(%q, %sw) {axis=0}          "w"
  %y = Conv(%x, %w, %t) {pads=[1,1,1,1]}           "conv"
  %a = QuantizeLinear(%y, %sy, %zy)                "a"
  %v: i8[64,48] = weight 3
  %zv: i8 = {0}
  %one: f32 = {0.01}
  %c = QLinearMatMul(%r, %sx, %zx, %v, %one, %zv, %sy, %zy)  "product"
  %h, %sh, %zh = DynamicQuantizeLinear(%f)         "dynamic"
  %n = MatMulInteger(%h, %v, %zh, %zv)             "integer"
  %o = Cast(%n) {to=1}                             "cast"
  %s = Mul(%sh, %one)                              "scale"
  %d = Mul(%o, %s)                                 "d"
}
