# A product is computed in f16 and what stands behind it follows; a softmax stays f32. What two read
# is cast once, weights keep their names, outputs their types.
-- args
print --passes=ToMixedPrecision,DeadCodeElimination
-- in
graph g(%x: f32[1,3,8,8]) -> %y, %s {
  %w: f32[4,3,3,3] = weight 0
  %v: f32[4,4,1,1] = weight 1
  %c = Conv(%x, %w) {pads=[1,1,1,1]}  "conv"
  %r = Relu(%c)  "relu"
  %s = Softmax(%r) {axis=1}  "soft"
  %d = Conv(%r, %v)  "conv2"
  %y = Add(%d, %s)  "add"
}
-- out
graph g(%x: f32[1,3,8,8]) -> %y, %s {
  %w: f16[4,3,3,3] = weight 0
  %v: f16[4,4,1,1] = weight 1
  %v_1: f16[1,3,8,8] = Cast(%x) {to=10}  "x"
  %c: f16[1,4,8,8]   = Conv(%v_1, %w) {pads=[1,1,1,1]}  "conv"
  %r: f16[1,4,8,8]   = Relu(%c)  "relu"
  %v_4: f32[1,4,8,8] = Cast(%r) {to=1}  "relu"
  %s: f32[1,4,8,8]   = Softmax(%v_4) {axis=1}  "soft"
  %d: f16[1,4,8,8]   = Conv(%r, %v)  "conv2"
  %v_5: f32[1,4,8,8] = Cast(%d) {to=1}  "conv2"
  %y: f32[1,4,8,8]   = Add(%v_5, %s)  "add"
}
