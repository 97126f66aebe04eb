# Groups of heads with a past, as exporters of language models write them, and rotary embedding.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[B,S,128], %p: f32[B,2,P,16], %last: i32[B], %total: i32, %t: i64[B,S]) -> %y, %k, %v, %r {
  %cos: f32[64,8] = weight 0
  %sin: f32[64,8] = weight 1
  %y, %k, %v = com.microsoft.GroupQueryAttention(%x, _, _, %p, %p, %last, %total) {num_heads=4, kv_num_heads=2} "attention"
  %r = com.microsoft.RotaryEmbedding(%x, %t, %cos, %sin) "turned"
}
-- out
graph g(%x: f32[B,S,128], %p: f32[B,2,P,16], %last: i32[B], %total: i32, %t: i64[B,S]) -> %y, %k, %v, %r {
  symbol E3 = %total[0]
  symbol E4 in -2147483647..2147483647 = %v_25[0]
  %cos: f32[64,8]  = weight 0
  %sin: f32[64,8]  = weight 1
  %step: i64[3]    = {64, 32, 32}
  %step_4: i64     = {1}
  %step_7: i64     = {1}
  %step_8: i64     = {0}
  %step_9: i64[2]  = {-1, 1}
  %step_15: i64    = {0}
  %step_16: i64    = {1}
  %step_19: i64[0] = {}
  %step_22: i64    = {2}
  %step_26: i64    = {0}
  %step_27: i64    = {1}
  %step_29: i64[4] = {0, 0, -1, 16}
  %step_32: i64[4] = {0, 0, -1, 16}
  %step_37: i64    = {1}
  %step_40: i64    = {1}
  %step_43: i64    = {2}
  %step_50: i64[1] = {2}
  %step_54: i64[4] = {0, 0, -1, 16}
  %step_59: i64    = {1}
  %step_62: i64    = {1}
  %step_65: i64    = {2}
  %step_72: i64[1] = {2}
  %step_76: i64[1] = {2}
  %step_78: i64[1] = {2}
  %step_83: i64[1] = {1}
  %step_87: i64[3] = {0, 0, -1}
  %v_1: f32[B,S,64], %v_2: f32[B,S,32], %v_3: f32[B,S,32] = Split(%x, %step) {axis=2}  "attention"
  %v_5: i64[3]                  = Shape(%x)  "attention"
  %v_6: i64                     = Gather(%v_5, %step_4)  "attention"
  %v_10: i64[B]                 = Cast(%last) {to=7}  "attention"
  %v_11: i64[B,1]               = Reshape(%v_10, %step_9)  "attention"
  %v_12: i64[B,1]               = Add(%v_11, %step_7)  "attention"
  %v_13: i64[B,1]               = Sub(%v_12, %v_6)  "attention"
  %v_14: i64[B,1]               = Max(%v_13, %step_8)  "attention"
  %v_17: i64[S]                 = Range(%step_15, %v_6, %step_16)  "attention"
  %v_18: i64[B,S]               = Add(%v_14, %v_17)  "attention"
  %v_20: i64                    = Cast(%total) {to=7}  "attention"
  %v_21: i64                    = Reshape(%v_20, %step_19)  "attention"
  %v_23: i64[4]                 = Shape(%p)  "attention"
  %v_24: i64                    = Gather(%v_23, %step_22)  "attention"
  %v_25: i64                    = Max(%v_24, %v_21)  "attention"
  %v_28: i64[max(E4, 0)]        = Range(%step_26, %v_25, %step_27)  "attention"
  %v_30: f32[B,S,4,16]          = Reshape(%v_1, %step_29)  "attention"
  %v_31: f32[B,4,S,16]          = Transpose(%v_30) {perm=[0,2,1,3]}  "attention"
  %v_33: f32[B,S,2,16]          = Reshape(%v_2, %step_32)  "attention"
  %v_34: f32[B,2,S,16]          = Transpose(%v_33) {perm=[0,2,1,3]}  "attention"
  %v_35: f32[B,2,P+S,16]        = Concat(%p, %v_34) {axis=2}  "attention"
  %v_36: f32[B,P+S,2,16]        = Transpose(%v_35) {perm=[0,2,1,3]}  "attention"
  %v_38: i64[3]                 = Shape(%x)  "attention"
  %v_39: i64                    = Gather(%v_38, %step_37)  "attention"
  %v_41: i64                    = Sub(%v_39, %step_40)  "attention"
  %v_42: i64[B,max(E4, 0)]      = Sub(%v_28, %v_14)  "attention"
  %v_44: i64[4]                 = Shape(%p)  "attention"
  %v_45: i64                    = Gather(%v_44, %step_43)  "attention"
  %v_46: i64[B,max(E4, 0)]      = Min(%v_42, %v_41)  "attention"
  %v_47: i64[B,max(E4, 0)]      = Add(%v_46, %v_45)  "attention"
  %v_48: bool[B,max(E4, 0)]     = Less(%v_28, %v_14)  "attention"
  %v_49: i64[B,max(E4, 0)]      = Where(%v_48, %v_28, %v_47)  "attention"
  %v_51: i64[B,max(E4, 0),1]    = Unsqueeze(%v_49, %step_50)  "attention"
  %v_52: f32[B,max(E4, 0),2,16] = GatherND(%v_36, %v_51) {batch_dims=1}  "attention"
  %k: f32[B,2,max(E4, 0),16]    = Transpose(%v_52) {perm=[0,2,1,3]}  "attention"
  %v_55: f32[B,S,2,16]          = Reshape(%v_3, %step_54)  "attention"
  %v_56: f32[B,2,S,16]          = Transpose(%v_55) {perm=[0,2,1,3]}  "attention"
  %v_57: f32[B,2,P+S,16]        = Concat(%p, %v_56) {axis=2}  "attention"
  %v_58: f32[B,P+S,2,16]        = Transpose(%v_57) {perm=[0,2,1,3]}  "attention"
  %v_60: i64[3]                 = Shape(%x)  "attention"
  %v_61: i64                    = Gather(%v_60, %step_59)  "attention"
  %v_63: i64                    = Sub(%v_61, %step_62)  "attention"
  %v_64: i64[B,max(E4, 0)]      = Sub(%v_28, %v_14)  "attention"
  %v_66: i64[4]                 = Shape(%p)  "attention"
  %v_67: i64                    = Gather(%v_66, %step_65)  "attention"
  %v_68: i64[B,max(E4, 0)]      = Min(%v_64, %v_63)  "attention"
  %v_69: i64[B,max(E4, 0)]      = Add(%v_68, %v_67)  "attention"
  %v_70: bool[B,max(E4, 0)]     = Less(%v_28, %v_14)  "attention"
  %v_71: i64[B,max(E4, 0)]      = Where(%v_70, %v_28, %v_69)  "attention"
  %v_73: i64[B,max(E4, 0),1]    = Unsqueeze(%v_71, %step_72)  "attention"
  %v_74: f32[B,max(E4, 0),2,16] = GatherND(%v_58, %v_73) {batch_dims=1}  "attention"
  %v: f32[B,2,max(E4, 0),16]    = Transpose(%v_74) {perm=[0,2,1,3]}  "attention"
  %v_77: i64[B,S,1]             = Unsqueeze(%v_18, %step_76)  "attention"
  %v_79: i64[B,1,1]             = Unsqueeze(%v_11, %step_78)  "attention"
  %v_80: bool[B,1,max(E4, 0)]   = LessOrEqual(%v_28, %v_79)  "attention"
  %v_81: bool[B,S,max(E4, 0)]   = LessOrEqual(%v_28, %v_77)  "attention"
  %v_82: bool[B,S,max(E4, 0)]   = And(%v_81, %v_80)  "attention"
  %v_84: bool[B,1,S,max(E4, 0)] = Unsqueeze(%v_82, %step_83)  "attention"
  %v_85: f32[B,4,S,16]          = Attention(%v_31, %k, %v, %v_84) {softcap=0}  "attention"
  %v_86: f32[B,S,4,16]          = Transpose(%v_85) {perm=[0,2,1,3]}  "attention"
  %y: f32[B,S,64]               = Reshape(%v_86, %step_87)  "attention"
  %r: f32[B,S,128]              = RotaryEmbedding(%x, %cos, %sin, %t) {num_heads=8, interleaved=0, rotary_embedding_dim=0}  "turned"
}
