# Types come from inputs and attributes alone; the batch stays a symbol.
-- args
print --passes=InferShapes
-- in
graph g(%x: f32[N,3,224,224]) -> %y {
  %w: f32[64,3,7,7] = weight 0
  %b: f32[64] = weight 1
  %c = Conv(%x, %w, %b) {strides=[2,2], pads=[3,3,3,3]}  "conv1"
  %r = Relu(%c)  "relu1"
  %p = MaxPool(%r) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}  "pool1"
  %g = GlobalAveragePool(%p)
  %y = Flatten(%g)
}
-- out
graph g(%x: f32[N,3,224,224]) -> %y {
  %w: f32[64,3,7,7] = weight 0
  %b: f32[64]       = weight 1
  %c: f32[N,64,112,112] = Conv(%x, %w, %b) {strides=[2,2], pads=[3,3,3,3]}  "conv1"
  %r: f32[N,64,112,112] = Relu(%c)  "relu1"
  %p: f32[N,64,56,56]   = MaxPool(%r) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}  "pool1"
  %g: f32[N,64,1,1]     = GlobalAveragePool(%p)
  %y: f32[N,64]         = Flatten(%g)
}
