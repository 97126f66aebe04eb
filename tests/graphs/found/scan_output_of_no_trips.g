# A Loop that is known to run no trips has an output of no slices, with a symbol among its dims.
# seed 4000030
graph random(%x_1: f32[N,1,1,1], %x_2: f32[N,1,1,1]) -> %v_10 {
  %c_8: i64 = {0}
  %v_9, %v_10 = Loop(%c_8, _, %x_1) body(%p, %p_11, %p_12) uses %x_2 {
    yield %p_11, %x_2, %x_2
  }
}
