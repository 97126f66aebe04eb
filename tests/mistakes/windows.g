# Convolutions and pools of many forms, plain and between blocked values; odd sizes.
graph windows(%x: f32[2,16,19,21], %s: f32[2,20,10,19]) -> %y, %d, %m, %t, %k, %g {
  %w1: f32[20,16,3,5] = weight 0
  %b1: f32[20] = weight 1
  %w2: f32[20,20,3,3] = weight 2
  %w3: f32[20,20,3,3] = weight 3
  %w4: f32[20,1,3,3] = weight 4
  %w5: f32[16,4,3,3] = weight 5
  %w6: f32[20,8,3,3] = weight 6
  %c1 = Conv(%x, %w1, %b1) {strides=[2,1], pads=[1,1,1,1]}  "strided"
  %r1 = Relu(%c1)  "relu1"
  %c2 = Conv(%r1, %w2) {pads=[1,2,1,0]}  "shifted"
  %a2 = Add(%c2, %s)  "residual"
  %r2 = LeakyRelu(%a2) {alpha=0.3}  "leaky"
  %c3 = Conv(%r2, %w3) {dilations=[2,1], pads=[2,1,2,1]}  "dilated"
  %c4 = Conv(%c3, %w4) {group=20, pads=[1,1,1,1]}  "depthwise"
  %k4 = Concat(%c3, %c4) {axis=1}  "both"
  %y = Relu(%k4)  "relu4"
  %d = Conv(%x, %w5) {group=4, pads=[1,1,1,1]}  "grouped"
  %m = MaxPool(%c4) {kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,1]}  "pool"
  %w7: f32[16,20,3,3] = weight 7
  %w8: f32[32,20,3,3] = weight 8
  %w9: f32[16,48,3,3] = weight 9
  %c7 = Conv(%c3, %w7) {pads=[1,1,1,1]}  "left"
  %l7 = LeakyRelu(%c7) {alpha=0.3}  "left, leaky"
  %c8 = Conv(%c3, %w8) {pads=[1,1,1,1]}  "right"
  %k7 = Concat(%l7, %c8) {axis=1}  "pair"
  %k = Conv(%k7, %w9) {pads=[1,1,1,1]}  "of the pair"
  %g = Conv(%k7, %w9) {strides=[1,2], pads=[1,1,1,1]}  "of the pair, too"
  %t = ConvTranspose(%c4, %w6) {strides=[2,2], pads=[1,1,1,1]}  "transposed"
}
