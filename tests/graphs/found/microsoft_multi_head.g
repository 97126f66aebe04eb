# seed 3
# Heads of ONNX Runtime's domain: other keys, past states, masks and a bias of scores, heads outside of keys.
graph g(%x: f32[N,S,8], %k: f32[N,L,8], %v: f32[N,L,8], %w: f32[N,L,4], %pk: f32[N,2,P,4], %pv: f32[N,2,P,4], %m: i32[N,L], %m3: i32[N,S,L], %p: f32[1,2,S,L], %h: f32[N,2,L,4]) -> %a, %b, %c, %ck, %cv, %d, %e, %f, %i {
  %z: f32[24] = weight 0
  %z2: f32[20] = weight 1
  %a = com.microsoft.MultiHeadAttention(%x, %k, %v, %z) {num_heads=2}
  %b = com.microsoft.MultiHeadAttention(%x, %x, %x, %z) {num_heads=2, unidirectional=1, scale=0.3}
  %c, %ck, %cv = com.microsoft.MultiHeadAttention(%x, %x, %x, _, _, _, %pk, %pv) {num_heads=2, unidirectional=1}
  %d = com.microsoft.MultiHeadAttention(%x, %k, %v, _, %m, %p) {num_heads=2}
  %e = com.microsoft.MultiHeadAttention(%x, %k, %v, _, %m3) {num_heads=2, mask_filter_value=-5}
  %f = com.microsoft.MultiHeadAttention(%x, %h, %h) {num_heads=2}
  %i = com.microsoft.MultiHeadAttention(%x, %k, %w, %z2) {num_heads=2}
}
