# A past state is refused with a sentence: the operator's inputs are not those of the standard's.
-- args
compile -O2 -q
-- in
graph g(%x: f32[1,2,8], %p: f32[2,1,2,3,4]) -> %y, %z {
  %w: f32[8,24] = weight 0
  %y, %z = com.microsoft.Attention(%x, %w, _, _, %p) {num_heads=2} "a"
}
-- err
-:3: node "a" (Attention): past and present states are not supported
