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
  %step: i64       = {0}
  %step_1: i64     = {0}
  %step_3: i64     = {0}
  %step_5: i64     = {0}
  %step_7: i64     = {0}
  %step_9: i64     = {0}
  %step_11: i64[1] = {1}
  %step_14: i64[1] = {0}
  %step_19: i64[1] = {1}
  %step_22: i64[1] = {0}
  %step_59: i64[1] = {1}
  %v: i8[3,8]                             = Gather(%w, %step)
  %v_2: f32                               = Gather(%s, %step_1)
  %v_4: i8                                = Gather(%z, %step_3)
  %v_6: i8[2,8]                           = Gather(%r, %step_5)
  %v_8: f32[8]                            = Gather(%c, %step_7)
  %v_10: i8[8]                            = Gather(%d, %step_9)
  %v_12: i64[3]                           = Shape(%x)
  %v_13: i64[1]                           = Gather(%v_12, %step_11)
  %v_15: i64[2]                           = Shape(%v_6)
  %v_16: i64[1]                           = Gather(%v_15, %step_14)
  %v_17: i64[2]                           = Concat(%v_13, %v_16) {axis=0}
  %v_18: f32[N,2]                         = ConstantOfShape(%v_17) {value=f32[1]{0}}
  %v_20: i64[3]                           = Shape(%x)
  %v_21: i64[1]                           = Gather(%v_20, %step_19)
  %v_23: i64[2]                           = Shape(%v_6)
  %v_24: i64[1]                           = Gather(%v_23, %step_22)
  %v_25: i64[2]                           = Concat(%v_21, %v_24) {axis=0}
  %v_26: f32[N,2]                         = ConstantOfShape(%v_25) {value=f32[1]{0}}
  %v_27: u8[T,N,3], %v_28: f32, %v_29: u8 = DynamicQuantizeLinear(%x)
  %v_30: i32[T,N,8]                       = MatMulInteger(%v_27, %v, %v_29, %v_4)
  %v_31: f32[T,N,8]                       = Cast(%v_30) {to=1}
  %v_32: f32                              = Mul(%v_28, %v_2)
  %v_33: f32[T,N,8]                       = Mul(%v_31, %v_32)
  %v_34: f32[N,2], %v_35: f32[N,2], %v_36: f32[T,N,2] = Scan(%v_18, %v_26, %v_33) {num_scan_inputs=1, scan_input_directions=[0], scan_output_directions=[0]} body(%h: f32[N,2], %c_37: f32[N,2], %g: f32[N,8]) uses %v_6, %v_10, %v_8 {
    %v_38: u8[N,2], %v_39: f32, %v_40: u8 = DynamicQuantizeLinear(%h)
    %v_41: i32[N,8]                       = MatMulInteger(%v_38, %v_6, %v_40, %v_10)
    %v_42: f32[N,8]                       = Cast(%v_41) {to=1}
    %v_43: f32[8]                         = Mul(%v_39, %v_8)
    %v_44: f32[N,8]                       = Mul(%v_42, %v_43)
    %v_45: f32[N,8]                       = Add(%g, %v_44)
    %v_46: f32[N,2], %v_47: f32[N,2], %v_48: f32[N,2], %v_49: f32[N,2] = Split(%v_45) {axis=-1, num_outputs=4}
    %v_50: f32[N,2]                       = Sigmoid(%v_46)
    %v_51: f32[N,2]                       = Sigmoid(%v_48)
    %v_52: f32[N,2]                       = Tanh(%v_49)
    %v_53: f32[N,2]                       = Mul(%v_50, %v_52)
    %v_54: f32[N,2]                       = Mul(%v_51, %c_37)
    %v_55: f32[N,2]                       = Add(%v_54, %v_53)
    %v_56: f32[N,2]                       = Sigmoid(%v_47)
    %v_57: f32[N,2]                       = Tanh(%v_55)
    %v_58: f32[N,2]                       = Mul(%v_56, %v_57)
    yield %v_58, %v_55, %v_58
  }
  %y: f32[T,1,N,2]                        = Unsqueeze(%v_36, %step_59)
}
