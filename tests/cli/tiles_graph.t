# Of a model, the groups that passes make; what has no tiles says why.
-- args
tiles --target cpu:x86-64-v3
-- in
graph g(%x: f32[1,64,56,56], %w: f32[64,64,3,3], %t: f32[300]) -> %y, %s {
  %c = Conv(%x, %w) {pads=[1,1,1,1]} "c"
  %y = Relu(%c) "y"
  %a: i64 = {0}
  %s = CumSum(%t, %a) "s"
}
-- has
tiles of y on cpu:x86-64-v3: i1:64, i2:56, i3:56, sum over c:64, sum over r:3, sum over s:3; 10 of
   1. 
; registers 
; L1 
; L2 
; L3 
  how number 1 is built: the axis grows that saves most traffic for the room it takes (S); up to 20 % of an axis may be wasted
tiles of s on cpu:x86-64-v3: none, for scatters and scans run in order
