# Not into one group: two products, what stands before one, what an expression cannot say, random
# numbers, and nodes of a branch with those around it.
-- args
print --passes=FuseOps
-- in
graph g(%x: f32[N,8], %c: bool) -> %y, %n, %r, %b {
  %v: f32[8,8] = weight 0
  %w: f32[8,8] = weight 1
  %a = Relu(%x)                 "before"
  %p = MatMul(%a, %v)           "first"
  %y = MatMul(%p, %w)           "second"
  %z = Abs(%x)                  "abs"
  %n = NonZero(%z)              "host"
  %d = RandomNormalLike(%x)     "random"
  %r = Neg(%d)                  "behind"
  %e = Exp(%x)                  "around"
  %b = If(%c)                   "if" then_branch {
    %t = Neg(%e)                "inside"
    yield %t
  } else_branch {
    %f = Abs(%e)                "other"
    yield %f
  }
}
-- out
graph g(%x: f32[N,8], %c: bool) -> %y, %n, %r, %b {
  symbol D1 = dim(%n, 1)
  %v: f32[8,8] = weight 0
  %w: f32[8,8] = weight 1
  %a: f32[N,8]  = Relu(%x)  "before"
  %p: f32[N,8]  = MatMul(%a, %v)  "first"
  %y: f32[N,8]  = MatMul(%p, %w)  "second"
  %z: f32[N,8]  = Abs(%x)  "abs"
  %n: i64[2,D1] = NonZero(%z)  "host"
  %d: f32[N,8]  = RandomNormalLike(%x)  "random"
  %r: f32[N,8]  = Neg(%d)  "behind"
  %e: f32[N,8]  = Exp(%x)  "around"
  %b: f32[N,8]  = If(%c)  "if" then_branch uses %e {
    %t: f32[N,8] = Neg(%e)  "inside"
    yield %t
  } else_branch uses %e {
    %f: f32[N,8] = Abs(%e)  "other"
    yield %f
  }
}
