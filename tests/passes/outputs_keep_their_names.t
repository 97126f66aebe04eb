# An output that becomes a constant, or another value, keeps its name; a scalar stays a scalar.
-- args
print -O2 --passes=FoldConstant,EliminateCommonSubexpr,SimplifyInference,DeadCodeElimination
-- in
graph g(%x: f32, %unused: f32[N], %through: f32[2]) -> %folded, %again, %same, %through, %less, %c {
  %a: f32[2] = {1, 2}
  %b: f32    = {3}
  %c: f32[2] = {1, 2}
  %folded = Identity(%a)  "f"
  %m      = Mul(%a, %b)   "m"
  %again  = Add(%m, %a)   "again"
  %same   = Add(%m, %a)   "same"
  %l      = Sub(%x, %b)   "l"
  %k      = Mul(%l, %b)   "k"
  %less   = Identity(%k)  "less"
}
-- out
graph g(%x: f32, %unused: f32[N], %through: f32[2]) -> %folded, %again, %same, %through, %less, %c {
  %c: f32[2]     = {1, 2}
  %again: f32[2] = {4, 8}
  %scale: f32    = {3}
  %shift: f32    = {-9}
  %v_6: f32       = Mul(%x, %scale)  "less" from "less", "k", "l"
  %less: f32      = Add(%v_6, %shift)  "less" from "less", "k", "l"
  %folded: f32[2] = Identity(%c)  "folded"
  %same: f32[2]   = Identity(%again)  "same"
}
