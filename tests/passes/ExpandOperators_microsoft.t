# Attention of ONNX Runtime's domain beside the standard's, with masks of numbers and of lengths.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,S,8], %m: i32[N,S], %l: i32[N]) -> %y, %z {
  %w: f32[8,24] = weight 0
  %b: f32[24] = weight 1
  %a = com.microsoft.Attention(%x, %w, %b, %m) {num_heads=2} "a"
  %y = Attention(%a, %a, %a) {q_num_heads=2, kv_num_heads=2} "y"
  %z = com.microsoft.Attention(%x, %w, _, %l) {num_heads=2, unidirectional=1, qkv_hidden_sizes=[6,6,12], scale=0.5} "z"
}
-- out
graph g(%x: f32[N,S,8], %m: i32[N,S], %l: i32[N]) -> %y, %z {
  %w: f32[8,24]    = weight 0
  %b: f32[24]      = weight 1
  %step: i64[3]    = {8, 8, 8}
  %step_5: i32     = {0}
  %step_7: f32     = {0}
  %step_8: f32     = {-1e+04}
  %step_10: i64[1] = {1}
  %step_12: i64[1] = {1}
  %step_16: i64[3] = {6, 6, 12}
  %step_21: i64    = {0}
  %step_23: i64    = {0}
  %step_24: i64    = {1}
  %step_27: i64[1] = {1}
  %step_30: f32    = {0}
  %step_31: f32    = {-1e+04}
  %step_33: i64[1] = {1}
  %step_35: i64[1] = {1}
  %v: f32[N,S,24]     = MatMul(%x, %w)  "a"
  %v_1: f32[N,S,24]   = Add(%v, %b)  "a"
  %v_2: f32[N,S,8], %v_3: f32[N,S,8], %v_4: f32[N,S,8] = Split(%v_1, %step) {axis=2}  "a"
  %v_6: bool[N,S]     = Greater(%m, %step_5)  "a"
  %v_9: f32[N,S]      = Where(%v_6, %step_7, %step_8)  "a"
  %v_11: f32[N,1,S]   = Unsqueeze(%v_9, %step_10)  "a"
  %v_13: f32[N,1,1,S] = Unsqueeze(%v_11, %step_12)  "a"
  %a: f32[N,S,8]      = Attention(%v_2, %v_3, %v_4, %v_13) {q_num_heads=2, kv_num_heads=2, is_causal=0}  "a"
  %y: f32[N,S,8]      = Attention(%a, %a, %a) {q_num_heads=2, kv_num_heads=2}  "y"
  %v_15: f32[N,S,24]  = MatMul(%x, %w)  "z"
  %v_17: f32[N,S,6], %v_18: f32[N,S,6], %v_19: f32[N,S,12] = Split(%v_15, %step_16) {axis=2}  "z"
  %v_20: i64[1]       = Shape(%x) {start=1, end=2}  "z"
  %v_22: i64          = Gather(%v_20, %step_21)  "z"
  %v_25: i64[S]       = Range(%step_23, %v_22, %step_24)  "z"
  %v_26: i64[N]       = Cast(%l) {to=7}  "z"
  %v_28: i64[N,1]     = Unsqueeze(%v_26, %step_27)  "z"
  %v_29: bool[N,S]    = Less(%v_25, %v_28)  "z"
  %v_32: f32[N,S]     = Where(%v_29, %step_30, %step_31)  "z"
  %v_34: f32[N,1,S]   = Unsqueeze(%v_32, %step_33)  "z"
  %v_36: f32[N,1,1,S] = Unsqueeze(%v_34, %step_35)  "z"
  %z: f32[N,S,12]     = Attention(%v_17, %v_18, %v_19, %v_36) {q_num_heads=2, kv_num_heads=2, is_causal=1, scale=0.5}  "z"
}
