# So is one of the older operator.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,6,8], %w: f32[8,24], %m: i32[N,4]) -> %y {
  %y = com.microsoft.Attention(%x, %w, _, %m) {num_heads=2} "m"
}
-- err
-:2: node "m" (Attention): lengths of a mask and of the keys: 4 and 6 differ (inputs x: f32[N,6,8], w: f32[8,24], m: i32[N,4])
