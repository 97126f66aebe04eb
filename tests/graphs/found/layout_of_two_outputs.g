# seed 1
# A result in blocks that is two outputs: each plain copy took the other's name.
graph random(%x: f32[8,1,2]) -> %y, %y {
  %w: f32[8,1,1] = weight 2
  %y = Conv(%x, %w)
}
