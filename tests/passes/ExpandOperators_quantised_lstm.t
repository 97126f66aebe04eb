# The input of a quantised LSTM is quantised by the range of all steps, a state by its own in each.
-- args
print --passes=ExpandOperators,InferShapes
-- in
graph g(%x: f32[T,N,3]) -> %y {
  %w: i8[1,3,8] = weight 0
  %r: i8[1,2,8] = weight 1
  %s: f32[1] = weight 2
  %c: f32[1,8] = weight 3
  %z: i8[1] = weight 4
  %d: i8[1,8] = weight 5
  %y = com.microsoft.DynamicQuantizeLSTM(%x, %w, %r, _, _, _, _, _, %s, %z, %c, %d)
}
-- out
graph g(%x: f32[T,N,3]) -> %y {
  %w: i8[1,3,8]    = weight 0
  %r: i8[1,2,8]    = {0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0}
  %s: f32[1]       = {0.49938118}
  %c: f32[1,8]     = weight 3
  %z: i8[1]        = {1}
  %d: i8[1,8]      = {1, 0, 0, 1, 0, 0, 0, 1}
  %w_1: i8[3,8]    = weight 6
  %s_2: f32        = {0.49938118}
  %z_3: i8         = {1}
  %r_4: i8[2,8]    = {0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0}
  %c_5: f32[8]     = weight 10
  %d_6: i8[8]      = {1, 0, 0, 1, 0, 0, 0, 1}
  %step: i64[1]    = {1}
  %step_8: i64[1]  = {0}
  %step_13: i64[1] = {1}
  %step_16: i64[1] = {0}
  %step_53: i64[1] = {1}
  %v: i64[3]                              = Shape(%x)
  %v_7: i64[1]                            = Gather(%v, %step)
  %v_9: i64[2]                            = Shape(%r_4)
  %v_10: i64[1]                           = Gather(%v_9, %step_8)
  %v_11: i64[2]                           = Concat(%v_7, %v_10) {axis=0}
  %v_12: f32[N,2]                         = ConstantOfShape(%v_11) {value=f32[1]{0}}
  %v_14: i64[3]                           = Shape(%x)
  %v_15: i64[1]                           = Gather(%v_14, %step_13)
  %v_17: i64[2]                           = Shape(%r_4)
  %v_18: i64[1]                           = Gather(%v_17, %step_16)
  %v_19: i64[2]                           = Concat(%v_15, %v_18) {axis=0}
  %v_20: f32[N,2]                         = ConstantOfShape(%v_19) {value=f32[1]{0}}
  %v_21: u8[T,N,3], %v_22: f32, %v_23: u8 = DynamicQuantizeLinear(%x)
  %v_24: i32[T,N,8]                       = MatMulInteger(%v_21, %w_1, %v_23, %z_3)
  %v_25: f32[T,N,8]                       = Cast(%v_24) {to=1}
  %v_26: f32                              = Mul(%v_22, %s_2)
  %v_27: f32[T,N,8]                       = Mul(%v_25, %v_26)
  %v_28: f32[N,2], %v_29: f32[N,2], %v_30: f32[T,N,2] = Scan(%v_12, %v_20, %v_27) {num_scan_inputs=1, scan_input_directions=[0], scan_output_directions=[0]} body(%h: f32[N,2], %c_31: f32[N,2], %g: f32[N,8]) uses %r_4, %d_6, %c_5 {
    %v_32: u8[N,2], %v_33: f32, %v_34: u8 = DynamicQuantizeLinear(%h)
    %v_35: i32[N,8]                       = MatMulInteger(%v_32, %r_4, %v_34, %d_6)
    %v_36: f32[N,8]                       = Cast(%v_35) {to=1}
    %v_37: f32[8]                         = Mul(%v_33, %c_5)
    %v_38: f32[N,8]                       = Mul(%v_36, %v_37)
    %v_39: f32[N,8]                       = Add(%g, %v_38)
    %v_40: f32[N,2], %v_41: f32[N,2], %v_42: f32[N,2], %v_43: f32[N,2] = Split(%v_39) {axis=-1, num_outputs=4}
    %v_44: f32[N,2]                       = Sigmoid(%v_40)
    %v_45: f32[N,2]                       = Sigmoid(%v_42)
    %v_46: f32[N,2]                       = Tanh(%v_43)
    %v_47: f32[N,2]                       = Mul(%v_44, %v_46)
    %v_48: f32[N,2]                       = Mul(%v_45, %c_31)
    %v_49: f32[N,2]                       = Add(%v_48, %v_47)
    %v_50: f32[N,2]                       = Sigmoid(%v_41)
    %v_51: f32[N,2]                       = Tanh(%v_49)
    %v_52: f32[N,2]                       = Mul(%v_50, %v_51)
    yield %v_52, %v_49, %v_52
  }
  %y: f32[T,1,N,2]                        = Unsqueeze(%v_30, %step_53)
}
