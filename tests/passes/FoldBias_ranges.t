# What is added to round (a) is no bias, and goes with none that is there (b); nor do two that cancel (c).
-- args
print --passes=FoldBias,DeadCodeElimination
-- in
graph g(%x: f32[1,2,4,4], %h: bf16[1,2,4,4]) -> %a, %b, %c {
  %w: f32[2,2,1,1] = weight 0
  %v: bf16[2,2,1,1] = weight 1
  %r: f32[2,1,1] = {12582912, 12582912}
  %s: f32[2] = {12582912, 12582912}
  %t: f32[2,1,1] = {-12582912, -12582912}
  %k: bf16[2] = {20, 1}
  %l: bf16[2,1,1] = {-20, 1}
  %p = Conv(%x, %w)
  %a = Add(%p, %r) "no bias"
  %q = Conv(%x, %w, %s)
  %b = Add(%q, %t) "rounds"
  %u = Conv(%h, %v, %k)
  %c = Add(%u, %l) "cancels"
}
-- out
graph g(%x: f32[1,2,4,4], %h: bf16[1,2,4,4]) -> %a, %b, %c {
  %w: f32[2,2,1,1]  = weight 0
  %v: bf16[2,2,1,1] = weight 1
  %r: f32[2,1,1]    = {12582912, 12582912}
  %s: f32[2]        = {12582912, 12582912}
  %t: f32[2,1,1]    = {-12582912, -12582912}
  %k: bf16[2]       = {2e+01, 1}
  %l: bf16[2,1,1]   = {-2e+01, 1}
  %p: f32[1,2,4,4]  = Conv(%x, %w)
  %a: f32[1,2,4,4]  = Add(%p, %r)  "no bias"
  %q: f32[1,2,4,4]  = Conv(%x, %w, %s)
  %b: f32[1,2,4,4]  = Add(%q, %t)  "rounds"
  %u: bf16[1,2,4,4] = Conv(%h, %v, %k)
  %c: bf16[1,2,4,4] = Add(%u, %l)  "cancels"
}
