# Convolutions whose kernels are ours: few channels, depthwise, one dim; long rows and short ones.
graph border(%x: f32[1,3,24,40], %z: f32[1,5,37], %l: f32[3,300], %k: f32[2,32,3,3], %j: f32[1,2,7,300]) -> %y, %u, %v, %p, %o, %m, %c, %f, %i {
  %w1: f32[5,3,3,3] = weight 0
  %w2: f32[5,1,3,3] = weight 1
  %w3: f32[7,5,4] = weight 2
  %w4: f32[16,5,1,1] = weight 3
  %y = Conv(%x, %w1) {pads=[1,1,1,1]}  "three"
  %u = Conv(%y, %w2) {group=5, pads=[1,1,1,1]}  "depth"
  %v = Conv(%z, %w3) {pads=[2,1], strides=[1]}  "row"
  %p = AveragePool(%u) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]}  "mean"
  %n: i64[4] = {0, 2, 0, 3}
  %o = Pad(%l, %n)  "wider"
  %m = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2]}  "pool"
  %c = Conv(%u, %w4)  "mix"
  %w5: f32[64,32,1,1] = weight 4
  %f = Conv(%k, %w5)  "small image"
  %w6: f32[2,1,3,3] = weight 5
  %i = Conv(%j, %w6) {group=2, pads=[1,1,1,1]}  "long rows"
}
