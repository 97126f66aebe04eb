# An activation that no activation is.
-- args
compile -O2 -q
-- in
graph g(%x: f32[N,8]) -> %y {
  %w: f32[8,4] = weight 0
  %y = com.microsoft.FusedGemm(%x, %w) {activation="Abs"} "m"
}
-- err
-:3: node "m" (FusedGemm): activation Abs is not supported
