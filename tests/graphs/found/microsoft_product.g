# seed 5
# Products and convolutions that ONNX Runtime joins: axes in other orders, what is added, activations.
graph g(%x: f32[N,3,4,6], %a: f32[4,N,3,6], %b: f32[5,N,3,6], %v: f32[6], %i: f32[N,2,7,5], %m: f32[N,8], %z: f32[N,4,5,3]) -> %p, %q, %r, %s, %t, %c, %d, %e, %f, %h, %j, %k {
  %w: f32[3,6,5]   = weight 0
  %u: f32[3,4,5]   = weight 1
  %k0: f32[4,2,3,3] = weight 2
  %k1: f32[4]       = weight 3
  %g0: f32[8,4]    = weight 4
  %g1: f32[4]      = weight 5
  %p = com.microsoft.FusedMatMul(%x, %w) {alpha=0.25}
  %q = com.microsoft.FusedMatMul(%x, %u) {transA=1}
  %r = com.microsoft.FusedMatMul(%a, %b) {transBatchA=1, transBatchB=1, transB=1}
  %s = com.microsoft.FusedMatMul(%v, %w) {transA=1, alpha=2}
  %t = com.microsoft.FusedMatMul(%a, %a) {transBatchA=1, transBatchB=1, transA=1}
  %c = com.microsoft.FusedConv(%i, %k0, %k1) {activation="Clip", activation_params=[-0.5,1.5]}
  %d = com.microsoft.FusedConv(%i, %k0, %k1, %z) {activation="LeakyRelu", activation_params=[0.25]}
  %e = com.microsoft.FusedConv(%i, %k0) {activation="HardSigmoid", activation_params=[0.3,0.4], pads=[1,1,1,1]}
  %f = com.microsoft.FusedConv(%i, %k0, _, %z)
  %h = com.microsoft.FusedGemm(%m, %g0, %g1) {activation="LeakyRelu", activation_alpha=0.5, alpha=0.5}
  %j = com.microsoft.FusedGemm(%g0, %m) {activation="Tanh", transB=1, transA=1}
  %k = com.microsoft.FusedGemm(%m, %g0, %g1) {activation="Elu", activation_alpha=0.5}
}
