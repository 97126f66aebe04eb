# q, k and v in one tensor are refused with a sentence.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,S,24]) -> %y {
  %y = com.microsoft.MultiHeadAttention(%x) {num_heads=2} "m"
}
-- err
-:2: node "m" (MultiHeadAttention): q, k and v in one tensor are not supported
