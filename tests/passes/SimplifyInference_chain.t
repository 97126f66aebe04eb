# Scales and shifts one after the other become one shift behind the convolution; a shift that somebody
# else reads stays.
-- args
print --passes=SimplifyInference,DeadCodeElimination --verify=each
-- in
graph g(%x: f32[N,3,8,8]) -> %y, %u, %v, %k {
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
}
-- out
graph g(%x: f32[N,3,8,8]) -> %y, %u, %v, %k {
  %two: f32            = {2}
  %w_1_3: f32[4,3,3,3] = weight 1
  %shift_8: f32[4,1,1] = weight 2
  %scale_11: f32[1]    = {2}
  %c: f32[N,4,8,8] = Conv(%x, %w_1_3) {pads=[1,1,1,1]}  "conv" from "conv", "bn", "scale"
  %y: f32[N,4,8,8] = Add(%c, %shift_8)  "shift" from "shift", "less", "scale", "bn"
  %r: f32[N,3,8,8] = Relu(%x)  "relu"
  %a: f32[N,3,8,8] = Add(%r, %two)  "a"
  %u: f32[N,3,8,8] = Mul(%a, %two)  "u"
  %v: f32[N,4,8,8] = Add(%y, %two)  "v"
  %f: f32[N,3,8,8] = Mul(%r, %scale_11)  "f" from "f", "e", "d"
  %k: f32[N,3,8,8] = Neg(%f)  "k"
}
