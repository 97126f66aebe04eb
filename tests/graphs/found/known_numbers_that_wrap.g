# Numbers known before running were followed beyond what their types hold.
graph random() -> %v_1, %v_2, %v_4 {
  %c: u64[2,3]  = {4, 6, 6, 0, 5, 8}
  %c_1: u64     = {7}
  %c_2: i64[2]  = {0, 1}
  %c_3: u8[2,2] = {255, 128, 0, 125}
  %v   = Sub(%c, %c_1)
  %v_1 = ReduceMin(%v, %c_2)
  %v_2 = LessOrEqual(%v_1, %c_1)
  %v_4 = ReduceMean(%c_3, %c_2)
}
