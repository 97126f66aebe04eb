# seed 20261184788641
# A Loop may end before its first iteration: what it collects has the dims that the model knows, not
# those of a run before.
graph random(%x_24: i64, %x: f32[1,S,1], %x_2: f32[1,S,1]) -> %v_26 {
  _, %v_26 = Loop(%x_24, _, %x) body(%p, %p_27, %p_28) uses %x_2 {
    yield %p_27, %x_2, %p_28
  }
}
