# An index into equal numbers is brought into its range, and stays so.
graph random(%x: i64[1]) -> %v_12 {
  %c: i64        = {2}
  %c_1: i64[1]   = {0}
  %c_4: f32[1,1] = {0.49938118}
  %c_6: i64[1]   = {0}
  %c_8: i64[1]   = {2}
  %c_10: i64     = {2}
  %v    = HammingWindow(%c)
  %v_2  = Unsqueeze(%v, %c_1)
  %v_5  = Einsum(%v_2, %c_4) {equation="ij,ij->"}
  %v_7  = Unsqueeze(%v_5, %c_6)
  %v_9  = Tile(%v_7, %c_8)
  %v_11 = Mod(%x, %c_10)
  %v_12 = GatherElements(%v_9, %v_11)
}
