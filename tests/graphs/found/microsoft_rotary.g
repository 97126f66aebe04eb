# seed 5
# RotaryEmbedding of positions and of the first one, of heads side by side and apart.
graph g(%x: f32[2,5,64], %y: f32[2,3,5,16]) -> %a, %b, %c, %d, %e {
  %cos: f32[19,8] = weight 0
  %sin: f32[19,8] = weight 1
  %cos4: f32[19,4] = weight 0
  %sin4: f32[19,4] = weight 1
  %p1: i64[1] = {3}
  %pos: i64[2,5] = {2, 7, 3, 3, 1, 0, 1, 2, 3, 4}
  %a = com.microsoft.RotaryEmbedding(%x, %p1, %cos, %sin)
  %b = com.microsoft.RotaryEmbedding(%x, %pos, %cos, %sin) {interleaved=1}
  %c = com.microsoft.RotaryEmbedding(%y, %p1, %cos, %sin)
  %d = com.microsoft.RotaryEmbedding(%y, %pos, %cos4, %sin4) {num_heads=3, rotary_embedding_dim=8}
  %e = com.microsoft.RotaryEmbedding(%x, %pos, %cos4, %sin4) {num_heads=4, rotary_embedding_dim=8}
}
