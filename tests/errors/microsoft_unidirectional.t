# A single query would see all keys, others would not.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,1,8], %k: f32[N,2,8]) -> %y {
  %y = com.microsoft.MultiHeadAttention(%x, %k, %k) {num_heads=2, unidirectional=1} "m"
}
-- err
-:2: node "m" (MultiHeadAttention): lengths of unidirectional q and k: 1 and 2 differ (inputs x: f32[N,1,8], k: f32[N,2,8], k: f32[N,2,8])
