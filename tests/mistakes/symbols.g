# Open dims: two sizes are run.
graph symbols(%x: f32[N,48], %y: f32[M,48]) -> %a, %b, %c {
  %w: f32[48,96] = weight 0
  %v: f32[96] = weight 1
  %p = MatMul(%x, %w)  "first"
  %q = MatMul(%y, %w)  "second"
  %r = Concat(%p, %q) {axis=0}  "rows"
  %a = Add(%r, %v)  "bias"
  %b = Softmax(%a) {axis=0}  "columns"
  %ax: i64[1] = {1}
  %c = ReduceMin(%a, %ax)  "least"
}
