# seed 99000297
# A plan that never was a text: its copy had dim 0 as extent, in a body that has no dims.
graph random(%x: i64[1]) -> %v_5 {
  %v_5 = Scan(%x) {num_scan_inputs=1} body(%p) {
    yield %p
  }
}
