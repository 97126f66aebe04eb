# A normalisation written with primitives becomes one group over its rows.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[N,128,768]) -> %y {
  %ax: i64[1] = {-1}
  %e: f32 = {0.00001}
  %m = ReduceMean(%x, %ax)  "mean"
  %c = Sub(%x, %m)          "sub"
  %q = Mul(%c, %c)          "square"
  %v = ReduceMean(%q, %ax)  "var"
  %p = Add(%v, %e)          "plus"
  %s = Sqrt(%p)             "sqrt"
  %y = Div(%c, %s)          "div"
}
-- out
graph g(%x: f32[N,128,768]) -> %y {
  %ax: i64[1] = {-1}
  %e: f32     = {1e-05}
  %y: f32[N,128,768] = fused(%x, %ax, %e)  "div" from "mean", "sub", "square", "var", "plus", "sqrt", "div" {
    %m: f32[N,128,1]     = ReduceMean(%x, %ax)  "mean"
    %c: f32[N,128,768]   = Sub(%x, %m)  "sub"
    %q: f32[N,128,768]   = Mul(%c, %c)  "square"
    %v: f32[N,128,1]     = ReduceMean(%q, %ax)  "var"
    %p: f32[N,128,1]     = Add(%v, %e)  "plus"
    %s: f32[N,128,1]     = Sqrt(%p)  "sqrt"
    %v_1: f32[N,128,768] = Div(%c, %s)  "div"
    yield %v_1
  }
}
