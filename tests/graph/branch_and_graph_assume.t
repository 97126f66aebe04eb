# What the graph assumes anyway, a branch need not.
-- args
print --passes=InferShapes
-- in
graph g(%c: bool, %x: f32[N,4], %y: f32[M,4]) -> %a, %b {
  %a = If(%c)  "if" then_branch {
    %t = Add(%x, %y)  "add"
    yield %t
  } else_branch {
    yield %x
  }
  %b = Mul(%x, %y)  "mul"
}
-- out
graph g(%c: bool, %x: f32[N,4], %y: f32[N,4]) -> %a, %b {
  %a: f32[N,4] = If(%c)  "if" then_branch uses %x, %y {
    %t: f32[N,4] = Add(%x, %y)  "add"
    yield %t
  } else_branch uses %x {
    yield %x
  }
  %b: f32[N,4] = Mul(%x, %y)  "mul"
}
