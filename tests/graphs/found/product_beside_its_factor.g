# seed 20261185783574
# A factor of a product is read at its results, too: a tile reads more of it than a panel.
graph random(%x_2: f32[S,2], %x_3: f32[S,S]) -> %v_7 {
  %v_3 = MatMul(%x_3, %x_2)
  %v_7 = GreaterOrEqual(%v_3, %x_2)
}
