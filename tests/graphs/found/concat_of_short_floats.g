# Lanes of 16 bits under a mask, chosen by selects in a loop: gcc 12 read zeros.
# seed 4000105
graph random(%x_1: f16[2,10], %x: f16[2,10], %x_3: f16[2,10]) -> %v_4 {
  %v_4  = Concat(%x_3, %x, %x_1, %x_1) {axis=0}
}
