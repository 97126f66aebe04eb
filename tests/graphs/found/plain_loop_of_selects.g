# seed 2026006860
# A plain loop of selects: gcc 12 made vectors of it that the target does not have.
graph random(%x: i16[0], %x_4: f32[1,1,5,3], %x_5: f32[1,1,3,3], %x_6: f32[1,1,3,3], %x_7: bool[1,1,5,3], %x_18: f32[5,9,2], %x_23: bool[5,9,2]) -> %v_3, %v_10, %v_11, %v_14, %v_17, %v_20, %x {
  %c: i16    = {3}
  %c_2: i64  = {-2}
  %c_19: i64 = {1}
  %v                    = Greater(%x, %c)
  %v_1                  = Cast(%v) {to=7}
  %v_3                  = Mul(%v_1, %c_2)
  %v_8, _, %v_10, %v_11 = Attention(%x_4, %x_5, %x_6, %x_7) {scale=0.5, softcap=2, qk_matmul_output_mode=3}
  %v_12                 = Swish(%v_11)
  %v_13                 = Concat(%v_11, %v_12) {axis=2}
  %v_14                 = HardSigmoid(%v_13) {alpha=1.25}
  _, _, %v_17           = DynamicQuantizeLinear(%v_8)
  %v_20                 = DFT(%x_18, _, %c_19)
  %v_21                 = Sin(%v_20)
  %v_22                 = IsInf(%v_21) {detect_negative=1}
  %v_24                 = Concat(%v_22, %v_22, %x_23) {axis=1}
}
