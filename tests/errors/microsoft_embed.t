# Segments belong together with their table.
-- args
compile -O2 -q
-- in
graph g(%i: i32[N,4]) -> %y {
  %w: f32[9,8] = weight 0
  %b: f32[8] = weight 1
  %y, _ = com.microsoft.EmbedLayerNormalization(%i, %i, %w, %w, _, %b, %b) "m"
}
-- err
-:4: node "m" (EmbedLayerNormalization): segment_ids without segment_embedding, or the other way round
