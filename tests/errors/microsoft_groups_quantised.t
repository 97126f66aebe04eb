# Past states of bytes are refused with a sentence.
-- args
compile -O2 -q
-- in
graph g(%x: f32[B,S,64], %k: f32[B,S,32], %last: i32[B], %total: i32, %s: f32[1]) -> %y {
  %y = com.microsoft.GroupQueryAttention(%x, %k, %k, _, _, %last, %total, _, _, _, _, _, %s, %s) {num_heads=4, kv_num_heads=2} "m"
}
-- err
-:2: node "m" (GroupQueryAttention): quantised past states are not supported
