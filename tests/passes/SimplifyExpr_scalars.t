# Numbers that change nothing, casts through wider types, what is done twice.
-- args
print --passes=SimplifyExpr,DeadCodeElimination
-- in
graph g(%x: f32[4], %i: i8[4], %h: f16[4], %b: bool[4]) -> %p, %q, %r, %s, %t, %u {
  %ones: f32[1] = {1}
  %zero: f32 = {0}
  %m = Mul(%x, %ones)                             "times one"
  %d = Sub(%m, %zero)                             "less zero"
  %p = Exp(%d)                                    "p"
  %i1 = Cast(%i) {to=7}                           "wide"
  %q = Cast(%i1) {to=1}                           "q"
  %h1 = Cast(%h) {to=1}                           "wider"
  %h2 = Cast(%h1) {to=10}                         "as it was"
  %r = Exp(%h2)                                   "r"
  %r1 = Relu(%x)                                  "once"
  %s = Relu(%r1)                                  "twice"
  %n1 = Not(%b)                                   "not"
  %n2 = Not(%n1)                                  "not not"
  %t = Cast(%n2) {to=1}                           "t"
  %f = Floor(%x)                                  "floor"
  %u = Floor(%f)                                  "floor again"
}
-- out
graph g(%x: f32[4], %i: i8[4], %h: f16[4], %b: bool[4]) -> %p, %q, %r, %s, %t, %u {
  %p: f32[4] = Exp(%x)  "p"
  %q: f32[4] = Cast(%i) {to=1}  "q" from "q", "wide"
  %r: f16[4] = Exp(%h)  "r"
  %s: f32[4] = Relu(%x)  "once" from "once", "twice"
  %t: f32[4] = Cast(%b) {to=1}  "t"
  %u: f32[4] = Floor(%x)  "floor" from "floor", "floor again"
}
