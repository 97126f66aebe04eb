# The same for a single image, whose index is 0 throughout; nothing added, but another shape (l), stays.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[1,3,8,8]) -> %y, %u, %v, %k, %l {
  %w: f32[4,3,3,3] = weight 0
  %s: f32[4] = weight 1
  %b: f32[4] = weight 2
  %m: f32[4] = weight 3
  %v0: f32[4] = {0.5, 1, 2, 0.25}
  %g: f32[4,1,1] = weight 4
  %h: f32[1,4,1,1] = weight 5
  %two: f32 = {2}
  %c = Conv(%x, %w) {pads=[1,1,1,1]}                "conv"
  %n = BatchNormalization(%c, %s, %b, %m, %v0)      "bn"
  %p = Mul(%n, %g)                                  "scale"
  %q = Sub(%p, %two)                                "less"
  %y = Add(%q, %h)                                  "shift"
  %r = Relu(%x)                                     "relu"
  %a = Add(%r, %two)                                "a"
  %u = Mul(%a, %two)                                "u"
  %v = Add(%y, %two)                                "v"
  %d = Mul(%r, %two)                                "d"
  %e = Div(%d, %two)                                "e"
  %f = Mul(%e, %two)                                "f"
  %k = Neg(%f)                                      "k"
  %row: f32[1,3,1,8] = weight 6
  %o = Add(%x, %row)                                "o"
  %i: i64[1] = {2}
  %z = ReduceSum(%o, %i)                            "z"
  %wide: f32[1,1,4,1] = {0, 0, 0, 0}
  %l = Add(%z, %wide)                               "l"
}
-- out
graph g(%x: f32[1,3,8,8]) -> %y, %u, %v, %k, %l {
  %two: f32            = {2}
  %row: f32[1,3,1,8]   = weight 1
  %i: i64[1]           = {2}
  %wide: f32[1,1,4,1]  = weight 3
  %w_1_3: f32[4,3,3,3] = weight 4
  %shift_8: f32[4,1,1] = weight 5
  %scale_11: f32[1]    = {2}
  %c: f32[1,4,8,8] = Conv(%x, %w_1_3) {pads=[1,1,1,1]}  "conv" from "conv", "bn", "scale"
  %y: f32[1,4,8,8] = Add(%c, %shift_8)  "shift" from "shift", "less", "scale", "bn"
  %r: f32[1,3,8,8] = Relu(%x)  "relu"
  %a: f32[1,3,8,8] = Add(%r, %two)  "a"
  %u: f32[1,3,8,8] = Mul(%a, %two)  "u"
  %v: f32[1,4,8,8] = Add(%y, %two)  "v"
  %f: f32[1,3,8,8] = Mul(%r, %scale_11)  "f" from "f", "e", "d"
  %k: f32[1,3,8,8] = Neg(%f)  "k"
  %o: f32[1,3,8,8] = Add(%x, %row)  "o"
  %z: f32[1,3,1,8] = ReduceSum(%o, %i)  "z"
  %l: f32[1,3,4,8] = Add(%z, %wide)  "l"
}
