# A result that two nodes read stays in memory, unless it is free to compute it twice.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[N,8], %w: f32[8,4]) -> %y, %z {
  %p = MatMul(%x, %w)              "product"
  %s = ReduceSum(%p) {keepdims=0}  "sum"
  %y = Exp(%p)                     "exp"
  %z = Neg(%s)                     "neg"
}
-- out
graph g(%x: f32[N,8], %w: f32[8,4]) -> %y, %z {
  %p: f32[N,4], %y: f32[N,4] = fused(%x, %w)  "exp" from "product", "exp" {
    %v: f32[N,4]   = MatMul(%x, %w)  "product"
    %v_1: f32[N,4] = Exp(%v)  "exp"
    yield %v, %v_1
  }
  %z: f32                    = fused(%p)  "neg" from "sum", "neg" {
    %s: f32   = ReduceSum(%p) {keepdims=0}  "sum"
    %v_2: f32 = Neg(%s)  "neg"
    yield %v_2
  }
}
