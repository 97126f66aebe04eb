# In bf16, with products that are kept in f32 by the name of the node or of its output. What may be
# either without a cast more is f32.
-- args
print --precision bf16 --keep-fp32 last,rows --passes=ToMixedPrecision,DeadCodeElimination
-- in
graph g(%x: f32[4,8], %e: f32[8,8]) -> %y {
  %w: f32[8,8] = weight 0
  %rows = MatMul(%x, %w)
  %r = Relu(%rows)  "relu"
  %m = MatMul(%r, %e)  "middle"
  %n = Neg(%m)  "neg"
  %y = MatMul(%n, %w)  "last"
}
-- out
graph g(%x: f32[4,8], %e: f32[8,8]) -> %y {
  %w: f32[8,8] = weight 0
  %v_1: bf16[8,8] = Cast(%e) {to=16}  "e"
  %rows: f32[4,8] = MatMul(%x, %w)
  %r: f32[4,8]    = Relu(%rows)  "relu"
  %v: bf16[4,8]   = Cast(%r) {to=16}  "relu"
  %m: bf16[4,8]   = MatMul(%v, %v_1)  "middle"
  %v_2: f32[4,8]  = Cast(%m) {to=1}  "middle"
  %n: f32[4,8]    = Neg(%v_2)  "neg"
  %y: f32[4,8]    = MatMul(%n, %w)  "last"
}
