# What goes into a body and out of it is f32, as its inputs are; what asks for dims alone takes either.
-- args
print --passes=ToMixedPrecision,DeadCodeElimination
-- in
graph g(%x: f32[3,4,4], %s: f32[4,4]) -> %y, %n, %m {
  %y, %all = Scan(%s, %x) {num_scan_inputs=1}  "scan" body(%state: f32[4,4], %row: f32[4,4]) {
    %a = Relu(%row)  "relu"
    %b = MatMul(%a, %state)  "product"
    %c = Neg(%b)  "neg"
    yield %c, %row
  }
  %p = MatMul(%s, %s)  "square"
  %q = Abs(%p)  "abs"
  %r = Neg(%q)  "again"
  %t = MatMul(%r, %s)  "behind"
  %n = Shape(%q)
  %k = Shape(%r)
  %m = Reshape(%t, %k)
}
-- out
graph g(%x: f32[3,4,4], %s: f32[4,4]) -> %y, %n, %m {
  %v_2: f16[4,4]                 = Cast(%s) {to=10}  "s"
  %y: f32[4,4], %all: f32[3,4,4] = Scan(%s, %x) {num_scan_inputs=1}  "scan" body(%state: f32[4,4], %row: f32[4,4]) {
    %v_1: f16[4,4] = Cast(%state) {to=10}  "state"
    %a: f32[4,4]   = Relu(%row)  "relu"
    %v: f16[4,4]   = Cast(%a) {to=10}  "relu"
    %b: f16[4,4]   = MatMul(%v, %v_1)  "product"
    %v_3: f32[4,4] = Cast(%b) {to=1}  "product"
    %c: f32[4,4]   = Neg(%v_3)  "neg"
    yield %c, %row
  }
  %p: f16[4,4]                   = MatMul(%v_2, %v_2)  "square"
  %q: f16[4,4]                   = Abs(%p)  "abs"
  %r: f16[4,4]                   = Neg(%q)  "again"
  %t: f16[4,4]                   = MatMul(%r, %v_2)  "behind"
  %v_4: f32[4,4]                 = Cast(%t) {to=1}  "behind"
  %n: i64[2]                     = Shape(%q)
  %k: i64[2]                     = Shape(%r)
  %m: f32[4,4]                   = Reshape(%v_4, %k)
}
