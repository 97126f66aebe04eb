# Bias, activation and residual join the convolution.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[N,4,8,8], %r: f32[N,4,8,8]) -> %y {
  %w: f32[4,4,3,3] = weight 0
  %b: f32[4,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %a = Add(%c, %b)                    "bias"
  %s = Add(%a, %r)                    "residual"
  %y = Relu(%s)                       "relu"
}
-- out
graph g(%x: f32[N,4,8,8], %r: f32[N,4,8,8]) -> %y {
  %w: f32[4,4,3,3] = weight 0
  %b: f32[4,1,1]   = weight 1
  %y: f32[N,4,8,8] = fused(%x, %w, %b, %r)  "relu" from "conv", "bias", "residual", "relu" {
    %c: f32[N,4,8,8] = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
    %a: f32[N,4,8,8] = Add(%c, %b)  "bias"
    %s: f32[N,4,8,8] = Add(%a, %r)  "residual"
    %v: f32[N,4,8,8] = Relu(%s)  "relu"
    yield %v
  }
}
