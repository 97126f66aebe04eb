# Features and sums of ai.onnx.ml are a few nodes of the standard each.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3], %k: i64[N,2], %v: f32[3]) -> %a, %b, %c, %d, %e, %f, %g, %h, %i, %j {
  %c0: i64[1,2] = {2, 0}
  %a = ai.onnx.ml.Scaler(%x) {offset=[1,2,3], scale=[0.5]} "scale"
  %b = ai.onnx.ml.Normalizer(%x) {norm="L2"} "norm"
  %c = ai.onnx.ml.ArrayFeatureExtractor(%v, %c0) "pick"
  %d = ai.onnx.ml.Imputer(%x) {imputed_value_floats=[4], replaced_value_float=nan} "impute"
  %e = ai.onnx.ml.LabelEncoder(%k) {keys_int64s=[5,7], values_floats=[0.5,1.5], default_float=9.0} "code"
  %f = ai.onnx.ml.OneHotEncoder(%k) {cats_int64s=[5,7], zeros=0} "hot"
  %g, %h = ai.onnx.ml.LinearClassifier(%x) {coefficients=[1,2,3], intercepts=[0.5], classlabels_ints=[4,6], post_transform="LOGISTIC"} "two"
  %i = ai.onnx.ml.LinearRegressor(%v) {coefficients=[1,2,3,4,5,6], targets=2, post_transform="SOFTMAX_ZERO"} "sums"
  %j = ai.onnx.ml.SVMRegressor(%x) {kernel_type="RBF", kernel_params=[0.5,0,3], n_supports=2, support_vectors=[1,2,3,4,5,6], coefficients=[1,-1], rho=[0.25], one_class=1} "near"
}
-- out
graph g(%x: f32[N,3], %k: i64[N,2], %v: f32[3]) -> %a, %b, %c, %d, %e, %f, %g, %h, %i, %j {
  %c0: i64[1,2]                 = {2, 0}
  %offset: f32[3]               = weight 1
  %scale: f32[1]                = {0.5}
  %step: i64[1]                 = {-1}
  %step_4: f32                  = {0}
  %step_8: i64[1]               = {-1}
  %step_10: i64[1]              = {0}
  %imputed_value_floats: f32[1] = {4}
  %keys_int64s: i64[2]          = {5, 7}
  %step_15: i64[1]              = {-1}
  %values_floats: f32[2]        = {0.5, 1.5}
  %step_22: i64[1]              = {-1}
  %step_25: f32                 = {9}
  %cats_int64s: i64[2]          = {5, 7}
  %step_27: i64[1]              = {-1}
  %step_32: i64[1]              = {-1}
  %step_34: i32                 = {1}
  %step_36: f32                 = {1}
  %step_37: i64[1]              = {0}
  %step_40: i64[1]              = {-1}
  %coefficients: f32[1,3]       = weight 20
  %intercepts: f32[1]           = {0.5}
  %step_44: f32                 = {0}
  %step_48: f32                 = {0}
  %step_50: i64[1]              = {1}
  %classlabels_ints: i64[2]     = {4, 6}
  %step_54: i64[1]              = {0}
  %coefficients_56: f32[2,3]    = weight 27
  %step_59: f32                 = {0.5}
  %support_vectors: f32[2,3]    = weight 29
  %coefficients_61: f32[1,2]    = {1, -1}
  %rho: f32[1]                  = {0.25}
  %step_63: f32                 = {0}
  %step_65: f32                 = {1}
  %step_66: f32                 = {-1}
  %v_1: f32[N,3]     = Sub(%x, %offset)  "scale"
  %a: f32[N,3]       = Mul(%v_1, %scale)  "scale"
  %v_3: f32[N,1]     = ReduceL2(%x, %step)  "norm"
  %v_5: bool[N,1]    = Equal(%v_3, %step_4)  "norm"
  %v_6: f32[N,3]     = Div(%x, %v_3)  "norm"
  %b: f32[N,3]       = Where(%v_5, %x, %v_6)  "norm"
  %v_9: i64[2]       = Reshape(%c0, %step_8)  "pick"
  %v_11: f32[1,3]    = Unsqueeze(%v, %step_10)  "pick"
  %c: f32[1,2]       = Gather(%v_11, %v_9) {axis=-1}  "pick"
  %v_13: bool[N,3]   = IsNaN(%x)  "impute"
  %d: f32[N,3]       = Where(%v_13, %imputed_value_floats, %x)  "impute"
  %v_16: i64[N,2,1]  = Unsqueeze(%k, %step_15)  "code"
  %v_17: bool[N,2,2] = Equal(%v_16, %keys_int64s)  "code"
  %v_18: i32[N,2,2]  = Cast(%v_17) {to=6}  "code"
  %v_19: i64[N,2]    = ArgMax(%v_18) {axis=-1, keepdims=0}  "code"
  %v_20: f32[N,2]    = Gather(%values_floats, %v_19)  "code"
  %v_21: i32[N,2,2]  = Cast(%v_17) {to=6}  "code"
  %v_23: i32[N,2]    = ReduceMax(%v_21, %step_22) {keepdims=0}  "code"
  %v_24: bool[N,2]   = Cast(%v_23) {to=9}  "code"
  %e: f32[N,2]       = Where(%v_24, %v_20, %step_25)  "code"
  %v_28: i64[N,2,1]  = Unsqueeze(%k, %step_27)  "hot"
  %v_29: bool[N,2,2] = Equal(%v_28, %cats_int64s)  "hot"
  %v_30: f32[N,2,2]  = Cast(%v_29) {to=1}  "hot"
  %v_31: i32[N,2,2]  = Cast(%v_29) {to=6}  "hot"
  %v_33: i32[N,2]    = ReduceMax(%v_31, %step_32) {keepdims=0}  "hot"
  %v_35: i32[N,2]    = Sub(%step_34, %v_33)  "hot"
  %v_38: f32[1]      = Unsqueeze(%step_36, %step_37)  "hot"
  %v_39: f32[N,2]    = Gather(%v_38, %v_35)  "hot"
  %v_41: f32[N,2,1]  = Unsqueeze(%v_39, %step_40)  "hot"
  %f: f32[N,2,2]     = Mul(%v_30, %v_41)  "hot"
  %v_43: f32[N,1]    = Gemm(%x, %coefficients, %intercepts) {transB=1}  "two"
  %v_45: f32[N,1]    = Sub(%step_44, %v_43)  "two"
  %v_46: f32[N,2]    = Concat(%v_45, %v_43) {axis=1}  "two"
  %h: f32[N,2]       = Sigmoid(%v_46)  "two"
  %v_49: bool[N,1]   = Greater(%v_43, %step_48)  "two"
  %v_51: i64[N,1]    = Cast(%v_49) {to=7}  "two"
  %v_52: i64[N]      = Squeeze(%v_51, %step_50)  "two"
  %g: i64[N]         = Gather(%classlabels_ints, %v_52)  "two"
  %v_55: f32[1,3]    = Unsqueeze(%v, %step_54)  "sums"
  %v_57: f32[1,2]    = Gemm(%v_55, %coefficients_56) {transB=1}  "sums"
  %i: f32[1,2]       = Expression(%v_57) {expr="expr softmax_zero(X: f32[N,C]) -> Y {\n  M[n:N]: f32 = max(c:C) X[n, c]\n  E[n:N, c:C]: f32 = abs(X[n, c]) > 0.0000001 ? exp(X[n, c] - M[n]) : X[n, c]*exp(-M[n])\n  S[n:N]: f32 = sum(c:C) (abs(X[n, c]) > 0.0000001 ? E[n, c] : 0.0)\n  Y[n:N, c:C]: f32 = E[n, c]/S[n]\n}\n"}  "sums"
  %v_60: f32[N,2]    = Expression(%x, %support_vectors, %step_59) {expr="expr rbf(X: f32[N,D], V: f32[S,D], G: f32[]) -> Y {\n  E[n:N, s:S]: f32 = sum(d:D) (X[n, d] - V[s, d])*(X[n, d] - V[s, d])\n  Y[n:N, s:S]: f32 = exp(-(G[]*E[n, s]))\n}\n"}  "near"
  %v_62: f32[N,1]    = Gemm(%v_60, %coefficients_61, %rho) {transB=1}  "near"
  %v_64: bool[N,1]   = Greater(%v_62, %step_63)  "near"
  %j: f32[N,1]       = Where(%v_64, %step_65, %step_66)  "near"
}
