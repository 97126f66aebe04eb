# Products and convolutions that ONNX Runtime joined with what stands beside them.
-- args
print --passes=ExpandOperators
-- in
graph g(%x: f32[N,3,4,6], %a: f32[4,N,3,6], %i: f32[N,2,7,5], %z: f32[N,4,5,3], %m: f32[N,8]) -> %p, %q, %c, %d, %h {
  %w: f32[3,6,5] = weight 0
  %k: f32[4,2,3,3] = weight 1
  %v: f32[8,4] = weight 2
  %p = com.microsoft.FusedMatMul(%x, %w) {alpha=0.25} "scaled"
  %q = com.microsoft.FusedMatMul(%a, %a) {transBatchA=1, transBatchB=1, transB=1} "turned"
  %c = com.microsoft.FusedConv(%i, %k) {activation="Clip", activation_params=[0,6], dilations=[1,1]} "clipped"
  %d = com.microsoft.FusedConv(%i, %k, _, %z) {activation="LeakyRelu", activation_params=[0.25]} "sum"
  %h = com.microsoft.FusedGemm(%m, %v) {activation="HardSigmoid", activation_alpha=0.5, alpha=2} "gemm"
}
-- out
graph g(%x: f32[N,3,4,6], %a: f32[4,N,3,6], %i: f32[N,2,7,5], %z: f32[N,4,5,3], %m: f32[N,8]) -> %p, %q, %c, %d, %h {
  %w: f32[3,6,5]   = weight 0
  %k: f32[4,2,3,3] = weight 1
  %v: f32[8,4]     = weight 2
  %step: f32       = {0.25}
  %step_7: f32     = {0}
  %step_8: f32     = {6}
  %v_1: f32[N,3,4,5]  = MatMul(%x, %w)  "scaled"
  %p: f32[N,3,4,5]    = Mul(%v_1, %step)  "scaled"
  %v_3: f32[N,3,6,4]  = Transpose(%a) {perm=[1,2,3,0]}  "turned"
  %v_4: f32[N,3,4,6]  = Transpose(%a) {perm=[1,2,0,3]}  "turned"
  %q: f32[N,3,4,4]    = MatMul(%v_4, %v_3)  "turned"
  %v_6: f32[N,4,5,3]  = Conv(%i, %k) {dilations=[1,1]}  "clipped"
  %c: f32[N,4,5,3]    = Clip(%v_6, %step_7, %step_8)  "clipped"
  %v_10: f32[N,4,5,3] = Conv(%i, %k)  "sum"
  %v_11: f32[N,4,5,3] = Add(%v_10, %z)  "sum"
  %d: f32[N,4,5,3]    = LeakyRelu(%v_11) {alpha=0.25}  "sum"
  %v_13: f32[N,4]     = Gemm(%m, %v) {alpha=2}  "gemm"
  %h: f32[N,4]        = HardSigmoid(%v_13) {alpha=0.5}  "gemm"
}
