# Operators whose meaning is other nodes: attention and convolutions that hand a state on, and a
# convolution of elements that offsets choose.
-- args
print --passes=ExpandOperators
-- in
graph g(%q: f16[N,T,8], %k: f16[N,T,4], %v: f16[N,T,6], %d: f16[N,T,2], %b: f16[N,T,1], %x: f32[N,3,T], %m: f32[N,4,9,8], %o: f32[N,16,4,7]) -> %y, %s, %c, %p, %f {
  %w: f32[3,1,4] = weight 0
  %z: f32[3] = weight 1
  %u: f32[6,2,2,2] = weight 2
  %y, %s = LinearAttention(%q, %k, %v, _, %d, %b) {q_num_heads=4, kv_num_heads=2} "attention"
  %c, %p = CausalConvWithState(%x, %w, %z) {activation="silu"} "causal"
  %f = DeformConv(%m, %u, %o) {group=2, offset_group=2, strides=[2,1]} "deform"
}
-- out
graph g(%q: f16[N,T,8], %k: f16[N,T,4], %v: f16[N,T,6], %d: f16[N,T,2], %b: f16[N,T,1], %x: f32[N,3,T], %m: f32[N,4,9,8], %o: f32[N,16,4,7]) -> %y, %s, %c, %p, %f {
  %w: f32[3,1,4]   = weight 0
  %z: f32[3]       = weight 1
  %u: f32[6,2,2,2] = weight 2
  %step: i64[5]    = {0, 0, 2, 2, -1}
  %step_3: i64[5]  = {0, 0, 2, -1, 1}
  %step_6: i64[5]  = {0, 0, 2, 1, -1}
  %step_15: i64[5] = {0, 0, 2, -1, 1}
  %step_18: i64[5] = {0, 0, -1, 1, 1}
  %step_40: i64[3] = {0, 0, -1}
  %step_44: i64[6] = {0, 0, 3, 0, 0, 0}
  %step_48: i64[1] = {-3}
  %step_49: i64[1] = {9223372036854775807}
  %step_50: i64[1] = {2}
  %v_1: f16[N,T,2,2,2]                       = Reshape(%q, %step)  "attention"
  %v_2: f32[N,T,2,2,2]                       = Cast(%v_1) {to=1}  "attention"
  %v_4: f16[N,T,2,2,1]                       = Reshape(%k, %step_3)  "attention"
  %v_5: f32[N,T,2,2,1]                       = Cast(%v_4) {to=1}  "attention"
  %v_7: f16[N,T,2,1,3]                       = Reshape(%v, %step_6)  "attention"
  %v_8: f32[N,T,2,1,3]                       = Cast(%v_7) {to=1}  "attention"
  %v_9: i64[1]                               = Shape(%v_5) {start=0, end=1}  "attention"
  %v_10: i64[1]                              = Shape(%v_5) {start=2, end=3}  "attention"
  %v_11: i64[1]                              = Shape(%v_5) {start=3, end=4}  "attention"
  %v_12: i64[1]                              = Shape(%v_8) {start=4, end=5}  "attention"
  %v_13: i64[4]                              = Concat(%v_9, %v_10, %v_11, %v_12) {axis=0}  "attention"
  %v_14: f32[N,2,2,3]                        = ConstantOfShape(%v_13)  "attention"
  %v_16: f16[N,T,2,1,1]                      = Reshape(%d, %step_15)  "attention"
  %v_17: f32[N,T,2,1,1]                      = Cast(%v_16) {to=1}  "attention"
  %v_19: f16[N,T,1,1,1]                      = Reshape(%b, %step_18)  "attention"
  %v_20: f32[N,T,1,1,1]                      = Cast(%v_19) {to=1}  "attention"
  %v_21: f32[N,2,2,3], %v_22: f32[N,T,2,2,3] = Scan(%v_14, %v_2, %v_5, %v_8, %v_17, %v_20) {num_scan_inputs=5, scan_input_axes=[1,1,1,1,1], scan_output_axes=[1]}  "attention" body(%S: f32[N,2,2,3], %q_23: f32[N,2,2,2], %k_24: f32[N,2,2,1], %v_25: f32[N,2,1,3], %g: f32[N,2,1,1], %b_30: f32[N,1,1,1]) {
    %v_26: f32[N,2,1,1] = Exp(%g)  "attention"
    %v_27: f32[N,2,2,3] = Mul(%S, %v_26)  "attention"
    %v_28: f32[N,2,1,2] = Transpose(%k_24) {perm=[0,1,3,2]}  "attention"
    %v_29: f32[N,2,1,3] = MatMul(%v_28, %v_27)  "attention"
    %v_31: f32[N,2,1,3] = Sub(%v_25, %v_29)  "attention"
    %v_32: f32[N,2,1,3] = Mul(%b_30, %v_31)  "attention"
    %v_33: f32[N,2,2,3] = Mul(%k_24, %v_32)  "attention"
    %v_34: f32[N,2,2,3] = Add(%v_27, %v_33)  "attention"
    %v_35: f32[N,2,2,3] = MatMul(%q_23, %v_34)  "attention"
    yield %v_34, %v_35
  }
  %v_36: i64[1]                              = Shape(%v_2) {start=4, end=5}  "attention"
  %v_37: f32[1]                              = Cast(%v_36) {to=1}  "attention"
  %v_38: f32[1]                              = Sqrt(%v_37)  "attention"
  %v_39: f32[N,T,2,2,3]                      = Div(%v_22, %v_38)  "attention"
  %v_41: f32[N,T,12]                         = Reshape(%v_39, %step_40)  "attention"
  %s: f16[N,2,2,3]                           = Cast(%v_21) {to=10}  "attention"
  %y: f16[N,T,12]                            = Cast(%v_41) {to=10}  "attention"
  %v_45: f32[N,3,T+3]                        = Pad(%x, %step_44)  "causal"
  %v_46: f32[N,3,T]                          = Conv(%v_45, %w, %z) {group=3}  "causal"
  %c: f32[N,3,T]                             = Swish(%v_46)  "causal"
  %p: f32[N,3,3]                             = Slice(%v_45, %step_48, %step_49, %step_50)  "causal"
  %v_52: f32[N,4,8,14]                       = DeformSamples(%m, %o) {kernel_shape=[2,2], offset_group=2, strides=[2,1]}  "deform"
  %f: f32[N,6,4,7]                           = Conv(%v_52, %u) {group=2, strides=[2,2]}  "deform"
}
