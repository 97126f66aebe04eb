# What is skipped may lack the batch, and no other dim may be 1.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,6,8], %s: f32[1,1,8], %w: f32[8]) -> %y {
  %y = com.microsoft.SkipLayerNormalization(%x, %s, %w) "m"
}
-- err
-:2: node "m" (SkipLayerNormalization): dims of the input and what is skipped: 6 and 1 differ (inputs x: f32[N,6,8], s: f32[1,1,8], w: f32[8])
