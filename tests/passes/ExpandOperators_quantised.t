# Operators of com.microsoft whose meaning is a text of nodes, with and without what is optional.
-- args
print --passes=ExpandOperators
-- in
graph g(%a: u8[2,3], %x: f32[N,64], %m: i8[N,32], %i: bool[2,3]) -> %q, %p, %r, %g, %o, %h {
  %s: f32 = {0.5}
  %d: f32[4,2] = weight 5
  %u: i32[64] = weight 6
  %z: u8 = {3}
  %w: i8[32,4] = weight 0
  %b: f32[4] = weight 1
  %n: u8[4,2,16] = weight 2
  %c: f32[8] = weight 3
  %k: i32[4] = weight 4
  %y: i8 = {0}
  %f = com.microsoft.QLinearAdd(%a, %s, %z, %a, %s, _, %s, %z) "add"
  %q = com.microsoft.QLinearSoftmax(%f, %s, %z, %s, %z) {axis=1, opset=13} "softmax"
  %t = com.microsoft.MatMulIntegerToFloat(%m, %w, %s, %s) "product"
  %p = com.microsoft.MatMulIntegerToFloat(%m, %w, %s, %s, _, _, %b) "biased"
  %r = com.microsoft.MatMulNBits(%x, %n, %c) {K=64, N=4, block_size=32} "few bits"
  %g = com.microsoft.QGemm(%m, %s, %y, %w, %s, %y, %k) {alpha=2.0} "gemm"
  %o = com.microsoft.MatMulNBits(%x, %n, %c, %d, %u) {K=64, N=4, block_size=32} "in another order"
  %h = com.microsoft.QLinearWhere(%i, %a, %s, %z, %a, %s, %z, %s, %z) "where"
}
-- out
graph g(%a: u8[2,3], %x: f32[N,64], %m: i8[N,32], %i: bool[2,3]) -> %q, %p, %r, %g, %o, %h {
  %s: f32              = {0.5}
  %d: f32[4,2]         = weight 5
  %u: i32[64]          = weight 6
  %z: u8               = {3}
  %w: i8[32,4]         = weight 0
  %b: f32[4]           = weight 1
  %n: u8[4,2,16]       = weight 2
  %c: f32[8]           = weight 3
  %k: i32[4]           = {1, 0, 1, 0}
  %y: i8               = {0}
  %blocks: u4[4,64]    = weight 10
  %blocks_16: u4[4,2]  = weight 11
  %step: i64[2]        = {4, 2}
  %step_21: f32        = {2}
  %blocks_29: u4[4,64] = weight 14
  %step_30: i64[2]     = {4, 2}
  %step_32: i64[2]     = {4, 2}
  %v: f32[2,3]     = DequantizeLinear(%a, %s, %z)  "add"
  %v_1: f32[2,3]   = DequantizeLinear(%a, %s)  "add"
  %v_2: f32[2,3]   = Add(%v, %v_1)  "add"
  %f: u8[2,3]      = QuantizeLinear(%v_2, %s, %z)  "add"
  %v_4: f32[2,3]   = DequantizeLinear(%f, %s, %z)  "softmax"
  %v_5: f32[2,3]   = Softmax(%v_4) {axis=1}  "softmax"
  %q: u8[2,3]      = QuantizeLinear(%v_5, %s, %z)  "softmax"
  %v_7: i32[N,4]   = MatMulInteger(%m, %w)  "product"
  %v_8: f32[N,4]   = Cast(%v_7) {to=1}  "product"
  %v_9: f32        = Mul(%s, %s)  "product"
  %t: f32[N,4]     = Mul(%v_8, %v_9)  "product"
  %v_11: i32[N,4]  = MatMulInteger(%m, %w)  "biased"
  %v_12: f32[N,4]  = Cast(%v_11) {to=1}  "biased"
  %v_13: f32       = Mul(%s, %s)  "biased"
  %v_14: f32[N,4]  = Mul(%v_12, %v_13)  "biased"
  %p: f32[N,4]     = Add(%v_14, %b)  "biased"
  %v_17: f32[4,2]  = Reshape(%c, %step)  "few bits"
  %v_18: f32[4,64] = DequantizeLinear(%blocks, %v_17, %blocks_16) {axis=1, block_size=32}  "few bits"
  %v_19: f32[64,4] = Transpose(%v_18)  "few bits"
  %r: f32[N,4]     = MatMul(%x, %v_19)  "few bits"
  %v_22: f32       = Mul(%s, %step_21)  "gemm"
  %v_23: f32[N,32] = DequantizeLinear(%m, %v_22, %y) {axis=1}  "gemm"
  %v_24: f32[32,4] = DequantizeLinear(%w, %s, %y) {axis=1}  "gemm"
  %v_25: f32       = Mul(%v_22, %s)  "gemm"
  %v_26: f32[4]    = Cast(%k) {to=1}  "gemm"
  %v_27: f32[4]    = Mul(%v_26, %v_25)  "gemm"
  %g: f32[N,4]     = Gemm(%v_23, %v_24, %v_27) {transA=0, transB=0}  "gemm"
  %v_31: f32[4,2]  = Reshape(%d, %step_30)  "in another order"
  %v_33: f32[4,2]  = Reshape(%c, %step_32)  "in another order"
  %v_34: f32[4,64] = Cast(%blocks_29) {to=1}  "in another order"
  %v_35: f32[4,64] = Gather(%v_31, %u) {axis=1}  "in another order"
  %v_36: f32[4,64] = Sub(%v_34, %v_35)  "in another order"
  %v_37: f32[4,64] = Gather(%v_33, %u) {axis=1}  "in another order"
  %v_38: f32[4,64] = Mul(%v_36, %v_37)  "in another order"
  %v_39: f32[64,4] = Transpose(%v_38)  "in another order"
  %o: f32[N,4]     = MatMul(%x, %v_39)  "in another order"
  %v_41: f32[2,3]  = DequantizeLinear(%a, %s, %z)  "where"
  %v_42: f32[2,3]  = DequantizeLinear(%a, %s, %z)  "where"
  %v_43: f32[2,3]  = Where(%i, %v_41, %v_42)  "where"
  %h: u8[2,3]      = QuantizeLinear(%v_43, %s, %z)  "where"
}
