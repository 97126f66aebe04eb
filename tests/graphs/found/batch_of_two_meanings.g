# A batch that is a symbol to one operand of a product, a number to another and a second symbol to
# a third: it is one and the same wherever it stands, in an input that nothing reads as well.
graph g(%x1: f32[N], %x2: f32[N,8,6,3], %x3: f32[M,1,2,5]) -> %v4, %v6, %v7, %v9 {
  %w3: f32[4,1,3,2] = {0.5, 1, -1, 2, 3, -2, 0.25, 1, 1, 0, 2, 2, -1, 3, 1, 1, 0.5, 2, 4, -3, 2, 1, 1, 5}
  %v4      = MatMul(%x2, %w3)
  %v5, %v6 = MaxPool(%x2) {dilations=[2,1], kernel_shape=[1,2], pads=[0,1,0,0], strides=[2,3]}
  %v7      = Softmax(%v5) {axis=0}
  %v9      = MatMul(%v4, %x3)
}
