# Offsets of other windows than the weight's.
-- args
print -O0
-- in
graph g(%x: f32[1,4,5,5], %w: f32[2,4,3,3], %o: f32[1,8,3,3]) -> %y {
  %y = DeformConv(%x, %w, %o) "deform"
}
-- err
-:2: node "deform" (DeformConv): dim 1 of offset: 8 and 18 differ (inputs x: f32[1,4,5,5], w: f32[2,4,3,3], o: f32[1,8,3,3])
