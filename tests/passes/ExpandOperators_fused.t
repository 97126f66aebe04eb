# What ONNX Runtime's optimiser joins, and its MultiHeadAttention.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,S,8], %k: f32[N,L,8], %h: f32[N,2,L,4], %p: f32[N,2,P,4], %m: i32[N,L]) -> %a, %b, %q, %l, %s, %o, %r, %c, %d, %e {
  %w: f32[8] = weight 0
  %z: f32[24] = weight 1
  %a = com.microsoft.FastGelu(%x) "fast"
  %b = com.microsoft.BiasGelu(%x, %w) "bias"
  %q = com.microsoft.QuickGelu(%x) "quick"
  %l = SimplifiedLayerNormalization(%x, %w) {epsilon=0.1} "simplified"
  %s, _, _, %o = com.microsoft.SkipLayerNormalization(%x, %x, %w, _, %w) "skip"
  %r = com.microsoft.SkipSimplifiedLayerNormalization(%x, %x, %w) "skip, simplified"
  %c, %d = com.microsoft.MultiHeadAttention(%x, %x, %x, %z, _, _, %p, %p) {num_heads=2, unidirectional=1} "past"
  %e = com.microsoft.MultiHeadAttention(%x, %h, %h, _, %m) {num_heads=2, scale=0.5} "heads outside"
}
-- out
graph g(%x: f32[N,S,8], %k: f32[N,L,8], %h: f32[N,2,L,4], %p: f32[N,2,P,4], %m: i32[N,L]) -> %a, %b, %q, %l, %s, %o, %r, %c, %d, %e {
  %w: f32[8]       = weight 0
  %z: f32[24]      = weight 1
  %step: i64[3]    = {8, 8, 8}
  %step_17: i64[3] = {0, 0, -1}
  %step_20: i64[3] = {0, 0, -1}
  %step_23: i32    = {0}
  %step_25: f32    = {0}
  %step_26: f32    = {-1e+04}
  %step_28: i64[1] = {1}
  %step_30: i64[1] = {1}
  %a: f32[N,S,8]                             = Gelu(%x) {approximate="tanh"}  "fast"
  %v: f32[N,S,8]                             = Add(%x, %w)  "bias"
  %b: f32[N,S,8]                             = Gelu(%v)  "bias"
  %q: f32[N,S,8]                             = Swish(%x) {alpha=1.702}  "quick"
  %l: f32[N,S,8]                             = RMSNormalization(%x, %w) {epsilon=0.1}  "simplified"
  %v_4: f32[N,S,8]                           = Add(%x, %x)  "skip"
  %o: f32[N,S,8]                             = Add(%v_4, %w)  "skip"
  %s: f32[N,S,8]                             = LayerNormalization(%o, %w) {epsilon=1e-12}  "skip"
  %v_7: f32[N,S,8]                           = Add(%x, %x)  "skip, simplified"
  %r: f32[N,S,8]                             = RMSNormalization(%v_7, %w) {epsilon=1e-12}  "skip, simplified"
  %v_9: f32[8], %v_10: f32[8], %v_11: f32[8] = Split(%z, %step) {axis=0}  "past"
  %v_12: f32[N,S,8]                          = Add(%x, %v_9)  "past"
  %v_13: f32[N,S,8]                          = Add(%x, %v_10)  "past"
  %v_14: f32[N,S,8]                          = Add(%x, %v_11)  "past"
  %c: f32[N,S,8], %d: f32[N,2,P+S,4]         = Attention(%v_12, %v_13, %v_14, _, %p, %p) {q_num_heads=2, kv_num_heads=2, is_causal=1}  "past"
  %v_18: f32[N,L,2,4]                        = Transpose(%h) {perm=[0,2,1,3]}  "heads outside"
  %v_19: f32[N,L,8]                          = Reshape(%v_18, %step_17)  "heads outside"
  %v_21: f32[N,L,2,4]                        = Transpose(%h) {perm=[0,2,1,3]}  "heads outside"
  %v_22: f32[N,L,8]                          = Reshape(%v_21, %step_20)  "heads outside"
  %v_24: bool[N,L]                           = Greater(%m, %step_23)  "heads outside"
  %v_27: f32[N,L]                            = Where(%v_24, %step_25, %step_26)  "heads outside"
  %v_29: f32[N,1,L]                          = Unsqueeze(%v_27, %step_28)  "heads outside"
  %v_31: f32[N,1,1,L]                        = Unsqueeze(%v_29, %step_30)  "heads outside"
  %e: f32[N,S,8]                             = Attention(%x, %v_19, %v_22, %v_31) {q_num_heads=2, kv_num_heads=2, is_causal=0, scale=0.5}  "heads outside"
}
