# What f16 does not hold stays f32, with what is made of it: a mask, an epsilon, a weight. A bound
# that is infinite in f16 is none, as it was; scales of Resize are no numbers to compute with.
-- args
print --passes=ToMixedPrecision,DeadCodeElimination
-- in
graph g(%q: f32[4,4], %x: f32[1,1,4,4], %allowed: bool[4,4]) -> %p, %y, %z, %u {
  %zero: f32 = {0}
  %least: f32 = {-3.4e38}
  %most: f32 = {3.4e38}
  %eps: f32 = {1e-12}
  %w: f32[2,2] = {1, 2, 70000, 3}
  %v: f32[2,2] = {1, 2, 1e-12, 3}
  %k: f32[1,1,1,1] = {2}
  %h: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  %r: f32[4,2] = {1, 2, 3, 1e-12, 5, 6, 7, 8}
  %scales: f32[4] = {1, 1, 2, 2}
  %mask = Where(%allowed, %zero, %least)  "mask"
  %scores = MatMul(%q, %q)  "scores"
  %masked = Add(%scores, %mask)  "masked"
  %p = Softmax(%masked)  "soft"
  %t = MatMul(%q, %h)  "two"
  %a = Add(%t, %eps)  "eps"
  %b = MatMul(%t, %w)  "large"
  %c = MatMul(%t, %v)  "small"
  %d = Div(%c, %r)  "divided"
  %f = MatMul(%b, %v)  "behind"
  %e = MatMul(%d, %v)  "of quotients"
  %y = Concat(%a, %f, %e) {axis=0}
  %o = Conv(%x, %k)  "conv"
  %l = Clip(%o, %zero, %most)  "clip"
  %n = Resize(%l, _, %scales) {mode="nearest"}  "resize"
  %z = Conv(%n, %k)  "again"
  %i = Shape(%l)
  %u = Identity(%i)
}
-- out
graph g(%q: f32[4,4], %x: f32[1,1,4,4], %allowed: bool[4,4]) -> %p, %y, %z, %u {
  %zero: f32       = {0}
  %least: f32      = {-3.4e+38}
  %eps: f32        = {1e-12}
  %w: f32[2,2]     = weight 3
  %v: f32[2,2]     = weight 4
  %r: f32[4,2]     = weight 5
  %scales: f32[4]  = {1, 1, 2, 2}
  %h: f16[4,2]     = weight 7
  %v_3: f16[2,2]   = weight 8
  %k: f16[1,1,1,1] = {2}
  %zero_7: f16     = {0}
  %most: f16       = {inf}
  %v_5: f16[1,1,4,4]  = Cast(%x) {to=10}  "x"
  %v_1: f16[4,4]      = Cast(%q) {to=10}  "q"
  %mask: f32[4,4]     = Where(%allowed, %zero, %least)  "mask"
  %scores: f16[4,4]   = MatMul(%v_1, %v_1)  "scores"
  %v_9: f32[4,4]      = Cast(%scores) {to=1}  "scores"
  %masked: f32[4,4]   = Add(%v_9, %mask)  "masked"
  %p: f32[4,4]        = Softmax(%masked)  "soft"
  %t: f16[4,2]        = MatMul(%v_1, %h)  "two"
  %v_10: f32[4,2]     = Cast(%t) {to=1}  "two"
  %a: f32[4,2]        = Add(%v_10, %eps)  "eps"
  %b: f32[4,2]        = MatMul(%v_10, %w)  "large"
  %v_4: f16[4,2]      = Cast(%b) {to=10}  "large"
  %c: f16[4,2]        = MatMul(%t, %v_3)  "small"
  %v_11: f32[4,2]     = Cast(%c) {to=1}  "small"
  %d: f32[4,2]        = Div(%v_11, %r)  "divided"
  %f: f16[4,2]        = MatMul(%v_4, %v_3)  "behind"
  %v_12: f32[4,2]     = Cast(%f) {to=1}  "behind"
  %e: f32[4,2]        = MatMul(%d, %v)  "of quotients"
  %y: f32[12,2]       = Concat(%a, %v_12, %e) {axis=0}
  %o: f16[1,1,4,4]    = Conv(%v_5, %k)  "conv"
  %l: f16[1,1,4,4]    = Clip(%o, %zero_7, %most)  "clip"
  %n: f16[1,1,8,8]    = Resize(%l, _, %scales) {mode="nearest"}  "resize"
  %v_13: f16[1,1,8,8] = Conv(%n, %k)  "again"
  %z: f32[1,1,8,8]    = Cast(%v_13) {to=1}  "again"
  %i: i64[4]          = Shape(%l)
  %u: i64[4]          = Identity(%i)
}
