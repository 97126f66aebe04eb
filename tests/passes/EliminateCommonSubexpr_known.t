# Integers that are known to be equal are one, whatever computes them: exporters ask whether a part of
# a shape is -1. Of another type, of other dims, known in part, or a result, they stay; a result is
# what others become.
-- args
print --passes=EliminateCommonSubexpr,DeadCodeElimination
-- in
graph g(%x: f32[N,2], %y: f32[N,K], %i: i64, %j: i64) -> %a, %b, %c, %d, %e, %r, %u, %g0, %g1 {
  %m: i64[2] = {-1, -1}
  %one: i64[2] = {1, 1}
  %zero: i64[1] = {0}
  %two: i64[1] = {2}
  %s = Shape(%x)                                "shape"
  %q = Equal(%s, %m)
  %w = Where(%q, %one, %s)                      "where"
  %a = ConstantOfShape(%w)                      "a"
  %t = Gather(%s, %zero)                        "first of x"
  %v = Shape(%y)
  %g = Gather(%v, %zero)                        "first of y"
  %k = Concat(%g, %two) {axis=0}                "again"
  %b = ConstantOfShape(%k)                      "b"
  %h = Cast(%k) {to=6}
  %c = Neg(%h)                                  "other type"
  %z: i64 = {0}
  %n = Gather(%v, %z)                           "no vector"
  %d = Neg(%n)                                  "d"
  %l = Unsqueeze(%i, %zero)
  %p = Concat(%t, %l) {axis=0}
  %l2 = Unsqueeze(%j, %zero)
  %o = Concat(%g, %l2) {axis=0}
  %e = Sub(%p, %o)                              "known in part"
  %r = Abs(%x)                                  "result"
  %r2 = Abs(%x)                                 "as the result"
  %u = Neg(%r2)
  %h0 = Gather(%y, %zero) {axis=0}
  %g0 = Exp(%h0)
  %h1 = Gather(%y, %zero) {axis=1}              "another axis"
  %g1 = Exp(%h1)
}
-- out
graph g(%x: f32[N,2], %y: f32[N,K], %i: i64, %j: i64) -> %a, %b, %c, %d, %e, %r, %u, %g0, %g1 {
  %zero: i64[1] = {0}
  %z: i64       = {0}
  %s: i64[2]    = Shape(%x)  "shape" from "shape", "where", "again"
  %a: f32[N,2]  = ConstantOfShape(%s)  "a"
  %t: i64[1]    = Gather(%s, %zero)  "first of x" from "first of x", "first of y"
  %v: i64[2]    = Shape(%y)
  %b: f32[N,2]  = ConstantOfShape(%s)  "b"
  %h: i32[2]    = Cast(%s) {to=6}
  %c: i32[2]    = Neg(%h)  "other type"
  %n: i64       = Gather(%v, %z)  "no vector"
  %d: i64       = Neg(%n)  "d"
  %l: i64[1]    = Unsqueeze(%i, %zero)
  %p: i64[2]    = Concat(%t, %l) {axis=0}
  %l2: i64[1]   = Unsqueeze(%j, %zero)
  %o: i64[2]    = Concat(%t, %l2) {axis=0}
  %e: i64[2]    = Sub(%p, %o)  "known in part"
  %r: f32[N,2]  = Abs(%x)  "result" from "result", "as the result"
  %u: f32[N,2]  = Neg(%r)
  %h0: f32[1,K] = Gather(%y, %zero) {axis=0}
  %g0: f32[1,K] = Exp(%h0)
  %h1: f32[N,1] = Gather(%y, %zero) {axis=1}  "another axis"
  %g1: f32[N,1] = Exp(%h1)
}
