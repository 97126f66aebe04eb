# Constants are joined where the type holds what they make: 90000 and a millionth are no f16 (a, b), 1e50 is
# no f32 (d), and who adds what is large and takes it away wants digits to be lost (e, f, g), which a
# scale behind it must not bring back (h). What is small beside what was added before is kept (i), and
# so is x + 6e4 while 5 * x may be infinite (j). The others are joined.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f16[4], %z: f32[4]) -> %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l {
  %k300: f16 = {300}
  %k1000: f16 = {1000}
  %k6e4: f16 = {60000}
  %k5: f16 = {5}
  %k3: f16 = {3}
  %big: f32 = {1e25}
  %idiom: f32 = {12582912}
  %next: f32 = {12582911}
  %eighths: f32 = {1572864}
  %small: f32 = {1e-3}
  %one: f32 = {1}
  %many: f32 = {20000}
  %two: f32 = {2}
  %a1 = Mul(%x, %k300)
  %a = Mul(%a1, %k300)
  %b1 = Div(%x, %k1000)
  %b = Div(%b1, %k1000)
  %c1 = Mul(%x, %k3)
  %c = Mul(%c1, %k3)
  %d1 = Mul(%z, %big)
  %d = Mul(%d1, %big)
  %e1 = Add(%z, %idiom)
  %e = Sub(%e1, %idiom)
  %f1 = Add(%z, %idiom)
  %f = Sub(%f1, %next)
  %g1 = Add(%z, %eighths)
  %g = Sub(%g1, %eighths)
  %h1 = Add(%z, %idiom)
  %h2 = Sub(%h1, %idiom)
  %h = Mul(%h2, %small)
  %i1 = Add(%z, %many)
  %i = Add(%i1, %small)
  %j1 = Add(%x, %k6e4)
  %j2 = Mul(%j1, %k5)
  %j = Mul(%j2, %k3)
  %k1 = Add(%z, %one)
  %k2 = Mul(%k1, %two)
  %k = Sub(%k2, %one)
  %l1 = Add(%z, %one)
  %l = Add(%l1, %two)
}
-- out
graph g(%x: f16[4], %z: f32[4]) -> %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l {
  %k300: f16       = {3e+02}
  %k1000: f16      = {1e+03}
  %k6e4: f16       = {6e+04}
  %big: f32        = {1e+25}
  %idiom: f32      = {12582912}
  %next: f32       = {12582911}
  %eighths: f32    = {1572864}
  %small: f32      = {0.001}
  %many: f32       = {2e+04}
  %scale: f16[1]   = {9}
  %scale_1: f16[1] = {15}
  %scale_2: f32[1] = {2}
  %shift: f32[1]   = {1}
  %shift_4: f32[1] = {3}
  %a1: f16[4] = Mul(%x, %k300)
  %a: f16[4]  = Mul(%a1, %k300)
  %b1: f16[4] = Div(%x, %k1000)
  %b: f16[4]  = Div(%b1, %k1000)
  %c: f16[4]  = Mul(%x, %scale)
  %d1: f32[4] = Mul(%z, %big)
  %d: f32[4]  = Mul(%d1, %big)
  %e1: f32[4] = Add(%z, %idiom)
  %e: f32[4]  = Sub(%e1, %idiom)
  %f1: f32[4] = Add(%z, %idiom)
  %f: f32[4]  = Sub(%f1, %next)
  %g1: f32[4] = Add(%z, %eighths)
  %g: f32[4]  = Sub(%g1, %eighths)
  %h1: f32[4] = Add(%z, %idiom)
  %h2: f32[4] = Sub(%h1, %idiom)
  %h: f32[4]  = Mul(%h2, %small)
  %i1: f32[4] = Add(%z, %many)
  %i: f32[4]  = Add(%i1, %small)
  %j1: f16[4] = Add(%x, %k6e4)
  %j: f16[4]  = Mul(%j1, %scale_1)
  %v: f32[4]  = Mul(%z, %scale_2)
  %k: f32[4]  = Add(%v, %shift)
  %l: f32[4]  = Add(%z, %shift_4)
}
