# A mask of fewer keys than there are is refused: the standard's Attention hides the others.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,6,8], %m: i32[N,4]) -> %y {
  %y = com.microsoft.MultiHeadAttention(%x, %x, %x, _, %m) {num_heads=2} "m"
}
-- err
-:2: node "m" (MultiHeadAttention): lengths of a mask and of the keys: 4 and 6 differ (inputs x: f32[N,6,8], x: f32[N,6,8], x: f32[N,6,8], m: i32[N,4])
