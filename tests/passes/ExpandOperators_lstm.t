# A recurrent cell becomes a scan over the gates that the inputs give; the rest of its weights is
# read in each step.
-- args
print --passes=ExpandOperators,InferShapes
-- in
graph g(%x: f32[T,N,3]) -> %y, %h {
  %w: f32[1,8,3] = weight 0
  %r: f32[1,8,2] = weight 1
  %b: f32[1,16] = weight 2
  %y, %h = LSTM(%x, %w, %r, %b) {direction="reverse", hidden_size=2}
}
-- out
graph g(%x: f32[T,N,3]) -> %y, %h {
  %w: f32[1,8,3]   = weight 0
  %r: f32[1,8,2]   = weight 1
  %b: f32[1,16]    = weight 2
  %step: i64       = {0}
  %step_2: i64     = {0}
  %step_5: i64     = {0}
  %step_9: i64[1]  = {1}
  %step_12: i64[1] = {0}
  %step_17: i64[1] = {1}
  %step_20: i64[1] = {0}
  %step_47: i64[1] = {1}
  %step_49: i64[1] = {0}
  %v: f32[8,3]               = Gather(%w, %step)
  %v_1: f32[3,8]             = Transpose(%v) {perm=[1,0]}
  %v_3: f32[8,2]             = Gather(%r, %step_2)
  %v_4: f32[2,8]             = Transpose(%v_3) {perm=[1,0]}
  %v_6: f32[16]              = Gather(%b, %step_5)
  %v_7: f32[8], %v_8: f32[8] = Split(%v_6) {axis=-1, num_outputs=2}
  %v_10: i64[3]              = Shape(%x)
  %v_11: i64[1]              = Gather(%v_10, %step_9)
  %v_13: i64[2]              = Shape(%v_4)
  %v_14: i64[1]              = Gather(%v_13, %step_12)
  %v_15: i64[2]              = Concat(%v_11, %v_14) {axis=0}
  %v_16: f32[N,2]            = ConstantOfShape(%v_15) {value=f32[1]{0}}
  %v_18: i64[3]              = Shape(%x)
  %v_19: i64[1]              = Gather(%v_18, %step_17)
  %v_21: i64[2]              = Shape(%v_4)
  %v_22: i64[1]              = Gather(%v_21, %step_20)
  %v_23: i64[2]              = Concat(%v_19, %v_22) {axis=0}
  %v_24: f32[N,2]            = ConstantOfShape(%v_23) {value=f32[1]{0}}
  %v_25: f32[T,N,8]          = MatMul(%x, %v_1)
  %v_26: f32[T,N,8]          = Add(%v_25, %v_7)
  %v_27: f32[N,2], %v_28: f32[N,2], %v_29: f32[T,N,2] = Scan(%v_16, %v_24, %v_26) {num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1]} body(%h_30: f32[N,2], %c: f32[N,2], %g: f32[N,8]) uses %v_4, %v_8 {
    %v_31: f32[N,8] = MatMul(%h_30, %v_4)
    %v_32: f32[N,8] = Add(%v_31, %v_8)
    %v_33: f32[N,8] = Add(%g, %v_32)
    %v_34: f32[N,2], %v_35: f32[N,2], %v_36: f32[N,2], %v_37: f32[N,2] = Split(%v_33) {axis=-1, num_outputs=4}
    %v_38: f32[N,2] = Sigmoid(%v_34)
    %v_39: f32[N,2] = Sigmoid(%v_36)
    %v_40: f32[N,2] = Tanh(%v_37)
    %v_41: f32[N,2] = Mul(%v_38, %v_40)
    %v_42: f32[N,2] = Mul(%v_39, %c)
    %v_43: f32[N,2] = Add(%v_42, %v_41)
    %v_44: f32[N,2] = Sigmoid(%v_35)
    %v_45: f32[N,2] = Tanh(%v_43)
    %v_46: f32[N,2] = Mul(%v_44, %v_45)
    yield %v_46, %v_43, %v_46
  }
  %y: f32[T,1,N,2]           = Unsqueeze(%v_29, %step_47)
  %h: f32[1,N,2]             = Unsqueeze(%v_27, %step_49)
}
