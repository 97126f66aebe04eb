# Casts that the model has are the two forms of one value: none is made beside them, and what stands
# between them goes along. Values of branches stay as they are.
-- args
print --passes=ToMixedPrecision,ToMixedPrecision,DeadCodeElimination
-- in
graph g(%x: f16[4,4], %c: bool) -> %y, %z, %i {
  %w = Cast(%x) {to=1}  "wide"
  %m = MatMul(%w, %w)  "product"
  %r = Relu(%m)  "relu"
  %y = Cast(%r) {to=10}  "short"
  %s = Cos(%r)  "cos"
  %h = Cast(%s) {to=10}  "half"
  %n = MatMul(%s, %s)  "square"
  %z = Add(%n, %s)  "add"
  %k = Abs(%h)  "abs"
  %u = If(%c)  "if" then_branch {
    %a = MatMul(%r, %w)  "inner"
    yield %a
  } else_branch {
    %b = Neg(%r)  "neg"
    yield %b
  }
  %q = Cast(%k) {to=1}
  %i = Add(%u, %q)
}
-- out
graph g(%x: f16[4,4], %c: bool) -> %y, %z, %i {
  %m: f16[4,4]   = MatMul(%x, %x)  "product"
  %y: f16[4,4]   = Relu(%m)  "relu"
  %v: f32[4,4]   = Cast(%y) {to=1}  "relu"
  %s: f32[4,4]   = Cos(%v)  "cos"
  %h: f16[4,4]   = Cast(%s) {to=10}  "half"
  %n: f16[4,4]   = MatMul(%h, %h)  "square"
  %v_1: f32[4,4] = Cast(%n) {to=1}  "square"
  %z: f32[4,4]   = Add(%v_1, %s)  "add"
  %k: f16[4,4]   = Abs(%h)  "abs"
  %u: f32[4,4]   = If(%c)  "if" then_branch uses %y, %x {
    %a: f16[4,4]   = MatMul(%y, %x)  "inner"
    %v_2: f32[4,4] = Cast(%a) {to=1}  "inner"
    yield %v_2
  } else_branch uses %v {
    %b: f32[4,4] = Neg(%v)  "neg"
    yield %b
  }
  %q: f32[4,4]   = Cast(%k) {to=1}
  %i: f32[4,4]   = Add(%u, %q)
}
