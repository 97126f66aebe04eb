# Dims that one branch takes for equal are so where it runs: it has symbols of its own, checked on
# entry. What it gives is said in the symbols outside.
-- args
print --passes=InferShapes
-- in
graph g(%c: bool, %x: f32[N,4], %y: f32[M,4]) -> %a {
  %a = If(%c)  "if" then_branch {
    %t = Add(%x, %y)  "add"
    yield %t
  } else_branch {
    %e = Concat(%x, %y) {axis=0}  "concat"
    yield %e
  }
}
-- out
graph g(%c: bool, %x: f32[N,4], %y: f32[M,4]) -> %a {
  symbol D2 = dim(%a, 0)
  %a: f32[D2,4] = If(%c)  "if" then_branch uses %y, %x {
    symbol N_3 = N
    symbol M_4 = M
    assume N_3 == M_4  "dim 0 of the inputs"
    %y_2: f32[M_4,4] = Enter(%y)
    %x_1: f32[N_3,4] = Enter(%x)
    %t: f32[N_3,4]   = Add(%x_1, %y_2)  "add"
    yield %t
  } else_branch uses %x, %y {
    %e: f32[M+N,4] = Concat(%x, %y) {axis=0}  "concat"
    yield %e
  }
}
