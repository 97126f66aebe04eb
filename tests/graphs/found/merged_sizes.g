# seed 2033007213
# Two equal results of a size that data decides become one, and what reads the second has its dims.
graph random(%x: f64[1]) -> %v_11 {
  %c_4: i64[1,1] = {0}
  %c_5: i64[1,1] = {-3}
  %c_10: i32     = {-1}
  %v    = NonZero(%x)
  %v_2  = ReduceMin(%v)
  %v_3  = NonZero(%x)
  %v_6  = ScatterElements(%v_3, %c_4, %c_5)
  %v_9  = BitShift(%v_2, %v_6) {direction="RIGHT"}
  %v_11 = Gather(%v_9, %c_10)
}
