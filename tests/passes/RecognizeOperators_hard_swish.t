# And Mish.
-- args
print --passes=InferShapes,RecognizeOperators --verify=each
-- in
graph g(%x: f32[N,7]) -> %y, %z, %u {
  %three: f32 = {3}
  %six: f32 = {6}
  %zero: f32 = {0}
  %a = Add(%x, %three)
  %b = Clip(%a, %zero, %six)
  %c = Mul(%x, %b)
  %y = Div(%c, %six)  "clip"
  %h = HardSigmoid(%x) {alpha=0.16666667, beta=0.5}
  %z = Mul(%h, %x)  "sigmoid"
  %s = Softplus(%x)
  %t = Tanh(%s)
  %u = Mul(%x, %t)  "mish"
}
-- out
graph g(%x: f32[N,7]) -> %y, %z, %u {
  %three: f32 = {3}
  %six: f32   = {6}
  %zero: f32  = {0}
  %y: f32[N,7] = HardSwish(%x)  "clip"
  %z: f32[N,7] = HardSwish(%x)  "sigmoid"
  %u: f32[N,7] = Mish(%x)  "mish"
}
