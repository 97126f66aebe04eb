# A table of few bits that has no rows.
graph g(%i: i64[0]) -> %y {
  %t: u8[0,8] = weight 0
  %s: f32[0,1] = weight 1
  %y = com.microsoft.GatherBlockQuantized(%t, %i, %s) {quantize_axis=1, block_size=16} "table"
}
