# Captures are found and printed; a dim on which the branches differ becomes a symbol.
-- args
print --passes=InferShapes
-- in
graph g(%c: bool, %x: f32[N,4], %y: f32[M,4]) -> %a, %b {
  %a, %b = If(%c)  "if" then_branch {
    %t = Relu(%x)
    yield %t, %x
  } else_branch {
    %e = Neg(%x)
    yield %e, %y
  }
}
-- out
graph g(%c: bool, %x: f32[N,4], %y: f32[M,4]) -> %a, %b {
  symbol D2 = dim(%b, 0)
  %a: f32[N,4], %b: f32[D2,4] = If(%c)  "if" then_branch uses %x {
    %t: f32[N,4] = Relu(%x)
    yield %t, %x
  } else_branch uses %x, %y {
    %e: f32[N,4] = Neg(%x)
    yield %e, %y
  }
}
