# seed 4
# A convolution whose sum is done in parts, each a kernel, and whose result lies in blocks of channels:
# what its last kernel reads of the first does not.
graph g(%x: f32[1,32,175], %a: i8[1,16,175], %b: f32) -> %y {
  %w: f32[16,32,4] = weight 6
  %v = Conv(%x, %w) {pads=[1,2]}
  %c = Cast(%a) {to=1}
  %d = Mul(%c, %b)
  %y = Add(%d, %v)
}
