# A rule of LinearAttention that takes an operand which is not there.
-- args
print -O0
-- in
graph g(%q: f32[1,3,8], %k: f32[1,3,8]) -> %y {
  %y = LinearAttention(%q, %k, %k) {q_num_heads=2, kv_num_heads=2, update_rule="gated"} "attention"
}
-- err
-:2: node "attention" (LinearAttention): update_rule gated takes decay: expected one
