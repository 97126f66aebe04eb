# Heads that are no groups.
-- args
compile -O2 -q
-- in
graph g(%x: f32[B,S,64], %k: f32[B,S,32], %last: i32[B], %total: i32) -> %y {
  %y = com.microsoft.GroupQueryAttention(%x, %k, %k, _, _, %last, %total) {num_heads=4, kv_num_heads=3} "m"
}
-- err
-:2: node "m" (GroupQueryAttention): 4 heads are no groups for 3 heads of keys
