# The tiles that Roller ranks first for a row of devices.def, of an expression, and how they are built.
# Threads that share a memory copy images as a matrix: n, p and q are one axis there.
-- args
tiles --target cuda:a100
-- in
expr conv(X: f32[8,64,30,30], W: f32[128,64,3,3]) -> Y {
  Y[n:8, f:128, p:28, q:28]: f32 = sum(c:64, r:3, s:3) X[n,c,p+r,q+s] * W[f,c,r,s]
}
-- has
tiles of conv on cuda:a100: n.p.q:6272, f:128, sum over c.r.s:576; 10 of
   1. 
; registers 
; shared 
  10. 
  how number 
      registers  1x1x1                     3 registers of 231
                 2x1x1     n.p.q           5 registers of 231; S: n.p.q 1.16e+08, f 1.16e+08
                 2x2x1     f               8 registers of 231; S: n.p.q 2.89e+07, f 7.71e+07
; good enough to go on from
      shared     8x8x8                   576 bytes of 166912
